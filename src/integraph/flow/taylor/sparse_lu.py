"""Factors of shifted sparse matrices, s·I − J, for SHIFTS complex numbers s at once, without pivoting.

One order of elimination and one pattern serve all shifts and all J of one structure. Without pivoting a factor can be
bad where no diagonal dominates; then Newton's iteration, the only user, does not converge, and its step is shortened
until s does dominate. Values are (entry, 2 · SHIFTS): real parts, then imaginary parts.
"""

from __future__ import annotations

import numpy as np
import scipy
from numba import njit
from numpy.typing import NDArray

from integraph.numbers.jit import cached_njit

SHIFTS = 4

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def elimination_order(count: int, row: Ints, column: Ints) -> Ints:
    """An order with little fill: minimum degree on the pattern of J + Jᵀ."""
    from scipy.sparse.linalg import splu

    pattern = scipy.sparse.coo_array((np.full(len(row), 1e-3 / count), (row, column)), shape=(count, count))
    dominant = scipy.sparse.csc_matrix(pattern + scipy.sparse.eye_array(count))
    factors = splu(dominant, "MMD_AT_PLUS_A", 0.0, options={"SymmetricMode": True})
    return np.argsort(factors.perm_c).astype(np.int64)


@cached_njit(nogil=True)
def fill_in(starts: Ints, columns: Ints) -> tuple[Ints, Ints, Ints]:
    """The pattern of L + U: starts, columns in order, and where the diagonal is. Row i is that of J with those of U of
    all rows that it is eliminated with."""
    n = len(starts) - 1
    first, diagonal = np.zeros(n + 1, np.int64), np.zeros(n, np.int64)
    pattern = np.empty(4 * len(columns) + 4 * n, np.int64)
    follows = np.empty(n + 1, np.int64)  # a list of columns in order; n ends it
    size = 0
    for i in range(n):
        head = n
        for e in range(starts[i], starts[i + 1] + 1):
            column = i if e == starts[i + 1] else columns[e]
            head = _insert(follows, head, head, column, n)
        k = head
        while k < i:
            at = k
            for e in range(diagonal[k] + 1, first[k + 1]):
                while follows[at] <= pattern[e]:
                    at = follows[at]
                if at != pattern[e]:
                    follows[pattern[e]], follows[at] = follows[at], pattern[e]
                    at = pattern[e]
            k = follows[k]
        if size + n > len(pattern):
            pattern = np.concatenate((pattern, np.empty(len(pattern) + n, np.int64)))
        k = head
        while k < n:
            if k == i:
                diagonal[i] = size
            pattern[size] = k
            size += 1
            k = follows[k]
        first[i + 1] = size
    return first, pattern[:size].copy(), diagonal


@njit(nogil=True)
def _insert(follows: Ints, head: int, at: int, column: int, end: int) -> int:
    """Put a column into the ordered list; the new head."""
    if head == end or column < head:
        follows[column] = head
        return column
    while follows[at] <= column:
        at = follows[at]
    if at != column:
        follows[column], follows[at] = follows[at], column
    return head


@cached_njit(nogil=True, error_model="numpy")
def factor(values: Floats, first: Ints, columns: Ints, diagonal: Ints) -> None:
    """In place: L below the diagonal, without its ones, U above, and the inverse of the diagonal of U."""
    n = len(diagonal)
    place = np.zeros(n, np.int64)
    for i in range(n):
        for e in range(first[i], first[i + 1]):
            place[columns[e]] = e
        for e in range(first[i], diagonal[i]):
            k = columns[e]
            _multiply(values, e, values, diagonal[k])
            for u in range(diagonal[k] + 1, first[k + 1]):
                _subtract(values, place[columns[u]], values, e, values, u)
        d = diagonal[i]
        for s in range(SHIFTS):
            x, y = values[d, s], values[d, SHIFTS + s]
            size = x * x + y * y
            values[d, s], values[d, SHIFTS + s] = x / size, -y / size


@cached_njit(nogil=True, error_model="numpy")
def solve(values: Floats, first: Ints, columns: Ints, diagonal: Ints, right: Floats) -> None:
    """In place: right (n, 2 · SHIFTS) becomes the solution."""
    n = len(diagonal)
    for i in range(n):
        for e in range(first[i], diagonal[i]):
            _subtract(right, i, values, e, right, columns[e])
    for i in range(n - 1, -1, -1):
        for e in range(diagonal[i] + 1, first[i + 1]):
            _subtract(right, i, values, e, right, columns[e])
        _multiply(right, i, values, diagonal[i])


@njit(nogil=True, error_model="numpy")
def _multiply(into: Floats, i: int, by: Floats, k: int) -> None:
    for s in range(SHIFTS):
        x, y = into[i, s], into[i, SHIFTS + s]
        into[i, s] = x * by[k, s] - y * by[k, SHIFTS + s]
        into[i, SHIFTS + s] = x * by[k, SHIFTS + s] + y * by[k, s]


@njit(nogil=True, error_model="numpy")
def _subtract(into: Floats, i: int, left: Floats, a: int, right: Floats, b: int) -> None:
    for s in range(SHIFTS):
        x, y = left[a, s], left[a, SHIFTS + s]
        p, q = right[b, s], right[b, SHIFTS + s]
        into[i, s] -= x * p - y * q
        into[i, SHIFTS + s] -= x * q + y * p
