"""Trajectories in float64, many at once, without proof: where to look for a start that fails, and what tubes are
compared with."""

from __future__ import annotations

import numpy as np

from integraph.certify.loops.disturbance import Disturbance
from integraph.certify.loops.loop import Loop
from integraph.clock import check_deadline
from integraph.numbers.arrays import Floats
from integraph.targets.float_arithmetic import values

SUBSTEPS = 16  # of Runge and Kutta's method of order 4, in a period


def simulated(loop: Loop, starts: Floats, substeps: int = SUBSTEPS, seed: int | None = None) -> Floats:
    """The states (steps + 1, B, n) at sampling times, from starts (B, n); NaN from where they leave float64.
    Disturbances are in the middle, or with a seed random, a new one for each period and start."""
    states = [starts]
    rng = None if seed is None else np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        for _ in range(loop.steps):
            check_deadline()
            x = states[-1]
            held = [loop.controller(x)]
            if loop.disturbance is not None:
                held.append(_drawn(loop.disturbance, len(x), rng))
            states.append(_advanced(loop, x, np.concatenate(held, 1), substeps))
    return np.stack(states)


def _drawn(w: Disturbance, count: int, rng: np.random.Generator | None) -> Floats:
    shape = (count, len(w.names))
    return np.broadcast_to(w.middle, shape) if rng is None else rng.uniform(w.low, w.high, shape)


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
