"""A program on balls with gradients, from many cells of the box at once: bounds of every register in every segment."""

from __future__ import annotations

import numpy as np

from integraph.certify.ranges.segment_flow import SegmentFlow, at_start, middles
from integraph.numbers.arb.conversion import FIRST, precision
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.program import Program

WORK = 120_000  # cells times numbers of the program, about
FEWEST, MOST = 8, 288  # cells, however large or small the program is


class BallFlow:
    """The flow from cells (cells, inputs), segment by segment."""

    together = 16

    def __init__(self, program: Program) -> None:
        self.program = program
        self.segments = [SegmentFlow(program, number) for number in range(program.depth)]
        self.most = min(max(FEWEST, WORK // numbers(program)), MOST)

    def first(self, box: Interval, most: int) -> tuple[Floats, Floats]:
        """The whole box: cells take long."""
        return box.low[None], box.high[None]

    def __call__(self, low: Floats, high: Floats) -> tuple[Interval, Interval]:
        """Bounds (D + 1, W, cells), at the start and in each segment, and about the values at centres at its end."""
        program = self.program
        shape = (program.depth + 1, program.width, len(low))
        result, centres = Interval(np.empty(shape), np.empty(shape)), np.empty(shape)
        with precision(FIRST):
            states = at_start(program.width, low, high)
            now = Interval(np.zeros(shape[1:]), np.zeros(shape[1:]))
            now.low[: program.inputs], now.high[: program.inputs] = low.T, high.T
            result.low[0], result.high[0], centres[0] = now.low, now.high, middles(states)
            for number, flow in enumerate(self.segments, 1):
                states, now, way = flow(states, now)
                result.low[number], result.high[number], centres[number] = way.low, way.high, middles(states)
        return result, Interval(centres, centres)


def numbers(program: Program) -> int:
    """About how many numbers a cell takes."""
    return max(program.terms + program.width * program.depth, 1)
