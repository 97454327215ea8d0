"""Ranges over a box: affine maps and activations of intervals, and the largest slope of an activation.

Everything is rounded outward by more than float64 can lose, so that a range contains all values in real arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from integraph.program.views import Floats
from integraph.targets import Activation

U = 2.0**-53  # half an ulp of 1
UP = 1 + 1e-12  # more than the few thousand roundings of a bound
SLACK = 1024 * U  # activations are good to a few ulp, Gaussians to x² of them


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


def values(f: Activation, x: Interval) -> Interval:
    """The range of f over x."""
    if f.periodic:
        return Interval(np.full_like(x.low, -1.0), np.ones_like(x.low))
    low, high = _extremes(f.value, f.turns, x)
    return Interval(low, high).widened(SLACK * np.maximum(np.abs(low), np.abs(high)))


def steepest(f: Activation, x: Interval) -> Floats:
    """sup |f'| over x."""
    if f.periodic or f.name in ("relu", "leaky_relu"):
        return np.maximum(1.0, np.abs(f.slope(np.full_like(x.low, -1.0))))
    low, high = _extremes(f.slope, f.bends, x)
    found: Floats = np.maximum(np.abs(low), np.abs(high)) * (1 + SLACK)
    return found


def _extremes(f: object, turns: tuple[float, ...], x: Interval) -> tuple[Floats, Floats]:
    """Smallest and largest value at the ends and at the turning points inside."""
    assert callable(f)
    with np.errstate(over="ignore"):
        points = [x.low, x.high, *(np.clip(np.full_like(x.low, t), x.low, x.high) for t in turns)]
        found = [f(p) for p in points]
    return np.minimum.reduce(found), np.maximum.reduce(found)
