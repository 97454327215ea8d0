"""What closed loops do, by DOP853 at 1e-12, from formulas evaluated by Python's own arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

from integraph.certify.loops.loop import Loop
from integraph.numbers.arrays import Floats

Field = Callable[[Floats, Floats], list[float]]


def trajectory(loop: Loop, field: Field, start: Floats, between: int = 4) -> tuple[Floats, Floats]:
    """The states at sampling times (steps + 1, n), and at times inside of each period (steps, between, n)."""
    samples, inside, x = [start], [], start
    for _ in range(loop.steps):
        u = loop.controller(x[None])[0]
        times = np.linspace(0.0, loop.period, between + 2)
        run = solve_ivp(lambda t, y, u=u: field(y, u), (0.0, loop.period), x, "DOP853", times, rtol=1e-12, atol=1e-12)
        x = run.y[:, -1]
        samples.append(x)
        inside.append(run.y[:, 1:-1].T)
    return np.array(samples), np.array(inside)


def trajectories(
    loop: Loop, field: Callable[[Floats, Floats], Floats], starts: Floats, between: int = 4
) -> tuple[Floats, Floats]:
    """The same from many starts (B, n) at once, as one system: samples (steps + 1, B, n) and states inside of each
    period (steps, between, B, n). `field` maps states (n, B) and inputs (m, B) to derivatives (n, B)."""
    shape, samples, inside, x = starts.shape, [starts], [], starts
    for _ in range(loop.steps):
        u, times = loop.controller(x).T, np.linspace(0.0, loop.period, between + 2)
        run = solve_ivp(
            lambda t, y, u=u: field(y.reshape(shape).T, u).T.ravel(), (0.0, loop.period), x.ravel(), "DOP853", times,
            rtol=1e-12, atol=1e-12,
        )  # fmt: skip
        states = run.y.T.reshape(-1, *shape)
        x = states[-1]
        samples.append(x)
        inside.append(states[1:-1])
    return np.array(samples), np.array(inside)


def excess(boxes: Floats, states: Floats) -> float:
    """How far states leave boxes (…, n, 2), in widths of the boxes, beyond the accuracy of the integration."""
    out = np.maximum(boxes[..., 0] - states, states - boxes[..., 1]) - 1e-9
    return float((out / np.maximum(boxes[..., 1] - boxes[..., 0], 1e-9)).max())
