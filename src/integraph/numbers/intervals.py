"""Intervals with outward rounding: affine maps, sums, products, quotients and powers.

Every operation rounds outward by more than float64 can lose, so that an interval contains all values in real
arithmetic. Ends may be infinite: an end that float64 cannot hold becomes infinite, or the largest number if the whole
interval lies beyond it; an unknown range is (−∞, ∞), and nothing is NaN. Where an operation is undefined on a part of
its arguments, the interval encloses the values on the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from integraph.numbers.arrays import Floats
from integraph.numbers.balls import add_up, quiet
from integraph.numbers.roundoff import U

TINY = 2.0**-1021  # a normal number, and more than underflow can lose
MOST = float(np.finfo(np.float64).max)
LOST = 16 * U  # numpy's and scipy's functions are good to 4 ulp
RATIONAL = 2048 * U  # x^a with a rounded: a ln x is off by U·|a ln x|, and below 745 where the power is in float64

Real = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """low ≤ x ≤ high, unit by unit."""

    low: Floats
    high: Floats

    @property
    def size(self) -> Floats:
        """The largest |x|."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def distance(self) -> Floats:
        """The smallest |x|."""
        return np.maximum(np.maximum(self.low, -self.high), 0.0)

    def widened(self, by: Floats | float) -> Interval:
        return Interval(self.low - by, self.high + by)


def affine(A: Floats, b: Floats, x: Interval) -> Interval:
    """The range of A x + b."""
    middle, radius = halved(x)
    size = np.abs(A)
    centre = A @ middle + b
    spread = size @ radius
    lost = (A.shape[1] + 8) * U * (size @ (np.abs(middle) + radius) + np.abs(b)) + TINY
    return Interval(centre - (spread + lost), centre + (spread + lost))


def interval(low: Floats, high: Floats, known: NDArray[np.bool_] | bool = True) -> Interval:
    """The interval of ends that may be NaN, or infinite on the wrong side; (−∞, ∞) where nothing is `known`."""
    return Interval(
        np.where(known & ~np.isnan(low), np.minimum(low, MOST), -np.inf),
        np.where(known & ~np.isnan(high), np.maximum(high, -MOST), np.inf),
    )


def intersection(x: Interval, y: Interval) -> Interval:
    """The intersection."""
    return Interval(np.maximum(x.low, y.low), np.minimum(x.high, y.high))


def neg(x: Interval) -> Interval:
    return Interval(-x.high, -x.low)


def add(x: Interval, y: Interval) -> Interval:
    return interval(-add_up(-x.low, -y.low), add_up(x.high, y.high))


def sub(x: Interval, y: Interval) -> Interval:
    return add(x, neg(y))


@quiet
def mul(x: Interval, y: Interval) -> Interval:
    """The hull of the products of ends; 0·∞ is 0, because no value is infinite."""
    ends = ((x.low, y.low), (x.low, y.high), (x.high, y.low), (x.high, y.high))
    products = [np.where((a == 0) | (b == 0), 0.0, a * b) for a, b in ends]
    low: Floats = np.nextafter(np.minimum.reduce(products), -np.inf)
    high: Floats = np.nextafter(np.maximum.reduce(products), np.inf)
    alike = ((x.low >= 0) & (y.low >= 0)) | ((x.high <= 0) & (y.high <= 0))
    apart = ((x.low >= 0) & (y.high <= 0)) | ((x.high <= 0) & (y.low >= 0))
    return interval(np.where(alike, np.maximum(low, 0.0), low), np.where(apart, np.minimum(high, 0.0), high))


def div(x: Interval, y: Interval) -> Interval:
    return mul(x, power(y, Fraction(-1)))


def minimum(x: Interval, y: Interval) -> Interval:
    return Interval(np.minimum(x.low, y.low), np.minimum(x.high, y.high))


def maximum(x: Interval, y: Interval) -> Interval:
    return Interval(np.maximum(x.low, y.low), np.maximum(x.high, y.high))


def absolute(x: Interval) -> Interval:
    return Interval(x.distance, x.size)


