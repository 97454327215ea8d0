"""Affine maps of values that are known as models: what moves, sums and constant weights make of them.

A convolution is a sum of products of views with matrices, a mean a sum and a factor: each operation alone would copy
all coefficients. So maps are composed as sparse matrices, and applied once, where something else needs the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # its submodules load when they are first used

from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.numbers.models.models import AffineError, Models, Space, joined, of_interval
from integraph.numbers.roundoff import U

if TYPE_CHECKING:
    Sparse = scipy.sparse.csr_array[Any]

LEAST, MOST = 1e-250, 1e250  # of weights, so that no product of two underflows
DENSE = 0.25  # share of entries from which a matrix is dense


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """A matrix whose entries are good to a relative error of `lost`; `size` is at least their absolute values, with
    those that have cancelled."""

    A: Sparse
    size: Sparse

    def __matmul__(self, other: Weights) -> Weights:
        return Weights(self.A @ other.A, self.size @ other.size)

    def __add__(self, other: Weights) -> Weights:
        return Weights(self.A + other.A, self.size + other.size)

    def take(self, rows: Indices) -> Weights:
        return Weights(self.A[rows], self.size[rows])


@dataclass(frozen=True, slots=True, eq=False)
class SparseMap:
    """Σ A_n x_n + b, of `terms` (x_n, A_n). What is meant is within `lost` times the sizes of all weights, and within
    `lost`·`size` of b."""

    space: Space
    terms: tuple[tuple[Models, Weights], ...]
    b: Floats
    size: Floats
    lost: float

    def take(self, rows: Indices) -> SparseMap:
        terms = tuple((x, weights.take(rows)) for x, weights in self.terms)
        return SparseMap(self.space, terms, self.b[rows], self.size[rows], self.lost)

    def __neg__(self) -> SparseMap:
        terms = tuple((x, Weights(-weights.A, weights.size)) for x, weights in self.terms)
        return SparseMap(self.space, terms, -self.b, self.size, self.lost)

    def __add__(self, other: SparseMap) -> SparseMap:
        terms = {id(x): (x, weights) for x, weights in self.terms}
        for x, weights in other.terms:
            own = terms.get(id(x))
            terms[id(x)] = (x, weights if own is None else own[1] + weights)
        lost = max(self.lost, other.lost) + 2 * U
        return SparseMap(self.space, tuple(terms.values()), self.b + other.b, self.size + other.size, lost)

    def times(self, W: Sparse, lost: float) -> SparseMap | None:
        """W times this, for weights with a relative error of `lost`; None where products may underflow."""
        factor = Weights(W, abs(W))
        terms = tuple((x, factor @ weights) for x, weights in self.terms)
        if not all(_moderate(weights.size.data) for _, weights in terms) or not _moderate(factor.size.data):
            return None
        most = int(np.diff(W.indptr).max(initial=0))
        grown = (self.lost + lost + 2 * (most + 4) * U) * (1 + 1e-6)
        return SparseMap(self.space, terms, W @ self.b, factor.size @ self.size, grown)

    @property
    def short(self) -> bool:
        """Whether every value is a multiple of one other, at most: then there is nothing to gain by applying it."""
        return all((np.diff(weights.A.indptr) <= 1).all() for _, weights in self.terms) and len(self.terms) <= 1

    @property
    def places(self) -> Indices | None:
        """Which rows these are, if they are nothing else but rows of one value."""
        if len(self.terms) != 1 or self.b.any():
            return None
        A = self.terms[0][1].A
        single = A.nnz == A.shape[0] and (np.diff(A.indptr) == 1).all() and (A.data == 1.0).all()
        return A.indices.astype(np.int64) if single else None

    def models(self) -> Models:
        """The values."""
        places = self.places
        if places is not None:
            return self.terms[0][0].take(places)
        if not self.terms:
            return _constants(self)
        x = joined([rows for rows, _ in self.terms]) if len(self.terms) > 1 else self.terms[0][0]
        A, size = (
            scipy.sparse.hstack([getattr(weights, name) for _, weights in self.terms], "csr") for name in ("A", "size")
        )
        dense = A.nnz > DENSE * A.shape[0] * A.shape[1]
        off = AffineError(self.lost * size, self.lost * self.size)
        return x.affine(A.toarray() if dense else A, self.b, off=off)


def _constants(x: SparseMap) -> Models:
    b = np.repeat(x.b[:, None], x.space.cells, 1)
    off = (x.lost * x.size)[:, None]
    return of_interval(x.space, Interval(b, b) if x.lost == 0 else Interval(b - off, b + off))


def _moderate(sizes: Floats) -> bool:
    return not len(sizes) or bool(sizes.min() >= LEAST and sizes.max() <= MOST)


def of_models(x: Models) -> SparseMap:
    one = scipy.sparse.eye_array(len(x), format="csr")
    return SparseMap(x.space, ((x, Weights(one, one)),), np.zeros(len(x)), np.zeros(len(x)), 0.0)


def of_constant(space: Space, value: Floats, lost: float) -> SparseMap:
    return SparseMap(space, (), value, np.abs(value) + (LEAST if lost else 0.0), lost)


def stacked(parts: Sequence[SparseMap]) -> SparseMap:
    """The rows of all parts, one after the other."""
    sources = {id(x): x for part in parts for x, _ in part.terms}
    terms = []
    for key, x in sources.items():
        own = [next((w for y, w in part.terms if id(y) == key), _zero(len(part.b), len(x))) for part in parts]
        A, size = (scipy.sparse.vstack([getattr(w, name) for w in own], "csr") for name in ("A", "size"))
        terms.append((x, Weights(A, size)))
    b, size = (np.concatenate([getattr(part, name) for part in parts]) for name in ("b", "size"))
    return SparseMap(parts[0].space, tuple(terms), b, size, max(part.lost for part in parts))


def _zero(rows: int, columns: int) -> Weights:
    empty = scipy.sparse.csr_array((rows, columns))
    return Weights(empty, empty)
