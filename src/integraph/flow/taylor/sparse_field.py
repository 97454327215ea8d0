"""A sparse quadratic field at the stages of a collocation step, and its Jacobian as the shifted matrices of Newton's
iteration. Registers are numbered in the order of elimination."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numba import njit

from integraph.flow.taylor.sparse_lu import SHIFTS, Floats, Ints, elimination_order, fill_in
from integraph.numbers.jit import cached_njit

COLUMNS = 2 * SHIFTS  # seven stages and the start of the step; real and imaginary parts of modes


@dataclass(frozen=True, slots=True, eq=False)
class SparseField:
    """y_i' = Σ coefficient · source, a source being a register, a product of two, or 1, numbered in this order."""

    order: Ints  # which register of the system comes at each place
    products: Ints  # (n, 2)
    starts: Ints  # terms, row after row
    source: Ints
    term: Ints  # which of the given coefficients
    pattern: tuple[Ints, Ints, Ints]  # of L + U: starts, columns, where the diagonal is
    entry: Ints  # (2 · terms,): where the derivatives of terms by their factors belong in the pattern, −1 if nowhere


def sparse_field(count: int, products: Ints, row: Ints, source: Ints) -> SparseField:
    """From terms: row and source of each."""
    factors = np.full((count + len(products) + 1, 2), -1)
    factors[:count, 0] = np.arange(count)
    factors[count:-1] = products
    rows, by = np.concatenate([row, row]), factors[source].T.ravel()
    reads = by >= 0
    order = elimination_order(count, rows[reads], by[reads])
    place = np.append(np.argsort(order), -1)
    sources = np.concatenate([place[:-1], np.arange(count, len(factors))])
    term = np.argsort(place[row], kind="stable")
    rows, by = np.concatenate([place[row[term]]] * 2), place[factors[source[term]].T.ravel()]
    reads = by >= 0
    pairs = scipy.sparse.coo_array((np.ones(reads.sum()), (rows[reads], by[reads])), shape=(count, count)).tocsr()
    first, columns, diagonal = fill_in(pairs.indptr.astype(np.int64), pairs.indices.astype(np.int64))
    keys = np.repeat(np.arange(count), np.diff(first)) * count + columns
    entry = np.where(reads, np.searchsorted(keys, rows * count + by), -1)
    starts = np.searchsorted(rows[: len(term)], np.arange(count + 1))
    both = place[products].reshape(-1, 2)
    return SparseField(order, both, starts, sources[source[term]], term, (first, columns, diagonal), entry)


@cached_njit(nogil=True, error_model="numpy", fastmath={"contract"})
def slopes(
    y: Floats, stages: Floats, products: Ints, starts: Ints, source: Ints, value: Floats, sources: Floats, out: Floats
) -> None:
    """The field at all stages, given as distances from y; `sources` is work space."""
    count = len(out)
    for i in range(count):
        for s in range(COLUMNS):
            sources[i, s] = y[i] + stages[i, s]
    for q in range(len(products)):
        for s in range(COLUMNS):
            sources[count + q, s] = sources[products[q, 0], s] * sources[products[q, 1], s]
    for i in range(count):
        for s in range(COLUMNS):
            out[i, s] = 0.0
        for e in range(starts[i], starts[i + 1]):
            _accumulate(out, i, value[e], sources, source[e])


@njit(nogil=True, error_model="numpy", fastmath={"contract"})
def _accumulate(into: Floats, i: int, factor: float, values: Floats, k: int) -> None:
    for s in range(COLUMNS):
        into[i, s] += factor * values[k, s]


@cached_njit(nogil=True, error_model="numpy")
def shifted(
    y: Floats, products: Ints, source: Ints, value: Floats, entry: Ints, diagonal: Ints, shifts: Floats, out: Floats
) -> None:
    """shift · I − J(y), for every shift."""
    count, terms = len(y), len(source)
    for e in range(len(out)):
        for s in range(COLUMNS):
            out[e, s] = 0.0
    for e in range(terms):
        k = source[e]
        pair = count <= k < count + len(products)
        for side in range(2):
            at = entry[side * terms + e]
            if at >= 0:
                slope = value[e] * y[products[k - count, 1 - side]] if pair else value[e]
                for s in range(SHIFTS):
                    out[at, s] -= slope
    for i in range(count):
        for s in range(COLUMNS):
            out[diagonal[i], s] += shifts[s]
