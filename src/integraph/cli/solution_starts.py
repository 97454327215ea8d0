"""Starts of solutions in the command: "x=1±1e-6; v=0; w=[0, 2]"."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from integraph.errors import UsageError

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?"
BOUNDS = re.compile(rf"\s*(\w+)\s*=\s*\[\s*({NUMBER})\s*[,;]\s*({NUMBER})\s*\]\s*")
START = re.compile(rf"\s*(\w+)\s*=\s*({NUMBER})\s*(?:(?:±|\+/-)\s*({NUMBER})\s*)?")


def starts_of(text: str) -> dict[str, float | tuple[float, float]]:
    """The start of each state and input: a number, or low and high, rounded outward."""
    starts: dict[str, float | tuple[float, float]] = {}
    for part in filter(str.strip, re.split(r"[;,](?![^\[\]]*\])", text)):
        bounds = BOUNDS.fullmatch(part)
        if bounds is not None and bounds[1] not in starts:
            starts[bounds[1]] = (_outward(Fraction(bounds[2]), -math.inf), _outward(Fraction(bounds[3]), math.inf))
            continue
        match = START.fullmatch(part)
        if match is None or match[1] in starts:
            raise UsageError(
                f"--enclose {part.strip()!r}: give every state and input once, as 'x=1±1e-6; v=0; w=[0, 2]'"
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
