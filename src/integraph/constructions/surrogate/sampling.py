"""The points at which a function is called: Chebyshev points of a growing set of degrees, and check points.

The degrees are those inside an ellipsoid, Σ (ν_j/w_j)² ≤ 1 (the Euclidean degree, which is the right measure for
functions that are equally smooth in all directions). A side w_j grows as long as the coefficients near its end matter.
Every value is used: at the check points to measure, at the others to fit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from integraph.constructions.surrogate import chebyshev
from integraph.errors import SourceError
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.low_discrepancy import kronecker
from integraph.targets import Function

FIRST = {1: 8, 2: 5, 3: 4, 4: 3, 5: 3}  # degree of the first polynomial; 2 for more inputs
GROWTH = 1.3
HIGHEST = 2048  # degree in one direction
CELLS = 4_000_000  # numbers in the array of all degrees
CHECKS, CHECKS_PER_INPUT = 16, 16  # points that are never fitted
OUTER = 0.8  # of the ellipsoid: coefficients beyond must be small
HALFWAY, SLOW = (0.4, 0.6), 0.05  # those there, and how much smaller the outer ones are if they fall geometrically
MIDDLE = 0.65  # of a side: a coefficient that matters may not come closer to its end
SMALL = 0.25  # of the tolerance: what a coefficient that does not matter may be


def first_degree(d: int) -> int:
    return FIRST.get(d, 2)


def affordable(d: int, outputs: int) -> bool:
    """Whether the first polynomial fits into memory."""
    return bool((1 + first_degree(d)) ** d * outputs <= CELLS)


class Sampler:
    """The values of f so far, and the polynomial through them; points are in [−1, 1]^d."""

    def __init__(self, function: Function, box: Interval) -> None:
        assert function.values is not None
        self.f, self.box, d = function.values, box, function.inputs
        self.variables = function.variables
        self.sides = np.full(d, float(first_degree(d)))
        self.inside: NDArray[np.bool_] = np.zeros((1,) * d, np.bool_)
        self.values = np.zeros((*(1,) * d, function.outputs))
        self.coefficients = self.values
        self.worst = np.zeros(d)  # where the polynomial before this one was farthest from f
        even = 2.0 * kronecker(CHECKS + CHECKS_PER_INPUT * d, d) - 1.0
        even[::2] = np.sin(0.5 * np.pi * even[::2])  # half of them dense near the faces
        self.checks, self.truth = even, np.zeros((0, function.outputs))

    def call(self, s: Floats) -> Floats:
        """f at points (B, d) of the cube."""
        return self.f(self.to_box(s))

    def check(self, s: Floats) -> Floats:
        """f at points that become check points."""
        values = self.call(s)
        self.checks, self.truth = np.concatenate([self.checks, s]), np.concatenate([self.truth, values])
        return values

    def to_box(self, s: Floats) -> Floats:
        """The points in the box that belong to points (…, d) of the cube."""
        low, high = self.box.low, self.box.high
        result: Floats = np.clip(0.5 * (1.0 - s) * low + 0.5 * (1.0 + s) * high, low, high)
        return result

    @property
    def wanted(self) -> NDArray[np.bool_]:
        """The degrees of the ellipsoid, in an array."""
        return self._radius() <= 1.0

    def _radius(self) -> Floats:
        """√Σ (ν_j/w_j)² of all degrees in an array, rounded down a little."""
        grid = np.ogrid[tuple(slice(int(side) + 1) for side in self.sides)]
        squares = sum((part / side) ** 2 for part, side in zip(grid, self.sides, strict=True))
        result: Floats = np.sqrt(squares) * (1.0 - 1e-9)
        return result

    @property
    def possible(self) -> bool:
        """Whether the next polynomial is within degree and memory."""
        entries = math.prod(int(side) + 1 for side in self.sides) * self.values.shape[-1]
        return bool(self.sides.max() <= HIGHEST and entries <= CELLS)

    @property
    def missing(self) -> int:
        """How many calls the next polynomial takes."""
        return int(np.count_nonzero(self.wanted) - np.count_nonzero(self.inside)) + len(self.checks) - len(self.truth)

    def fit(self) -> float:
        """Call f where values are missing, fit, and return the largest error at the check points."""
        wanted = self.wanted
        values, known = np.zeros((*wanted.shape, self.values.shape[-1])), np.zeros_like(wanted)
        before = tuple(slice(n) for n in self.inside.shape)
        values[before], known[before] = self.values, self.inside
        new = np.argwhere(wanted & ~known)
        points = chebyshev.nested_points(max(wanted.shape))[new]
        fresh = self.checks[len(self.truth) :]
        called = self.call(np.concatenate([points, fresh]))
        values[tuple(new.T)] = called[: len(new)]
        self.truth = np.concatenate([self.truth, called[len(new) :]])
        with np.errstate(over="ignore", invalid="ignore"):
            off = np.abs(called - chebyshev.evaluate(self.coefficients, np.concatenate([points, fresh]))).max(1)
            self.coefficients = chebyshev.interpolant(values, wanted)
        if not np.isfinite(self.coefficients).all():
            raise SourceError(
                f"values of the function reach {np.abs(values).max():.3g}, and differences of them are larger than "
                "float64 holds: divide the function by a constant, or choose a smaller box"
            )
        self.worst = np.concatenate([points, fresh])[int(off.argmax())]
        self.values, self.inside = values, wanted
        return self.error(self.coefficients)

    def error(self, coefficients: Floats) -> float:
        """The largest difference at the check points."""
        return float(np.abs(self.truth - chebyshev.evaluate(coefficients, self.checks)).max())

    @property
    def tail(self) -> float:
        """The largest coefficient near the surface of the ellipsoid."""
        return float(np.abs(self._between(OUTER, 1.0)).max(initial=0.0))

    @property
    def slow(self) -> bool:
        """Whether the coefficients fall like a power of the degree, as those of a function that is not smooth."""
        return self.tail > SLOW * float(np.abs(self._between(*HALFWAY)).max(initial=0.0))

    @property
    def remainder(self) -> float:
        """The sum of all coefficients near the surface: about what those beyond it sum up to, if they fall slowly."""
        return float(np.abs(self._between(OUTER, 1.0)).sum(0).max())

    def _between(self, low: float, high: float) -> Floats:
        """The coefficients in a shell of the ellipsoid."""
        radius = self._radius()
        result: Floats = self.coefficients[self.inside & (low < radius) & (radius <= high)]
        return result

    def grow(self, tolerance: float) -> None:
        """The sides at whose end coefficients matter become longer; all of them if none does."""
        ends = [self._last(axis, SMALL * tolerance) for axis in range(len(self.sides))]
        longer = np.array(ends) > MIDDLE * self.sides
        longer |= not longer.any()
        self.sides = np.where(longer, np.maximum(self.sides + 1, np.floor(GROWTH * self.sides)), self.sides)

    def _last(self, axis: int, least: float) -> int:
        """The highest degree along one axis with a coefficient above `least`."""
        others = tuple(a for a in range(self.coefficients.ndim) if a != axis)
        large = np.flatnonzero(np.abs(self.coefficients).max(others) > least)
        return int(large[-1]) if len(large) else 0
