"""What is known of the solutions from one box of starts."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR

import numpy as np

from integraph.certify.solutions.blow_up import latest_existence
from integraph.certify.solutions.enclosure import Enclosure, digits
from integraph.certify.solutions.integration import integrate
from integraph.certify.solutions.vector_field import VectorField
from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.numbers.arrays import Floats


class Cell:
    """Boxes of the solutions of one field, as far as they were followed. `radii` say how much of the boxes `ends` is no
    polynomial of the start."""

    def __init__(self, system: QuadraticSystem, field: VectorField, box: Floats, times: Floats) -> None:
        self.system, self.field, self.box, self.times = system, field, box, times
        n = len(system.source.states)
        self.ends = np.empty((len(times), n, 2))
        self.ends[:] = -np.inf, np.inf
        self.ends[times == 0.0] = box[:n]
        self.radii = np.zeros((len(times), n))
        self.steps, self.over = [0.0], [np.empty((0, n, 2))]
        self.last = field.named(field.start)
        self.reason = ""
        self.blow_up: float | None = None

    @property
    def time(self) -> float:
        """Up to which all solutions exist."""
        return self.steps[-1]

    def influence(self) -> Floats:
        """How much of the last set is due to each side of the start."""
        wide = self.box[:, 1] > self.box[:, 0]
        out = np.zeros(len(wide))
        out[wide] = self.last.influence()
        return out

    def advance(self) -> Iterator[float]:
        """Integrate; the time after every step."""
        n = len(self.system.source.states)
        for advance in integrate(self.field, self.times[self.times > 0.0]):
            self.steps.append(advance.end)
            self.over.append(advance.over[None, :n])
            rows = self.field.named(advance.rows)
            first, last = (int(np.searchsorted(self.times, advance.end, side)) for side in ("left", "right"))
            if first < last:
                self.ends[first:last] = rows.tight_ranges()[:n]
                self.radii[first:last] = rows.errors()[:n]
            self.last = rows
            yield advance.end
        if self.time < self.times[-1]:
            self._end()

    def _end(self) -> None:
        """Why there is no further step."""
        exist = f"all solutions exist up to t = {digits(self.time, ROUND_FLOOR)}"
        self.blow_up = latest_existence(self.system, self.box, self.steps, self.over[1:])
        if self.blow_up is not None:
            self.reason = f"{exist}, none at t = {digits(self.blow_up, ROUND_CEILING)}"
        else:
            self.reason = (
                f"{exist}; later they may blow up, or leave where the equations are defined, or the set of starts is "
                "too wide"
            )

    def result(self) -> Enclosure:
        cut = (
            ""
            if self.time == self.times[-1]
            else f"the time to compute was over at t = {digits(self.time, ROUND_FLOOR)}"
        )
        return Enclosure(
            self.system, self.box, self.times, self.ends[:, :, 0], self.ends[:, :, 1], np.array(self.steps),
            np.concatenate(self.over), self.reason or cut, self.blow_up,
        )  # fmt: skip
