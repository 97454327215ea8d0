"""Names of inputs: how they are given, and the order they have by themselves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from integraph.errors import UsageError


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """The key that sorts x2 before x10."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return tuple((0, int(part), part) if part[0] in "0123456789" else (1, 0, part) for part in parts)


def names(given: str | Sequence[object], argument: str = "variables") -> tuple[str, ...]:
    """The names in "x, y", ["x", "y"] or a list of symbols."""
    if not isinstance(given, str | Iterable) or isinstance(given, set | frozenset | dict):
        raise UsageError("give names in order, as in 'x, y' or ['x', 'y']", argument=argument, value=given)
    variables = tuple(given.replace(",", " ").split() if isinstance(given, str) else map(str, given))
    if not variables:
        raise UsageError("it names no input: leave it out, or name at least one", argument=argument, value=given)
    first, count = Counter(variables).most_common(1)[0]
    if count > 1:
        raise UsageError(f"it names {first} twice", argument=argument, value=given)
    return variables


def numbered(d: int) -> tuple[str, ...]:
    """What inputs without names are called: x, or x1 … xd."""
    return ("x",) if d == 1 else tuple(f"x{n + 1}" for n in range(d))
