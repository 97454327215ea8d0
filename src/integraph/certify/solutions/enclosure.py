"""The boxes that contain all solutions, at the times that were asked for and on every step between."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context

import numpy as np

from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.errors import UsageError
from integraph.numbers.arrays import Floats, real
from integraph.text import counted


@dataclass(frozen=True, slots=True, eq=False)
class Enclosure:
    """All solutions from the box `start` (n, 2) of states and inputs. `low` and `high` (times, states) contain them at
    `times`; they are infinite at times after `time`, up to which all solutions are proved to exist. `over` (steps,
    states, 2) contains them from steps[k] to steps[k + 1]. No solution exists at `blow_up` or later, where that is
    proved; `reason` says why the boxes end early. The starts were divided into so many `cells`."""

    system: QuadraticSystem
    start: Floats
    times: Floats
    low: Floats
    high: Floats
    steps: Floats
    over: Floats
    reason: str = ""
    blow_up: float | None = None
    cells: int = 1

    @property
    def time(self) -> float:
        return float(self.steps[-1])

    @property
    def complete(self) -> bool:
        """Whether the boxes reach the last time."""
        return not self.reason

    @property
    def width(self) -> Floats:
        return self.high - self.low

    def __getitem__(self, name: str) -> Floats:
        """Low and high (times, 2) of one state."""
        states = self.system.source.states
        if name not in states:
            raise UsageError(f"{name} is none of {', '.join(states)}", argument="name", value=name)
        place = states.index(name)
        return np.stack([self.low[:, place], self.high[:, place]], 1)

    def __call__(self, t: float) -> Floats:
        """A box (states, 2) at any time up to `time`: that of the step."""
        moment = real(t, "t")
        if not 0.0 <= moment <= self.time:
            raise UsageError(f"the boxes are known from 0 to {digits(self.time, ROUND_FLOOR)}", argument="t", value=t)
        if not len(self.over):
            return self.start[: len(self.system.source.states)]
        steps = self.steps.tolist()
        first = max(bisect_left(steps, moment) - 1, 0)
        last = min(bisect_right(steps, moment), len(self.over))
        boxes = self.over[first:last]
        return np.stack([boxes[:, :, 0].min(0), boxes[:, :, 1].max(0)], 1)

    def __repr__(self) -> str:
        size = f"{counted(len(self.over), 'step')} to t = {digits(self.time, ROUND_FLOOR)}"
        size += f", {self.cells} cells" if self.cells > 1 else ""
        lines = [f"Enclosure of {self.system.source.name}: {size}"]
        reached = np.flatnonzero(np.isfinite(self.high).all(1))
        if len(reached):
            last = reached[-1]
            lines[0] += f"; at t = {self.times[last]:.6g}"
            for name, low, high in zip(self.system.source.states, self.low[last], self.high[last], strict=True):
                lines.append(f"  {name} in [{low:.17g}, {high:.17g}], width {high - low:.2g}")
        return "\n".join([*lines, *([self.reason] if self.reason else [])])


def digits(time: float, rounding: str) -> str:
    """A time in a few digits, on the safe side."""
    return f"{float(Context(prec=6, rounding=rounding).create_decimal(time)):g}"
