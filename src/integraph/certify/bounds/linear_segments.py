"""Segments that are linear in what moves, on models, from their terms as stored: partitions of unity, sums and drains
whose controls are rounded.

Some registers move by λ' = Aλ + c, where c are sums of products of registers that rest. Others gain sums of such
products, of λ, and of λ times a register that rests, and nothing reads them. With E = e^{At}, F = ∫E, H = ∫F over the
segment, λ becomes Eλ + Fc, and its integral is Fλ + Hc. E, F and H are balls, computed from the stored A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from integraph.certify.bounds.gadget_models import products
from integraph.numbers.arb.conversion import FIRST, above, below, precision
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.numbers.models.models import AffineError, Models, joined, of_interval
from integraph.program import Program, Terms
from integraph.program.lowering import count_segment
from integraph.program.terms import ONE, concatenate

MOST = 100_000  # terms
SYSTEM = 40  # registers that move together
ENTRIES = 4_000_000  # of a matrix


@dataclass(frozen=True, slots=True, eq=False)
class BallMatrix:
    """A matrix, and how far each entry may be from what is meant."""

    middle: Floats
    off: AffineError

    def __call__(self, x: Models) -> Models:
        return x.affine(self.middle, np.zeros(len(self.middle)), off=self.off)


@dataclass(frozen=True, slots=True, eq=False)
class LinearSegment:
    """`moved` are the registers that move, `system` which of them are λ. `gains` has a column for each of the `pairs`,
    products of what rests. Row n of `weights` are those of ∫λ in a sum that register `groups[n, 0]` of the moved ones
    gains, times register `groups[n, 1]`, which rests."""

    duration: float
    moved: Indices
    system: Indices
    pairs: Indices
    gains: Floats
    flow: BallMatrix
    integral: BallMatrix
    groups: Indices
    weights: Floats

    def ends(self, states: Models) -> Models:
        """What the registers that move become."""
        start, gained = states.take(self.moved), self._gained(states)
        ends = start + gained.scale(np.full((1, 1), self.duration), np.zeros((1, 1)))
        if not len(self.system):
            return ends
        both = joined([start.take(self.system), gained.take(self.system)])
        if len(self.groups):
            ends = ends + self._weighed(states, self.integral(both))
        order = np.arange(len(self.moved))
        order[self.system] = len(self.moved) + np.arange(len(self.system))
        return joined([ends, self.flow(both)]).take(order)

    def _gained(self, states: Models) -> Models:
        """What each gains in a unit of time from what rests."""
        one = np.ones((1, states.space.cells))
        alone, twice = self.pairs[1:][self.pairs[1:, 0] == ONE, 1], self.pairs[self.pairs[:, 0] != ONE]
        rows = [of_interval(states.space, Interval(one, one))]  # pairs are sorted: 1 is the first
        rows += [states.take(alone)] if len(alone) else []
        rows += [products(states, twice[:, 0], twice[:, 1])] if len(twice) else []
        return joined(rows).with_symbols().affine(self.gains, np.zeros(len(self.moved)), fresh=False)

    def _weighed(self, states: Models, integral: Models) -> Models:
        """What those outside of λ gain from it: sums over λ first, then times what rests."""
        sums = integral.with_symbols().affine(self.weights, np.zeros(len(self.weights)), fresh=False)
        plain = self.groups[:, 1] == ONE
        first, second = np.flatnonzero(plain), np.flatnonzero(~plain)
        parts = [sums.take(first)] if len(first) else []
        parts += [sums.take(second) * states.take(self.groups[second, 1])] if len(second) else []
        each = np.zeros((len(self.moved), len(self.groups)))
        each[self.groups[np.concatenate([first, second]), 0], np.arange(len(self.groups))] = 1.0
        return joined(parts).affine(each, np.zeros(len(self.moved)))


def linear_segment(program: Program, number: int) -> LinearSegment | None:
    """None where the segment is not linear, or large."""
    segment = program.segments[number]
    if count_segment(segment, program) > MOST:
        return None
    terms = concatenate(list(program.segment_terms(number)))
    moved = np.unique(terms.i).astype(np.int64)
    moving = np.zeros(program.width + 1, np.bool_)  # the last is the constant 1
    moving[moved] = True
    left, right = moving[terms.j], moving[terms.k]
    still, read = ~(left | right), np.where(left, terms.j, terms.k).astype(np.int64)
    beside = np.where(left, terms.k, terms.j).astype(np.int64)  # what rests, beside what moves
    pairs = _pairs(terms[still])
    together = _together(terms, read, still, beside != ONE)
    if (left & right).any() or together is None or len(moved) * len(pairs) > ENTRIES:
        return None
    place = np.full(program.width + 1, -1)
    place[together] = np.arange(len(together))
    rows, of_system = np.searchsorted(moved, terms.i), place[terms.i] >= 0
    inside, outside = ~still & of_system, ~still & ~of_system
    A = np.zeros((len(together), len(together)))
    A[place[terms.i[inside]], place[read[inside]]] = terms.value[inside]
    groups, group = np.unique(np.stack([rows, beside], 1)[outside], axis=0, return_inverse=True)
    weights = np.zeros((len(groups), len(together)))
    weights[group.reshape(-1), place[read[outside]]] = terms.value[outside]
    gains = np.zeros((len(moved), len(pairs)))
    gains[rows[still], _columns(pairs, terms[still])] = terms.value[still]
    flow, integral = _matrices(A, segment.duration)
    system = np.searchsorted(moved, together)
    return LinearSegment(segment.duration, moved, system, pairs, gains, flow, integral, groups, weights)


def _together(terms: Terms, read: Indices, still: NDArray[np.bool_], scaled: NDArray[np.bool_]) -> Indices | None:
    """The registers of λ: those that are read, or read with constant coefficients; None if others are read too."""
    outside, used = np.unique(terms.i[~still & scaled]), np.unique(read[~still])
    if np.isin(used, outside).any():
        return None
    together: Indices = np.union1d(used, np.setdiff1d(terms.i[~still], outside)).astype(np.int64)
    return together if len(together) <= SYSTEM else None


def _pairs(terms: Terms) -> Indices:
    """The products of what rests, each once, (pairs, 2)."""
    listed = np.stack([terms.j, terms.k], 1).astype(np.int64)
    pairs: Indices = np.unique(np.concatenate([[[ONE, ONE]], listed]), axis=0)
    return pairs


def _columns(pairs: Indices, terms: Terms) -> Indices:
    """The numbers of the pairs of terms."""
    width = int(pairs.max()) + 2
    keys = (pairs[:, 0] + 1) * width + pairs[:, 1] + 1
    columns: Indices = np.searchsorted(keys, (terms.j.astype(np.int64) + 1) * width + terms.k + 1)
    return columns


def _matrices(A: Floats, duration: float) -> tuple[BallMatrix, BallMatrix]:
    """(E, F) and (F, H): the first rows of an exponential."""
    n = len(A)
    with precision(FIRST):
        t, whole = arb(duration), arb_mat(3 * n, 3 * n)
        for i in range(n):
            whole[i, n + i], whole[n + i, 2 * n + i] = t, t
            for j in np.flatnonzero(A[i]).tolist():
                whole[i, j] = arb(float(A[i, j])) * t
        grown = whole.exp()
        balls = np.array([[grown[i, j] for j in range(3 * n)] for i in range(n)], object).reshape(n, 3 * n)
    return _matrix(balls[:, : 2 * n]), _matrix(balls[:, n:])


def _matrix(balls: Any) -> BallMatrix:
    low, high = (np.frompyfunc(end, 1, 1)(balls).astype(np.float64) for end in (below, above))
    middle = 0.5 * low + 0.5 * high
    off = np.nextafter(np.maximum(high - middle, middle - low), np.inf)
    return BallMatrix(middle, AffineError(off, np.zeros(len(balls))))
