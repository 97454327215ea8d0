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

from integraph.certify.controls import exact_segment
from integraph.certify.enclosure import taylor_step
from integraph.certify.enclosure.closed_forms import advance
from integraph.certify.enclosure.systems import systems
from integraph.certify.problem import Unprovable
from integraph.certify.ranges import riccati
from integraph.certify.ranges.gradients import GRADIENTS, values, variable, without_gradient
from integraph.certify.ranges.slopes import between, tighten
from integraph.clock import check_deadline
from integraph.gadgets import Closed, Gadget
from integraph.gadgets.functions.arb import BALLS, BallFunctions
from integraph.gadgets.gadget import arguments
from integraph.numbers.arb import conversion
from integraph.numbers.arb.conversion import Balls
from integraph.numbers.arb.ranges import UNKNOWN
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.program import Block, Program, Terms
from integraph.program.terms import concatenate
from integraph.program.views import mark

PIECES = 4  # of a segment
GRADIENTS_OF = 16  # inputs at most: each makes everything slower
_below, _above = np.frompyfunc(conversion.below, 1, 1), np.frompyfunc(conversion.above, 1, 1)
_ball, _variable = np.frompyfunc(conversion.interval, 2, 1), np.frompyfunc(variable, 4, 1)
_where = np.frompyfunc(lambda alive, ball: ball if alive else without_gradient(UNKNOWN, ball), 2, 1)


def ends(balls: Any) -> Interval:
    """Floats around balls."""
    balls = values(balls)
    return Interval(_below(balls).astype(np.float64), _above(balls).astype(np.float64))


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
        self.moving = [block for block in self.segment.blocks if not block.op.additive]
        self.closed = _has_closed_form(program, number)
        self.terms = _terms_of(program, number, self.moving)

    def __call__(self, states: Any) -> tuple[Any, Interval]:
        """From the start of the segment to its end, and bounds (W, cells) of the states in between."""
        return self._by_closed_forms(states) if self.closed else self._by_taylor_steps(states)

    def _by_closed_forms(self, states: Any) -> tuple[Any, Interval]:
        start = ends(states)
        after = self._at(GRADIENTS, self.segment.blocks, self._time(PIECES, PIECES), states)
        end = ends(after)
        low, high = np.minimum(start.low, end.low), np.maximum(start.high, end.high)  # additive: y' is constant
        registers = _targets(self.moving)
        if len(registers):
            moved = self._pieces(states, start, end)
            low[registers], high[registers] = moved.low[registers], moved.high[registers]
        return after, Interval(low, high)

    def _pieces(self, states: Any, start: Interval, end: Interval) -> Interval:
        low, high = np.full(start.low.shape, np.inf), np.full(start.low.shape, -np.inf)
        first, plain = start, values(states)
        duration = float(np.nextafter(self.segment.duration / PIECES, np.inf))
        for piece in range(PIECES):
            check_deadline()
            last = (
                end
                if piece + 1 == PIECES
                else ends(self._at(GRADIENTS, self.moving, self._time(piece + 1, piece + 1), states))
            )
            coarse = ends(self._at(BALLS, self.moving, self._time(piece, piece + 1), plain))
            on_the_way = tighten(self.terms, coarse, first, last, duration)
            low, high = np.minimum(low, on_the_way.low), np.maximum(high, on_the_way.high)
            first = last
        return Interval(low, high)

    def _time(self, first: int, last: int) -> arb:
        """All times from piece `first` to piece `last`, of the blocks' own flow; its sign is certain."""
        part = conversion.interval(first / PIECES, last / PIECES)
        t = (part * arb(self.segment.duration) * abs(arb(self.segment.rate))).nonnegative_part()
        return t if self.segment.rate > 0 else -t

    def _at(self, f: BallFunctions, blocks: Sequence[Block], t: arb, states: Any) -> Any:
        """The states after time t; not finite where a solution may end before."""
        scales = self.program.scales
        unit = None if scales is None else BALLS.exactly(scales)[:, None]
        after = states.copy() if unit is None else states * unit
        for block in blocks:
            with np.errstate(all="ignore"):
                closed = self._closed(f, block, t, after)
            for role, ref, value in zip(block.op.targets, block.targets, closed.ends, strict=True):
                alive = np.greater(closed.alive.get(role, 1.0), 0).astype(np.bool_)
                mark(ref, after, value if alive.all() else _where(alive, value))
        return after if unit is None else after / unit

    def _closed(self, f: BallFunctions, block: Block, t: arb, states: Any) -> Closed:
        form = riccati.FORMS.get(block.op)
        if form is None:
            return advance(f, self.segment, block, t, states)
        start, operands, _ = arguments(block, states)
        return form(f, t, start, operands)

    def _by_taylor_steps(self, states: Any) -> tuple[Any, Interval]:
        bounds, after = ends(states), states.copy()
        for cell in range(after.shape[1]):
            check_deadline()
            column, like = values(states[:, cell]).tolist(), states[0, cell]
            for system in systems(self.program, self.number, column):
                registers = system.registers
                end, way = _taylor(system, [column[r] for r in registers], self.segment.duration)
                bounds.low[registers, cell], bounds.high[registers, cell] = way.low, way.high
                after[registers, cell] = [without_gradient(ball, like) for ball in end]
        return after, bounds


def _taylor(system: taylor_step.System, y: Balls, duration: float) -> tuple[Balls, Interval]:
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


def _has_closed_form(program: Program, number: int) -> bool:
    try:
        exact_segment(program, number)
    except Unprovable:
        return False
    return all(isinstance(block.op, Gadget) and block.op.exact for block in program.segments[number].blocks)


def _targets(blocks: Sequence[Block]) -> Indices:
    parts = [ref.indices().ravel() for block in blocks for ref in block.targets]
    return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64)


def _terms_of(program: Program, number: int, blocks: Sequence[Block]) -> Terms:
    """The terms of the derivatives of what these blocks write."""
    wanted = np.zeros(program.width, np.bool_)
    wanted[_targets(blocks)] = True
    return concatenate([part[wanted[part.i]] for part in program.segment_terms(number)])
