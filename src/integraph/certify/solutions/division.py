"""Wide sets of starts: divided into cells, whose boxes are merged.

A cell is halved while its solutions could not be followed to the end, or while its box at a time asked for reaches far
beyond the hull of all cells' polynomials. The side is the one that the last set depends on most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR

import numpy as np

from integraph.certify.solutions.cell import Cell
from integraph.certify.solutions.enclosure import Enclosure, digits
from integraph.numbers.arrays import Floats

EXCESS = 0.1  # of the hull, on either side, that boxes may reach beyond it
GAIN = 1.01  # of the time that all cells reach: less is none

Follow = Callable[[Floats], Cell]  # the cell of a box, to its end


def divide(whole: Cell, follow: Follow, most: int) -> Iterator[list[Cell]]:
    """Cells that cover the box of `whole`, after every division, until none is worth it or there are `most`."""
    cells, idle = [whole], 0
    patience = 1 + int((whole.box[:, 1] > whole.box[:, 0]).sum())  # rounds without gain: one for each side, and one
    while idle < patience and (chosen := _chosen(cells)):
        before, unfinished = min(cell.time for cell in cells), any(cell.reason for cell in chosen)
        for cell in chosen:
            halves = _halves(cell, whole.box) if len(cells) < most else []
            if not halves:
                return
            cells = [other for other in cells if other is not cell] + [follow(half) for half in halves]
            yield cells
        idle = idle + 1 if unfinished and min(cell.time for cell in cells) < GAIN * before else 0


def _chosen(cells: list[Cell]) -> list[Cell]:
    """Those to halve. Where some solutions are known to end, only the time before that counts."""
    known = min((cell.time for cell in cells if cell.blow_up is not None), default=np.inf)
    early = [cell for cell in cells if cell.reason and cell.time < known]
    if early or known < np.inf:
        return early
    ends, radii = np.stack([cell.ends for cell in cells]), np.stack([cell.radii for cell in cells])
    low, high = ends[..., 0].min(0), ends[..., 1].max(0)
    inner_low, inner_high = (ends[..., 0] + radii).min(0), (ends[..., 1] - radii).max(0)
    allowed = EXCESS * (inner_high - inner_low)
    beyond = (ends[..., 0] < inner_low - allowed) | (ends[..., 1] > inner_high + allowed)
    wide = high - low > 1e-9 * np.maximum(np.abs(low), np.abs(high))  # narrower is rounding
    return [cell for cell, here in zip(cells, (beyond & wide).any((1, 2)), strict=True) if here]


def _halves(cell: Cell, whole: Floats) -> list[Floats]:
    """The box, bisected; none where it has no two halves."""
    sides, widths = cell.box[:, 1] - cell.box[:, 0], whole[:, 1] - whole[:, 0]
    share = sides / np.where(widths > 0, widths, 1.0)
    axis = int(np.argmax(np.where(sides > 0, cell.influence() * share, -1.0)))
    low, high = cell.box[axis]
    middle = 0.5 * low + 0.5 * high
    if not low < middle < high:
        return []
    lower, upper = cell.box.copy(), cell.box.copy()
    lower[axis, 1] = upper[axis, 0] = middle
    return [lower, upper]


def merged(cells: list[Cell], box: Floats) -> Enclosure:
    """The hull of all cells, on the steps of the first that ends."""
    if len(cells) == 1:
        return cells[0].result()
    first = min(cells, key=lambda cell: (cell.time, -len(cell.steps)))
    steps = np.array(first.steps)
    over = np.concatenate(first.over)
    for cell in cells:
        if cell is not first:
            own, boxes = np.array(cell.steps), np.concatenate(cell.over)
            begin = np.searchsorted(own, steps[:-1], side="right") - 1
            end = np.searchsorted(own, steps[1:], side="left")
            for k, (a, b) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
                over[k, :, 0] = np.minimum(over[k, :, 0], boxes[a:b, :, 0].min(0))
                over[k, :, 1] = np.maximum(over[k, :, 1], boxes[a:b, :, 1].max(0))
    low = np.min([cell.ends[..., 0] for cell in cells], 0)
    high = np.max([cell.ends[..., 1] for cell in cells], 0)
    ends = [cell.blow_up for cell in cells]
    blow_up = None if None in ends else max(end for end in ends if end is not None)
    reason = _reason(cells, first, blow_up)
    return Enclosure(first.system, box, first.times, low, high, steps, over, reason, blow_up, len(cells))


def _reason(cells: list[Cell], first: Cell, blow_up: float | None) -> str:
    if not first.reason:
        return ""
    earliest = min((cell.blow_up for cell in cells if cell.blow_up is not None), default=None)
    if earliest is None:
        return first.reason
    exist = f"all solutions exist up to t = {digits(first.time, ROUND_FLOOR)}"
    if blow_up is not None:
        return f"{exist}, none at t = {digits(blow_up, ROUND_CEILING)}"
    return f"{exist}, some of them not at t = {digits(earliest, ROUND_CEILING)}"
