"""What is proved: upper bounds of some quantities on a box, and their values at a point.

A problem is plain data, so that it can be sent to another process; balls, which cannot be sent, are made where it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

Point = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """low ≤ x ≤ high; floats, which are exact numbers."""

    low: Point
    high: Point

    def split(self, axis: int, at: float) -> tuple[Box, Box]:
        """Both halves have `at` in common."""
        cut = self.low[:axis] + (at,) + self.low[axis + 1 :], self.high[:axis] + (at,) + self.high[axis + 1 :]
        return Box(self.low, cut[1]), Box(cut[0], self.high)

    @property
    def centre(self) -> Point:
        return tuple(min(max(0.5 * a + 0.5 * b, a), b) for a, b in zip(self.low, self.high, strict=True))


class Unprovable(Exception):
    """The reason why this cannot be proved, whatever the box."""


class Mismatch(Unprovable):
    """Nor can it be on any part of the box: there is no need to divide it."""


class PrecisionTooLow(Unprovable):
    """Not proved at this precision, for this box; more bits may help."""


class Problem(Protocol):
    @property
    def quantities(self) -> int: ...

    def upper(self, box: Box, bits: int) -> tuple[float, ...]:
        """For each quantity a number ≥ sup |q| on the box; ∞ where nothing is known, never NaN."""

    def at(self, point: Point, bits: int) -> tuple[tuple[float, float], ...]:
        """For each quantity numbers (low, high) with low ≤ |q(point)| ≤ high; (0, ∞) where nothing is known."""
