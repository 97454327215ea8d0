"""The box as a unit cube: t = scale·x + shift with float64 controls, exactly as the flow computes it.

The controls are chosen so that the box lies inside [0, 1]^d in real arithmetic, and all but fills it. A fit
evaluates f at points in the box: the map back from t rounds, and `lost` bounds by how much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from integraph.errors import UsageError
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.roundoff import U

LOST = 32  # roundings of the way there and back


@dataclass(frozen=True, slots=True, eq=False)
class UnitCube:
    box: Interval
    scale: Floats
    shift: Floats

    @property
    def identity(self) -> bool:
        """Whether the box is [0, 1]^d already, so that no segment has to map it."""
        return bool((self.scale == 1).all() and (self.shift == 0).all())

    @property
    def widths(self) -> Floats:
        """Upper bounds of 1/scale: the factors from derivatives by x to those by t."""
        result: Floats = (1 + 4 * U) / self.scale
        return result

    @property
    def lost(self) -> float:
        """How far t(back(t)) can be from t, in the cube: rounding, and the corners that are not in the box."""
        return float(LOST * U * (1.0 + np.abs(self.shift).max()))

    @property
    def outer(self) -> Interval:
        """The box, enlarged by the part of the cube that lies beyond it by rounding."""
        sides = np.stack([self.box.low, self.box.high, self.scale, self.shift], 1)
        corner = np.array([_corners(*side) for side in sides.tolist()])
        room = self.lost * (self.box.high - self.box.low)
        low = np.where(corner[:, 0], self.box.low, self.box.low - room)
        return Interval(low, np.where(corner[:, 1], self.box.high, self.box.high + room))

    def back(self, t: Floats) -> Floats:
        """Points in the box, for points (…, d) of the cube."""
        result: Floats = np.clip((t - self.shift) / self.scale, self.box.low, self.box.high)
        return result

    def forth(self, x: Floats) -> Floats:
        """t of points (B, d), in float64."""
        result: Floats = x * self.scale + self.shift
        return result


def _corners(low: float, high: float, scale: float, shift: float) -> list[bool]:
    """Whether the ends of a side are exactly at 0 and at 1."""
    return [Fraction(scale) * Fraction(end) + Fraction(shift) == at for end, at in ((low, 0), (high, 1))]


def unit_cube(box: Interval) -> UnitCube:
    """The map that sends the box into [0, 1]^d, onto it but for a few roundings."""
    scale, shift = np.empty_like(box.low), np.empty_like(box.low)
    for j, (low, high) in enumerate(zip(box.low.tolist(), box.high.tolist(), strict=True)):
        if not math.isfinite(high - low):
            raise UsageError(
                f"side {j} of the box, [{low}, {high}], is wider than float64 holds: make it smaller", argument="box"
            )
        if low == high:
            raise UsageError(
                f"side {j} of the box is the single point {low}: give it a width, or fix that input", argument="box"
            )
        scale[j], shift[j] = _side(Fraction(low), Fraction(high), j)
    return UnitCube(box, scale, shift)


def _side(low: Fraction, high: Fraction, j: int) -> tuple[float, float]:
    width = high - low
    room = 1 + max(abs(low), abs(high)) / width  # roundings are relative to this
    for shrink in (0, 1, 2, 4, 8):
        try:
            scale = float((1 - shrink * room / (1 << 53)) / width)
            shift = float(-Fraction(scale) * low)
        except (OverflowError, ZeroDivisionError):
            break
        if Fraction(scale) * low + Fraction(shift) < 0:
            shift = math.nextafter(shift, math.inf)
        if 0 < scale < math.inf and Fraction(scale) * high + Fraction(shift) <= 1:
            return scale, shift
    raise UsageError(
        f"side {j} of the box, [{float(low)}, {float(high)}], cannot be divided into cells in float64", argument="box"
    )
