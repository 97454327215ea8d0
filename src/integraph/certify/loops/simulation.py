"""Trajectories in float64, many at once, without proof: where to look for a start that fails, and what tubes are
compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from integraph.certify.loops.disturbance import Disturbance
from integraph.certify.loops.loop import Loop
from integraph.clock import check_deadline
from integraph.numbers.arrays import Floats
from integraph.targets.float_arithmetic import values

LOST = 1e-6  # how results agree at least, relative to 1 + |x|


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Steps in a period of the method of order 8 by Dormand and Prince: so many, and up to `most` where the results of
    fewer do not agree within `close`, relative to 1 + |x|. Errors are far smaller: twice as many steps divide them by
    256."""

    substeps: int
    most: int
    close: float


FINE, ROUGH = Accuracy(4, 1024, 1e-11), Accuracy(2, 128, 1e-6)


def simulated(loop: Loop, starts: Floats, accuracy: Accuracy = FINE, seed: int | None = None) -> Floats:
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
            states.append(_advanced(loop, x, np.concatenate(held, 1), accuracy))
    return np.stack(states)


def _drawn(w: Disturbance, count: int, rng: np.random.Generator | None) -> Floats:
    shape = (count, len(w.names))
    return np.broadcast_to(w.middle, shape) if rng is None else rng.uniform(w.low, w.high, shape)


def _advanced(loop: Loop, x: Floats, u: Floats, accuracy: Accuracy) -> Floats:
    """The states a period later, with more steps for starts that need them, NaN where no number of steps is enough: at
    a pole, or where a function is not defined."""
    if loop.discrete:
        return _known(values(loop.expression, np.concatenate([x, u], 1)))
    substeps = accuracy.substeps
    coarse, fine = _known(_runge_kutta(loop, x, u, substeps // 2)), _known(_runge_kutta(loop, x, u, substeps))
    while (bad := ~_agree(coarse, fine, accuracy.close)).any() and substeps < accuracy.most:
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
