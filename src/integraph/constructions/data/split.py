"""Which rows are fitted and which are held out: decided by a hash of the inputs, so not by the order of the rows.

Rows at one place stay together; one row at each end of each input is always fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from integraph.numbers.arrays import Floats, Indices
from integraph.targets.rows import Rows

HELD_OUT = 5  # one of five places
FITTED = 50_000  # rows at most; all others are held out
FOLDS = 5  # of the fitted rows, for cross-validation
ALL_FOLDS = 1000  # rows up to which every fold is left out once; beyond, one of them
MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # of splitmix64


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """`fold` of every row: −1 where it is held out."""

    fold: Indices

    @property
    def fitted(self) -> NDArray[np.bool_]:
        result: NDArray[np.bool_] = self.fold >= 0
        return result

    @property
    def trials(self) -> list[NDArray[np.bool_]]:
        """Rows that are left out in turn, to choose a fit."""
        turns = range(FOLDS) if np.count_nonzero(self.fitted) <= ALL_FOLDS else range(1)
        masks = [self.fold == turn for turn in turns]
        return [mask for mask in masks if mask.any()]


def split(rows: Rows) -> Split:
    """The places in the order of their hashes: the first are held out, the others are dealt to the folds."""
    places = rows.places
    first = np.unique(places, return_index=True)[1]
    order = np.argsort(_hash(rows.x[first]), kind="stable")
    ends = np.unique(np.concatenate([places[rows.x.argmin(0)], places[rows.x.argmax(0)]]))
    free = order[~np.isin(order, ends)]
    held = max(1, len(first) // HELD_OUT)
    dealt = np.concatenate([ends, free[held:]])[:FITTED]
    fold = np.full(len(first), -1, np.int64)
    fold[dealt] = np.arange(len(dealt)) % FOLDS
    return Split(np.where(_turn(rows, places, first) < FITTED // len(dealt), fold[places], -1))


def _turn(rows: Rows, places: Indices, first: Indices) -> Indices:
    """The number of each row among those at its place, in an order that says nothing of its values."""
    order = np.lexsort([_hash(np.concatenate([rows.x, rows.y], 1)), places])
    turn = np.empty(len(places), np.int64)
    turn[order] = np.arange(len(places)) - first[places[order]]
    return turn


def _hash(x: Floats) -> NDArray[np.uint64]:
    """A number for every row that depends on all of its bits."""
    state = np.full(len(x), 0x9E3779B97F4A7C15, np.uint64)
    for column in np.ascontiguousarray(x.T).view(np.uint64):
        state = (state ^ column) + np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in zip((30, 27), MIX, strict=True):
            state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
        state ^= state >> np.uint64(31)
    return state
