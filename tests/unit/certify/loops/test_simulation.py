"""Simulated loops: DOP853 of scipy, trajectory by trajectory."""

from __future__ import annotations

from math import sin

import numpy as np
import pytest

import integraph
from integraph.api.loops import closed_loop
from loop_truth import Field, trajectory

TORA = {"x": "v", "v": "-x + 0.1*sin(a)", "a": "w", "w": "u"}
SETTING = {"period": 1.0, "steps": 10}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "controller", "field"),
    [
        (TORA, "-a - 2*w + 0.1*x", lambda y, u: [y[1], -y[0] + 0.1 * sin(y[2]), y[3], u[0]]),
        ({"x": "-300*(x - u)", "v": "x"}, "-0.5*v", lambda y, u: [-300 * (y[0] - u[0]), y[0]]),
    ],
)
def test_as_accurate_as_scipy(plant: dict[str, str], controller: str, field: Field) -> None:
    """Over long periods, and where a state is much faster than a period."""
    loop = closed_loop(plant, controller, **SETTING)
    starts = np.random.default_rng(0).uniform(-0.8, 0.8, (3, len(plant)))
    states = integraph.simulate(loop, starts)
    truth = np.stack([trajectory(loop, field, start)[0] for start in starts], 1)
    assert np.abs(states - truth).max() < 2e-11
