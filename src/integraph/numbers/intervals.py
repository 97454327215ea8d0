"""Ranges over a box: affine maps and activations of intervals, and the largest slope of an activation.

Everything is rounded outward by more than float64 can lose, so that a range contains all values in real arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.numbers.roundoff import U


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
    middle, radius = 0.5 * x.low + 0.5 * x.high, 0.5 * x.high - 0.5 * x.low
    size = np.abs(A)
    centre = A @ middle + b
    spread = size @ radius
    lost = (A.shape[1] + 8) * U * (size @ (np.abs(middle) + radius) + np.abs(b))
    return Interval(centre - (spread + lost), centre + (spread + lost))
