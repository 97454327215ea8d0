"""Problems with known maxima, which a process can be sent."""

from __future__ import annotations

import math
import os
import signal
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from flint import arb

from integraph.certify.problem import Box, Point, Unprovable
from integraph.numbers.arb.conversion import above, box, largest, precision, smallest

Pair = tuple[float, float]


class _Balls(ABC):
    """Values on balls; a box is enclosed as it comes, with all that this overestimates."""

    quantities = 1

    @abstractmethod
    def values(self, x: list[arb]) -> list[arb]:
        """Of the quantities."""

    def upper(self, where: Box, bits: int) -> tuple[float, ...]:
        with precision(bits):
            return tuple(largest(v) for v in self.values(box(where.low, where.high)))

    def at(self, point: Point, bits: int) -> tuple[Pair, ...]:
        with precision(bits):
            return tuple((smallest(v), largest(v)) for v in self.values([arb(x) for x in point]))


@dataclass
class Bumpy(_Balls):
    """x − x² on [0, 1]: 1/4 at 1/2; and y sin(5y) on [0, 2], largest in size at the end: 1.0880…; 1.8191… inside."""

    quantities = 2

    def values(self, x: list[arb]) -> list[arb]:
        return [x[0] - x[0] * x[0], x[1] * (5 * x[1]).sin()]


@dataclass
class Waves(_Balls):
    """sin(3x) cos(2y) − xy, times a scale: errors come in all sizes."""

    scale: float = 1.0

    def values(self, x: list[arb]) -> list[arb]:
        return [((3 * x[0]).sin() * (2 * x[1]).cos() - x[0] * x[1]) * self.scale]


@dataclass
class Slow(_Balls):
    """sin(7x) − x, at a pace at which a worker can be killed; `log` gets a line with the process of each box."""

    pause: float = 0.0
    log: str = ""

    def values(self, x: list[arb]) -> list[arb]:
        if self.log:
            with Path(self.log).open("a") as file:
                file.write(f"{os.getpid()}\n")
        time.sleep(self.pause)
        return [(7 * x[0]).sin() - x[0]]


@dataclass
class Deadly(Slow):
    """Kills the processes it is sent to, the first few times."""

    here: int = 0
    mark: str = ""
    times: int = 1

    def values(self, x: list[arb]) -> list[arb]:
        if os.getpid() != self.here:
            with Path(self.mark).open("a") as file:
                file.write("x")
            if Path(self.mark).stat().st_size <= self.times:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().values(x)


@dataclass
class Faulty(Slow):
    """A mistake of whoever wrote it, on small boxes."""

    def upper(self, where: Box, bits: int) -> tuple[float, ...]:
        if where.high[0] - where.low[0] < 0.2:
            raise RuntimeError("a mistake")
        return super().upper(where, bits)


@dataclass
class Cancelling(_Balls):
    """(2^200 + x + 1/3) − 2^200: nothing is known of it with few bits."""

    def values(self, x: list[arb]) -> list[arb]:
        return [(arb(2) ** 200 + x[0] + arb(1) / 3) - arb(2) ** 200]


@dataclass
class Pole(_Balls):
    """1/x: unknown on every box around 0."""

    def values(self, x: list[arb]) -> list[arb]:
        return [1 / x[0]]


@dataclass
class Stated:
    """Bounds as they are given, whatever the box; values x."""

    said: tuple[float, ...]
    raises: str = ""

    @property
    def quantities(self) -> int:
        return len(self.said)

    def upper(self, where: Box, bits: int) -> tuple[float, ...]:
        if self.raises:
            raise Unprovable(self.raises)
        return self.said

    def at(self, point: Point, bits: int) -> tuple[Pair, ...]:
        return tuple((min(u, math.fsum(point)), u) for u in self.said)


@dataclass
class Capricious(_Balls):
    """|x|, and bounds that are right but larger or smaller from box to box, on halves as well as on wholes."""

    def values(self, x: list[arb]) -> list[arb]:
        return [x[0]]

    def upper(self, where: Box, bits: int) -> tuple[float, ...]:
        low, high = where.low[0], where.high[0]
        noise = hash((low, high, bits)) % 997 / 997  # of floats and integers: always the same
        with precision(bits):
            return (above(arb(max(abs(low), abs(high))) * (1 + arb(noise) * 3)),)


@dataclass(frozen=True)
class Widths:
    """The bound is the sum of the widths of some sides, and the value 0."""

    counted: int
    quantities: int = 1

    def upper(self, box: Box, bits: int) -> tuple[float, ...]:
        return (sum(b - a for a, b in list(zip(box.low, box.high, strict=True))[: self.counted]),)

    def at(self, point: Point, bits: int) -> tuple[tuple[float, float], ...]:
        return ((0.0, 0.0),)
