"""What the program of a lifted system does: it flows, and in between it computes formulas of the states.

A flow segment moves the states, by terms of lifted variables alone. The segments before, between and after these leave
the states as they are: they compute the new variables, or the outputs, from states and from what registers still hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy

from integraph.certify.enclosure.closed_forms import closed
from integraph.certify.formula.difference import FormulaDifference
from integraph.certify.graph.difference import GraphDifference
from integraph.certify.problem import Box, Problem, Unprovable
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import FIRST, above, below, box, precision
from integraph.numbers.arrays import Floats, Indices
from integraph.program import Program, Registers, Segment
from integraph.program.composition import placed
from integraph.program.terms import concatenate
from integraph.targets.expression import Expression
from integraph.targets.graph_conversion import to_graph


@dataclass(frozen=True, slots=True, eq=False)
class FlowStage:
    """The lifted flow for a time, by terms (i, j, k) as they are stored."""

    duration: float
    terms: dict[tuple[int, int, int], Fraction]


@dataclass(frozen=True, slots=True, eq=False)
class FormulaStage:
    """Segments that leave the states as they are."""

    segments: tuple[Segment, ...]


Stage = FlowStage | FormulaStage


def stages(program: Program, states: int, variables: int, lifted: int) -> list[Stage]:
    """The stages of a program whose first registers are the lifted variables: states, inputs, new ones."""
    found: list[Stage] = []
    waiting: list[Segment] = []
    for number, segment in enumerate(program.segments):
        terms = concatenate(list(program.segment_terms(number)))
        if ((terms.i >= states) & (terms.i < variables)).any():
            raise Unprovable(f"segment {segment.label!r} moves an input, which the system holds")
        if not (terms.i < states).any():
            waiting.append(segment)
            continue
        if max(terms.i.max(), terms.j.max(), terms.k.max()) >= lifted:
            raise Unprovable(f"segment {segment.label!r} moves the states, and others than the lifted variables")
        if waiting:
            found.append(FormulaStage(tuple(waiting)))
            waiting = []
        rows = zip(*(part.tolist() for part in (terms.i, terms.j, terms.k, terms.value)), strict=True)
        found.append(FlowStage(segment.duration, {(i, j, k): Fraction(value) for i, j, k, value in rows}))
    return [*found, FormulaStage(tuple(waiting))] if waiting else found


class FormulaSegments:
    """A formula stage for registers in a box (W, 2), as a program of those that are not 0."""

    def __init__(self, stage: FormulaStage, box: Floats, variables: int) -> None:
        clean = (box == 0.0).all(1)
        clean[:variables] = False
        self.order: Indices = np.concatenate([np.flatnonzero(~clean), np.flatnonzero(clean)])
        self.inputs, self.box = int((~clean).sum()), box
        self.places = np.empty_like(self.order)
        self.places[self.order] = np.arange(len(self.order))
        self.segments = tuple(Segment(s.label, placed(s, self.places), s.duration, s.rate) for s in stage.segments)

    def program(self, readout: scipy.sparse.csr_array) -> Program:
        registers = Registers()
        registers.variables([f"y{n}" for n in range(self.inputs)])
        if len(self.order) > self.inputs:
            registers.numbered("v", len(self.order) - self.inputs, label="work")
        return Program(registers, self.segments, scipy.sparse.csr_array(readout[:, self.order]))

    @property
    def cell(self) -> Box:
        low, high = self.box[self.order[: self.inputs]].T
        return Box(tuple(low.tolist()), tuple(high.tolist()))

    def ends(self) -> Floats:
        """What all registers are between at the end, (W, 2)."""
        width = len(self.order)
        written = [ref.indices().ravel() for s in self.segments for block in s.blocks for ref in block.targets]
        known = np.union1d(np.arange(self.inputs), np.concatenate(written))
        chosen = scipy.sparse.csr_array(
            (np.ones(len(known)), (np.arange(len(known)), self.order[known])), shape=(len(known), width)
        )
        ends = np.zeros((width, 2))
        with precision(FIRST):
            cell = self.cell
            balls = closed(self.program(chosen), box(cell.low, cell.high))
            ends[self.order[known]] = [(below(ball), above(ball)) for ball in balls]
        return ends

    def distance(self, formula: Expression, readout: scipy.sparse.csr_array) -> float:
        """A bound of |read-out − formula of the variables|, in all outputs; raises Unprovable."""
        extra = tuple(f"y{n} before" for n in range(len(formula.variables), self.inputs))
        widened = Expression((*formula.variables, *extra), formula.steps, formula.outputs)
        program, cell = self.program(readout), self.cell
        best, why = np.inf, ""
        for kind in (GraphDifference, FormulaDifference):
            check_deadline()
            try:
                problem: Problem
                if kind is GraphDifference:
                    problem = GraphDifference(program, to_graph(widened, "the formulas"))
                else:
                    problem = FormulaDifference(program, widened, cell)
                best = min(best, *problem.upper(cell, FIRST))
            except Unprovable as reason:
                why = why or str(reason)
            if best < 1e-30:
                break
        if not best < np.inf:
            raise Unprovable(why or "no bound of the formulas of new variables was found")
        return best
