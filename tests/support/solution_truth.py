"""What solutions of x' = f(x) do, by DOP853 at 1e-12, from right-hand sides that are Python functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.integrate import solve_ivp

from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.frontends.dynamics import read_system
from integraph.numbers.arrays import Floats

Field = Callable[..., Sequence[Floats]]  # from arrays of all variables to the derivatives of the states


def unlifted(source: str | Mapping[str, str], inputs: Sequence[str] = ()) -> QuadraticSystem:
    """A system for its equations alone: it can be enclosed, and nothing was searched."""
    return QuadraticSystem(read_system(source, inputs=tuple(inputs)), (), (), None, (), False, "")


def starts(box: Floats, count: int, seed: int = 0) -> Floats:
    """Points of a box (n, 2), half of them corners: (count, n)."""
    share = np.random.default_rng(seed).uniform(size=(count, len(box)))
    share[: count // 2] = np.round(share[: count // 2])
    points: Floats = box[:, 0] + (box[:, 1] - box[:, 0]) * share
    return points


def paths(field: Field, points: Floats, states: int, times: Floats) -> Floats:
    """The states (times, count, states) from points of states and inputs, all at once."""
    held = points[:, states:].T

    def f(t: float, y: Floats) -> Floats:
        x = y.reshape(states, -1)
        return np.concatenate([np.broadcast_to(row, x.shape[1]) for row in field(*x, *held)])

    start = points[:, :states].T.ravel()
    run = solve_ivp(f, (0.0, float(times[-1])), start, "DOP853", times, rtol=1e-12, atol=1e-14)
    assert run.success, run.message
    return run.y.T.reshape(len(times), states, -1).transpose(0, 2, 1)


def outside(low: Floats, high: Floats, states: Floats, slack: float) -> float:
    """How far states leave [low, high], beyond the accuracy of the integration."""
    return float(np.maximum(low - states, states - high).max() - slack)
