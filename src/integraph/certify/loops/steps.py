"""One step of a plant x' = f(x, u) with u held: all solutions that start in the rows, over a time h.

A box B that no solution leaves bounds the last Taylor coefficient: x(h) = Σ_(j≤J) x_j + x_(J+1)(B). The order J is the
lowest whose remainder is small beside the set; where there is none, the step is halved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from integraph.certify.loops.box_kernels import box_series, enclose
from integraph.certify.loops.flow_kernels import row_end, row_series, row_tube
from integraph.certify.loops.rows import ModelRows
from integraph.certify.loops.tape import Operations
from integraph.numbers.arrays import Floats

NOTHING = 1e-200  # far below every state, far above what underflow adds to intervals
LEAST = 2.0**-9  # share of a period: a shorter step means that there is no end


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Which remainder does no harm: so much of the radius of a state, of what the box adds to it over the step, and of
    its size. `order` is the highest."""

    order: int
    radius: float
    drift: float
    size: float


SETS = Tolerance(12, 1e-5, 1e-5, 1e-13)  # for sets of a width that people see
SOLUTIONS = Tolerance(20, 1e-5, 0.0, 2.0**-52)  # for points, and for sets that are hardly wider


@dataclass(frozen=True, slots=True, eq=False)
class FlowStep:
    """Taylor coefficients of the states as rows, (n, J + 1, L), with their norms; the remainder (n, 2); and what a
    checker needs: `share` of the period, the order, the box of states and inputs that solutions do not leave."""

    rows: ModelRows
    series: Floats
    norms: Floats
    rest: Floats
    share: float
    box: Floats

    @property
    def order(self) -> int:
        return int(self.series.shape[1]) - 1

    def end(self) -> ModelRows:
        """States and inputs at the end."""
        states = row_end(self.series, self.norms, self.rest)
        return self.rows.with_values(np.concatenate([states, self.rows.values[len(states) :]])).fresh()

    def tube(self, start: float, end: float) -> ModelRows:
        """The states from τ = start to τ = end, 0 ≤ τ ≤ 1 over the step; a symbol of its own stands for τ."""
        return self.rows.with_values(row_tube(self.series, self.norms, self.rest, start, end, self.rows.table))


def flow_step(
    plant: Operations, rows: ModelRows, period: float, share: float, tolerance: Tolerance = SETS
) -> FlowStep | None:
    """A step of at most share·period from rows of states and inputs, or None: solutions may blow up, or a function of
    the plant is not defined."""
    tape = plant.code, plant.numbers, plant.held, plant.outputs
    n = len(plant.outputs)
    start = rows.ranges()
    if not np.isfinite(start).all():
        return None
    radius, size = 0.5 * start[:n, 1] - 0.5 * start[:n, 0], np.abs(start[:n]).max(1)
    while share >= LEAST:
        h = period * share
        inside, box = enclose(*tape, start, h)
        if inside:
            defined, coefficients = box_series(*tape, box, h, tolerance.order + 1)
            if defined:
                sizes = np.abs(coefficients).max(2)
                drift = 0.5 * (coefficients[:, 1, 1] - coefficients[:, 1, 0])
                harmless = tolerance.radius * radius + tolerance.drift * drift + tolerance.size * (size + sizes[:, 1])
                small = sizes <= (harmless + NOTHING)[:, None]
                good = np.flatnonzero(small[:, 2:].all(0)) + 1  # orders whose next coefficient is small
                if len(good):
                    order = int(good[0])
                    failed, series, norms = row_series(*tape, rows.values, h, order, rows.table)
                    if failed < 0 and np.isfinite(series[:, :, -1]).all():
                        return FlowStep(rows, series, norms, coefficients[:, order + 1], share, box)
        share *= 0.5
    return None
