"""One segment for many cells of the box at once: balls at its end, and bounds of every register on the way.

Closed forms are evaluated from the start of the segment to the ends of a few pieces of it, and over each piece with
time as a ball. Where a register only rises or only falls on a piece, its ends bound it. Blocks without a closed form,
and controls that are rounded, go by validated Taylor steps, cell by cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from integraph.certify.bounds.quadratic_flow import QuadraticFlow, quadratic_flow
from integraph.certify.controls import exact_part
from integraph.certify.enclosure import taylor_step
from integraph.certify.enclosure.closed_forms import advance
from integraph.certify.enclosure.systems import System, systems
from integraph.certify.problem import Unprovable
from integraph.certify.ranges import logistic, riccati
from integraph.certify.ranges.gradient_rows import linear_rows
from integraph.certify.ranges.gradients import GRADIENTS, centre_of, values, variable, without_gradient
from integraph.certify.ranges.pieces import Pieces, targets
from integraph.certify.ranges.slopes import between
from integraph.clock import check_deadline
from integraph.gadgets import Closed, Gadget
from integraph.gadgets.functions.arb import BALLS
from integraph.gadgets.gadget import arguments
from integraph.numbers.arb import conversion
from integraph.numbers.arb.conversion import Balls
from integraph.numbers.arb.ranges import UNKNOWN
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.program import Block, Program, Segment
from integraph.program.views import mark

GRADIENTS_OF = 16  # inputs at most: each makes everything slower
FORMS = riccati.FORMS | logistic.FORMS  # that lose less on wide balls than those for floats
_below, _above = np.frompyfunc(conversion.below, 1, 1), np.frompyfunc(conversion.above, 1, 1)
_ball, _variable = np.frompyfunc(conversion.interval, 2, 1), np.frompyfunc(variable, 4, 1)
_middle = np.frompyfunc(lambda ball: float(centre_of(ball).mid()), 1, 1)
_where = np.frompyfunc(lambda alive, ball: ball if alive else without_gradient(UNKNOWN, ball), 2, 1)


def ends(balls: Any) -> Interval:
    """Floats around balls."""
    balls = values(balls)
    return Interval(_below(balls).astype(np.float64), _above(balls).astype(np.float64))


def middles(balls: Any) -> Floats:
    """About the values at the centres of the cells."""
    guess: Floats = _middle(balls).astype(np.float64)
    return guess


def at_start(width: int, low: Floats, high: Floats) -> Any:
    """Registers (W, cells), with gradients: inputs in cells (B, d), everything else 0."""
    count, inputs = low.shape
    states = BALLS.exactly(np.zeros((width, count)))
    states[:inputs] = _ball(low.T, high.T)
    if inputs <= GRADIENTS_OF:
        centres = BALLS.exactly(np.clip(0.5 * low + 0.5 * high, low, high).T)
        offsets = np.empty(count, object)
        offsets[:] = (states[:inputs] - centres).T.tolist()
        states[:inputs] = _variable(states[:inputs], centres, np.arange(inputs)[:, None], offsets)
    return states


class SegmentFlow:
    """Segment `number` of a program."""

    def __init__(self, program: Program, number: int) -> None:
        self.program, self.number = program, number
        self.segment = program.segments[number]
        self.closed = has_closed_form(program, self.segment)
        self.flow = None if self.closed else quadratic_flow(program, number)
        self.pieces = Pieces(program, number)

    def __call__(self, states: Any, start: Interval) -> tuple[Any, Interval, Interval]:
        """From states at the start of the segment, and their bounds (W, cells), to those at its end; and bounds of the
        states in between."""
        return self._by_closed_forms(states, start) if self.closed else self._by_taylor_steps(states, start)

    def _by_closed_forms(self, states: Any, start: Interval) -> tuple[Any, Interval, Interval]:
        after = self._at(self.segment.blocks, part_of(self.segment, 1.0, 1.0), states)
        end = self._replaced(start, targets(self.segment.blocks), after)
        pieces = self.pieces

        def over(first: float, last: float) -> Interval:
            moved = self._at(pieces.blocks, part_of(self.segment, first, last), states)
            return self._replaced(start, pieces.registers, moved)

        return after, end, pieces.way(start, end, over)

    def _replaced(self, bounds: Interval, registers: Indices, states: Any) -> Interval:
        """The bounds with those of some registers from other states."""
        low, high, new = bounds.low.copy(), bounds.high.copy(), ends(states[registers])
        low[registers], high[registers] = new.low, new.high
        return Interval(low, high)

    def _at(self, blocks: Sequence[Block], t: arb, states: Any) -> Any:
        """The states after time t; not finite where a solution may end before."""
        scales = self.program.scales
        unit = None if scales is None else BALLS.exactly(scales)[:, None]
        after = states.copy() if unit is None else states * unit
        for block in blocks:
            with np.errstate(all="ignore"):
                closed = self._closed(block, t, after)
            alive = _alive(closed, states.shape[1])
            for ref, value in zip(block.targets, closed.ends, strict=True):
                mark(ref, after, value if alive.all() else _where(alive, value))
        return after if unit is None else after / unit

    def _closed(self, block: Block, t: arb, states: Any) -> Closed:
        form = FORMS.get(block.op)
        if form is None:
            return advance(GRADIENTS, self.segment, block, t, states)
        start, operands, tensors = arguments(block, states)
        exact = {name: BALLS.exactly(value) for name, value in tensors.items()}
        closed: Closed = form(GRADIENTS, t, start, operands, exact)
        return closed

    def _by_taylor_steps(self, states: Any, start: Interval) -> tuple[Any, Interval, Interval]:
        way, after = Interval(start.low.copy(), start.high.copy()), states.copy()
        for cell in range(after.shape[1]):
            check_deadline()
            column, like = values(states[:, cell]).tolist(), states[0, cell]
            if self.flow is not None:
                end, on_the_way = _on_models(self.flow, states[:, cell])
                moved = self.flow.moved
                way.low[moved, cell], way.high[moved, cell] = on_the_way.low, on_the_way.high
                after[moved, cell] = [without_gradient(ball, like) for ball in end]
                continue
            for system in systems(self.program, self.number, column):
                registers = system.registers
                end, on_the_way = _taylor(system, [column[r] for r in registers], self.segment.duration)
                way.low[registers, cell], way.high[registers, cell] = on_the_way.low, on_the_way.high
                after[registers, cell] = [without_gradient(ball, like) for ball in end]
        return after, self._replaced(start, targets(self.segment.blocks), after), way


def _on_models(flow: QuadraticFlow, column: Any) -> tuple[Balls, Interval]:
    """The end of the registers that move, and bounds on the way, from balls whose gradients are linear models."""
    rows = linear_rows(column)
    low, high = np.full(len(flow.moved), np.inf), np.full(len(flow.moved), -np.inf)
    last = None
    for last in flow.steps(rows.with_values(rows.values[flow.order])):
        low, high = np.minimum(low, last.over[:, 0]), np.maximum(high, last.over[:, 1])
    if last is None or last.end < flow.duration:
        return [UNKNOWN] * len(low), Interval(np.full(len(low), -np.inf), np.full(len(low), np.inf))
    return [conversion.interval(*side) for side in last.rows.tight_ranges()[: len(low)].tolist()], Interval(low, high)


def _taylor(system: System, y: Balls, duration: float) -> tuple[Balls, Interval]:
    """The end, and bounds on the way: of each step from its tube and its ends."""
    low, high = np.full(len(y), np.inf), np.full(len(y), -np.inf)
    first = ends(np.array(y, object))
    try:
        for step in taylor_step.steps(system, y, duration):
            y = step.end
            last, slope = ends(np.array(y, object)), ends(np.array(system.slope(step.tube), object))
            way = between(first, last, slope, conversion.above(step.duration))
            low, high = np.minimum(low, way.low), np.maximum(high, way.high)
            first = last
    except Unprovable:
        y = [UNKNOWN] * len(y)
        low, high = -np.full(len(y), np.inf), np.full(len(y), np.inf)
    return y, Interval(low, high)


def _alive(closed: Closed, cells: int) -> NDArray[np.bool_]:
    """The cells from which the solutions of a block provably exist: one register that escapes ends all of them."""
    alive = np.ones(cells, np.bool_)
    for quantity in closed.alive.values():
        positive = np.greater(quantity, 0).astype(np.bool_)
        alive &= positive.reshape(-1, positive.shape[-1]).all(0) if positive.ndim else positive
    return alive


def part_of(segment: Segment, first: float, last: float) -> arb:
    """All times between two parts of the segment, of the blocks' own flow; its sign is certain."""
    part = conversion.interval(first, last) * arb(segment.duration) * abs(arb(segment.rate))
    return part.nonnegative_part() if segment.rate > 0 else -part.nonnegative_part()


def has_closed_form(program: Program, part: Segment) -> bool:
    """Whether a segment, or some blocks of it, have one for their controls as stored."""
    try:
        exact_part(program, part)
    except Unprovable:
        return False
    return all(isinstance(block.op, Gadget) and block.op.exact for block in part.blocks)
