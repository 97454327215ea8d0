"""What a graph becomes before time and registers are chosen: atoms, and the runs that compute them.

A run is one activity of a program: its registers start at forms of earlier atoms, then, stage by stage, gadgets act on
them while the operands `reads` are frozen. A run without stages is a sum: the start is the value. Atoms are numbered;
0 … are the inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from integraph.constructions.graph.forms import GraphForm, Shape, Term, atom_form
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.program import Block, Ref, View
from integraph.program.views import dense
from integraph.text import DistinctNames

Where = Callable[[int, Ref | None], Ref]  # the registers of an atom, all of them or through a view
Stage = Callable[[Where], Sequence[Block]]
NAME = 32  # characters
INPUT, NOBODY = -1, -2  # the run of an input, and of an atom that is not needed


@dataclass(frozen=True, slots=True, eq=False)
class RegisterAtom:
    """Registers under one name."""

    name: str
    shape: Shape
    run: int


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Part of an atom, seen through `view`, starts at `form`, which is `known` to lie between two numbers."""

    view: View
    form: GraphForm
    known: tuple[float, float] = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """`atoms` are its targets. `after`: what an atom is in the end, where that is a polynomial of others; a sum is its
    start. `ops`: how often the numbers of its stages were rounded. `near`: how far z is from what it stands for.
    `guard`: it is not known to have a value on all of the box, so it runs even if its value cancels."""

    text: str
    atoms: tuple[int, ...]
    starts: dict[int, tuple[Start, ...]]  # atoms that start at 0 have none
    reads: frozenset[int] = frozenset()
    stages: tuple[Stage, ...] = ()
    after: dict[int, GraphForm] = field(default_factory=dict)
    ops: int = 0
    near: float = 0.0
    guard: bool = False
    share: Floats | None = None  # of a row of scores: 1/n for those that take part, else 0

    def sources(self, atom: int) -> frozenset[int]:
        """The atoms that the start of one of its own is loaded from."""
        return frozenset().union(*(start.form.atoms for start in self.starts.get(atom, ())))

    def in_place(self, atom: int, atoms: Sequence[RegisterAtom]) -> int | None:
        """The atom that this one starts as a copy of, so that it could take over its registers."""
        starts = self.starts.get(atom, ())
        if len(starts) != 1 or not self.stages:
            return None
        plain = starts[0].form.plain
        whole = starts[0].view == dense(0, atoms[atom].shape)
        if plain is None or not whole or plain[1] != dense(0, atoms[plain[0]].shape):
            return None
        return plain[0]


class RunTape:
    """Collects atoms and runs; an equal sum is not made twice."""

    def __init__(self) -> None:
        self.atoms: list[RegisterAtom] = []
        self.runs: list[Run] = []
        self.known: dict[int, Interval] = {}  # ranges of atoms, where they are those of nodes
        self._sums: dict[object, int] = {}
        self._distinct = DistinctNames()

    def input(self, name: str, shape: Shape) -> GraphForm:
        self.atoms.append(RegisterAtom(self._distinct(name), shape, INPUT))
        return atom_form(len(self.atoms) - 1, shape)

    def atom(self, name: str, shape: Shape) -> int:
        """A new atom of the run that is added next."""
        self.atoms.append(RegisterAtom(self._distinct(name, NAME), shape, len(self.runs)))
        return len(self.atoms) - 1

    def add(self, run: Run) -> None:
        self.runs.append(run)

    def sum(self, form: GraphForm, text: str, name: str = "") -> GraphForm:
        """The form as an atom, computed by one segment."""
        plain = form.plain
        if plain is not None and plain[1] == dense(0, self.atoms[plain[0]].shape):
            return form
        key = form.key()
        if key not in self._sums:
            self._sums[key] = self.pieces([(dense(0, form.shape), form)], form.shape, text, name or f"[{text}]")
        return atom_form(self._sums[key], form.shape)

    def pieces(self, parts: Iterable[tuple[View, GraphForm]], shape: Shape, text: str, name: str) -> int:
        """An atom that is several forms side by side."""
        atom = self.atom(name, shape)
        self.add(Run(text, (atom,), {atom: starts(parts)}))
        return atom

    def registers(self, form: GraphForm, text: str, name: str = "") -> GraphForm:
        """The form as registers, lane by lane: as they are, or in a new atom."""
        return form if form.plain is not None else self.sum(form, text, name)


def starts(parts: Iterable[tuple[View, GraphForm]]) -> tuple[Start, ...]:
    return tuple(Start(view, form) for view, form in parts)


def reading(terms: Iterable[Term]) -> frozenset[int]:
    return frozenset(atom for term in terms for atom in term.atoms)


def ones(shape: Shape) -> GraphForm:
    return GraphForm(shape, (), np.ones(()))


def needed_runs(tape: RunTape, outputs: Iterable[int]) -> RunTape:
    """Without runs that nobody needs; atoms keep their numbers."""
    needed, kept = set(outputs), []
    for run in reversed(tape.runs):
        if run.guard or needed.intersection(run.atoms):
            kept.append(run)
            needed.update(run.reads, *(run.sources(atom) for atom in run.atoms))
    kept_tape = RunTape()
    kept_tape.runs, kept_tape.known = kept[::-1], tape.known
    numbers = {atom: number for number, run in enumerate(kept_tape.runs) for atom in run.atoms}
    kept_tape.atoms = [
        replace(atom, run=INPUT if atom.run < 0 else numbers.get(n, NOBODY)) for n, atom in enumerate(tape.atoms)
    ]
    return kept_tape
