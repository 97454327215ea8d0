"""Intervals with exact ends, rounded outward: over wide boxes they lose less than balls do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flint import arb

from integraph.numbers.arb.conversion import ZERO

Terms = Iterable[tuple[int, "Ends", "Ends"]]


@dataclass(slots=True, eq=False)
class Ends:
    """[low, high]; NaN is in no comparison, so that nothing is proved with it."""

    low: arb
    high: arb

    @property
    def finite(self) -> bool:
        return bool(self.low.is_finite() and self.high.is_finite())

    def ball(self) -> arb:
        return self.low.union(self.high)

    def size(self) -> arb:
        return self.low.abs_upper().max(self.high.abs_upper())

    def __add__(self, other: Ends) -> Ends:
        return Ends((self.low + other.low).lower(), (self.high + other.high).upper())

    def __neg__(self) -> Ends:
        return Ends(-self.high, -self.low)

    def __sub__(self, other: Ends) -> Ends:
        return self + -other

    def __mul__(self, other: Ends) -> Ends:
        a, b, c, d = self.low, self.high, other.low, other.high
        if a >= 0 and c >= 0:
            return Ends((a * c).lower(), (b * d).upper())
        corners = (a * c, a * d, b * c, b * d)
        low, high = corners[0].lower(), corners[0].upper()
        for corner in corners[1:]:
            low, high = low.min(corner.lower()), high.max(corner.upper())
        return Ends(low, high)

    def square(self) -> Ends:
        most = (self.size() ** 2).upper()
        return Ends(ZERO if self.low <= 0 <= self.high else (self.ball().abs_lower() ** 2).lower(), most)

    def scaled(self, factor: arb, shift: arb = ZERO, radius: arb = ZERO) -> Ends:
        off = shift - radius, shift + radius
        product = self * Ends(factor.lower(), factor.upper())
        return Ends((product.low + off[0]).lower(), (product.high + off[1]).upper())


def dot(terms: Terms, divisor: int) -> Ends:
    """Σ w·a·b / divisor; of one number twice, its square."""
    low = high = ZERO
    for weight, a, b in terms:
        product = a.square() if a is b else a * b
        low, high = low + weight * product.low, high + weight * product.high
    return Ends((low / divisor).lower(), (high / divisor).upper())
