"""Eq. (1) as writers of equations take it: names, durations, the terms of each segment, the read-out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from integraph.program.terms import ONE, concatenate

if TYPE_CHECKING:
    from integraph.program import Program

Term = tuple[float, tuple[int, ...]]  # a coefficient, and the registers it is multiplied by: none, one or two
Row = tuple[int, list[Term]]  # a register (or an output), and the terms that its derivative (or it) is the sum of


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """y' = Σ terms on each segment, y(0) = (x, 0, …), outputs = Σ terms of y(T)."""

    names: tuple[str, ...]
    labels: tuple[str, ...]  # of the segments
    inputs: int
    durations: tuple[float, ...]
    segments: tuple[tuple[Row, ...], ...]  # the registers that move in a segment, in order
    outputs: tuple[Row, ...]
    avoid: frozenset[str] = frozenset()  # words that name nothing, in lower case

    @property
    def input_names(self) -> tuple[str, ...]:
        return self.names[: self.inputs]

    @property
    def output_names(self) -> tuple[str, ...]:
        return output_names(self.names, len(self.outputs), self.avoid)


def output_names(registers: Sequence[str], outputs: int, avoid: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """`out1, out2, …`, none of them the name of a register, or a word to avoid, in any case of its letters."""
    taken = {name.lower() for name in registers} | avoid
    stems = chain(("out", "output_", "result_"), (f"out_{number}_" for number in count(1)))
    stem = next(stem for stem in stems if not any(name.startswith(stem) for name in taken))
    return tuple(f"{stem}{number + 1}" for number in range(outputs))


def start_box(program: Program) -> tuple[list[float], list[float]]:
    """Low and high of the inputs: of the box that the program was made for, else of [0, 1]."""
    box = program.box
    if box is None:
        return [0.0] * program.inputs, [1.0] * program.inputs
    return box.low.tolist(), box.high.tolist()


def equations(program: Program, avoid: Collection[str] = ()) -> Equations:
    """The equations of a program; a register that is called like one of the words to avoid, in any case of its
    letters, gets another name."""
    words = frozenset(word.lower() for word in avoid)
    readout = program.readout.tocoo()
    rows: list[list[Term]] = [[] for _ in range(program.outputs)]
    for row, column, value in zip(readout.row.tolist(), readout.col.tolist(), readout.data.tolist(), strict=True):
        if value:
            rows[row].append((value, (column,)))
    return Equations(
        _names(program, words),
        tuple(segment.label for segment in program.segments),
        program.inputs,
        tuple(segment.duration for segment in program.segments),
        tuple(tuple(_rows(program, number)) for number in range(program.depth)),
        tuple(enumerate(rows)),
        words,
    )


def _names(program: Program, avoid: frozenset[str]) -> tuple[str, ...]:
    names = [program.registers.name(register) for register in range(program.width)]
    taken = {name.lower() for name in names} | avoid
    for n, name in enumerate(names):
        if name.lower() in avoid:
            names[n] = next(other for letters in count(1) if (other := name + "q" * letters).lower() not in taken)
            taken.add(names[n].lower())
    return tuple(names)


def _rows(program: Program, number: int) -> Iterator[Row]:
    terms = concatenate(list(program.segment_terms(number)))
    columns = (part.tolist() for part in (terms.i, terms.j, terms.k, terms.value))
    for register, group in groupby(zip(*columns, strict=True), key=itemgetter(0)):
        yield register, [(value, tuple(f for f in (j, k) if f != ONE)) for _, j, k, value in group]