@quiet
def total(x: Interval, axes: tuple[int, ...]) -> Interval:
    """The sum over the axes."""
    low, high = np.sum(x.low, axes), np.sum(x.high, axes)
    lost = 2 * (x.low.size // max(1, low.size) + 8) * U
    return interval(low - lost * np.sum(np.abs(x.low), axes), high + lost * np.sum(np.abs(x.high), axes))


@quiet
def outward(low: Floats, high: Floats, lost: float = LOST) -> Interval:
    """The interval of ends with relative errors up to `lost`, widened by them."""
    hull = interval(low, high)
    return interval(hull.low - (lost * np.abs(hull.low) + TINY), hull.high + (lost * np.abs(hull.high) + TINY))


@quiet
def power(x: Interval, exponent: Fraction) -> Interval:
    """x^a: of every x ≠ 0 if a is an integer, of x > 0 otherwise; 0 counts if a > 0, and x^0 is 1."""
    a = float(exponent)
    if exponent == 0:
        return Interval(np.ones_like(x.low), np.ones_like(x.low))
    lost = LOST if Fraction(a) == exponent else RATIONAL
    size = Interval(x.distance, x.size)
    if exponent.denominator == 1 and exponent % 2 == 0:
        return _of_size(size, a, lost, size.high > 0 if a < 0 else True)
    positive = _of_size(Interval(np.maximum(x.low, 0.0), np.maximum(x.high, 0.0)), a, lost)
    if exponent.denominator != 1:
        return interval(positive.low, positive.high, x.high > 0 if a < 0 else x.high >= 0)
    negative = _of_size(Interval(np.maximum(-x.high, 0.0), np.maximum(-x.low, 0.0)), a, lost)
    if a < 0:
        known = (x.low > 0) | (x.high < 0) | ((x.low == 0) != (x.high == 0))
        return interval(
            np.where(x.low >= 0, positive.low, -negative.high),
            np.where(x.low >= 0, positive.high, -negative.low),
            known,
        )
    return interval(
        np.where(x.low >= 0, positive.low, -negative.high), np.where(x.high > 0, positive.high, -negative.low)
    )


def _of_size(x: Interval, a: float, lost: float, known: NDArray[np.bool_] | bool = True) -> Interval:
    """x^a for x ≥ 0, where 0^a is 0 or ∞."""
    first, last = np.power(x.low, a), np.power(x.high, a)
    result = outward(first, last, lost) if a > 0 else outward(last, first, lost)
    if a == 1:
        result = x
    return interval(np.maximum(result.low, 0.0), np.where((x.high == 0) & (a > 0), 0.0, result.high), known)


@quiet
def variable_power(x: Interval, y: Interval) -> Interval:
    """x^y for x > 0, which is monotone in each."""
    low, high = np.maximum(x.low, 0.0), np.maximum(x.high, 0.0)
    corners = [np.power(base, exponent) for base in (low, high) for exponent in (y.low, y.high)]
    hull = outward(np.minimum.reduce(corners), np.maximum.reduce(corners))
    return interval(np.maximum(hull.low, 0.0), hull.high, x.high > 0)


def matmul(x: Interval, y: Interval) -> Interval:
    """Products of matrices, in the last two axes. With factors of either sign the result is up to 1.5 times too wide
    (Rump's product of middles and radii)."""
    if np.isfinite(x.size).all() and np.isfinite(y.size).all():
        return _finite_product(x, y)
    known = [np.isfinite(z.size) for z in (x, y)]
    kept = [Interval(np.where(k, z.low, 0.0), np.where(k, z.high, 0.0)) for k, z in zip(known, (x, y), strict=True)]
    product = _finite_product(*kept)
    unknown = np.matmul(1.0 * ~known[0], 1.0 * (y.size > 0)) + np.matmul(1.0 * (x.size > 0), 1.0 * ~known[1])
    return interval(product.low, product.high, unknown == 0)


@quiet
def _finite_product(x: Interval, y: Interval) -> Interval:
    lost = 4 * (x.low.shape[-1] + 8) * U
    if (x.low >= 0).all():
        low = np.matmul(x.low, np.maximum(y.low, 0.0)) + np.matmul(x.high, np.minimum(y.low, 0.0))
        high = np.matmul(x.high, np.maximum(y.high, 0.0)) + np.matmul(x.low, np.minimum(y.high, 0.0))
        off = lost * (np.matmul(x.high, y.size) + TINY)
        least = 0.0 if (y.low >= 0).all() else -np.inf
        return interval(np.maximum(low - off, least), high + off)
    if (y.low >= 0).all():
        transposed = _finite_product(*(Interval(z.low.swapaxes(-1, -2), z.high.swapaxes(-1, -2)) for z in (y, x)))
        return Interval(transposed.low.swapaxes(-1, -2), transposed.high.swapaxes(-1, -2))
    (a, r), (b, s) = _middle(x), _middle(y)
    centre, sizes = np.matmul(a, b), (np.abs(a) + r + TINY, np.abs(b) + s + TINY)
    spread = lost * (np.matmul(*sizes) + TINY)
    if s.ndim:
        spread += np.matmul(sizes[0], s)
    if r.ndim:
        spread += np.matmul(r, np.abs(b))
    return interval(centre - spread, centre + spread)


def _middle(x: Interval) -> tuple[Floats, Floats]:
    """Middle and radius, to a few ulp of the size; of a constant the middle is exact."""
    if x.low is x.high:
        return x.low, np.zeros(())
    return halved(x)


def halved(x: Interval) -> tuple[Floats, Floats]:
    """Middle and radius, to a few ulp of the size: half of the smallest number is 0, so the radius is no half."""
    middle = 0.5 * x.low + 0.5 * x.high
    return middle, np.maximum(x.high - middle, middle - x.low)
