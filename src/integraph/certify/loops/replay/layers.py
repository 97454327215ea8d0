"""The neurons of a layer in floats: x = p(ξ) + Σ g_n ε_n + [−r, r], a line of each array for a neuron.

What floats lose is part of r: n sums and products to nearest lose at most n·2^−52 of the sum of sizes, and no more than
2^−1000 where numbers are too small for that. What is too large is infinite or NaN, and so is r.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from integraph.certify.loops.replay.polynomials import exponents
from integraph.certify.loops.replay.products import Table, table
from integraph.numbers.arrays import Floats, Indices

Choice = NDArray[np.bool_]  # of neurons

UNIT, TINY = 2.0**-52, 2.0**-1000
PAIRS = 1 << 21  # of coefficients that are multiplied at once


def up(bound: Floats, count: int) -> Floats:
    """What so many sums and products of numbers ≥ 0 are at most, where floats say `bound`."""
    return bound * (1 + (count + 4) * UNIT) + TINY


def lost(count: int, size: Floats) -> Floats:
    """What so many roundings of terms lose, the sum of whose sizes is at most this."""
    return size * ((count + 4) * UNIT) + TINY


@dataclass(frozen=True, slots=True)
class Kinds:
    """Places of monomials: ξ_n, ξ_n² (none at degree 1), others that are never negative, all others."""

    lines: Indices
    squares: Indices
    even: Indices
    rest: Indices


@lru_cache(maxsize=64)
def kinds(d: int, k: int) -> Kinds:
    lines, squares = [0] * d, [0] * d
    even: list[int] = []
    rest: list[int] = []
    for n, powers in enumerate(map(exponents, table(d, k).monomials)):
        if len(powers) == 1 and powers[0][1] <= 2:
            (lines if powers[0][1] == 1 else squares)[powers[0][0]] = n
        elif powers:
            (even if all(power % 2 == 0 for _, power in powers) else rest).append(n)
    return Kinds(*(np.array(places, int) for places in (lines, squares if k > 1 else [], even, rest)))


@dataclass(frozen=True, eq=False)
class Neurons:
    """Polynomials in d variables up to degree k, as `table` orders them; r is an upper bound, not finite where nothing
    is known."""

    d: int
    k: int
    p: Floats  # neurons × monomials
    g: Floats  # neurons × symbols
    r: Floats
    errors: Floats  # at least |x − p(ξ)|, which may be less than the sizes of symbols that depend on each other

    @property
    def table(self) -> Table:
        return table(self.d, self.k)

    @cached_property
    def sizes(self) -> Floats:
        """At least the sums of the sizes of the coefficients."""
        return up(np.abs(self.p).sum(1), self.p.shape[1])

    @cached_property
    def spread(self) -> Floats:
        """At least |g|₁ + r."""
        return up(np.abs(self.g).sum(1) + self.r, self.g.shape[1] + 1)

    @cached_property
    def range(self) -> tuple[Floats, Floats]:
        """Ends of the values: aξ + bξ² exactly for each variable, other monomials one by one."""
        at = kinds(self.d, self.k)
        low, high = _parabolas(np.abs(self.p[:, at.lines]), self.p[:, at.squares])
        even, rest = self.p[:, at.even], np.abs(self.p[:, at.rest]).sum(1)
        low = self.p[:, 0] + low + np.minimum(even, 0).sum(1) - rest
        high = self.p[:, 0] + high + np.maximum(even, 0).sum(1) + rest
        off = self.errors + lost(self.p.shape[1] + 8, self.sizes + self.errors)
        return low - off, high + off

    def scaled(self, factor: Floats, shift: Floats, radius: Floats) -> Neurons:
        """factor·x + shift + [−radius, radius], numbers for each neuron."""
        p, g, size = self.p * factor[:, None], self.g * factor[:, None], np.abs(factor)
        p[:, 0] += shift
        r = size * self.r + radius + lost(2, size * (self.sizes + self.spread) + np.abs(shift))
        return settled(self, p, g, up(r, 8))

    def where(self, chosen: Choice, other: Neurons) -> Neurons:
        """These neurons where they are chosen, else others."""
        lines = chosen[:, None]
        p, g = np.where(lines, self.p, other.p), np.where(lines, self.g, other.g)
        r, errors = (np.where(chosen, a, b) for a, b in ((self.r, other.r), (self.errors, other.errors)))
        return Neurons(self.d, self.k, p, g, r, errors)


def _parabolas(b: Floats, a: Floats) -> tuple[Floats, Floats]:
    """Sums of the ends of bξ + aξ² over [−1, 1], for b ≥ 0."""
    if not a.size:
        return -b.sum(1), b.sum(1)
    turns = 2 * np.abs(a) > b
    top = b * (b / np.where(turns, np.abs(a), np.inf)) / 4  # b·b might be too small for a float
    low = np.where(turns & (a > 0), -top, a - b)
    high = np.where(turns & (a < 0), top, a + b)
    return low.sum(1), high.sum(1)


def settled(like: Neurons, p: Floats, g: Floats, r: Floats) -> Neurons:
    """Neurons whose errors are the sums of the sizes of their symbols."""
    made = Neurons(like.d, like.k, p, g, r, r)
    return replace(made, errors=made.spread)


def affine(A: Floats, b: Floats, x: Neurons) -> Neurons:
    """A x + b, in which every radius is a symbol, after all others."""
    size = np.abs(A)
    p, g = A @ x.p, np.hstack([A @ x.g, A * x.r])
    p[:, 0] += b
    terms = len(x.r) + 2
    r = lost(terms, up(size @ up(x.sizes + x.spread, 1) + np.abs(b), terms))
    return settled(x, p, g, r)


def product(x: Neurons, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Polynomials a·b, line by line, without what is above degree k, and a bound of that and of all roundings."""
    t, count = x.table, max(1, PAIRS // len(x.table.left))
    parts = [slice(n, n + count) for n in range(0, len(a), count)]
    values = np.concatenate([np.add.reduceat(a[s][:, t.left] * b[s][:, t.right], t.begins, 1) for s in parts])
    one, other = norms(x, a), norms(x, b)
    above = np.cumsum(other[:, :0:-1], 1)  # of the highest degree, the two highest, …
    tail = up((one[:, 1:] * above).sum(1), 2 * x.k)
    return values, tail + lost(t.longest + 1, up(one.sum(1) * other.sum(1), 2 * x.k + 3))


def norms(x: Neurons, p: Floats) -> Floats:
    """At least the sums of the sizes of the coefficients of each degree."""
    return up(np.add.reduceat(np.abs(p), x.table.degrees, 1), p.shape[1])


def composition(x: Neurons, q: Floats, c: Floats, rho: Floats) -> tuple[Floats, Floats]:
    """Σ q_n uⁿ for u = (p − c)/ρ, |u| ≤ 1, by Horner's rule, and a bound of all that is lost."""
    u = x.p.copy()
    u[:, 0] -= c
    u /= rho[:, None]
    off = lost(2, norms(x, u).sum(1))  # of u
    values, missed = np.zeros_like(u), np.zeros(len(u))
    values[:, 0] = q[:, -1]
    for n in range(q.shape[1] - 2, -1, -1):
        size = norms(x, values).sum(1)
        values, cut = product(x, values, u)
        values[:, 0] += q[:, n]
        missed = up(missed + cut + size * off + lost(1, np.abs(values[:, 0])), x.k + 6)
    return values, missed
