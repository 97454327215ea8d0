"""The flow of a program on Arb balls, at one precision: what it decides, and what it leaves open."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from integraph.flow.diagnosis import BadInput, Work
from integraph.gadgets import Gadget
from integraph.gadgets.free_form import FreeForm
from integraph.gadgets.functions.arb import BALLS
from integraph.gadgets.gadget import arguments
from integraph.numbers.arb.conversion import precision, rounded
from integraph.numbers.arb.quadratic_flow import QuadraticFlow, StepTooShort
from integraph.numbers.arrays import Floats, Indices
from integraph.program import Block, Failure, Options, Program, Status
from integraph.program.dynamics import switches
from integraph.program.views import mark

States = NDArray[Any]  # (W, inputs), of balls
HALVINGS = 60  # of a segment, for the time of an escape
# an escape is certain, and more bits do not make steps longer; a ball that is not finite is not
RANK = (Status.OVERFLOWED, Status.LOST, Status.STEP_LIMIT, Status.ESCAPED)


@dataclass(slots=True)
class BallFlowResult:
    """The inputs that did not reach the end: those that fail for certain, and those that more bits may decide."""

    failures: list[Failure] = field(default_factory=list)
    undecided: list[Failure] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class BallFlow:
    """A program, the blocks of it that count, and the arrays that results are written to, one row for each input."""

    program: Program
    work: Work
    options: Options
    outputs: Floats
    final: Floats
    path: Floats

    def run(self, x: Floats, rows: Indices, guard: int, timed: int) -> BallFlowResult:
        """Write the results of the inputs x, in `guard` bits more than the program asks for."""
        with precision(self.program.bits + guard), np.errstate(all="ignore"):
            return _Run(self, rows.copy(), timed).run(x)


@dataclass(slots=True, eq=False)
class _Run:
    """One precision. Inputs that fail, or are undecided, are dropped on the way."""

    flow: BallFlow
    rows: Indices  # of the inputs that are left
    timed: int  # failures whose time is worth finding
    result: BallFlowResult = field(default_factory=BallFlowResult)

    def run(self, x: Floats) -> BallFlowResult:
        program, options = self.flow.program, self.flow.options
        times, edges = np.asarray(options.times), switches(program)
        scales = None if program.scales is None else BALLS.exactly(program.scales)[:, None]
        states = BALLS.exactly(np.zeros((program.width, len(x))))
        states[: program.inputs] = BALLS.exactly(x.T)
        if scales is not None:
            states = states * scales
        states = self._pass(states, scales, times == 0, 0)
        for number, (segment, blocks) in enumerate(zip(program.segments, self.flow.work, strict=True)):
            before, bad = states.copy(), dict[int, BadInput]()
            tau = arb(segment.duration) * arb(segment.rate)
            for block in blocks:
                self._advance(block, states, tau, bad)
            kept = self._drop(number, before, bad)
            before, states = before[:, kept], states[:, kept]
            for index in np.flatnonzero((times > edges[number]) & (times < edges[number + 1])).tolist():
                moved = before.copy()
                for block in blocks:
                    self._advance(block, moved, (arb(times[index]) - arb(edges[number])) * arb(segment.rate), {})
                kept = self._write(moved, scales, self.flow.path[:, index], number)
                before, states = before[:, kept], states[:, kept]
            states = self._pass(states, scales, times == edges[number + 1], number)
        self._end(states, scales)
        return self.result

    def _advance(self, block: Block, states: States, t: arb, bad: dict[int, BadInput]) -> None:
        """Run a block in place, and note what is wrong with the inputs."""
        alive = {}
        if isinstance(block.op, FreeForm):
            _integrate(block.op, block, states, t, self.flow.options.max_steps, bad)
        else:
            alive = advance(block, states, t)
        _examine(block, alive, states, bad)

    def _drop(self, number: int, before: States, bad: dict[int, BadInput]) -> Indices:
        """Note what went wrong in a segment; returns the columns that are left."""
        program = self.flow.program
        segment, start = program.segments[number], float(switches(program)[number])
        for column, what in sorted(bad.items()):
            name, domain = program.registers.name(what.register), getattr(what.block.op, "domain", "")
            certain, moment = what.status in (Status.ESCAPED, Status.STEP_LIMIT), math.nan
            if what.role and certain and len(self.result.failures) < self.timed:
                moment = start + _when(what, before[:, column : column + 1], segment.duration, segment.rate)
            failure = Failure(int(self.rows[column]), what.status, number, segment.label, name, moment, domain)
            (self.result.failures if certain else self.result.undecided).append(failure)
        return self._keep(np.setdiff1d(np.arange(len(self.rows)), list(bad)))

    def _keep(self, columns: Indices) -> Indices:
        self.rows = self.rows[columns]
        return columns

    def _pass(self, states: States, scales: Any, now: NDArray[np.bool_], number: int) -> States:
        """Write the states at the times that are `now`."""
        for index in np.flatnonzero(now).tolist():
            states = states[:, self._write(states, scales, self.flow.path[:, index], number)]
        return states

    def _end(self, states: States, scales: Any) -> None:
        program, readout = self.flow.program, self.flow.program.readout
        own = states if scales is None else states / scales
        outputs = BALLS.exactly(np.zeros((program.outputs, len(self.rows))))
        rows = np.repeat(np.arange(program.outputs), np.diff(readout.indptr))
        np.add.at(outputs, rows, BALLS.exactly(readout.data)[:, None] * own[readout.indices])
        last = program.depth - 1
        left = self._write(outputs, None, self.flow.outputs, last)
        if self.flow.options.states:
            self._write(states[:, left], scales, self.flow.final, last)

    def _write(self, states: States, scales: Any, where: Floats, number: int) -> Indices:
        """Round to float64; returns the columns that are left, where all is decided and fits."""
        values, decided = nearest(states if scales is None else states / scales)
        where[self.rows] = values.T
        program = self.flow.program
        label = program.segments[number].label if program.depth else ""
        large, unsure = (decided & np.isinf(values)).any(0), (~decided).any(0)
        for status, which, noted in (
            (Status.OVERFLOWED, large, self.result.failures),
            (Status.LOST, unsure & ~large, self.result.undecided),
        ):
            inputs = self.rows[which].tolist()
            noted += [Failure(n, status, number, label, "read-out", program.horizon) for n in inputs]
        return self._keep(np.flatnonzero(~(large | unsure)))


def nearest(balls: States) -> tuple[Floats, NDArray[np.bool_]]:
    """The float64 next to each number, and whether its ball decides it; NaN where not."""
    values: Floats = np.asarray(np.frompyfunc(rounded, 1, 1)(balls)).astype(np.float64)  # None is NaN
    return values, ~np.isnan(values)


def advance(block: Block, states: States, t: Any) -> dict[str, Any]:
    """Run the closed form in place; returns what must be > 0, by target."""
    assert isinstance(block.op, Gadget)
    start, operands, tensors = arguments(block, states)
    exact = {name: BALLS.exactly(tensor) for name, tensor in tensors.items()}
    closed = block.op.closed(BALLS, t, start, operands, exact)
    for ref, end in zip(block.targets, closed.ends, strict=True):
        mark(ref, states, end)
    return dict(closed.alive)


def _integrate(op: FreeForm, block: Block, states: States, t: arb, max_steps: int, bad: dict[int, BadInput]) -> None:
    """Run the Taylor steps of a block in place; t has a sign."""
    flow = QuadraticFlow(op.field(block).scaled(1.0 if t > 0 else -1.0))
    y, x = (ref.indices().reshape(-1) for ref in block.refs())
    for column in range(states.shape[1]):
        try:
            states[y, column] = flow.end(states[y, column].tolist(), states[x, column].tolist(), abs(t), max_steps)
        except StepTooShort as reason:
            states[y, column] = arb.nan()
            bad[column] = BadInput(Status.STEP_LIMIT, int(y[reason.register]), block, "")


def _examine(block: Block, alive: dict[str, Any], states: States, bad: dict[int, BadInput]) -> None:
    """The first thing wrong in each column, from what a block left behind."""
    for role, ref in zip(block.op.targets, block.targets, strict=True):
        registers = ref.indices().reshape(-1)
        checks = [(Status.OVERFLOWED, "", _holds(arb.is_finite, states[registers]))]
        if role in alive:
            quantity = np.broadcast_to(alive[role], ref.shape + states.shape[1:]).reshape(len(registers), -1)
            checks += [
                (Status.LOST, role, _holds(_positive, quantity)),
                (Status.ESCAPED, role, ~_holds(lambda ball: ball <= 0, quantity)),
            ]
        for status, what, fine in checks:
            for column in np.flatnonzero(~fine.all(0)).tolist():
                known = bad.get(column)
                if known is None or RANK.index(known.status) < RANK.index(status):
                    bad[column] = BadInput(status, int(registers[np.argmin(fine[:, column])]), block, what)


def _holds(claim: Callable[[arb], bool], balls: States) -> NDArray[np.bool_]:
    """Of which balls a claim is certain."""
    result: NDArray[np.bool_] = np.asarray(np.frompyfunc(claim, 1, 1)(balls)).astype(np.bool_)
    return result


def _positive(ball: arb) -> bool:
    return ball > 0


def _when(bad: BadInput, before: States, duration: float, rate: float) -> float:
    """When it stops, since the segment began: bisection on what must stay positive."""
    low, high = 0.0, duration
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        alive = advance(bad.block, before.copy(), arb(middle) * arb(rate))
        low, high = (middle, high) if _holds(_positive, alive[bad.role]).all() else (low, middle)
    return high
