"""Values of a certificate as JSON without decimals: a number m·2^e is a pair of integers, so that nothing is rounded.

What is read comes from a file that anyone wrote: a value of another kind is a ValueError.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from integraph.certify.certificate.tree import Division, Split
from integraph.certify.problem import Box
from integraph.text import clean

SHOWN = 60  # characters of a value in a message


def pair(x: float) -> list[int] | str:
    """m, e with x = m·2^e and m odd or 0."""
    if not math.isfinite(x):
        return "infinite"
    m, denominator = x.as_integer_ratio()
    zeros = (m & -m).bit_length() - 1 if m else 0
    return [m >> zeros, zeros - (denominator.bit_length() - 1)]


def pairs(values: Iterable[float]) -> list[Any]:
    return [pair(x) for x in values]


def ends(box: Box) -> list[Any]:
    return [pairs(box.low), pairs(box.high)]


def nodes(division: Division) -> list[Any]:
    return [0 if node is None else [node.axis, pair(node.at)] for node in division]


def number(given: Any) -> float:
    if given == "infinite":
        return math.inf
    m, e = given
    if type(m) is not int or type(e) is not int or abs(m) >= 1 << 53 or abs(e) > 1100:
        raise ValueError(f"{given!r:.{SHOWN}} is not a float64 number")
    return math.ldexp(m, e)


def numbers(given: Any) -> tuple[float, ...]:
    return tuple(map(number, given))


def box(low: Any, high: Any) -> Box:
    return Box(numbers(low), numbers(high))


def division(given: Any) -> Division:
    return tuple(None if node == 0 else Split(whole(node[0]), number(node[1])) for node in given)


def whole(given: Any) -> int:
    if type(given) is not int:
        raise ValueError(f"{given!r:.{SHOWN}} is not an integer")
    return given


def texts(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise ValueError("its texts must be a list of texts")
    if any(text != clean(text) for text in given):
        raise ValueError("one of its texts holds control characters")
    return tuple(given)


def text(given: Any) -> str:
    return texts([given])[0]
