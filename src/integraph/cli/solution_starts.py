"""Starts of solutions in the command: "x=1±1e-6; v=0"."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from integraph.errors import UsageError

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?"
START = re.compile(rf"\s*(\w+)\s*=\s*({NUMBER})\s*(?:(?:±|\+/-)\s*({NUMBER})\s*)?")


def starts_of(text: str) -> dict[str, float | tuple[float, float]]:
    """The start of each state and input: a number, or the ends of one with a radius, rounded outward."""
    starts: dict[str, float | tuple[float, float]] = {}
    for part in filter(str.strip, re.split(r"[;,]", text)):
        match = START.fullmatch(part)
        if match is None or match[1] in starts:
            raise UsageError(
                f"--enclose {part.strip()!r}: give every state and input once, as in --enclose 'x=1±1e-6; v=0'"
            )
        name, middle, radius = match.groups()
        if radius is None:
            starts[name] = float(middle)
        else:
            low, high = Fraction(middle) - Fraction(radius), Fraction(middle) + Fraction(radius)
            starts[name] = (_outward(low, -math.inf), _outward(high, math.inf))
    return starts


def _outward(end: Fraction, towards: float) -> float:
    try:
        nearest = float(end)
    except OverflowError:
        return math.inf if end > 0 else -math.inf
    inside = Fraction(nearest) > end if towards < 0 else Fraction(nearest) < end
    return math.nextafter(nearest, towards) if inside else nearest
