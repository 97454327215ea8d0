"""Numbers in many digits, and how far others are from them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Any

BITS = 400


@cache
def digits() -> Any:
    """An arithmetic of its own, `BITS` wide: nobody else's precision changes it."""
    import mpmath

    context = mpmath.MPContext()
    context.prec = BITS
    return context


def largest_error(values: Iterable[Any], true: Iterable[Any], floor: float = 1.0) -> float:
    """The largest |found − true|, relative to |true|, or to `floor` where that is larger. A true 0 has no relative
    error, only an absolute one; what is not a number is infinitely far."""
    m = digits()
    largest = 0.0
    for one, other in zip(values, true, strict=True):
        error = float(abs(m.mpf(one) - m.mpf(other)) / (max(m.mpf(floor), abs(m.mpf(other))) or 1))
        largest = max(largest, math.inf if math.isnan(error) else error)
    return largest
