"""Affine maps of numbered values: what moves, sums and constant weights make of them.

A convolution is a sum of products of views with matrices, a mean a sum and a factor: each operation alone would copy
all coefficients of models. So maps are composed as sparse matrices, and applied once, where something else needs the
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # its submodules load when they are first used

from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.numbers.models.models import AffineError, Models, Space, of_interval
from integraph.numbers.roundoff import U

if TYPE_CHECKING:
    Sparse = scipy.sparse.csr_array[Any]
    Matrix = Floats | Sparse

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

    @property
    def matrix(self) -> Matrix:
        """As an array if it is not thin."""
        return self.A.toarray() if self.A.nnz > DENSE * self.A.shape[0] * self.A.shape[1] else self.A

    def take(self, rows: Indices) -> Weights:
        return Weights(self.A[rows], self.size[rows])


@dataclass(frozen=True, slots=True, eq=False)
class SparseMap:
    """Σ A_n x_n + b, of `terms` (n, A_n). What is meant is within `lost` times the sizes of all weights, and within
    `lost`·`size` of b."""

    terms: tuple[tuple[int, Weights], ...]
    b: Floats
    size: Floats
    lost: float

    def take(self, rows: Indices) -> SparseMap:
        terms = tuple((n, weights.take(rows)) for n, weights in self.terms)
        return SparseMap(terms, self.b[rows], self.size[rows], self.lost)

    def __neg__(self) -> SparseMap:
        terms = tuple((n, Weights(-weights.A, weights.size)) for n, weights in self.terms)
        return SparseMap(terms, -self.b, self.size, self.lost)

    def __add__(self, other: SparseMap) -> SparseMap:
        terms = dict(self.terms)
        for n, weights in other.terms:
            terms[n] = terms[n] + weights if n in terms else weights
        lost = max(self.lost, other.lost) + 2 * U
        return SparseMap(tuple(terms.items()), self.b + other.b, self.size + other.size, lost)

    def times(self, W: Sparse, lost: float) -> SparseMap | None:
        """W times this, for weights with a relative error of `lost`; None where products may underflow."""
        factor = Weights(W, abs(W))
        terms = tuple((n, factor @ weights) for n, weights in self.terms)
        if not all(_moderate(weights.size.data) for _, weights in terms) or not _moderate(factor.size.data):
            return None
        most = int(np.diff(W.indptr).max(initial=0))
        grown = (self.lost + lost + 2 * (most + 4) * U) * (1 + 1e-6)
        return SparseMap(terms, W @ self.b, factor.size @ self.size, grown)

    @property
    def short(self) -> bool:
        """Whether every value is a multiple of one other, at most: then there is nothing to gain by applying it."""
        return all((np.diff(weights.A.indptr) <= 1).all() for _, weights in self.terms) and len(self.terms) <= 1

    @property
    def places(self) -> Indices | None:
        """Which rows these are, if they are nothing else but rows of one value."""
        if len(self.terms) != 1 or self.b.any() or self.lost:
            return None
        A = self.terms[0][1].A
        single = A.nnz == A.shape[0] and (np.diff(A.indptr) == 1).all() and (A.data == 1.0).all()
        return A.indices.astype(np.int64) if single else None

    def models(self, values: Sequence[Models | None], space: Space) -> Models:
        """The values as models, from those of all that are numbered."""
        if not self.terms:
            return _constants(self, space)
        if (places := self.places) is not None:
            return _rows(values, self.terms[0][0]).take(places)
        b = [self.b, *(np.zeros_like(self.b),) * (len(self.terms) - 1)]
        off = [self.size, *(np.zeros_like(self.b),) * (len(self.terms) - 1)]
        return reduce(
            Models.__add__,
            (
                _rows(values, n).affine(weights.matrix, c, off=AffineError(self.lost * weights.size, self.lost * lost))
                for (n, weights), c, lost in zip(self.terms, b, off, strict=True)
            ),
        )


def _rows(values: Sequence[Models | None], n: int) -> Models:
    rows = values[n]
    assert rows is not None
    return rows


def _constants(x: SparseMap, space: Space) -> Models:
    b = np.repeat(x.b[:, None], space.cells, 1)
    off = (x.lost * x.size)[:, None]
    return of_interval(space, Interval(b, b) if x.lost == 0 else Interval(b - off, b + off))


def _moderate(sizes: Floats) -> bool:
    return not len(sizes) or bool(sizes.min() >= LEAST and sizes.max() <= MOST)


def of_value(number: int, size: int) -> SparseMap:
    """A value itself."""
    one = scipy.sparse.eye_array(size, format="csr")
    return SparseMap(((number, Weights(one, one)),), np.zeros(size), np.zeros(size), 0.0)


def of_constant(value: Floats, lost: float) -> SparseMap:
    return SparseMap((), value, np.abs(value) + (LEAST if lost else 0.0), lost)


def stacked(parts: Sequence[SparseMap]) -> SparseMap:
    """The rows of all parts, one after the other."""
    columns = {n: weights.A.shape[1] for part in parts for n, weights in part.terms}
    terms = []
    for n, count in columns.items():
        own = [dict(part.terms).get(n) or _zero(len(part.b), count) for part in parts]
        A, size = (scipy.sparse.vstack([getattr(w, name) for w in own], "csr") for name in ("A", "size"))
        terms.append((n, Weights(A, size)))
    b, size = (np.concatenate([getattr(part, name) for part in parts]) for name in ("b", "size"))
    return SparseMap(tuple(terms), b, size, max(part.lost for part in parts))


def _zero(rows: int, columns: int) -> Weights:
    empty = scipy.sparse.csr_array((rows, columns))
    return Weights(empty, empty)
