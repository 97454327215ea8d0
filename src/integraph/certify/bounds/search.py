"""Bisection of cells, best first, in batches.

A cell whose bounds are within the gap of values that are attained is settled, and only its bounds are kept. Of the
others those with the widest bounds are bisected, across the input that has most influence. The cells and what is
settled cover the box at any time, so that the search may be stopped at any time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from integraph.certify.bounds.bounds import Bounds, Ending
from integraph.certify.bounds.cells import DIVIDED, FIRST, Cells, Source, batch_size, bounded, degree_for, division
from integraph.certify.bounds.point_values import point_values
from integraph.clock import DeadlineError, check_deadline, deadline, now
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.progress import late_bar
from integraph.targets.graph import Graph

LONGEST = 60.0  # seconds, where a gap is asked for and no time is given
BISECTED = 12  # inputs up to which the first pass bisects a box that is not divided evenly
MOST = 4_000_000  # numbers in the cells that are kept
CLIMB = 0.5  # of the gap: below that a cell is settled


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Open cells; bounds of what is settled; and for each output the lowest and the highest value seen in float64, with
    their points."""

    cells: Cells
    low: Floats
    high: Floats
    lowest: Floats
    highest: Floats
    dip: Floats
    peak: Floats
    count: int

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        return (
            np.minimum(self.low, self.cells.least.min(0, initial=np.inf)),
            np.maximum(self.high, self.cells.most.max(0, initial=-np.inf)),
        )

    def excess(self) -> Floats:
        """Of each cell the largest share of the width by which its bounds exceed the values seen."""
        width = np.maximum(self.peak - self.dip, np.finfo(float).tiny)
        over = np.maximum(self.cells.most - self.peak, self.dip - self.cells.least) / width
        result: Floats = np.where(np.isnan(over), np.inf, over).max(1)
        return result


def search(source: Source, box: Interval, gap: float | None, seconds: float | None, progress: bool) -> Bounds:
    """Bounds on a box: of the first division alone, or until they are within `gap`, or for so many `seconds`."""
    begun = now()
    wide = int((box.high > box.low).sum())
    degree = degree_for(source, wide)
    most = batch_size(source, wide, degree)
    state = _begin(source, bounded(source, *division(box.low, box.high), degree, most), box)
    while DIVIDED < wide <= BISECTED and state.count < FIRST and _splittable(state.cells).any():
        state = _step(source, state, 0.0, degree, most)
    ending = Ending.ONE_PASS
    if gap is not None or seconds is not None:
        limit = max((LONGEST if seconds is None else seconds) - (now() - begun), 0.0)
        with late_bar(progress, "bounding") as show:
            try:
                with deadline(limit):
                    while (stop := _ending(state, 0.0 if gap is None else gap)) is None:
                        check_deadline()
                        state = _step(source, state, 0.0 if gap is None else gap, degree, most)
                        show(_share(state, gap, (now() - begun), seconds), f"bounding: {state.count} cells")
                    ending = stop
            except DeadlineError:
                ending = Ending.SECONDS
            except KeyboardInterrupt:
                ending = Ending.INTERRUPTED
    return _result(source, state, ending, begun)


def _share(state: State, gap: float | None, spent: float, seconds: float | None) -> float:
    """How much of the work is done, as far as one can tell."""
    by_time = 0.0 if seconds is None else spent / seconds
    excess = float(state.excess().max(initial=0.0))
    by_gap = 0.0 if gap is None or not 0 < excess < math.inf else min(gap / excess, 1.0)
    return max(by_time, by_gap)


def _begin(source: Source, cells: Cells, box: Interval) -> State:
    outputs = cells.least.shape[1]
    nowhere, middle = np.full(outputs, np.inf), np.tile(_middle(box.low, box.high), (outputs, 1))
    state = State(cells, nowhere, -nowhere, middle, middle.copy(), nowhere, -nowhere, len(cells))
    return _seen(source, state, cells)


def _middle(low: Floats, high: Floats) -> Floats:
    return np.clip(0.5 * low + 0.5 * high, low, high)


def _ending(state: State, gap: float) -> Ending | None:
    excess = state.excess()
    if not (excess > gap).any():
        return Ending.GAP
    cells = state.cells
    if cells.low.size + cells.peaks.size > MOST:
        return Ending.CELLS
    return None if _splittable(cells)[excess > gap].any() else Ending.SMALL


