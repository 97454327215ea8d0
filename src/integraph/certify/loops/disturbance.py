"""Disturbances w(t) of a plant, bounded and otherwise unknown: how far they drive a state from its undisturbed path.

With e = x − x̄, where x̄' = f(x̄, u, w̄) has w in the middle w̄, e' = A e + C (w − w̄), A and C between the derivatives of f
over a box that no solution leaves. So |e| ≤ m with m' = M m + D, m(0) = 0, where M bounds |A|, and A from above on its
diagonal, and D bounds |C|·|w − w̄|: m(h) = Σ h^(k+1) M^k D/(k + 1)!. It grows in time, so it holds over the step too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from integraph.certify.loops.box_kernels import enclose, evaluate_box
from integraph.certify.loops.rows import ModelRows
from integraph.certify.loops.steps import FlowStep
from integraph.certify.loops.tape import CONSTANT, Operations
from integraph.numbers.arrays import Floats
from integraph.numbers.roundoff import UP

TERMS = 24  # of the series
LARGEST = 2.0  # h‖M‖: beyond, a shorter step says more
MARGIN = 1e-12  # more than the rounding of sums and products of positive numbers here


@dataclass(frozen=True, slots=True, eq=False)
class Disturbance:
    """low ≤ w(t) ≤ high at all times."""

    names: tuple[str, ...]
    low: Floats
    high: Floats

    @property
    def middle(self) -> Floats:
        return 0.5 * self.low + 0.5 * self.high

    @property
    def radius(self) -> Floats:
        return np.maximum(self.high - self.middle, self.middle - self.low) * UP

    def rows(self, like: ModelRows, wide: bool) -> ModelRows:
        """The disturbances as rows: their middle, or with radii all that they can be."""
        values = np.zeros((len(self.names), like.values.shape[1]))
        values[:, 0] = self.middle
        if wide:
            values[:, -1] = self.radius
        return like.with_values(values)


def widened(plant: Operations, step: FlowStep, h: float, w: Disturbance) -> FlowStep | None:
    """A step, of length h, that was computed with disturbances in their middle, for all that they can be; or None: a
    solution may leave every box, or a shorter step is better."""
    start = step.rows.ranges()
    start[-len(w.names) :] = np.stack([w.low, w.high], 1)
    inside, box = enclose(plant.code, plant.numbers, plant.held, plant.outputs, start, h)
    slopes = _derivatives(plant, box) if inside else None
    if slopes is None:
        return None
    n = len(plant.outputs)
    size = np.abs(slopes).max(2)
    growth, drive = size[:, :n].copy(), size[:, -len(w.names) :] @ w.radius * (1 + MARGIN)
    np.fill_diagonal(growth, np.maximum(slopes[:, :n, 1].diagonal(), 0.0))
    ratio = h * growth.sum(1).max() * (1 + MARGIN)
    if not (ratio <= LARGEST and np.isfinite(drive).all()):
        return None
    term = h * drive
    total = term.copy()
    for k in range(1, TERMS):
        term = (h / (k + 1)) * (growth @ term)
        total += term
    total += 2.0 * ratio * term.max()  # later terms are less than half of those before them
    total *= 1 + MARGIN
    rest = np.stack([step.rest[:, 0] - total, step.rest[:, 1] + total], 1)
    outward = MARGIN * (np.abs(step.rest) + total[:, None])
    return replace(step, rest=rest + outward * (-1.0, 1.0), box=box)


def _derivatives(plant: Operations, box: Floats) -> Floats | None:
    """∂f_i/∂x_j over a box of all variables (V, 2), as (n, V, 2): coefficients of order 1 along each axis."""
    constant = (plant.code[:, 0] == CONSTANT).astype(np.int64)
    slopes = np.empty((len(plant.outputs), len(box), 2))
    for axis in range(len(box)):
        x, c = np.zeros((len(box), 2, 2)), np.zeros((len(plant.code), 2, 2))
        x[:, 0] = box
        x[axis, 1] = 1.0
        if not all(evaluate_box(plant.code, plant.numbers, constant, x, c, order) for order in (0, 1)):
            return None
        slopes[:, axis] = c[plant.outputs, 1]
    return slopes if np.isfinite(slopes).all() else None
