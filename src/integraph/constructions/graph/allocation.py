"""Which registers an atom lives in. What is no longer read can be freed, in three ways:

- keep: not at all; every atom has registers of its own
- clean: what is a polynomial of registers that still hold their values is subtracted again, exactly: sums, and what
  some gadgets leave behind. Never what a contracting gadget computed: running it backwards would amplify rounding
- decay: y' = −r y, which leaves e^−r of it

Either takes the segment after the last use; after that the registers are free. Atoms get their places by size, the
largest first, each the smallest gap that fits among those that live at the same time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from integraph.constructions.graph.forms import Form
from integraph.constructions.graph.runs import NOBODY, Start, Tape
from integraph.constructions.graph.timing import ALWAYS, Timing, uses
from integraph.program.views import Indices, dense

KEEP, CLEAN, DECAY = FREES = ("keep", "clean", "decay")


@dataclass(slots=True, eq=False)
class Lot:
    """Registers that one atom after the other takes over, from segment `first` to `last`."""

    atoms: list[int]
    size: int
    first: int
    last: int
    place: int = -1
    freed: bool = False  # in segment last + 1, because somebody else moves in later


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    lots: tuple[Lot, ...]
    place: tuple[int, ...]  # of each atom
    width: int
    left: dict[int, tuple[Start, ...]]  # what an atom holds in the end, where it can be cleaned


def allocate(tape: Tape, time: Timing, outputs: Collection[int], free: str) -> Allocation:
    lots, owner = _lots(tape, time, frozenset(outputs))
    left = _cleanable(tape, time, lots, owner) if free == CLEAN else {}
    if free == KEEP:
        _side_by_side(lots)
    else:
        reusable = [free == DECAY or lot.atoms[-1] in left for lot in lots]
        _packed(lots, np.array(reusable))
    place = tuple(lots[owner[n]].place if n in owner else -1 for n in range(len(tape.atoms)))
    return Allocation(tuple(lots), place, max((lot.place + lot.size for lot in lots), default=0), left)


def _lots(tape: Tape, time: Timing, outputs: frozenset[int]) -> tuple[list[Lot], dict[int, int]]:
    """Lots in the order of their first atoms, and the lot of each atom."""
    readers = uses(tape, time)
    lots: list[Lot] = []
    owner: dict[int, int] = {}
    for number, atom in enumerate(tape.atoms):
        if atom.run == NOBODY:
            continue
        loaded = atom.run >= 0 and bool(tape.runs[atom.run].starts.get(number))
        first = -1 if atom.run < 0 else time.load[atom.run] if loaded else time.begin[atom.run]
        last = max([when for _, when in readers[number]], default=-1)
        last = ALWAYS if number in outputs else max(last, first if atom.run < 0 else time.end[atom.run])
        if number in time.taken:
            owner[number] = owner[time.taken[number]]
            lots[owner[number]].atoms.append(number)
            lots[owner[number]].last = last
        else:
            owner[number] = len(lots)
            lots.append(Lot([number], max(int(np.prod(atom.shape)), 1), first, last))
    return lots, owner


def _cleanable(tape: Tape, time: Timing, lots: list[Lot], owner: dict[int, int]) -> dict[int, tuple[Start, ...]]:
    """What each atom is in the end as a polynomial of others; these then have to stay until it is clean."""
    replaced = set(time.taken.values())
    found: dict[int, tuple[Start, ...]] = {}
    for number, atom in enumerate(tape.atoms):
        if atom.run < 0 or lots[owner[number]].last >= ALWAYS or len(lots[owner[number]].atoms) > 1:
            continue
        run = tape.runs[atom.run]
        left = _whole(run.after[number], atom.shape) if number in run.after else ()
        left = left or (run.starts.get(number, ()) if not run.stages else ())
        if left and not replaced & _sources(left):
            found[number] = left
    waiting = list(found)
    while waiting:  # until nobody has to stay longer
        number = waiting.pop()
        until = lots[owner[number]].last + 1
        for source in _sources(found[number]):
            if lots[owner[source]].last < until:
                lots[owner[source]].last = until
                waiting += [source] if source in found else []
    return found


def _sources(left: tuple[Start, ...]) -> frozenset[int]:
    return frozenset().union(*(start.form.atoms for start in left))


def _whole(form: Form, shape: tuple[int, ...]) -> tuple[Start, ...]:
    return (Start(dense(0, shape), form),)


def _side_by_side(lots: list[Lot]) -> None:
    place = 0
    for lot in lots:
        lot.place, place = place, place + lot.size


def _packed(lots: list[Lot], reusable: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
    """The inputs come first, as y(0) = (x, 0, …) says; then the largest."""
    inputs = [n for n, lot in enumerate(lots) if lot.first < 0]
    others = [n for n, lot in enumerate(lots) if lot.first >= 0]
    others.sort(key=lambda n: (-lots[n].size, lots[n].first))
    first = np.array([lot.first for lot in lots])
    busy = np.array([lot.last + 1 if can else ALWAYS for lot, can in zip(lots, reusable, strict=True)])  # until then
    size = np.array([lot.size for lot in lots])
    place = np.full(len(lots), -1)
    done = np.zeros(len(lots), np.bool_)
    top = 0
    for n in inputs:
        place[n], done[n], top = top, True, top + size[n]
    for n in others:
        overlap = np.flatnonzero(done & (first <= busy[n]) & (busy >= first[n]))
        place[n], done[n] = _gap(place[overlap], size[overlap], int(size[n])), True
    for n, lot in enumerate(lots):
        lot.place = int(place[n])
        later = (first > lot.last) & (place < place[n] + size[n]) & (place + size > place[n])
        lot.freed = bool(later.any())


def _gap(place: Indices, size: Indices, need: int) -> int:
    """The smallest gap between what is there that `need` registers fit in, else the end."""
    order = np.argsort(place, kind="stable")
    starts = place[order]
    ends = np.maximum.accumulate(np.append(0, (place + size)[order]))
    room = starts - ends[:-1]
    fitting = np.flatnonzero(room >= need)
    return int(ends[:-1][fitting[np.argmin(room[fitting])]]) if len(fitting) else int(ends[-1])
