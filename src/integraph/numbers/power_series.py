"""Truncated power series in d variables with balls as coefficients: the coefficients of degree < n, graded.

The coefficient of x^α is f^(α)/α!, in the order of `multi_index`. Arrays are (coefficients, B), for B points
or boxes at once. Above `degree` all coefficients are exactly 0 and not stored: constants have degree 0, variables 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.ball_functions import integer_power
from integraph.numbers.balls import TINY, Ball, quiet
from integraph.numbers.multi_index import below, count, of_degree, rank
from integraph.numbers.roundoff import U


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs (left, right) of factors, those of one result side by side from `starts` on; `most` is the largest number
    of them."""

    left: Indices
    right: Indices
    starts: Indices
    most: int


@lru_cache(maxsize=1024)
def pairs(d: int, degrees: range, left: range, right: range) -> Pairs:
    """All pairs of coefficients, with degrees in `left` and `right`, whose product has its degree in `degrees`."""
    groups = []
    for total in degrees:
        for j in range(max(left.start, total - right.stop + 1), min(left.stop - 1, total - right.start) + 1):
            a, b = of_degree(d, j), of_degree(d, total - j)
            i, k = (part.ravel() for part in np.indices((len(a), len(b))))
            groups.append(np.stack([i + count(d, j), k + count(d, total - j), rank(a[i] + b[k])]))
    every = np.concatenate(groups, 1)
    l, r, result = every[:, np.argsort(every[2], kind="stable")]
    starts = np.flatnonzero(np.diff(result, prepend=-1))
    return Pairs(l, r, starts, int(np.diff(starts, append=len(result)).max()))


@quiet
def convolved(a: Ball, b: Ball, p: Pairs) -> Ball:
    """Σ a·b over the pairs of each result."""
    a_mid, b_size = a.mid[p.left], np.abs(b.mid)
    mid = np.add.reduceat(a_mid * b.mid[p.right], p.starts, axis=0)
    lost = b.rad + (p.most + 2) * U * b_size  # the rounding of the products and of their sum
    spread = np.abs(a_mid) * lost[p.right] + a.rad[p.left] * (b_size + b.rad)[p.right]
    return Ball(mid, np.add.reduceat(spread, p.starts, axis=0) * (1 + 4 * (p.most + 4) * U) + TINY)


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    d: int
    n: int
    degree: int
    ball: Ball
    power_of: tuple[Series, Fraction] | None = None  # (u, p) if it is u^p: then 1/u^p is u^(−p), not a quotient

    @property
    def value(self) -> Ball:
        return self.ball[:1]

    def filled(self, degree: int) -> Ball:
        """The coefficients up to that degree, zeros included."""
        missing = ((0, count(self.d, degree + 1) - len(self.ball.mid)), (0, 0))
        return Ball(np.pad(self.ball.mid, missing), np.pad(self.ball.rad, missing))

    def of(self, degree: int, ball: Ball) -> Series:
        return Series(self.d, self.n, degree, ball)

    def scaled(self, c: Ball | Floats | float) -> Series:
        return self.of(self.degree, self.ball * c)

    def plus(self, c: float) -> Series:
        """Add to the value alone."""
        return self.replaced(self.value + c)

    def replaced(self, value: Ball) -> Series:
        """With another coefficient of degree 0."""
        shape = np.broadcast_shapes(value.mid.shape, self.ball.mid[:1].shape)
        mid, rad = (np.array(np.broadcast_to(x, (len(x), shape[1]))) for x in (self.ball.mid, self.ball.rad))
        mid[0], rad[0] = value.mid, value.rad
        return self.of(self.degree, Ball(mid, rad))

    def __neg__(self) -> Series:
        return self.of(self.degree, -self.ball)

    def __add__(self, other: Series) -> Series:
        degree = max(self.degree, other.degree)
        return self.of(degree, self.filled(degree) + other.filled(degree))

    def __sub__(self, other: Series) -> Series:
        return self + (-other)

    def __mul__(self, other: Series) -> Series:
        if self is other:
            return square(self)
        if self.degree == 0 or other.degree == 0:
            return self.of(max(self.degree, other.degree), self.ball * other.ball)
        degree = min(self.degree + other.degree, self.n - 1)
        products = pairs(self.d, range(degree + 1), range(self.degree + 1), range(other.degree + 1))
        return self.of(degree, convolved(self.ball, other.ball, products))

    def rows(self, k: int) -> slice:
        """The rows of degree k."""
        return slice(count(self.d, k), count(self.d, k + 1))

    def pairs(self, k: int, degree: int) -> Pairs:
        """Of a recurrence for degree k: left 1…degree, right what is known already."""
        return pairs(self.d, range(k, k + 1), range(1, degree + 1), range(k))

    def grow(self, value: Ball, *others: Series) -> Ball:
        """Coefficients up to degree n − 1 to be filled in, with room for all of B; the value is known."""
        B = max(x.ball.mid.shape[1] for x in (self, *others))
        shape = (count(self.d, self.n), B)
        total = Ball(np.zeros(shape), np.zeros(shape))
        assign_rows(total, slice(0, 1), value)
        return total


def assign_rows(x: Ball, rows: slice, part: Ball) -> None:
    x.mid[rows], x.rad[rows] = part.mid, part.rad


def square(u: Series) -> Series:
    degree = min(2 * u.degree, u.n - 1)
    products = pairs(u.d, range(degree + 1), range(u.degree + 1), range(u.degree + 1))
    return u.of(degree, convolved(u.ball, u.ball, products)).replaced(integer_power(u.value, 2))


def theta(u: Series) -> Ball:
    """The coefficients of Σ x_i ∂u/∂x_i: those of degree k times k."""
    return u.ball * degrees(u.d, u.degree)


def degrees(d: int, degree: int) -> Floats:
    """|α| of all coefficients up to that degree, as a column."""
    result: Floats = below(d, degree + 1).sum(1)[:, None].astype(float)
    return result


def constant(d: int, n: int, value: Ball) -> Series:
    return Series(d, n, 0, Ball(value.mid.reshape(1, 1), value.rad.reshape(1, 1)))


def variable(d: int, n: int, i: int, value: Ball) -> Series:
    """x_i over balls (B,)."""
    degree = min(1, n - 1)
    mid = np.zeros((count(d, degree + 1), len(value.mid)))
    rad = np.zeros_like(mid)
    mid[0], rad[0], mid[1 + i : 2 + i] = value.mid, value.rad, 1.0
    return Series(d, n, degree, Ball(mid, rad))
