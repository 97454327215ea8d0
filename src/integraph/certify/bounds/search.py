"""The search for bounds: one pass over a few cells, then rounds of bisections, best first.

The cells and what is settled cover the box at any time, so that the search may be stopped at any time. How many cells a
round bisects, and in which batches, depends on the cells alone: the bounds are the same whoever computes them.
"""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from integraph.certify.bounds.bounds import Bounds, Ending
from integraph.certify.bounds.cells import (
    DIVIDED,
    FIRST,
    CellWork,
    Source,
    batch_size,
    bounded,
    degree_for,
    division,
    first_cells,
    linear_ranges,
    plain_ranges,
)
from integraph.certify.bounds.point_values import attained, box_values
from integraph.certify.bounds.state import State, advanced, beginning, middles
from integraph.certify.search.work import team
from integraph.clock import DeadlineError, check_deadline, deadline, now
from integraph.numbers.intervals import Interval, intersection
from integraph.program import Program
from integraph.progress import late_bar
from integraph.targets.graph import Graph

LONGEST = 60.0  # seconds, where a gap is asked for and no time is given
GRACE = 1.0  # seconds that the first bounds may take, however few are given
BISECTED = 12  # inputs up to which the first pass bisects a box that is not divided evenly
SHARE, BATCHES = 4, 8  # a round bisects a quarter of the open cells, but one batch at least and so many at most
TINY = 1e-9  # width of a box, relative to its size, on which Arb may know more


def search(
    source: Source,
    box: Interval,
    gap: float | None = None,
    seconds: float | None = None,
    progress: bool = True,
    workers: int | None = None,
    scheduler: str | None = None,
) -> Bounds:
    """Bounds on a box: of the first pass alone, or until they are within `gap`, or for so many `seconds`."""
    begun, goal = now(), 0.0 if gap is None else gap
    wide = int((box.high > box.low).sum())
    work = CellWork(source, degree_for(source, wide))
    most = batch_size(source, wide, work.degree)
    longest = LONGEST if seconds is None else seconds
    state, ending = None, Ending.INTERRUPTED
    try:
        with late_bar(progress, "bounding") as show:
            with deadline(math.inf if gap is None and seconds is None else max(longest, GRACE)):
                even = wide <= DIVIDED and most >= FIRST
                cells = division(box.low, box.high) if even else (box.low[None], box.high[None])
                first = bounded(source, *cells, work.degree, most)
                for ranges in (linear_ranges(source, box), plain_ranges(source, box)):
                    first = first if ranges is None else first.within(ranges)
                state = beginning(source, first, box)
                while wide <= BISECTED and _few(source, state) and state.ending(0.0) is None:
                    state = advanced(source, state, 0.0, lambda _: max(most // 2, 1), most, partial(map, work))
            if gap is None and seconds is None:
                ending = Ending.ONE_PASS
            else:
                with (
                    deadline(begun + longest - now()),
                    closing(team(work, workers, scheduler)) as helpers,
                    threadpool_limits(1),  # as in other processes, or sums would be rounded otherwise
                ):
                    while (stop := state.ending(goal)) is None:
                        check_deadline()
                        state = advanced(source, state, goal, lambda open_: _parents(open_, most), most, helpers.run)
                        show(_share(state, gap, now() - begun, seconds), f"bounding: {state.count} cells")
                    ending = stop
    except DeadlineError:
        ending = Ending.SECONDS
    except KeyboardInterrupt:
        pass  # what is proved is proved
    return _result(source, box, state, goal, ending, begun)


def _few(source: Source, state: State) -> bool:
    """Whether the first pass goes on: until it has its cells, or as many as any, where nothing is known of some."""
    known = np.isfinite(state.bounds.low).all() and np.isfinite(state.bounds.high).all()
    return state.count < (first_cells(source) if known else FIRST)


def _parents(open_: int, most: int) -> int:
    batch = max(most // 2, 1)
    return min(max(open_ // SHARE, batch), BATCHES * batch)


def _share(state: State, gap: float | None, spent: float, seconds: float | None) -> float:
    """How much of the work is done, as far as one can tell."""
    by_time = 0.0 if seconds is None else spent / seconds
    excess = float(state.excess().max(initial=0.0))
    by_gap = 0.0 if gap is None or not 0 < excess < math.inf else min(gap / excess, 1.0)
    return max(by_time, by_gap)


def _result(source: Source, box: Interval, state: State | None, goal: float, ending: Ending, begun: float) -> Bounds:
    program = source if isinstance(source, Program) else None
    if state is None:
        count = sum(source.nodes[n].size for n in source.outputs) if isinstance(source, Graph) else source.outputs
        nowhere, middle = np.full(count, np.inf), np.tile(middles(box.low, box.high), (count, 1))
        return Bounds(
            -nowhere, nowhere, middle, middle, nowhere, -nowhere, 0, now() - begun, ending, box, program, open=1
        )
    bounds = state.bounds
    if (0.5 * box.high - 0.5 * box.low <= 0.5 * TINY * np.maximum(np.abs(box.low), np.abs(box.high))).all():
        bounds = intersection(bounds, Interval(*box_values(source, box.low, box.high)))
    lowest, highest, (least, largest) = attained(source, state.lowest, state.highest, middles(box.low, box.high))
    result = Bounds(
        bounds.low, bounds.high, lowest, highest, least, largest, state.count, now() - begun, ending, box, program,
        open=int((state.excess() > goal).sum()),
    )  # fmt: skip
    unproved = ending is Ending.GAP and not (result.gap <= goal).all()
    return replace(result, ending=Ending.SEEN) if unproved else result
