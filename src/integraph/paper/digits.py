"""Numbers in many digits, and errors relative to them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from integraph.numbers.arb.digits import WideFunctions


@cache
def digits() -> WideFunctions:
    """An arithmetic of its own: nobody else's precision changes it."""
    from integraph.numbers.arb.digits import WideFunctions

    return WideFunctions()


def largest_error(values: Iterable[Any], true: Iterable[Any], floor: float = 1.0) -> float:
    """The largest |found − true|, relative to |true|, or to `floor` where that is larger. A true 0 has no relative
    error, only an absolute one; what is not a number is infinitely far."""
    number, largest = digits().mpf, 0.0
    for one, other in zip(values, true, strict=True):
        error = float(abs(number(one) - number(other)) / (max(number(floor), abs(number(other))) or 1))
        largest = max(largest, math.inf if math.isnan(error) else error)
    return largest
