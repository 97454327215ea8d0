"""Runs as a program: timed, on registers, emitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from integraph.constructions.graph import emit
from integraph.constructions.graph.allocation import Allocation, allocate
from integraph.constructions.graph.forms import GraphForm, constant
from integraph.constructions.graph.runs import RunTape, Where, needed_runs
from integraph.constructions.graph.schedule import Schedule, schedule
from integraph.program import Budget, Domain, Origin, Probe, Program, build


@dataclass(frozen=True, slots=True, eq=False)
class GraphLayout:
    """Runs that are needed, when they happen and where; `one` is the atom that carries constants of the outputs."""

    tape: RunTape
    outputs: tuple[GraphForm, ...]
    one: int | None
    time: Schedule
    allocation: Allocation
    free: str

    def __repr__(self) -> str:
        return f"<layout {self.free}: W = {self.width}, D = {self.depth}>"

    @property
    def width(self) -> int:
        return self.allocation.width

    @property
    def depth(self) -> int:
        return self.time.depth

    @property
    def where(self) -> Where:
        """The registers of an atom."""
        return emit.places(self.tape, self.allocation)

    def ready(self, atom: int) -> int:
        """The segment that finishes it."""
        run = self.tape.atoms[atom].run
        return self.time.end[run] if run >= 0 else -1


def layout(tape: RunTape, outputs: Sequence[GraphForm], free: str) -> GraphLayout:
    """The outputs are linear forms of atoms."""
    biased = any(form.b.any() for form in outputs)
    one = next(iter(tape.sum(constant((), 1.0), "", "one").atoms)) if biased else None
    needed = frozenset().union(*(form.atoms for form in outputs)) | ({one} if one is not None else set())
    kept = needed_runs(tape, needed)
    time = schedule(kept, needed)
    return GraphLayout(kept, tuple(outputs), one, time, allocate(kept, time, needed, free), free)


def program(
    chosen: GraphLayout,
    r: float,
    source: str,
    *,
    budget: Budget | None = None,
    probes: Sequence[Probe] = (),
    domain: Domain | None = None,
    origin: Origin | None = None,
) -> Program:
    """`r` is the rate of decay."""
    segments = emit.segments(chosen.tape, chosen.time, chosen.allocation, chosen.free, r)
    matrix = emit.readout(chosen.where, chosen.outputs, chosen.one, chosen.allocation.width)
    registers = emit.registers(chosen.tape, chosen.allocation)
    return build(
        registers, segments, matrix, source=source, budget=budget, probes=probes, domain=domain, origin=origin
    )  # fmt: skip
