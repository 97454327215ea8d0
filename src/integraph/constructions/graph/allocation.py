"""Assign registers to atoms. Registers that are no longer read can be freed, in three ways:

- keep: not at all; every atom has registers of its own
- clean: what is a polynomial of registers that still hold their values is subtracted again, exactly: sums, and what
  some gadgets leave behind. Never what a contracting gadget computed: running it backwards would amplify rounding.
  Rounding stays where it was, so nobody moves in whose numbers are much smaller than those that were subtracted
- decay: y' = −r y, which leaves e^−r of it

Either takes the segment after the last use; after that the registers are free, and `packing` moves others in.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from integraph.constructions.graph.forms import GraphForm
from integraph.constructions.graph.magnitude import magnitudes
from integraph.constructions.graph.packing import RegisterLot, packed, side_by_side
from integraph.constructions.graph.runs import NOBODY, RunTape, Start
from integraph.constructions.graph.schedule import ALWAYS, Schedule, readers
from integraph.program.views import dense

KEEP, CLEAN, DECAY = FREES = ("keep", "clean", "decay")
SMALLER = 16.0  # times than what was subtracted a number may be: then it loses a digit or two


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    lots: tuple[RegisterLot, ...]
    place: tuple[int, ...]  # of each atom
    width: int
    left: dict[int, tuple[Start, ...]]  # what an atom holds in the end, where it can be cleaned


def allocate(tape: RunTape, time: Schedule, outputs: Collection[int], free: str) -> Allocation:
    lots, owner = _lots(tape, time, frozenset(outputs))
    left = _cleanable(tape, time, lots, owner) if free == CLEAN else {}
    if free == KEEP:
        side_by_side(lots)
    else:
        reusable = [free == DECAY or lot.atoms[-1] in left for lot in lots]
        packed(lots, reusable)
    place = tuple(lots[owner[n]].place if n in owner else -1 for n in range(len(tape.atoms)))
    return Allocation(tuple(lots), place, max((lot.place + lot.size for lot in lots), default=0), left)


def _lots(tape: RunTape, time: Schedule, outputs: frozenset[int]) -> tuple[list[RegisterLot], dict[int, int]]:
    """Lots in the order of their first atoms, and the lot of each atom."""
    read_by = readers(tape, time)
    lots: list[RegisterLot] = []
    owner: dict[int, int] = {}
    for number, atom in enumerate(tape.atoms):
        if atom.run == NOBODY:
            continue
        loaded = atom.run >= 0 and bool(tape.runs[atom.run].starts.get(number))
        first = -1 if atom.run < 0 else time.load[atom.run] if loaded else time.begin[atom.run]
        last = max([when for _, when in read_by[number]], default=-1)
        last = ALWAYS if number in outputs else max(last, first if atom.run < 0 else time.end[atom.run])
        if number in time.taken:
            owner[number] = owner[time.taken[number]]
            lots[owner[number]].atoms.append(number)
            lots[owner[number]].last = last
        else:
            owner[number] = len(lots)
            lots.append(RegisterLot([number], max(int(np.prod(atom.shape)), 1), first, last))
    return lots, owner


def _cleanable(
    tape: RunTape, time: Schedule, lots: list[RegisterLot], owner: dict[int, int]
) -> dict[int, tuple[Start, ...]]:
    """What each atom is in the end as a polynomial of others; these then have to stay until it is clean. Each lot gets
    to know what is subtracted from it, and whose rounding it can bear; what nobody can bear is not cleaned."""
    known, replaced = magnitudes(tape), set(time.taken.values())
    for lot in lots:
        lot.subtracted = known.cleaned.get(lot.atoms[-1], math.inf)
        lot.bears = SMALLER * known.start.get(lot.atoms[0], 0.0)
    most = max((lot.bears for lot in lots), default=0.0)
    starts: dict[int, tuple[Start, ...]] = {}
    for number, atom in enumerate(tape.atoms):
        if atom.run < 0 or lots[owner[number]].last >= ALWAYS or len(lots[owner[number]].atoms) > 1:
            continue
        run = tape.runs[atom.run]
        left = _whole(run.after[number], atom.shape) if number in run.after else ()
        left = left or (run.starts.get(number, ()) if not run.stages else ())
        if left and lots[owner[number]].subtracted <= most and not replaced & _sources(left):
            starts[number] = left
    waiting = list(starts)
    while waiting:  # until nobody has to stay longer
        number = waiting.pop()
        until = lots[owner[number]].last + 1
        for source in _sources(starts[number]):
            if lots[owner[source]].last < until:
                lots[owner[source]].last = until
                waiting += [source] if source in starts else []
    return starts


def _sources(left: tuple[Start, ...]) -> frozenset[int]:
    return frozenset().union(*(start.form.atoms for start in left))


def _whole(form: GraphForm, shape: tuple[int, ...]) -> tuple[Start, ...]:
    return (Start(dense(0, shape), form),)
