"""The controls of eq. (1) as arrays.

A term is `(i, j, k, value)`: it adds `value · y_j · y_k` to the derivative of y_i, where index −1 means the constant 1.
So (i, −1, −1, v) is b_i, (i, −1, k, v) is a_ik, and (i, j, k, v) with j ≤ k is q_ijk (both orders of j, k summed).
Canonical: sorted by (i, j, k), one term each, no zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from integraph.numbers.arrays import Floats, Indices, Int32

ONE = -1  # the index of the constant 1


@dataclass(frozen=True, slots=True, eq=False)
class Controls:
    """All terms of a program, canonical: `value · y_j · y_k` in the derivative of y_i; index −1 is the constant 1."""

    segment: Int32
    i: Int32
    j: Int32
    k: Int32
    value: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Control terms of one segment; 20 bytes each."""

    i: Int32
    j: Int32
    k: Int32
    value: Floats

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, key: slice | NDArray[np.intp] | NDArray[np.bool_]) -> Terms:
        return Terms(self.i[key], self.j[key], self.k[key], self.value[key])

    def evaluate(self, states: Floats) -> Floats:
        """Derivatives at state-major `states` (W, …), without any array larger than a batch."""
        out = np.zeros_like(states)
        if len(self) == 0:
            return out
        extended = np.concatenate([states, np.ones((1, *states.shape[1:]))])  # row −1 is the constant 1
        trailing = (len(self),) + (1,) * (states.ndim - 1)
        products = extended[self.j] * extended[self.k] * self.value.reshape(trailing)
        starts = np.flatnonzero(np.diff(self.i, prepend=-1))
        out[self.i[starts]] = np.add.reduceat(products, starts, axis=0)
        return out


def terms(i: ArrayLike, j: ArrayLike, k: ArrayLike, value: ArrayLike) -> Terms:
    """Flat terms from broadcastable parts, with j ≤ k."""
    i, j, k, value = np.broadcast_arrays(i, j, k, value)
    j, k = np.asarray(j, np.int32), np.asarray(k, np.int32)
    swap = j > k
    if swap.any():
        j, k = np.where(swap, k, j), np.where(swap, j, k)
    return Terms(np.asarray(i, np.int32).ravel(), j.ravel(), k.ravel(), np.asarray(value, np.float64).ravel())


def empty() -> Terms:
    none = np.zeros(0, np.int32)
    return Terms(none, none, none, np.zeros(0))


def concatenate(pieces: Sequence[Terms]) -> Terms:
    if len(pieces) == 1:
        return pieces[0]
    if not pieces:
        return empty()
    return Terms(
        np.concatenate([p.i for p in pieces]),
        np.concatenate([p.j for p in pieces]),
        np.concatenate([p.k for p in pieces]),
        np.concatenate([p.value for p in pieces]),
    )


def canonical(pieces: Sequence[Terms], width: int) -> Terms:
    """Sort by (i, j, k), sum duplicates, drop zeros. Pieces that are already in order are only checked."""
    filled = [p for p in pieces if len(p)]
    all_terms = concatenate(sorted(filled, key=lambda p: int(p.i[0])))
    if not _increasing(all_terms):
        unsorted = concatenate(filled)  # in the order of the blocks, however the registers were cut
        all_terms = unsorted[_order(unsorted, width, None)]
        starts = _starts(all_terms)
        if len(starts) < len(all_terms):
            if np.diff(starts, append=len(all_terms)).max() > 2:  # a sum of three depends on their order
                all_terms = unsorted[_order(unsorted, width, "stable")]
            summed = np.add.reduceat(all_terms.value, starts)
            all_terms = Terms(all_terms.i[starts], all_terms.j[starts], all_terms.k[starts], summed)
    return without_zeros(all_terms)


def without_zeros(t: Terms) -> Terms:
    return t if t.value.all() else t[t.value != 0]


def _order(t: Terms, width: int, kind: Literal["stable"] | None) -> NDArray[np.intp]:
    """Sorts by (i, j, k); equal terms keep their order only if `kind` says so, which is several times slower."""
    base = width + 1
    first = int(t.i.min())
    if (int(t.i.max()) - first + 1) * base * base < 2**63:  # one key
        key = ((t.i - first).astype(np.int64) * base + (t.j + 1)) * base + (t.k + 1)
        return np.argsort(key, kind=kind)
    return np.lexsort((t.k, t.j, t.i))


def _increasing(t: Terms) -> bool:
    """Strictly increasing in (i, j, k)."""
    a, b = slice(None, -1), slice(1, None)
    later = t.k[b] > t.k[a]
    later &= t.j[b] == t.j[a]
    later |= t.j[b] > t.j[a]
    later &= t.i[b] == t.i[a]
    later |= t.i[b] > t.i[a]
    return bool(later.all())


def _starts(t: Terms) -> NDArray[np.intp]:
    """Where a term has another (i, j, k) than the one before it."""
    fresh = np.ones(len(t), np.bool_)
    a, b = slice(None, -1), slice(1, None)
    fresh[1:] = (t.i[b] != t.i[a]) | (t.j[b] != t.j[a]) | (t.k[b] != t.k[a])
    return np.flatnonzero(fresh)


def positions(count: int) -> Indices:
    return np.arange(count, dtype=np.int64)
