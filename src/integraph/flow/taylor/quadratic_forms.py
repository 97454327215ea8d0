"""Quadratic forms of registers that stand still: Σ value · y_f · y_g, many rows at once.

What a segment adds to its moving registers from frozen ones, and the frozen coefficients of what moves, are such forms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from integraph.numbers.arrays import Floats, Indices
from integraph.program import ONE

DENSE = 0.2  # filled part of a matrix from which BLAS beats a sparse product

Rows = slice | Indices
Gather = Callable[[Floats], Floats]  # states (W, B) → the numbers that a matrix is applied to


@dataclass(frozen=True, slots=True, eq=False)
class Forms:
    """`count` rows: constants, and (rows, contribution) of everything that depends on the states."""

    count: int
    constant: Floats  # (count, 1)
    parts: tuple[tuple[Rows, Gather], ...]
    footprint: int  # numbers held for one input

    def __call__(self, states: Floats) -> Floats:
        """(count, B)."""
        whole = slice(0, self.count)
        if len(self.parts) == 1 and isinstance(self.parts[0][0], slice) and self.parts[0][0] == whole:
            out = self.parts[0][1](states)
            return out + self.constant if self.constant.any() else out
        out = np.empty((self.count, states.shape[1]))
        out[:] = self.constant
        for rows, contribution in self.parts:
            out[rows] += contribution(states)
        return out


def forms(count: int, row: Indices, f: Indices, g: Indices, value: Floats) -> Forms:
    """From terms: `value · y_f · y_g` in a row, f ≤ g, index −1 for the constant 1."""
    fixed, linear = g == ONE, (f == ONE) & (g != ONE)
    constant = np.zeros((count, 1))
    np.add.at(constant[:, 0], row[fixed], value[fixed])
    parts, columns = [], 0
    if linear.any():
        registers, column = compact(g[linear])
        parts.append(_part(row[linear], column, value[linear], (registers,)))
        columns += len(registers)
    pairs = ~fixed & ~linear
    if pairs.any():
        base = int(g.max()) + 1
        both, column = np.unique(f[pairs] * base + g[pairs], return_inverse=True)
        parts.append(_part(row[pairs], column, value[pairs], (both // base, both % base)))
        columns += len(both)
    return Forms(count, constant, tuple(parts), 2 * count + columns)


def _part(row: Indices, column: Indices, value: Floats, factors: tuple[Indices, ...]) -> tuple[Rows, Gather]:
    """A matrix applied to products of registers, one for each column: by copying, BLAS or a sparse product."""
    rows, position = compact(row)
    if len(rows) == len(row):  # one number in each row
        order = np.argsort(row)
        read, scale = _product(tuple(f[column[order]] for f in factors)), value[order][:, None]
        fresh = len(factors) > 1 and bool((scale == 1.0).all())  # never hand out a view of the states
        return as_slice(rows), read if fresh else lambda states: scale * read(states)
    read = _product(factors)
    matrix = scipy.sparse.coo_array((value, (position, column)), shape=(len(rows), len(factors[0]))).tocsr()
    if matrix.nnz >= DENSE * matrix.shape[0] * matrix.shape[1]:
        dense = matrix.toarray()
        return as_slice(rows), lambda states: dense @ read(states)
    return as_slice(rows), lambda states: np.asarray(matrix @ read(states))


def _product(factors: tuple[Indices, ...]) -> Gather:
    first, *others = (as_slice(f) for f in factors)
    if not others:
        return lambda states: states[first]
    second = others[0]
    return lambda states: states[first] * states[second]


def compact(indices: Indices) -> tuple[Indices, Indices]:
    """The distinct indices in order, and where among them each one is: np.unique without sorting."""
    present = np.zeros(int(indices.max(initial=-1)) + 1, np.bool_)
    present[indices] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[indices]


def as_slice(indices: Indices) -> Rows:
    """Consecutive indices as a slice: a view instead of a copy."""
    if len(indices) and (np.diff(indices) == 1).all():
        return slice(int(indices[0]), int(indices[-1]) + 1)
    return indices
