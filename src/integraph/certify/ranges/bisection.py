"""Which cells of the box to halve: those that reach furthest, until that gains little or the cells are spent.

The bound of a register is that of the cell where it is largest, and halving this cell gains at most its own width. So
the search halves the cells that are widest, as a part of the whole range, among those that make a bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from integraph.certify.ranges.segment_flow import SegmentFlow, at_start, middles
from integraph.clock import DeadlineError, check_deadline, deadline
from integraph.numbers.arb.conversion import FIRST, precision
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.program import Program
from integraph.progress import late_bar

ENOUGH = 0.04  # of the whole range, that halving a cell may gain
SMALL = 1e-3  # of the size, below which a range is not divided for its own sake
ROUND = 16  # cells divided at a time
QUARTERS = 4  # parts of a divided cell
WORK = 120_000  # cells times numbers of the program, about
FEWEST, MOST = 8, 288  # cells, however large or small the program is


@dataclass(slots=True, eq=False)
class Cells:
    """Cells (B, d) that cover the box, and bounds (D, W, B) of the registers from each."""

    low: Floats
    high: Floats
    bounds: Interval
    middles: Floats  # about the values from their centres, at the ends of the segments

    def joined(self, keep: Indices, other: Cells) -> Cells:
        """Some of these cells, and others."""
        bounds = Interval(
            np.concatenate([self.bounds.low[..., keep], other.bounds.low], -1),
            np.concatenate([self.bounds.high[..., keep], other.bounds.high], -1),
        )
        low, high = np.concatenate([self.low[keep], other.low]), np.concatenate([self.high[keep], other.high])
        return Cells(low, high, bounds, np.concatenate([self.middles[..., keep], other.middles], -1))


def bounds(program: Program, box: Interval, cells: int | None, seconds: float, progress: bool) -> tuple[Interval, int]:
    """Bounds (D + 1, W) of the registers, at the start and in each segment, and how many cells they took.

    An exhausted time leaves what is proved; so does Ctrl-C, which is for the person who waits."""
    segments = [SegmentFlow(program, number) for number in range(program.depth)]
    most = _most(program) if cells is None else cells
    cover = _run(program, segments, box.low[None], box.high[None])
    try:
        with deadline(seconds), late_bar(progress, "bounding registers") as update:
            while (count := cover.low.shape[0]) < most:
                check_deadline()
                chosen = _urgent(cover, min(ROUND, -((count - most) // (QUARTERS - 1))))
                if not len(chosen):
                    break
                quarters = _halved(*_halved(cover.low[chosen], cover.high[chosen], box), box)
                rest = np.setdiff1d(np.arange(count), chosen)
                cover = cover.joined(rest, _run(program, segments, *quarters))
                update(count / most, f"bounding registers: {count} cells")
    except (DeadlineError, KeyboardInterrupt):
        pass  # the cells so far cover the box
    return Interval(cover.bounds.low.min(-1), cover.bounds.high.max(-1)), cover.low.shape[0]


def _most(program: Program) -> int:
    numbers = program.terms + program.width * program.depth
    return min(max(FEWEST, WORK // max(numbers, 1)), MOST)


def _run(program: Program, segments: list[SegmentFlow], low: Floats, high: Floats) -> Cells:
    """All segments from these cells."""
    shape = (program.depth + 1, program.width, len(low))
    result, centres = Interval(np.empty(shape), np.empty(shape)), np.empty(shape)
    with precision(FIRST):
        states = at_start(program.width, low, high)
        now = Interval(np.zeros(shape[1:]), np.zeros(shape[1:]))
        now.low[: program.inputs], now.high[: program.inputs] = low.T, high.T
        result.low[0], result.high[0], centres[0] = now.low, now.high, middles(states)
        for number, flow in enumerate(segments, 1):
            states, now, way = flow(states, now)
            result.low[number], result.high[number], centres[number] = way.low, way.high, middles(states)
    return Cells(low, high, result, centres)


def _urgent(cover: Cells, most: int) -> Indices:
    """Cells that make a bound and may exceed the values by much, as a part of the range of values; these first."""
    low, high = cover.bounds.low, cover.bounds.high
    ends = np.concatenate([cover.middles, np.concatenate([cover.middles[:1], cover.middles[:-1]])], -1)
    with np.errstate(all="ignore"):
        least, largest = np.fmin.reduce(ends, -1), np.fmax.reduce(ends, -1)
        whole = np.maximum(largest - least, SMALL * np.maximum(np.abs(least), np.abs(largest)))
        excess = np.stack([least - low.min(-1), high.max(-1) - largest])
        cells = np.stack([low.argmin(-1), high.argmax(-1)])
        width = np.take_along_axis((high - low)[None], cells[..., None], -1)[..., 0]
        share = np.minimum(excess, width) / whole
    share = np.where(np.isnan(share), np.where(width > 0, np.inf, 0.0), share)
    score = np.zeros(cover.low.shape[0])
    np.maximum.at(score, cells.ravel(), share.ravel())
    score[~np.isfinite(high - low).all((0, 1))] = np.inf
    score[~(0.5 * cover.low + 0.5 * cover.high > cover.low).any(1)] = 0.0
    order = np.argsort(-score, kind="stable")[:most]
    return order[score[order] > ENOUGH]


def _halved(low: Floats, high: Floats, box: Interval) -> tuple[Floats, Floats]:
    """Both halves of every cell, across the side that is longest as a part of the box."""
    sides = np.where(box.high > box.low, (high - low) / np.where(box.high > box.low, box.high - box.low, 1.0), 0.0)
    rows, axis = np.arange(len(low)), sides.argmax(1)
    middle = 0.5 * low[rows, axis] + 0.5 * high[rows, axis]
    lower, upper = high.copy(), low.copy()
    lower[rows, axis] = upper[rows, axis] = middle
    return np.concatenate([low, upper]), np.concatenate([lower, high])
