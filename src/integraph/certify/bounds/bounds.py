"""The result: what every output is between, and where it comes close to that."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from integraph.errors import UsageError
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval
from integraph.program import Program
from integraph.program.summary import above, below, inputs_in
from integraph.text import counted

if TYPE_CHECKING:
    from integraph.certify.ranges.register_ranges import Ranges

SHOWN = 8  # outputs in a text
DIGITS = 9  # of a number there
ROUNDING = 2.0**-40  # of the size of bounds: what is narrower is not divided, and exact as far as gaps go


class Ending(Enum):
    """Why a search ended; the value is a sentence for people."""

    ONE_PASS = "nothing more was asked for"
    GAP = "the bounds are as close as was asked for to values that are attained"
    SEEN = "the bounds are as close as was asked for to values computed in float64, but these are not proved"
    SECONDS = "the time is over"
    CELLS = "more cells would not fit into memory"
    SMALL = "the cells cannot be divided further"
    INTERRUPTED = "it was interrupted"


@dataclass(frozen=True, eq=False)
class Bounds:
    """low ≤ output ≤ high for every x of the box, rigorously, each of shape (outputs,).

    At row n of `lowest` output n is at most `attained_low[n]`, at row n of `highest` at least `attained_high[n]`, both
    proved: the true range reaches at least from one to the other. (outputs, inputs) each. Where the output is
    not known to have a value at any point that was tried, the rows are NaN, and the values ∞ and −∞.
    """

    low: Floats
    high: Floats
    lowest: Floats
    highest: Floats
    attained_low: Floats
    attained_high: Floats
    cells: int
    seconds: float
    ending: Ending
    box: Interval
    program: Program | None  # that was bounded
    names: tuple[str, ...] = ()  # of the inputs, where they have some
    open: int = 0  # cells whose bounds are not as close as was asked for

    @property
    @quiet
    def width(self) -> Floats:
        return self.high - self.low

    @property
    @quiet
    def gap(self) -> Floats:
        """How much of the attained width the bounds exceed it by, on the side where that is more; 0 is exact, up to
        rounding, and ∞ where nothing is known."""
        attained = self.attained_high - self.attained_low
        excess = np.maximum(self.high - self.attained_high, self.attained_low - self.low)
        share = np.where((excess <= 0) | rounded(self.low, self.high), 0.0, excess / np.maximum(attained, 0.0))
        return np.where(np.isnan(share), np.inf, share)

    @cached_property
    def registers(self) -> Ranges:
        """The range of every register of a program, for all x of the box and at all times; computed when it is first
        asked for. A network, a formula or a graph has no registers."""
        from integraph.certify.ranges.register_ranges import register_ranges

        if self.program is None:
            raise UsageError(
                "these are bounds of a source, which has no registers: bound what is compiled from it, "
                "bound(compile(source, box=box), box).registers"
            )
        return register_ranges(self.program, np.stack([self.box.low, self.box.high], 1))

    @property
    def head(self) -> str:
        """What was done, in a line."""
        where = inputs_in(self.box.low, self.box.high, self.names)
        return f"{counted(len(self.low), 'output')} for {where}: {counted(self.cells, 'cell')}, {self.seconds:.3g} s"

    @property
    def foot(self) -> str:
        """Why it ended, in a line."""
        early = self.ending in (Ending.SECONDS, Ending.INTERRUPTED)
        left = f" after {counted(self.cells, 'cell')}, {self.open:,} remain to be divided" if early else ""
        return f"ended: {self.ending.value}{left}"

    def row(self, n: int) -> tuple[str, ...]:
        """Of an output: low, high, the values attained, and the gap. Bounds are rounded outwards and values inwards, so
        that what is printed holds too."""
        attained = ("none", "none")
        if self.attained_low[n] < np.inf:
            attained = above(self.attained_low[n], DIGITS), below(self.attained_high[n], DIGITS)
        return below(self.low[n], DIGITS), above(self.high[n], DIGITS), *attained, f"{self.gap[n]:.2g}"

    def __str__(self) -> str:
        lines = [self.head]
        for n in range(min(len(self.low), SHOWN)):
            low, high, lowest, highest, gap = self.row(n)
            lines.append(f"output {n} in [{low}, {high}], attained [{lowest}, {highest}], gap {gap}")
        if len(self.low) > SHOWN:
            lines.append(f"and {len(self.low) - SHOWN} more")
        return "\n".join([*lines, self.foot])

    __repr__ = __str__


def rounded(low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Where bounds are as close as rounding leaves them: those of a constant, or of a point."""
    return np.asarray(high - low < ROUNDING * np.maximum(np.abs(low), np.abs(high)))
