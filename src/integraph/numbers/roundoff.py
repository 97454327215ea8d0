"""What rounding costs in float64: the unit, a slack for bounds, and the exact errors of sums and products."""

from __future__ import annotations

from integraph.numbers.arrays import Floats

U = 2.0**-53  # half an ulp of 1
UP = 1 + 1e-12  # more than the few thousand roundings of a bound
SPLIT = 134217729.0  # 2^27 + 1: halves of a float64 whose products are exact (Dekker)


def halves(x: Floats) -> tuple[Floats, Floats]:
    big = SPLIT * x
    high = big - (big - x)
    return high, x - high


def product_error(a: Floats, b: Floats, product: Floats) -> Floats:
    """a·b − fl(a·b), exactly."""
    (a1, a2), (b1, b2) = halves(a), halves(b)
    return a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)


def sum_error(a: Floats, b: Floats, total: Floats) -> Floats:
    """a + b − fl(a + b), exactly (Knuth)."""
    part = total - a
    return (a - (total - part)) + (b - part)
