"""How far the vector in a bank of registers can be from what it should be: unit by unit, and as a whole.

The euclidean norm is kept beside the units because the norm of A e grows with the largest singular value of A, the
units with row sums of |A|: for a random matrix of width n that is √n against n, for each layer. Three causes are kept
apart (rows of `each`): approximation, residue, rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.numbers.roundoff import UP

APPROXIMATION, RESIDUE, ROUNDING = range(3)
SAFE = 1e-280  # sums of squares above have lost nothing
DECOMPOSED = 1024  # the largest matrix that is decomposed: a quarter of a second


@dataclass(frozen=True, slots=True, eq=False)
class Deviation:
    """each: (3, units), bounds of |e_i|; norm: (3,), bounds of the euclidean norm of e."""

    each: Floats
    norm: Floats

    @property
    def total(self) -> Floats:
        """(units,): all causes together."""
        result: Floats = self.each.sum(0)
        return result

    def through(self, A: Floats, largest: float) -> Deviation:
        """A e, where `largest` bounds the largest singular value of A."""
        each = np.minimum(self.each @ np.abs(A).T, self.norm[:, None] * norm(A)) * UP
        return Deviation(each, self._norm(each, self.norm * largest))

    def times(self, slopes: Floats) -> Deviation:
        """Unit by unit."""
        each = self.each * slopes
        return Deviation(each, self._norm(each, self.norm * slopes.max(initial=0.0)))

    def plus(self, cause: int, each: Floats, norm_of_each: float = np.inf) -> Deviation:
        """One more source of error, with its norm where that is known to be less than the norm of the bounds."""
        if not each.any():
            return self
        both, total = self.each.copy(), self.norm.copy()
        both[cause] += each
        total[cause] += min(float(norm(each)), norm_of_each)
        return Deviation(both * UP, total * UP)

    @staticmethod
    def _norm(each: Floats, other: Floats) -> Floats:
        result: Floats = np.minimum(norm(each), other) * UP
        return result


def norm(vectors: Floats) -> Floats:
    """The euclidean norm over the last axis, where squares would overflow or vanish too."""
    if vectors.shape[-1] == 1:
        return np.abs(vectors[..., 0])
    squares: Floats = np.einsum("...i,...i->...", vectors, vectors)
    if squares.size and squares.min() > SAFE and squares.max() < 1 / SAFE:
        return np.sqrt(squares)
    size = np.abs(vectors).max(axis=-1, initial=0.0, keepdims=True)
    scale = np.where((size > 0) & np.isfinite(size), size, 1.0)
    result: Floats = scale[..., 0] * np.sqrt(np.square(vectors / scale).sum(-1))
    return result


def no_deviation(units: int) -> Deviation:
    return Deviation(np.zeros((3, units)), np.zeros(3))


def largest_singular_value(A: Floats) -> float:
    """An upper bound: good to 1e-9, or for very large matrices √(‖A‖₁‖A‖∞), which costs no decomposition."""
    size = float(np.abs(A).max())
    if size == 0:
        return 0.0
    scaled = A / size  # so that squares neither overflow nor vanish
    if min(A.shape) <= DECOMPOSED:
        gram = scaled @ scaled.T if len(A) <= A.shape[1] else scaled.T @ scaled  # a sixth of the cost of the SVD
        return float(np.sqrt(np.linalg.eigvalsh(gram)[-1])) * size * (1 + 1e-9)
    sums = np.abs(scaled)
    return float(np.sqrt(sums.sum(0).max() * sums.sum(1).max())) * size * (1 + 1e-9)
