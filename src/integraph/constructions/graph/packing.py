"""Pack lots of registers: lots that are in use at the same time do not overlap, and few registers are needed.

By size: the largest first, each the smallest gap that fits among those that live at the same time. That looks at all
pairs; where there are too many lots for it, by time: the registers of those that are gone are given to those that come.
Either way nobody moves in after a lot whose rounding it cannot bear.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from integraph.constructions.graph.schedule import ALWAYS
from integraph.numbers.arrays import Indices

MANY = 4096  # lots that are packed by time
GRADE = 4  # binary digits: gaps of one grade of rounding are one gap


@dataclass(slots=True, eq=False)
class RegisterLot:
    """Registers that one atom after the other takes over, from segment `first` to `last`."""

    atoms: list[int]
    size: int
    first: int
    last: int
    place: int = -1
    freed: bool = False  # in segment last + 1, because somebody else moves in later
    subtracted: float = 0.0  # the largest number whose rounding stays in the registers
    bears: float = math.inf  # the largest number whose rounding may be in the registers before

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
    rest, bears = np.array([lot.subtracted for lot in lots]), np.array([lot.bears for lot in lots])
    for n in sorted(np.flatnonzero(first >= 0).tolist(), key=lambda n: (-lots[n].size, lots[n].first)):
        apart = np.where(first > busy[n], rest[n] > bears, np.where(busy < first[n], rest > bears[n], True))
        others = np.flatnonzero(done & apart)
        lots[n].place = place[n] = gap(place[others], size[others], int(size[n]))
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
    rest = [0.0] * len(lots)  # whose rounding is in its registers, and will be
    for n in sorted(range(len(lots)), key=lambda n: (lots[n].first, -lots[n].size)):
        while waiting and waiting[0][0] < lots[n].first:
            who = heappop(waiting)[1]
            gaps.give(lots[who].place, lots[who].end, max(rest[who], grade(lots[who].subtracted)))
        if lots[n].first >= 0:
            lots[n].place, rest[n] = gaps.take(lots[n].size, lots[n].bears)
        heappush(waiting, (until[n], n))


def grade(x: float) -> float:
    """A bound of x; there are few of them."""
    return 2.0 ** (GRADE * math.ceil(math.log2(x) / GRADE)) if 0 < x < 2.0**1000 else 0.0 if x == 0 else math.inf


class FreeRegisters:
    """Free registers below `top`, in gaps; those that touch differ in what is left in them."""

    def __init__(self, top: int) -> None:
        self.top = top
        self._sizes: dict[float, list[tuple[int, int]]] = defaultdict(list)  # rest → (size, start), sorted
        self._ends: dict[int, tuple[int, float]] = {}  # start → end, rest
        self._starts: dict[int, int] = {}  # end → start

    def take(self, need: int, bears: float) -> tuple[int, float]:
        """The first register of the smallest gap that fits, or of one that ends at the top, which grows; and what is
        left in it."""
        fitting = [
            (*sizes[at], rest)
            for rest, sizes in self._sizes.items()
            if rest <= bears and (at := bisect_left(sizes, (need, -1))) < len(sizes)
        ]
        last = self._starts.get(self.top, self.top)
        start = min(fitting)[1] if fitting else last if self._rest(last) <= bears else self.top
        rest = self._rest(start)
        end = self._remove(start) if start in self._ends else self.top
        self.top = max(self.top, start + need)
        if start + need < end:
            self._insert(start + need, end, rest)
        return start, rest

    def give(self, start: int, end: int, rest: float) -> None:
        if start in self._starts and self._rest(self._starts[start]) == rest:
            start = self._starts[start]
            self._remove(start)
        if end in self._ends and self._rest(end) == rest:
            end = self._remove(end)
        self._insert(start, end, rest)

    def _rest(self, start: int) -> float:
        """Of the gap that starts there; nothing was above the top."""
        return self._ends[start][1] if start in self._ends else 0.0

    def _insert(self, start: int, end: int, rest: float) -> None:
        insort(self._sizes[rest], (end - start, start))
        self._ends[start], self._starts[end] = (end, rest), start

    def _remove(self, start: int) -> int:
        end, rest = self._ends.pop(start)
        del self._starts[end]
        del self._sizes[rest][bisect_left(self._sizes[rest], (end - start, start))]
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
