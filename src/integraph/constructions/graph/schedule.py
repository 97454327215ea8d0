"""Schedule the runs: a run begins as soon as its operands are ready, and is loaded in the segment before.

Segments are counted from 0; an input is ready at −1. An atom that starts as a copy of another one takes over its
registers if nobody reads that one any more: then nothing is loaded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from integraph.constructions.graph.runs import Run, RunTape

ALWAYS = 1 << 30  # the last use of what the read-out needs


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Of each run the segment that loads it, those of its first and last stage; `taken`: atom → the one it replaces."""

    load: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    taken: dict[int, int]

    @property
    def depth(self) -> int:
        return max(self.end, default=-1) + 1


def schedule(tape: RunTape, outputs: Collection[int]) -> Schedule:
    """`outputs` are atoms that the read-out needs. Numbers that only the read-out needs wait for the last segment."""
    first = _timed(tape, _takeovers(tape, _timed(tape, {}), frozenset(outputs)))
    last = max(first.depth - 1, 0)
    read = readers(tape, first)
    replaced = frozenset(first.taken.values())
    waits = [
        not run.stages and not any(run.sources(atom) or read[atom] or atom in replaced for atom in run.atoms)
        for run in tape.runs
    ]
    load, begin, end = (
        tuple(last if wait else when for wait, when in zip(waits, times, strict=True))
        for times in (first.load, first.begin, first.end)
    )
    return Schedule(load, begin, end, first.taken)


def readers(tape: RunTape, time: Schedule) -> dict[int, list[tuple[int, int]]]:
    """The readers of each atom, as (run, segment)."""
    reads: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, run in enumerate(tape.runs):
        for atom in run.starts:
            if atom not in time.taken:
                for source in run.sources(atom):
                    reads[source].append((number, time.load[number]))
        for atom in run.reads:
            reads[atom].append((number, time.end[number]))
    return reads


def _timed(tape: RunTape, taken: dict[int, int]) -> Schedule:
    ready = [-1] * len(tape.atoms)
    load, begin, end = [], [], []
    busy: dict[int, int] = defaultdict(lambda: -1)  # when an atom was last read
    for run in tape.runs:
        loaded = [atom for atom, starts in run.starts.items() if starts and atom not in taken]
        sources = [source for atom in loaded for source in run.sources(atom)]
        soonest = 1 + max((ready[source] for source in sources), default=-1)
        start = soonest if not run.stages else _begin(run, soonest + 1 if loaded else 0, ready, busy, taken)
        load.append(start - 1 if run.stages else start)
        begin.append(start)
        end.append(start + max(len(run.stages), 1) - 1)
        for atom in run.atoms:
            ready[atom] = end[-1]
        for source in sources:
            busy[source] = max(busy[source], load[-1])
        for atom in run.reads:
            busy[atom] = max(busy[atom], end[-1])
    return Schedule(tuple(load), tuple(begin), tuple(end), taken)


def _begin(run: Run, soonest: int, ready: Sequence[int], busy: dict[int, int], taken: dict[int, int]) -> int:
    replaced = [taken[atom] for atom in run.atoms if atom in taken]
    waits = [ready[atom] for atom in (*run.reads, *replaced)] + [busy[atom] for atom in replaced]
    return max([soonest, *(1 + wait for wait in waits)])


def _takeovers(tape: RunTape, time: Schedule, outputs: frozenset[int]) -> dict[int, int]:
    """Where every other reader of the old atom is an earlier run that is done before the new one begins."""
    read_by = readers(tape, time)
    takeovers: dict[int, int] = {}
    gone: set[int] = set()  # atoms that were replaced
    for number, run in enumerate(tape.runs):
        for atom in run.atoms:
            old = run.in_place(atom, tape.atoms)
            if old is None or old in outputs or old in gone or old in run.reads:
                continue
            others = [(who, when) for who, when in read_by[old] if who != number]
            if all(who < number and when < time.begin[number] for who, when in others):
                takeovers[atom] = old
                gone.add(old)
    return takeovers
