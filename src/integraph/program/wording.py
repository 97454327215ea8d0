"""How programs speak: gadgets with numbers, equations as one writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from integraph.text import counted

LETTER = re.compile(r"[^\W\d_][A-Za-z0-9_]*")


def times(name: str, n: int) -> str:
    """`tanh`, or `tanh × 3` for three of them at once."""
    return name if n == 1 else f"{name} × {n}"


def each(n: int, noun: str, of: int) -> str:
    """`, 3 weights each`; nothing where there is one weight, and no `each` of a single thing."""
    return "" if n == 1 else f", {counted(n, noun)}{' each' * (of > 1)}"


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A text in which every letter that has a name is called by it: `z' = w·x` as `mu' = w·alpha`."""
    return LETTER.sub(lambda match: names.get(match[0], match[0]), text)


def right_side(equations: Iterable[tuple[Any, ...]], target: str) -> str:
    """`x² − lam²` for ("lam", 1, "x", "x") and ("lam", -1, "lam", "lam")."""
    text = ""
    for of, number, *factors in equations:
        if of == target:
            sign = ("−" if number < 0 else "") if not text else (" − " if number < 0 else " + ")
            text += sign + _product(abs(number), factors)
    return text or "0"


def _product(size: float, factors: list[str]) -> str:
    if len(factors) > 1 and factors[-1] == factors[-2]:
        factors = [*factors[:-2], f"{factors[-1]}²"]
    shown = [f"{size:g}"] if size != 1 or not factors else []
    return "·".join([*shown, *factors])
