"""Trajectories in float64, many at once, without proof: where to look for a start that fails, and what tubes are
compared with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from integraph.certify.loops.disturbance import Disturbance
from integraph.certify.loops.loop import Loop
from integraph.clock import check_deadline
from integraph.numbers.arrays import Floats
from integraph.targets.float_arithmetic import values

SUBSTEPS = 4  # of the method of order 8 by Dormand and Prince, in a period
MOST = 4096  # of them, where results of fewer do not agree
CLOSE = 1e-11  # how they agree, relative to 1 + |x|; errors are smaller by far, since twice as many make them 256 × so
LOST = 1e-6  # how they agree at least, in the end


def simulated(
    loop: Loop, starts: Floats, substeps: int = SUBSTEPS, seed: int | None = None, close: float = CLOSE
) -> Floats:
    """The states (steps + 1, B, n) at sampling times, from starts (B, n); NaN from the period on in which a state grows
    without bound, or a function is not defined. Disturbances are in the middle, or with a seed random, a new one for
    each period and start."""
    states = [starts]
    rng = None if seed is None else np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        for _ in range(loop.steps):
            check_deadline()
            x = states[-1]
            held = [_known(loop.controller(x))]
            if loop.disturbance is not None:
                held.append(_drawn(loop.disturbance, len(x), rng))
            states.append(_advanced(loop, x, np.concatenate(held, 1), substeps, close))
    return np.stack(states)


def _drawn(w: Disturbance, count: int, rng: np.random.Generator | None) -> Floats:
    shape = (count, len(w.names))
    return np.broadcast_to(w.middle, shape) if rng is None else rng.uniform(w.low, w.high, shape)


def _advanced(loop: Loop, x: Floats, u: Floats, substeps: int, close: float) -> Floats:
    """The states a period later, with more steps for starts that need them, NaN where no number of steps is enough: at
    a pole, or where a function is not defined."""
    if loop.discrete:
        return _known(values(loop.expression, np.concatenate([x, u], 1)))
    coarse, fine = _known(_runge_kutta(loop, x, u, substeps // 2)), _known(_runge_kutta(loop, x, u, substeps))
    while (bad := ~_agree(coarse, fine, close)).any() and substeps < MOST:
        substeps *= 4
        coarse[bad], fine[bad] = fine[bad], _known(_runge_kutta(loop, x[bad], u[bad], substeps))
    fine[~_agree(coarse, fine, LOST)] = np.nan
    return fine


def _agree(coarse: Floats, fine: Floats, close: float) -> NDArray[np.bool_]:
    """Whether rows of states are as good as equal; those that are lost are."""
    near = np.abs(coarse - fine) <= close * (1.0 + np.abs(fine))
    return np.asarray((near | np.isnan(fine) & np.isnan(coarse)).all(1))


def _known(x: Floats) -> Floats:
    """The rows, NaN as a whole where one number is not finite."""
    return np.where(np.isfinite(x).all(1, keepdims=True), x, np.nan)


def _runge_kutta(loop: Loop, x: Floats, u: Floats, substeps: int) -> Floats:
    from scipy.integrate import DOP853

    h = loop.period / substeps
    slopes = np.empty((DOP853.n_stages, *x.shape))
    for _ in range(substeps):
        for stage, row in enumerate(DOP853.A):
            y = x + h * np.tensordot(row[:stage], slopes[:stage], 1)
            slopes[stage] = values(loop.expression, np.concatenate([y, u], 1))
        x = x + h * np.tensordot(DOP853.B, slopes, 1)
    return x
