"""Which cells of the box to halve: those that reach furthest, until that gains little or the cells are spent.

The bound of a register is that of the cell where it is largest, and halving this cell gains at most its own width. So
the search halves the cells that are widest, as a part of the whole range, among those that make a bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from integraph.certify.ranges.segment_flow import SegmentFlow, at_start, ends
from integraph.clock import DeadlineError, check_deadline, deadline
from integraph.numbers.arb.conversion import FIRST, precision
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.program import Program
from integraph.progress import late_bar

ENOUGH = 0.02  # of the whole range, that halving a cell may gain
ROUND = 16  # cells halved at a time
WORK = 400_000  # cells times numbers of the program, at most
FEWEST = 8  # cells, however large the program is


@dataclass(slots=True, eq=False)
class Cells:
    """Cells (B, d) that cover the box, and bounds (D, W, B) of the registers from each."""

    low: Floats
    high: Floats
    bounds: Interval

    def joined(self, keep: Indices, other: Cells) -> Cells:
        """Some of these cells, and others."""
        bounds = Interval(
            np.concatenate([self.bounds.low[..., keep], other.bounds.low], -1),
            np.concatenate([self.bounds.high[..., keep], other.bounds.high], -1),
        )
        return Cells(np.concatenate([self.low[keep], other.low]), np.concatenate([self.high[keep], other.high]), bounds)


def bounds(program: Program, box: Interval, cells: int | None, seconds: float, progress: bool) -> tuple[Interval, int]:
    """Bounds (D, W) of the registers, and how many cells they took. Ctrl-C and an exhausted time leave what is proved."""
    segments = [SegmentFlow(program, number) for number in range(program.depth)]
    most = _most(program) if cells is None else cells
    cover = _run(program, segments, box.low[None], box.high[None])
    try:
        with deadline(seconds), late_bar(progress, "bounding registers") as update:
            while (count := cover.low.shape[0]) < most:
                check_deadline()
                chosen = _urgent(cover, min(ROUND, most - count))
                if not len(chosen):
                    break
                halves = _halved(cover.low[chosen], cover.high[chosen], box)
                rest = np.setdiff1d(np.arange(count), chosen)
                cover = cover.joined(rest, _run(program, segments, *halves))
                update(count / most, f"bounding registers: {count} cells")
    except (DeadlineError, KeyboardInterrupt):
        pass  # the cells so far cover the box
    return Interval(cover.bounds.low.min(-1), cover.bounds.high.max(-1)), cover.low.shape[0]


def _most(program: Program) -> int:
    numbers = program.terms + program.width * program.depth
    return max(FEWEST, WORK // numbers)


def _run(program: Program, segments: list[SegmentFlow], low: Floats, high: Floats) -> Cells:
    """All segments from these cells."""
    shape = (program.depth + 1, program.width, len(low))
    result = Interval(np.empty(shape), np.empty(shape))
    with precision(FIRST):
        states = at_start(program.width, low, high)
        way = ends(states)
        result.low[0], result.high[0] = way.low, way.high
        for number, flow in enumerate(segments, 1):
            states, way = flow(states)
            result.low[number], result.high[number] = way.low, way.high
    return Cells(low, high, result)


def _urgent(cover: Cells, most: int) -> Indices:
    """Cells that make a bound and are wide, the widest first."""
    low, high = cover.bounds.low, cover.bounds.high
    least, largest = low.min(-1), high.max(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (high - low) / (largest - least)[..., None]
    share = np.where(np.isnan(share), np.where(np.isfinite(high - low), 0.0, 1.0), share)
    splittable = (0.5 * cover.low + 0.5 * cover.high > cover.low).any(1)
    score = np.zeros(len(splittable))
    for cells in (low.argmin(-1), high.argmax(-1)):
        np.maximum.at(score, cells.ravel(), np.take_along_axis(share, cells[..., None], -1).ravel())
    unknown = (~np.isfinite(share) | ~np.isfinite(high - low)).any((0, 1))
    score = np.where(splittable, np.where(unknown, 1.0, score), 0.0)
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
