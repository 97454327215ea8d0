"""The state of a search: cells that are open, bounds of what is settled, and what was seen.

A cell whose bounds are within the gap of values that were seen is settled, and only its bounds are kept. Of the others
those with the widest bounds are bisected, across the input that has most influence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from integraph.certify.bounds.bounds import Ending, rounded
from integraph.certify.bounds.cells import Cells, Ends, Source, batches, joined
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval
from integraph.program import Program
from integraph.targets.graph import Graph

Run = Callable[[Sequence[Ends]], Iterable[Cells]]  # bounds on batches of cells, whoever computes them
MOST = 4_000_000  # numbers in the cells that are kept
CLIMB = 0.5  # of the gap: below that a cell is settled
LOOKS, LOOKS_GRAPH, ALL = 64, 16, 4096  # points at which values are seen, for an output of a round, and for all


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Open cells; bounds of what is settled; and for each output the lowest and the highest value seen in float64, with
    their points. Cells and settled bounds cover the box."""

    cells: Cells
    low: Floats
    high: Floats
    lowest: Floats
    highest: Floats
    dip: Floats
    peak: Floats
    count: int

    @property
    def bounds(self) -> Interval:
        return Interval(
            np.minimum(self.low, self.cells.least.min(0, initial=np.inf)),
            np.maximum(self.high, self.cells.most.max(0, initial=-np.inf)),
        )

    @quiet
    def excess(self) -> Floats:
        """Of each cell the largest share of the width by which its bounds exceed the values seen; what is rounding
        exceeds nothing."""
        width = np.maximum(self.peak - self.dip, np.finfo(float).tiny)
        over = np.maximum(self.cells.most - self.peak, self.dip - self.cells.least) / width
        over = np.where(rounded(self.cells.least, self.cells.most), 0.0, over)
        result: Floats = np.where(np.isnan(over), np.inf, over).max(1)
        return result

    def ending(self, gap: float) -> Ending | None:
        """A reason to stop, if there is one."""
        excess = self.excess()
        if not (excess > gap).any():
            return Ending.GAP
        if self.cells.low.size + self.cells.peaks.size > MOST:
            return Ending.CELLS
        return None if _splittable(self.cells)[excess > gap].any() else Ending.SMALL


def beginning(source: Source, cells: Cells, box: Interval) -> State:
    outputs = cells.least.shape[1]
    nowhere, middle = np.full(outputs, np.inf), np.tile(middles(box.low, box.high), (outputs, 1))
    state = State(cells, nowhere, -nowhere, middle, middle.copy(), nowhere, -nowhere, len(cells))
    return _seen(source, state, cells)


def middles(low: Floats, high: Floats) -> Floats:
    return np.clip(0.5 * low + 0.5 * high, low, high)


def _splittable(cells: Cells) -> NDArray[np.bool_]:
    middle = 0.5 * cells.low + 0.5 * cells.high
    return np.asarray(((cells.low < middle) & (middle < cells.high)).any(1))


def advanced(source: Source, state: State, gap: float, parents: Callable[[int], int], most: int, run: Run) -> State:
    """The state after one round, which bisects `parents` of so many open cells, in batches of `most` halves."""
    cells, excess = state.cells, state.excess()
    open_ = excess > gap * CLIMB
    urgent: Indices = np.flatnonzero(open_ & _splittable(cells))
    chosen = urgent[np.argsort(-excess[urgent], kind="stable")[: parents(len(urgent))]]
    kept = open_.copy()
    kept[chosen] = False
    divided = cells.take(chosen)
    low, high = _halves(divided)
    halves = joined(run(batches(low, high, most)))
    doubled = [np.concatenate([ends, ends]) for ends in (divided.least, divided.most)]
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


def _halves(parents: Cells) -> Ends:
    """Both halves of every cell, across the input of most influence among those that can be divided."""
    middle = 0.5 * parents.low + 0.5 * parents.high
    divisible = (parents.low < middle) & (middle < parents.high)
    influence = np.where(np.isfinite(parents.influence), parents.influence, 0.0)
    half = 0.5 * parents.high - 0.5 * parents.low
    width = half / np.maximum(half.max(1, keepdims=True), 1e-300)
    score = np.where(divisible, influence + 1e-9 * width * (1.0 + influence.max(1, keepdims=True)), -1.0)
    rows, axes = np.arange(len(parents)), score.argmax(1)
    cut = middle[rows, axes]
    first_high, second_low = parents.high.copy(), parents.low.copy()
    first_high[rows, axes], second_low[rows, axes] = cut, cut
    return np.concatenate([parents.low, second_low]), np.concatenate([first_high, parents.high])


def _seen(source: Source, state: State, cells: Cells) -> State:
    """The state with what is seen at the centres of some cells, and where their outputs are probably extreme: of those
    cells whose bounds promise most. These are guesses of float64: no bound depends on them."""
    outputs = range(cells.least.shape[1])
    few = max(min(LOOKS_GRAPH if isinstance(source, Graph) else LOOKS, ALL // len(outputs)), 1)
    high = [cells.peaks[np.argsort(-cells.most[:, n])[:few], n] for n in outputs]
    low = [cells.dips[np.argsort(cells.least[:, n])[:few], n] for n in outputs]
    points = np.unique(np.concatenate([*high, *low, middles(cells.low, cells.high)[:few]]), axis=0)
    with np.errstate(all="ignore"):
        values = _float_values(source, points)
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


def _float_values(source: Source, points: Floats) -> Floats:
    """About the outputs at points; not finite where there are none."""
    if isinstance(source, Program):
        return source.flow(points).outputs
    return source.values(points) if isinstance(source, Graph) else source(points)
