"""Cells of the start set: how one is halved, and which ones to halve for a narrower box at the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from integraph.certify.loops.loop import Loop
from integraph.certify.loops.spec import Answer, Specification
from integraph.certify.loops.tube import Tube, tube
from integraph.numbers.arrays import Floats


def volume(cell: Tube) -> float:
    """Of a cell, over its sides of positive width."""
    sides = cell.high - cell.low
    return float(np.prod(sides[sides > 0]))


def halves(cell: Tube, whole: Floats) -> list[tuple[Floats, Floats]]:
    """A cell, bisected along the side that the last set of its tube depends on most. Sets whose states do not depend on
    each other say that of every side: then the one that was halved least."""
    sides = cell.high - cell.low
    share = sides / np.where(whole > 0, whole, 1.0)
    axis = int(np.argmax(np.where(sides > 0, cell.influence * share, -1.0)))
    middle = 0.5 * cell.low[axis] + 0.5 * cell.high[axis]
    upper, lower = cell.high.copy(), cell.low.copy()
    upper[axis] = lower[axis] = middle
    return [(cell.low, upper), (lower, cell.high)]


def refined(loop: Loop, spec: Specification, cells: Sequence[Tube], count: int) -> list[Tube]:
    """Up to so many cells, all proved as these are: again and again the largest of those that touch the hull of the
    last boxes is halved. A cell stays whole if one of its halves is not proved."""
    proved, final = list(cells), set[int]()
    whole = np.max([cell.high for cell in proved], 0) - np.min([cell.low for cell in proved], 0)
    with threadpool_limits(1):
        while len(proved) < count:
            ends = np.stack([cell.samples[-1] for cell in proved])
            outer = {*ends[..., 0].argmin(0).tolist(), *ends[..., 1].argmax(0).tolist()}
            wide = [proved[n] for n in sorted(outer) if (proved[n].high > proved[n].low).any()]
            able = [cell for cell in wide if id(cell) not in final]
            if not able:
                break
            cell = max(able, key=volume)
            parts = [tube(loop, *half, spec) for half in halves(cell, whole)]
            if all(part.answer is Answer.PROVED for part in parts):
                proved.remove(cell)
                proved += parts
            else:
                final.add(id(cell))
    return proved
