"""Ball arithmetic: `Ball(mid, rad)` is every real x with |x − mid| ≤ rad, element by element.

Each operation adds what its own rounding can lose to the radius, so a ball contains the result of real arithmetic.
What is not finite is unknown: a NaN or infinite middle or radius (overflow, a pole, a logarithm of 0) says nothing
about x, and stays that way in all that is computed from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from integraph.errors import SourceError
from integraph.numbers.arrays import Floats
from integraph.numbers.roundoff import U, sum_error

UP = 1 + 16 * U  # more than the few roundings of a radius
TINY = 2.0**-960  # more than all that underflow can lose; a normal number, because processors are slow below 2^-1022
DIGITS = 400  # of magnitude: beyond, a literal is 0 or unknown in float64
CONSTANTS = {"pi": math.pi, "e": math.e}
EXACT = (int, float, np.floating, np.integer)  # other operands that are what they are

quiet = np.errstate(all="ignore")  # overflow and NaN are answers here


@dataclass(frozen=True, slots=True, eq=False)
class Ball:
    """Two arrays of one shape, or of shapes that broadcast to one."""

    mid: Floats
    rad: Floats

    __array_ufunc__: ClassVar[None] = None  # array·ball is ours to compute, not numpy's

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The smallest and the largest x, rounded outward; exact where the sum is."""
        return -add_up(-self.mid, self.rad), add_up(self.mid, self.rad)

    @property
    def size(self) -> Floats:
        """sup |x|, NaN or infinite where it is unknown."""
        return add_up(np.abs(self.mid), self.rad)

    @property
    def finite(self) -> Any:
        return np.isfinite(self.mid) & np.isfinite(self.rad)

    def __getitem__(self, key: Any) -> Ball:
        return Ball(self.mid[key], self.rad[key])

    @quiet
    def __neg__(self) -> Ball:
        return Ball(-self.mid, self.rad)

    @quiet
    def __add__(self, other: Ball | Floats | float) -> Ball:
        b = ball(other)
        mid = self.mid + b.mid
        return Ball(mid, (self.rad + b.rad + U * np.abs(mid)) * UP)

    @quiet
    def __mul__(self, other: Ball | Floats | float) -> Ball:
        b = ball(other)
        mid, size = self.mid * b.mid, np.abs(b.mid)
        rad = np.abs(self.mid) * b.rad + self.rad * (size + b.rad) + U * np.abs(mid)
        return Ball(mid, rad * UP + TINY)

    @quiet
    def __truediv__(self, other: Ball | Floats | float) -> Ball:
        if isinstance(other, Ball):
            return self * reciprocal(other)
        mid = self.mid / other
        return Ball(mid, (self.rad / np.abs(other) + U * np.abs(mid)) * UP + TINY)

    def __sub__(self, other: Ball | Floats | float) -> Ball:
        return self + (-other)

    def __rsub__(self, other: Floats | float) -> Ball:
        return -self + other

    def __rtruediv__(self, other: Floats | float) -> Ball:
        return reciprocal(self) * other

    __radd__ = __add__
    __rmul__ = __mul__


def ball(x: Ball | Floats | float) -> Ball:
    """A ball of radius 0 around each number."""
    return x if isinstance(x, Ball) else Ball(np.asarray(x, float), np.zeros(np.shape(x)))


@quiet
def add_up(x: Floats, y: Floats) -> Floats:
    """x + y, rounded up where it is not exact."""
    total = x + y
    return np.where(sum_error(x, y, total) <= 0, total, np.nextafter(total, np.inf))


@quiet
def hull(low: Floats, high: Floats) -> Ball:
    """The ball of low ≤ x ≤ high; unknown where an end is NaN or infinite."""
    mid = 0.5 * low + 0.5 * high
    return Ball(mid, np.maximum(add_up(high, -mid), add_up(mid, -low)))


@quiet
def reciprocal(x: Ball) -> Ball:
    """1/x, unknown where 0 is inside."""
    low, high = x.ends
    apart = (low > 0) | (high < 0)
    inverse = hull(np.nextafter(1.0 / high, -np.inf), np.nextafter(1.0 / low, np.inf))
    return Ball(np.where(apart, inverse.mid, np.nan), np.where(apart, inverse.rad, np.nan))


def rational(text: str) -> Fraction | None:
    """The number that a decimal literal means; None if it is a constant's name or far outside of float64."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        if text in CONSTANTS:
            return None
        raise SourceError(f"{text!r} is not a number: write decimals like 0.1 or 2e-3, or pi, or e") from None
    if not number.is_finite() or (number and abs(number.adjusted()) > DIGITS):
        return None
    return Fraction(number)


def number(text: str) -> Ball:
    """A ball around the exact value of a literal: "0.1" is 1/10, "pi" is π."""
    exact = rational(text)
    if exact is not None:
        return of_fraction(exact)
    if text in CONSTANTS:
        mid = CONSTANTS[text]
        return Ball(np.asarray(mid), np.asarray(U * mid))
    small = Decimal(text).is_finite() and Decimal(text).adjusted() < 0
    return Ball(np.asarray(0.0), np.asarray(TINY)) if small else Ball(np.asarray(np.nan), np.asarray(np.nan))


def of_fraction(exact: Fraction) -> Ball:
    try:
        mid = float(exact)  # correctly rounded
    except OverflowError:
        return Ball(np.asarray(np.nan), np.asarray(np.nan))
    rad = 0.0 if Fraction(mid) == exact else U * abs(mid) * UP + TINY
    return Ball(np.asarray(mid), np.asarray(rad))
