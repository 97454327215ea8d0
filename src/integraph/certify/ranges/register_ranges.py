"""The low and the high of every register: the result that `Program.ranges` returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from integraph.certify.ranges.bisection import bounds
from integraph.errors import UsageError
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.program import Program
from integraph.program.box import where
from integraph.program.engine import DOUBLE
from integraph.program.summary import input_names, inputs_in
from integraph.text import counted, joined

ROWS = 40  # of a printed table
NAMED = 6  # registers in a sentence


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranges:
    """low ≤ y ≤ high for every input of the box, at all times of a segment: exact flow, no rounding forgotten.

    `low` and `high` have a row for each segment and a column for each register; where nothing is known they are ±∞.
    """

    low: Floats  # (D, W)
    high: Floats
    largest: Floats  # (W,): |y| over the whole run
    box: Interval  # of the inputs
    names: tuple[str, ...]
    labels: tuple[str, ...]  # of the segments
    cells: int  # that the box was divided into
    where: str  # the box in words

    @property
    def unbounded(self) -> tuple[str, ...]:
        """Registers of which nothing is known."""
        return tuple(self.names[n] for n in np.flatnonzero(~np.isfinite(self.largest)))

    def __repr__(self) -> str:
        size = f"{counted(len(self.names), 'register')} in {counted(len(self.labels), 'segment')}"
        lost = joined(self.unbounded, ", ", NAMED)
        known = f"largest |y| ≤ {self.largest.max(initial=0.0):.6g}" if not lost else f"no bound is known of {lost}"
        return f"Ranges of {size} for {self.where}: {known} ({counted(self.cells, 'cell')})"

    def __str__(self) -> str:
        return f"{self!r}\n{self.table()}"

    def table(self, rows: int | None = ROWS) -> str:
        """A line for each register: its range over the whole run, and the segment in which it is largest."""
        width = max([len("register"), *map(len, self.names)])
        lines = [f"{'register':<{width}}  {'low':>12}  {'high':>12}  largest in"]
        sizes = np.maximum(np.abs(self.low), np.abs(self.high))
        shown = len(self.names) if rows is None else rows
        for n, name in enumerate(self.names[:shown] if len(self.labels) else ()):
            place = self.labels[int(sizes[:, n].argmax())]
            lines.append(f"{name:<{width}}  {self.low[:, n].min():>12.6g}  {self.high[:, n].max():>12.6g}  {place}")
        more = len(self.names) - shown
        return "\n".join([*lines, *([f"… {more} more"] if more > 0 else [])])


def register_ranges(
    program: Program,
    box: ArrayLike | None = None,
    *,
    cells: int | None = None,
    seconds: float = 60.0,
    progress: bool = True,
) -> Ranges:
    """Bounds of every register over the box, by default that of the program."""
    if cells is not None and (not isinstance(cells, int | np.integer) or isinstance(cells, bool) or cells < 1):
        raise UsageError("needs an integer ≥ 1", argument="cells", value=cells)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise UsageError("it must be > 0", argument="seconds", value=seconds)
    if program.bits > DOUBLE:
        raise UsageError(
            f"the flow needs {program.bits} bits, but its controls are stored in 53, so no range can be proved: "
            "method='lean' needs no more than 53"
        )
    cube = where(program, box)
    rows, count = bounds(program, cube, cells, seconds, progress)
    largest = np.maximum(np.abs(rows.low), np.abs(rows.high)).max(0)
    for array in (rows.low, rows.high, largest):
        array.flags.writeable = False
    return Ranges(
        rows.low[1:], rows.high[1:], largest, cube,
        tuple(program.registers.name(n) for n in range(program.width)), tuple(s.label for s in program.segments),
        count, inputs_in(cube.low, cube.high, input_names(program)),
    )  # fmt: skip
