"""The registers while closed forms are recorded: which array holds each, and where in it."""

from __future__ import annotations

import numpy as np

from integraph.flow.closed_forms.recorder import Array, Recorder, Symbol, constant
from integraph.program import Ref, View

EMPTY = -1  # a register that nobody has written
PIECES = 8  # of arrays that are put together without an index for every register


class RegisterFile:
    def __init__(self, recorder: Recorder, width: int) -> None:
        self.recorder = recorder
        self.arrays: list[Array] = []
        self.owner, self.place = np.full(width, EMPTY), np.zeros(width, np.int64)

    def write(self, ref: Ref, value: Array) -> None:
        registers = ref.indices()
        self.owner[registers] = len(self.arrays)
        self.place[registers] = np.arange(ref.size).reshape(ref.shape)
        self.arrays.append(self.recorder.broadcast(value, ref.shape))

    def read(self, ref: Ref) -> Array:
        """The registers of a view. Axes along which all are the same have length 1, but for the last, which closed
        forms may sum over."""
        registers = _narrow(ref).indices()
        owners = self.owner[registers]
        kinds = np.unique(owners)
        if len(kinds) == 1 and kinds[0] != EMPTY:
            return self.recorder.gather(self.arrays[kinds[0]], self.place[registers])
        if not any(isinstance(self.arrays[kind], Symbol) for kind in kinds if kind != EMPTY):
            known = np.zeros(registers.shape)
            for kind in kinds[kinds != EMPTY]:
                here = owners == kind
                known[here] = constant(self.arrays[kind]).reshape(-1)[self.place[registers[here]]]
            return known[..., None]
        return self._join(registers, owners, kinds)

    def _join(self, registers: np.ndarray, owners: np.ndarray, kinds: np.ndarray) -> Array:
        """From several arrays: their pieces in order or, if these are many, what is needed of each, then in order."""
        line, place = owners.reshape(-1), self.place[registers.reshape(-1)]
        new = (np.diff(line) != 0) | ((np.diff(place) != 1) & (line[1:] != EMPTY))
        runs = np.split(np.arange(len(line)), np.flatnonzero(new) + 1)
        if len(runs) <= PIECES:
            pieces = [self._piece(line[run[0]], place[run]) for run in runs]
            return self.recorder.reshape(
                self.recorder.record("concatenate", *pieces, lanes=line.shape), registers.shape
            )
        parts, places, begin = [], np.zeros(registers.shape, np.int64), 0
        for kind in kinds:
            here = owners == kind
            needed = np.unique(self.place[registers[here]]) if kind != EMPTY else np.zeros(1, np.int64)
            array = self.recorder.gather(self.arrays[kind] if kind != EMPTY else np.zeros((1, 1)), needed)
            parts.append(array if isinstance(array, Symbol) else constant(array))
            places[here] = begin + (np.searchsorted(needed, self.place[registers[here]]) if kind != EMPTY else 0)
            begin += len(needed)
        return self.recorder.gather(self.recorder.record("concatenate", *parts, lanes=(begin,)), places)

    def _piece(self, owner: int, places: np.ndarray) -> Array:
        if owner == EMPTY:
            return np.zeros(len(places))
        piece = self.recorder.gather(self.arrays[owner], places)
        return piece if isinstance(piece, Symbol) else constant(piece)


def _narrow(ref: Ref) -> Ref:
    if not isinstance(ref, View):
        return ref
    steps, last = ref.strides, len(ref.shape) - 1
    shape = (1 if s == 0 and k < last and n else n for k, (n, s) in enumerate(zip(ref.shape, steps, strict=True)))
    return View(ref.offset, tuple(shape), steps)
