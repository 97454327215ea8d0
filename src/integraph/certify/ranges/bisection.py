"""Which cells of the box to halve: those that reach furthest, until that gains little or the cells are spent.

The bound of a register is that of the cell where it is largest, and halving this cell gains at most its own width. So
the search first halves the cells that make a bound, the widest first as a part of the whole range, and then others that
exceed what was seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from integraph.certify.ranges.ball_flow import BallFlow
from integraph.certify.ranges.model_flow import ModelFlow, has_models
from integraph.clock import DeadlineError, check_deadline, deadline, now
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval, intersection
from integraph.program import Program
from integraph.progress import late_bar

ENOUGH = 0.04  # of the whole range, that halving a cell may gain
GAINED, FIRST = 0.98, 64  # of a width, that is left where it gained; cells from which on a doubling must gain
FEW = 13  # cells on balls, that show whether more help
SMALL = 1e-3  # of the size, below which a range is not divided for its own sake
QUARTERS = 4  # parts of a divided cell


class Flow(Protocol):
    """A program, from many cells at once. `first` covers a box at first; `most` cells are worth their time, and
    `together` of them are divided at a time."""

    most: int
    together: int

    def first(self, box: Interval, most: int) -> tuple[Floats, Floats]: ...

    def __call__(self, low: Floats, high: Floats) -> tuple[Interval, Interval]: ...


@dataclass(slots=True, eq=False)
class Cells:
    """Cells (B, d) that cover the box, and bounds (D + 1, W, B) of the registers from each."""

    low: Floats
    high: Floats
    bounds: Interval
    seen: Interval  # about what is attained at the ends of the segments

    @property
    def hull(self) -> Interval:
        return Interval(self.bounds.low.min(-1), self.bounds.high.max(-1))

    def joined(self, keep: Indices, other: Cells) -> Cells:
        """Some of these cells, and others."""
        bounds, seen = (
            Interval(*(np.concatenate([old[..., keep], new], -1) for old, new in ((a.low, b.low), (a.high, b.high))))
            for a, b in ((self.bounds, other.bounds), (self.seen, other.seen))
        )
        low, high = np.concatenate([self.low[keep], other.low]), np.concatenate([self.high[keep], other.high])
        return Cells(low, high, bounds, seen)


def bounds(program: Program, box: Interval, cells: int | None, seconds: float, progress: bool) -> tuple[Interval, int]:
    """Bounds (D + 1, W) of the registers, at the start and in each segment, and how many cells they took.

    Polynomial models bound them where all blocks have them. From some starts models are wide: a few cells on balls show
    whether more of these help."""
    if not has_models(program):
        return _searched(BallFlow(program), box, cells, seconds, progress)[:2]
    end = now() + seconds
    rows, count, ended = _searched(ModelFlow(program, box), box, cells, seconds, progress)
    balls = BallFlow(program)
    for most in (FEW, balls.most) if not ended else ():
        if cells is not None:
            most = min(most, cells)
        other, more, ended = _searched(balls, box, most, end - now(), progress)
        before, rows, count = rows, intersection(rows, other), max(count, more)
        if ended or not _narrower(rows, before):
            break
    return rows, count


@quiet
def _narrower(rows: Interval, before: Interval) -> bool:
    """Whether a range gained, or is not known yet."""
    old, new = before.high - before.low, rows.high - rows.low
    moves = old > SMALL * before.size
    return bool((~np.isfinite(new) | (moves & (new < GAINED * old))).any())


def _searched(
    flow: Flow, box: Interval, cells: int | None, seconds: float, progress: bool
) -> tuple[Interval, int, bool]:
    """The same by one flow, and whether the time ended it, or Ctrl-C, which is for the person who waits: either leaves
    what is proved."""
    most = flow.most if cells is None else cells
    cover = _run(flow, *flow.first(box, most))
    doubled, before, ended = max(len(cover.low), FIRST), cover.hull, False
    try:
        with deadline(seconds), late_bar(progress, "bounding registers") as update:
            while (count := len(cover.low)) < most:
                check_deadline()
                chosen = _urgent(cover, min(flow.together, -((count - most) // (QUARTERS - 1))))
                if not len(chosen):
                    break
                quarters = _halved(*_halved(cover.low[chosen], cover.high[chosen], box), box)
                rest = np.setdiff1d(np.arange(count), chosen)
                cover = cover.joined(rest, _run(flow, *quarters))
                update(count / most, f"bounding registers: {count} cells")
                if len(cover.low) >= 2 * doubled:
                    if not _narrower(cover.hull, before):
                        break
                    doubled, before = len(cover.low), cover.hull
    except (DeadlineError, KeyboardInterrupt):
        ended = True  # the cells so far cover the box
    return cover.hull, len(cover.low), ended


def _run(flow: Flow, low: Floats, high: Floats) -> Cells:
    return Cells(low, high, *flow(low, high))


def _urgent(cover: Cells, most: int) -> Indices:
    """Cells that make a bound and may exceed the values by much, as a part of the range of values; these first."""
    low, high = cover.bounds.low, cover.bounds.high
    with np.errstate(all="ignore"):
        least, largest = _with_start(np.fmin, cover.seen.low), _with_start(np.fmax, cover.seen.high)
        whole = np.maximum(largest - least, SMALL * np.maximum(np.abs(least), np.abs(largest)))
        width = high - low
        excess = np.maximum(least[..., None] - low, high - largest[..., None])
        share = np.minimum(excess, width) / whole[..., None]
    share = np.where(np.isnan(share), np.where(width > 0, np.inf, 0.0), share)
    score, bounding = share.max((0, 1)), np.zeros(len(cover.low))
    for extreme in (low.argmin(-1), high.argmax(-1)):
        np.maximum.at(bounding, extreme.ravel(), np.take_along_axis(share, extreme[..., None], -1).ravel())
    score[~np.isfinite(width).all((0, 1))] = np.inf
    score[~(0.5 * cover.low + 0.5 * cover.high > cover.low).any(1)] = 0.0
    order: Indices = np.lexsort((-score, -bounding))
    order = order[score[order] > ENOUGH]
    return order[:most]


def _with_start(extreme: np.ufunc, seen: Floats) -> Floats:
    """The extreme of all cells in each segment: at its end, and at its start, where the one before ends."""
    ends: Floats = extreme.reduce(seen, -1)
    return np.concatenate([ends[:1], extreme(ends[1:], ends[:-1])])


def _halved(low: Floats, high: Floats, box: Interval) -> tuple[Floats, Floats]:
    """Both halves of every cell, across the side that is longest as a part of the box."""
    sides = np.where(box.high > box.low, (high - low) / np.where(box.high > box.low, box.high - box.low, 1.0), 0.0)
    rows, axis = np.arange(len(low)), sides.argmax(1)
    middle = 0.5 * low[rows, axis] + 0.5 * high[rows, axis]
    lower, upper = high.copy(), low.copy()
    lower[rows, axis] = upper[rows, axis] = middle
    return np.concatenate([low, upper]), np.concatenate([lower, high])