def _splittable(cells: Cells) -> NDArray[np.bool_]:
    middle = 0.5 * cells.low + 0.5 * cells.high
    return np.asarray(((cells.low < middle) & (middle < cells.high)).any(1))


def _step(source: Source, state: State, gap: float, degree: int, most: int) -> State:
    """The state after one batch of bisections."""
    cells, excess = state.cells, state.excess()
    open_ = excess > gap * CLIMB
    urgent = np.flatnonzero(open_ & _splittable(cells))
    chosen = urgent[np.argsort(-excess[urgent], kind="stable")[: max(most // 2, 1)]]
    kept = open_.copy()
    kept[chosen] = False
    parents = cells.take(chosen)
    low, high = _halves(parents)
    halves = bounded(source, low, high, degree, most)
    doubled = [np.concatenate([ends, ends]) for ends in (parents.least, parents.most)]
    halves = replace(halves, least=np.maximum(halves.least, doubled[0]), most=np.minimum(halves.most, doubled[1]))
    settled = cells.take(~open_)
    after = replace(
        state,
        cells=cells.take(kept).join(halves),
        low=np.minimum(state.low, settled.least.min(0, initial=np.inf)),
        high=np.maximum(state.high, settled.most.max(0, initial=-np.inf)),
        count=state.count + len(halves),
    )
    return _seen(source, after, halves)


def _halves(parents: Cells) -> tuple[Floats, Floats]:
    """Both halves of every cell, across the input of most influence among those that can be divided."""
    middle = 0.5 * parents.low + 0.5 * parents.high
    divisible = (parents.low < middle) & (middle < parents.high)
    influence = np.where(np.isfinite(parents.influence), parents.influence, 0.0)
    width = (parents.high - parents.low) / np.maximum((parents.high - parents.low).max(1, keepdims=True), 1e-300)
    score = np.where(divisible, influence + 1e-9 * width * (1.0 + influence.max(1, keepdims=True)), -1.0)
    rows, axes = np.arange(len(parents)), score.argmax(1)
    cut = middle[rows, axes]
    first_high, second_low = parents.high.copy(), parents.low.copy()
    first_high[rows, axes], second_low[rows, axes] = cut, cut
    return np.concatenate([parents.low, second_low]), np.concatenate([first_high, parents.high])


def _seen(source: Source, state: State, cells: Cells) -> State:
    """The state with what is seen at the centres of some cells, and where their outputs are probably extreme: of those
    cells whose bounds promise most."""
    few = 16 if isinstance(source, Graph) else 64
    outputs = range(cells.least.shape[1])
    high = [cells.peaks[np.argsort(-cells.most[:, n])[:few], n] for n in outputs]
    low = [cells.dips[np.argsort(cells.least[:, n])[:few], n] for n in outputs]
    points = np.unique(np.concatenate([*high, *low, _middle(cells.low, cells.high)[:few]]), axis=0)
    with np.errstate(all="ignore"):
        values = source.values(points) if isinstance(source, Graph) else source(points)
    top, bottom = np.where(np.isfinite(values), values, -np.inf), np.where(np.isfinite(values), values, np.inf)
    best, worst, every = top.argmax(0), bottom.argmin(0), np.arange(values.shape[1])
    more, less = top[best, every] > state.peak, bottom[worst, every] < state.dip
    return replace(
        state,
        peak=np.where(more, top[best, every], state.peak),
        dip=np.where(less, bottom[worst, every], state.dip),
        highest=np.where(more[:, None], points[best], state.highest),
        lowest=np.where(less[:, None], points[worst], state.lowest),
    )


def _result(source: Source, state: State, ending: Ending, begun: float) -> Bounds:
    low, high = state.bounds
    outputs = range(len(low))
    known = {
        tuple(x): point_values(source, x) for x in np.unique(np.concatenate([state.lowest, state.highest]), axis=0)
    }
    attained_low = np.array([known[tuple(state.lowest[n])][1][n] for n in outputs])
    attained_high = np.array([known[tuple(state.highest[n])][0][n] for n in outputs])
    return Bounds(
        low, high, state.lowest, state.highest, attained_low, attained_high, state.count, now() - begun, ending
    )
