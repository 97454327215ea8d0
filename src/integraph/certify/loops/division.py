"""Cells of the start set: how one is halved, and which ones to halve for a narrower box at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    share = (cell.high - cell.low) / np.where(whole > 0, whole, 1.0)
    return halves_of(cell.low, cell.high, cell.influence * share)


def halves_of(low: Floats, high: Floats, weights: Floats) -> list[tuple[Floats, Floats]]:
    """A box, bisected along the side of the largest weight that has a width."""
    axis = int(np.argmax(np.where(high > low, weights, -1.0)))
    upper, lower = high.copy(), low.copy()
    upper[axis] = lower[axis] = 0.5 * low[axis] + 0.5 * high[axis]
    return [(low, upper), (lower, high)]


def refined(loop: Loop, spec: Specification, cells: Sequence[Tube], count: int) -> list[Tube]:
    """Up to so many cells, all proved as these are. A cell stays whole if a part of it is not proved."""
    proved: list[Tube] = []
    with threadpool_limits(1):
        for cell, parts in zip(cells, divided(cells, count), strict=True):
            tubes = [tube(loop, *part, spec) for part in parts] if len(parts) > 1 else [cell]
            proved += tubes if all(part.answer is Answer.PROVED for part in tubes) else [cell]
    return proved


def divided(cells: Sequence[Tube], count: int) -> list[list[tuple[Floats, Floats]]]:
    """The parts of each cell, so many of all: again and again the largest of those that touch the hull of the last
    sets, as these are to first order, is halved. So no tube is computed of what is divided later."""
    parts = [_Part(cell, cell.low, cell.high) for cell in cells]
    while len(parts) < count:
        ends = np.stack([part.ends for part in parts])
        outer = {*ends[..., 0].argmin(0).tolist(), *ends[..., 1].argmax(0).tolist()}
        able = [n for n in sorted(outer) if (parts[n].high > parts[n].low).any()]
        if not able:
            break
        part = parts.pop(max(able, key=lambda n: float(np.prod(parts[n].share) * volume(parts[n].cell))))
        sides = halves_of(part.low, part.high, part.cell.influence * part.share)
        parts += [_Part(part.cell, *side) for side in sides]
    return [[(part.low, part.high) for part in parts if part.cell is cell] for cell in cells]


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    cell: Tube
    low: Floats
    high: Floats

    @property
    def share(self) -> Floats:
        """Of each side of the cell; of a side that is a point all of it."""
        whole = self.cell.high - self.cell.low
        share: Floats = np.where(whole > 0, self.high - self.low, 1.0) / np.where(whole > 0, whole, 1.0)
        return share

    @property
    def ends(self) -> Floats:
        """About where the states end, (n, 2)."""
        cell, slopes, share = self.cell, self.cell.slopes, self.share
        whole = cell.high - cell.low
        at = (self.low - cell.low + self.high - cell.high) / np.where(whole > 0, whole, 1.0)
        last = cell.samples[-1]
        rest = np.maximum(0.5 * np.ptp(last, axis=1) - np.abs(slopes).sum(1), 0.0) * share.max()
        off = np.abs(slopes) @ share + rest
        return np.asarray((last.mean(1) + slopes @ at)[:, None] + off[:, None] * (-1.0, 1.0))
