"""Numbers of a certificate: integers m, e for m·2^e, so that nothing is lost or rounded in a file."""

from __future__ import annotations

import math
from typing import Any

SHOWN = 60  # characters of a value in a message


def pair(x: float) -> list[int] | str:
    """m, e with x = m·2^e and m odd or 0."""
    if not math.isfinite(x):
        return "infinite"
    m, denominator = x.as_integer_ratio()
    zeros = (m & -m).bit_length() - 1 if m else 0
    return [m >> zeros, zeros - (denominator.bit_length() - 1)]


def number(given: Any) -> float:
    if given == "infinite":
        return math.inf
    m, e = given
    if type(m) is not int or type(e) is not int or abs(m) >= 1 << 53 or abs(e) > 1100:
        raise ValueError(f"{given!r:.{SHOWN}} is not a float64 number")
    return math.ldexp(m, e)
