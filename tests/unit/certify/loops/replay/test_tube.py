"""The checker's tube: trajectories by DOP853 stay in it, and it is as wide as that of the search."""

from __future__ import annotations

from math import atan, cos, exp, log, sin, sqrt, tan, tanh

import numpy as np
import pytest

from integraph.api.loops import closed_loop
from integraph.certify.loops import steps as search_steps
from integraph.certify.loops.certificate import Path
from integraph.certify.loops.certification import path
from integraph.certify.loops.replay import check, sets, steps
from integraph.certify.loops.replay.polynomials import lower_bound, upper_bound
from integraph.certify.loops.tube import tube
from integraph.certify.problem import Box
from integraph.numbers.arb.conversion import above, below, precision
from integraph.numbers.arrays import Floats
from integraph.targets.network import from_layers
from loop_truth import excess, trajectory
from slow import mostly_slow

PLANTS = {  # formulas, the same in Python
    "oscillator": ({"x": "v", "v": "u*v^2 - x"}, lambda y, u: [y[1], u[0] * y[1] ** 2 - y[0]]),
    "pendulum": (
        {"x": "v", "v": "-sin(x) - 0.2*v + u/(1.5 + cos(x))"},
        lambda y, u: [y[1], -sin(y[0]) - 0.2 * y[1] + u[0] / (1.5 + cos(y[0]))],
    ),
    "exp and ln": (
        {"x": "-x*ln(1 + x^2) + u", "v": "exp(-x)*sqrt(2 + v) - v^3"},
        lambda y, u: [-y[0] * log(1 + y[0] ** 2) + u[0], exp(-y[0]) * sqrt(2 + y[1]) - y[1] ** 3],
    ),
    "tan, atan and tanh": (
        {"x": "tan(0.5*v) - atan(x)", "v": "u - tanh(x*v) + (2 + x)^(-1.5)"},
        lambda y, u: [tan(0.5 * y[1]) - atan(y[0]), u[0] - tanh(y[0] * y[1]) + (2 + y[0]) ** -1.5],
    ),
}
LOW, HIGH = np.array([0.5, 0.1]), np.array([0.6, 0.2])


def loop_of(name: str, kind: str, count: int):
    rng = np.random.default_rng(len(name))
    net = from_layers(
        [
            (rng.normal(size=(6, 2)), rng.normal(size=6) * 0.3, kind),
            (rng.normal(size=(6, 6)) * 0.4, rng.normal(size=6) * 0.3, kind),
            (rng.normal(size=(1, 6)) * 0.3, rng.normal(size=1) * 0.1, None),
        ]
    )
    return closed_loop(PLANTS[name][0], net, period=0.2, steps=count)


def steps_of(loop) -> Path:
    return path(loop, LOW, HIGH, 4, loop.steps)


def replayed(loop, taken: Path) -> Floats:
    """The boxes at sampling times."""
    boxes = []
    with precision(64):
        for states in check.tube(loop, Box(tuple(LOW), tuple(HIGH)), 4, taken):
            ends = [(below(lower_bound(p, 20) - e), above(upper_bound(p, 20) + e)) for p, e in pairs(states)]
            boxes.append(ends)
    return np.array(boxes)


def pairs(states: sets.StateSet):
    return zip(states.p, states.errors, strict=True)


def excess_of(loop, name: str, starts: int, taken: Path) -> tuple[float, Floats]:
    boxes = replayed(loop, taken)
    rng = np.random.default_rng(0)
    begins = LOW + (HIGH - LOW) * np.concatenate([[[0, 0], [0, 1], [1, 0], [1, 1]], rng.uniform(size=(starts, 2))])
    runs = np.stack([trajectory(loop, PLANTS[name][1], begin)[0] for begin in begins], 1)
    return excess(boxes[:, None], runs), boxes


@mostly_slow(
    ("name", "kind"),
    [(name, kind) for name in PLANTS for kind in ("tanh", "sigmoid", "relu", "silu")],
    quick=1,
)
def test_trajectories_stay_inside(name: str, kind: str) -> None:
    loop = loop_of(name, kind, 8)
    outside, boxes = excess_of(loop, name, 6, steps_of(loop))
    assert outside <= 0
    widths = np.ptp(tube(loop, LOW, HIGH).samples[-1], axis=1)
    assert (np.ptp(boxes[-1], axis=1) <= 1.01 * widths).all()


def test_discrete_time() -> None:
    loop = closed_loop({"x": "x + 0.1*v", "v": "v + 0.1*(u - sin(x))"}, "-x - v", period=1, steps=20, discrete=True)
    boxes = replayed(loop, steps_of(loop))
    x = np.random.default_rng(0).uniform(LOW, HIGH, (500, 2))
    for box in boxes:
        assert excess(box, x) <= 0
        ends = np.ptp(x, axis=0)
        x = np.stack([x[:, 0] + 0.1 * x[:, 1], x[:, 1] + 0.1 * (-x.sum(1) - np.sin(x[:, 0]))], 1)
    assert (np.ptp(boxes[-1], axis=1) < 1.1 * ends).all()


FAULTS = {  # what is wrong in the checker: module, name, replacement
    "radii are no symbols": (sets, "swept", lambda k, p, g, r: sets.StateSet(k, p, g)),
    "the remainder of a step is dropped": (steps, "_enclosing", lambda ball, like: like.scaled(ball * 0)),
    "a step is too short": (
        steps,
        "flow",
        lambda plant, ring, values, states, h, flow=steps.flow: flow(plant, ring, values, states, 0.9 * h),
    ),
}


@mostly_slow("fault", list(FAULTS), quick=1)
def test_faults_are_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a part of the proof a trajectory leaves the tube."""
    loop = closed_loop(PLANTS["pendulum"][0], "-50*x", period=0.2, steps=4)
    coarse = search_steps.Tolerance(12, 0.3, 0.3, 1e-13)  # long steps of low order, where a remainder matters
    monkeypatch.setattr(search_steps.flow_step, "__defaults__", (coarse,))
    assert excess_of(loop, "pendulum", 4, steps_of(loop))[0] <= 0
    place, name, wrong = FAULTS[fault]
    monkeypatch.setattr(place, name, wrong)
    assert excess_of(loop, "pendulum", 4, steps_of(loop))[0] > 0
