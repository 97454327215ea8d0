"""Trajectories in float64, many at once, without proof: where to look for a start that fails, and what tubes are
compared with."""

from __future__ import annotations

import numpy as np

from integraph.certify.loops.loop import Loop
from integraph.numbers.arrays import Floats
from integraph.targets.float_arithmetic import values

SUBSTEPS = 16  # of Runge and Kutta's method of order 4, in a period


def simulated(loop: Loop, starts: Floats, substeps: int = SUBSTEPS) -> Floats:
    """The states (steps + 1, B, n) at sampling times, from starts (B, n); NaN from where they leave float64."""
    states = [starts]
    with np.errstate(all="ignore"):
        for _ in range(loop.steps):
            x = states[-1]
            states.append(_advanced(loop, x, loop.controller(x), substeps))
    return np.stack(states)


def _advanced(loop: Loop, x: Floats, u: Floats, substeps: int) -> Floats:
    def f(y: Floats) -> Floats:
        return values(loop.expression, np.concatenate([y, u], 1))

    if loop.discrete:
        return f(x)
    h = loop.period / substeps
    for _ in range(substeps):
        k1 = f(x)
        k2 = f(x + 0.5 * h * k1)
        k3 = f(x + 0.5 * h * k2)
        k4 = f(x + h * k3)
        x = x + (h / 6.0) * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return x
