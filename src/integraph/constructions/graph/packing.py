"""Pack lots of registers: lots that are in use at the same time do not overlap, and few registers are needed.

By size: the largest first, each the smallest gap that fits among those that live at the same time. That looks at all
pairs; where there are too many lots for it, by time: the registers of those that are gone are given to those that come.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from integraph.constructions.graph.schedule import ALWAYS
from integraph.numbers.arrays import Indices

MANY = 4096  # lots that are packed by time


@dataclass(slots=True, eq=False)
class RegisterLot:
    """Registers that one atom after the other takes over, from segment `first` to `last`."""

    atoms: list[int]
    size: int
    first: int
    last: int
    place: int = -1
    freed: bool = False  # in segment last + 1, because somebody else moves in later

    @property
    def end(self) -> int:
        return self.place + self.size


def side_by_side(lots: Sequence[RegisterLot]) -> None:
    place = 0
    for lot in lots:
        lot.place, place = place, place + lot.size


def packed(lots: Sequence[RegisterLot], reusable: Sequence[bool]) -> None:
    """The inputs come first, as y(0) = (x, 0, …) says. A lot that is not reusable keeps its registers."""
    until = [lot.last + 1 if can else ALWAYS for lot, can in zip(lots, reusable, strict=True)]
    side_by_side([lot for lot in lots if lot.first < 0])
    (by_size if len(lots) <= MANY else by_time)(lots, until)
    _free(lots)


def by_size(lots: Sequence[RegisterLot], until: Sequence[int]) -> None:
    """The largest first, `until` when each is busy."""
    first, busy, size = np.array([lot.first for lot in lots]), np.array(until), np.array([lot.size for lot in lots])
    place, done = np.array([lot.place for lot in lots]), first < 0
    for n in sorted(np.flatnonzero(first >= 0).tolist(), key=lambda n: (-lots[n].size, lots[n].first)):
        overlap = np.flatnonzero(done & (first <= busy[n]) & (busy >= first[n]))
        lots[n].place = place[n] = gap(place[overlap], size[overlap], int(size[n]))
        done[n] = True


def gap(place: Indices, size: Indices, need: int) -> int:
    """The smallest gap between what is there that `need` registers fit in, else the end."""
    order = np.argsort(place, kind="stable")
    starts = place[order]
    ends = np.maximum.accumulate(np.append(0, (place + size)[order]))
    room = starts - ends[:-1]
    fitting = np.flatnonzero(room >= need)
    return int(ends[:-1][fitting[np.argmin(room[fitting])]]) if len(fitting) else int(ends[-1])


def by_time(lots: Sequence[RegisterLot], until: Sequence[int]) -> None:
    """As they come, of those that come together the largest first, each the smallest gap that fits."""
    gaps = FreeRegisters(max((lot.end for lot in lots if lot.first < 0), default=0))
    waiting: list[tuple[int, int]] = []  # when a lot is gone, and its number
    for n in sorted(range(len(lots)), key=lambda n: (lots[n].first, -lots[n].size)):
        while waiting and waiting[0][0] < lots[n].first:
            gone = lots[heappop(waiting)[1]]
            gaps.give(gone.place, gone.end)
        if lots[n].first >= 0:
            lots[n].place = gaps.take(lots[n].size)
        heappush(waiting, (until[n], n))


class FreeRegisters:
    """Free registers below `top`, in gaps that never touch."""

    def __init__(self, top: int) -> None:
        self.top = top
        self._sizes: list[tuple[int, int]] = []  # (size, start), sorted
        self._ends: dict[int, int] = {}  # start → end
        self._starts: dict[int, int] = {}  # end → start

    def take(self, need: int) -> int:
        """The first register of the smallest gap that fits, or of one that ends at the top, which grows."""
        at = bisect_left(self._sizes, (need, -1))
        start = self._sizes[at][1] if at < len(self._sizes) else self._starts.get(self.top, self.top)
        end = self._remove(start) if start in self._ends else self.top
        self.top = max(self.top, start + need)
        if start + need < end:
            self._insert(start + need, end)
        return start

    def give(self, start: int, end: int) -> None:
        if start in self._starts:
            start = self._starts[start]
            self._remove(start)
        if end in self._ends:
            end = self._remove(end)
        self._insert(start, end)

    def _insert(self, start: int, end: int) -> None:
        insort(self._sizes, (end - start, start))
        self._ends[start], self._starts[end] = end, start

    def _remove(self, start: int) -> int:
        end = self._ends.pop(start)
        del self._starts[end]
        del self._sizes[bisect_left(self._sizes, (end - start, start))]
        return end


def last_lots(lots: Sequence[RegisterLot], width: int) -> Indices:
    """Of each register the number of the last lot that holds it, −1 if none does; `lots` are in order."""
    owners = np.full(width, -1)
    for n, lot in enumerate(lots):
        owners[lot.place : lot.end] = n
    return owners


def _free(lots: Sequence[RegisterLot]) -> None:
    """A lot is freed if somebody moves into one of its registers after its last use."""
    order = sorted(lots, key=lambda lot: lot.first)
    arrival = np.array([lot.first for lot in order])[last_lots(order, max((lot.end for lot in lots), default=0))]
    for lot in lots:
        lot.freed = bool(arrival[lot.place : lot.end].max() > lot.last)
