"""|x(T) − program(x(0))| of a dynamical system and the program of its lifted form, on boxes of starts.

Solutions x and the errors e of the lifted variables are rows over the same symbols (`error_equations`), so that an
error is as small as its causes times what the flow amplifies them by, on a box of any size that can be enclosed at all.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import scipy
from flint import arb

from integraph.certify.flow_maps.error_equations import error_equations
from integraph.certify.flow_maps.stages import FlowStage, FormulaSegments, FormulaStage, Stage, stages
from integraph.certify.flow_maps.tangents import moved
from integraph.certify.loops.flow_kernels import row_values
from integraph.certify.loops.rows import ModelRows, of_box
from integraph.certify.loops.steps import LEAST, flow_step
from integraph.certify.loops.tape import Operations, operations, taped
from integraph.certify.problem import Box, Point, PrecisionTooLow, Unprovable
from integraph.certify.taylor import taylor
from integraph.clock import check_deadline
from integraph.constructions.lifting.flow_map import FlowMap
from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.numbers.arb.conversion import ZERO, precision
from integraph.numbers.arrays import Floats
from integraph.numbers.roundoff import UP
from integraph.program import Program
from integraph.targets.expression import Expression

SHORTEST = 2.0**-20  # of a flow: a shorter step means that there is no end
RECENT = 8  # boxes whose bounds are kept: they are asked for again with more bits
POINTS, BITS = 8, 256  # at which the lifted equations are compared with the original ones


class FlowDifference:
    """sup |x(T) − program| over all outputs."""

    quantities = 1

    def __init__(self, program: Program, flow: FlowMap) -> None:
        system, source = flow.system, flow.system.source
        if (program.inputs, program.outputs) != (flow.inputs, flow.outputs):
            raise Unprovable(
                f"the program maps {program.inputs} → {program.outputs}, the flow {flow.inputs} → {flow.outputs}: it "
                "was not made from this system"
            )
        if program.scales is not None:
            raise Unprovable("the states are rescaled, which rounds controls: prove the program before rescale_states")
        if not all(map(taped, filter(None, (source.expression, system.definitions, flow.output)))):
            raise Unprovable("a function of the equations has no Taylor series here")
        self.program, self.flow = program, flow
        self.states, self.variables = len(source.states), len(source.variables)
        self.stages: list[Stage] = stages(program, self.states, self.variables, system.width)
        total = sum((Fraction(stage.duration) for stage in self.stages if isinstance(stage, FlowStage)), Fraction(0))
        if total != flow.T:
            raise Unprovable(f"the flow of the program takes {float(total):.17g}, not T = {float(flow.T):.17g}")
        if system.definitions is not None and not (self.stages and isinstance(self.stages[0], FormulaStage)):
            raise Unprovable("the program does not compute the new variables before its flow")
        if not _lifts(system, program):
            raise Unprovable(
                f"the lifted equations are not those of {source.name}, or hold a number such as pi or sqrt(2) rounded: "
                "make it an input"
            )
        self.errors = system.width - len(source.inputs)  # of states and new variables
        self._tapes: dict[tuple[object, ...], Operations] = {}
        self._known: dict[Box, tuple[float, float] | Unprovable] = {}

    def upper(self, box: Box, bits: int) -> tuple[float, ...]:
        return (self._between(box)[1],)

    def at(self, point: Point, bits: int) -> tuple[tuple[float, float], ...]:
        try:
            return (self._between(Box(point, point)),)
        except Unprovable:
            return ((0.0, math.inf),)

    def _between(self, box: Box) -> tuple[float, float]:
        """low ≤ the largest error of an output ≤ high, of all starts: more bits tell no more."""
        if box not in self._known:
            result: tuple[float, float] | Unprovable
            try:
                ends = self._errors(box).ranges()
                least = np.where((ends[:, 0] > 0) | (ends[:, 1] < 0), np.abs(ends).min(1), 0.0)
                result = float(least.max()), float(np.abs(ends).max()) if np.isfinite(ends).all() else math.inf
            except Unprovable as reason:
                result = reason
            self._known = dict([*self._known.items()][1 - RECENT :]) | {box: result}
        known = self._known[box]
        if isinstance(known, Unprovable):
            raise known
        return known

    def _errors(self, box: Box) -> ModelRows:
        """Rows of the errors of all outputs."""
        x = of_box(np.array(box.low), np.array(box.high))
        parts = [x.values[: self.states], np.zeros((self.errors, x.values.shape[1])), x.values[self.states :]]
        rows = x.with_values(np.concatenate(parts)).fresh()
        registers = np.zeros((self.program.width, 2))
        for number, stage in enumerate(self.stages):
            check_deadline()
            if isinstance(stage, FlowStage):
                rows = self._flown(stage, rows)
                continue
            registers[: self.flow.system.width] = self._lifted(rows, started=number > 0)
            segments = FormulaSegments(stage, registers, self.variables)
            if number == len(self.stages) - 1:
                return self._outputs(rows, segments)
            rows = self._loaded(rows, segments)
            registers = segments.ends()
        return self._outputs(rows, None)

    def _flown(self, stage: FlowStage, rows: ModelRows) -> ModelRows:
        """The rows after a flow, in steps that are powers of 2 of its duration."""
        key = tuple(stage.terms.items())
        if key not in self._tapes:
            self._tapes[key] = error_equations(self.flow.system, stage.terms)
        done, share = 0.0, 1.0
        while done < 1.0:
            check_deadline()
            step = flow_step(self._tapes[key], rows, stage.duration * share, 1.0)
            if step is None:
                share *= LEAST
                if share < SHORTEST:
                    raise PrecisionTooLow("solutions may end before T, or the box is too wide to follow them")
                continue
            share *= step.share
            rows, done = step.end(), done + share
            if step.share == 1.0 and done % (2.0 * share) == 0.0 and done + 2.0 * share <= 1.0:
                share *= 2.0
        return rows

    def _solution(self, rows: ModelRows) -> ModelRows:
        """The rows of states and inputs."""
        return rows.with_values(np.concatenate([rows.values[: self.states], rows.values[self.states + self.errors :]]))

    def _state_errors(self, rows: ModelRows) -> ModelRows:
        return rows.with_values(rows.values[self.states : 2 * self.states])

    def _lifted(self, rows: ModelRows, started: bool) -> Floats:
        """What the registers of all lifted variables are between, (width, 2); new ones are 0 before they are loaded."""
        x, formulas = self._solution(rows), self.flow.system.definitions
        ends = np.zeros((self.flow.system.width, 2))
        ends[: self.variables] = x.ranges()
        if started and formulas is not None:
            tape = operations(formulas, formulas.variables)
            failed, new = row_values(tape.code, tape.numbers, tape.held, tape.outputs, x.values, x.table)
            if failed >= 0:
                raise PrecisionTooLow("a new variable may have no value somewhere on the box")
            ends[self.variables :] = x.with_values(new).ranges()
        off = np.abs(rows.ranges()[self.states : self.states + self.errors]).max(1) * UP
        if started:
            moving = np.delete(np.arange(len(ends)), np.arange(self.states, self.variables))
            ends[moving, 0] = np.nextafter(ends[moving, 0] - off, -np.inf)
            ends[moving, 1] = np.nextafter(ends[moving, 1] + off, np.inf)
        return ends

    def _loaded(self, rows: ModelRows, segments: FormulaSegments) -> ModelRows:
        """The rows after new variables were computed from the states."""
        formulas = self.flow.system.definitions
        if formulas is None:
            raise Unprovable("between two flows there are segments, but this system has no new variables")
        readout = _selection(range(self.variables, self.flow.system.width), self.program.width)
        new = self._moved(rows, formulas, self._solution(rows), segments.distance(formulas, readout))
        first, last = 2 * self.states, self.states + self.errors
        return rows.with_values(np.concatenate([rows.values[:first], new, rows.values[last:]])).fresh()

    def _outputs(self, rows: ModelRows, segments: FormulaSegments | None) -> ModelRows:
        """The rows of the errors of outputs."""
        formula, readout = self.flow.output, self.program.readout
        if formula is None:
            if (readout - _selection(range(self.states), self.program.width)).count_nonzero():
                raise Unprovable("the outputs of the program are not the states of the system")
            return self._state_errors(rows)
        if segments is None:
            raise Unprovable("the program does not compute its read-out after the flow")
        states = rows.with_values(rows.values[: self.states])
        return rows.with_values(self._moved(rows, formula, states, segments.distance(formula, readout)))

    def _moved(self, rows: ModelRows, formula: Expression, x: ModelRows, off: float) -> Floats:
        """Rows of the errors of a formula that is computed to within `off`."""
        new = moved(formula, x, self._state_errors(rows))
        if new is None:
            raise PrecisionTooLow("a formula may have no value somewhere on the box")
        new[:, -1] = (new[:, -1] + off) * UP
        return new


def _selection(registers: range, width: int) -> scipy.sparse.csr_array:
    count = len(registers)
    return scipy.sparse.csr_array((np.ones(count), (np.arange(count), np.array(registers))), shape=(count, width))


def _lifts(system: QuadraticSystem, program: Program) -> bool:
    """Whether φ'(x)·f(x) is what the terms give at (x, φ(x)), at points of the program's box: a lift that
    is wrong is seen there. False, too, where no point has values."""
    source, formulas = system.source, system.definitions
    box, compared = program.box, False
    low, high = (0.25, 1.5) if box is None else (box.low, box.high)
    with precision(BITS):
        for point in np.random.default_rng(0).uniform(low, high, (POINTS, len(source.variables))).tolist():
            x = [arb(value) for value in point]
            rates = [row[0] for row in taylor(source.expression, x, 0)]
            new = [] if formulas is None else taylor(formulas, x, 1)
            z = [*x, *(row[0] for row in new)]
            gaps = [*rates, *([ZERO] * len(source.inputs)), *(_along(row[1:], rates) for row in new)]
            for i, j, k, value in system.terms:
                term = arb(value.numerator) / value.denominator
                gaps[i] -= term * math.prod((z[n] for n in (j, k) if n >= 0), start=arb(1))
            if all(gap.is_finite() for gap in gaps):
                compared = True
                if not all(gap.contains(0) for gap in gaps):
                    return False
    return compared


def _along(slopes: list[arb], rates: list[arb]) -> arb:
    return sum((slope * rate for slope, rate in zip(slopes, rates, strict=False)), ZERO)
