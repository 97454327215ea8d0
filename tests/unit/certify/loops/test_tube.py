"""Trajectories by DOP853 stay in the tube, and the tube is close to them."""

from __future__ import annotations

from dataclasses import replace
from math import atan, cos, exp, log, sin, sqrt, tan, tanh

import numpy as np
import pytest

from integraph.api.loops import closed_loop
from integraph.certify.loops import box_kernels, flow_kernels, rows, steps
from integraph.certify.loops.loop import periods
from integraph.certify.loops.tube import _tube, tube
from integraph.targets.network import from_layers
from loop_truth import excess, trajectory
from slow import mostly_slow

PLANTS = {  # formulas, the same in Python, start
    "oscillator": ({"x": "v", "v": "u*v^2 - x"}, lambda y, u: [y[1], u[0] * y[1] ** 2 - y[0]], ([0.8, 0.5], 0.1)),
    "pendulum": (
        {"x": "v", "v": "-sin(x) - 0.2*v + u/(1.5 + cos(x))"},
        lambda y, u: [y[1], -sin(y[0]) - 0.2 * y[1] + u[0] / (1.5 + cos(y[0]))],
        ([0.8, 0.1], 0.1),
    ),
    "exp and ln": (
        {"x": "-x*ln(1 + x^2) + u", "v": "exp(-x)*sqrt(2 + v) - v^3"},
        lambda y, u: [-y[0] * log(1 + y[0] ** 2) + u[0], exp(-y[0]) * sqrt(2 + y[1]) - y[1] ** 3],
        ([0.5, 0.1], 0.2),
    ),
    "tan, atan and tanh": (
        {"x": "tan(0.5*v) - atan(x)", "v": "u - tanh(x*v) + (2 + x)^(-1.5)"},
        lambda y, u: [tan(0.5 * y[1]) - atan(y[0]), u[0] - tanh(y[0] * y[1]) + (2 + y[0]) ** -1.5],
        ([0.5, 0.1], 0.2),
    ),
}
KINDS = ("tanh", "sigmoid", "relu", "silu")


def random_net(kind: str, seed: int):
    rng = np.random.default_rng(seed)
    return from_layers(
        [
            (rng.normal(size=(8, 2)), rng.normal(size=8) * 0.3, kind),
            (rng.normal(size=(8, 8)) * 0.4, rng.normal(size=8) * 0.3, kind),
            (rng.normal(size=(1, 8)) * 0.3, rng.normal(size=1) * 0.1, None),
        ]
    )


def worst(name: str, kind: str, seed: int, starts: int, steps: int = 12) -> tuple[float, float]:
    """How far trajectories leave the tube, and the widest end box beside the hull of trajectories."""
    plant, field, (corner, side) = PLANTS[name]
    loop = closed_loop(plant, random_net(kind, seed), period=0.2, steps=steps)
    low = np.array(corner)
    result = tube(loop, low, low + side, spans=True)
    assert result.reached == steps, result.reason
    rng = np.random.default_rng(seed)
    begins = low + side * np.concatenate([[[0, 0], [0, 1], [1, 0], [1, 1]], rng.uniform(size=(starts - 4, 2))])
    runs = [trajectory(loop, field, begin) for begin in begins]
    samples, inside = (np.stack([run[n] for run in runs], 1) for n in range(2))
    leaves = max(excess(result.samples[:, None], samples), excess(result.spans[:, None, None], inside))
    hull = np.ptp(samples[-1], axis=0)
    return leaves, float(((result.samples[-1, :, 1] - result.samples[-1, :, 0]) / hull).max())


@mostly_slow(("name", "kind"), [(name, kind) for name in PLANTS for kind in KINDS], quick=0)
def test_trajectories_stay_inside(name: str, kind: str) -> None:
    leaves, ratio = worst(name, kind, seed=len(name), starts=5)
    assert leaves <= 0
    assert ratio < (1.1 if kind != "relu" else 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PLANTS)
def test_two_hundred_trajectories_stay_inside(name: str, seed: int) -> None:
    leaves, ratio = worst(name, "tanh", seed, starts=200)
    assert leaves <= 0
    assert ratio < 1.05


def test_discrete_time() -> None:
    loop = closed_loop({"x": "x + 0.1*v", "v": "v + 0.1*(u - sin(x))"}, "-x - v", period=1, steps=30, discrete=True)
    low, high = np.array([0.9, 0.0]), np.array([1.0, 0.1])
    result = tube(loop, low, high)
    x = np.random.default_rng(0).uniform(low, high, (500, 2))
    for number, box in enumerate(result.samples):
        assert excess(box, x) <= 0
        if number == 30:
            break
        x = np.stack([x[:, 0] + 0.1 * x[:, 1], x[:, 1] + 0.1 * (-x.sum(1) - np.sin(x[:, 0]))], 1)
    assert (np.ptp(box, axis=1) < 1.1 * np.ptp(x, axis=0)).all()


def test_steps_and_orders_adapt() -> None:
    """x' = −x³ from 8: short steps at first, then whole periods; every period is covered."""
    loop = closed_loop({"x": "u - x^3"}, "0*x", period=0.5, steps=8)
    flows = [period.flow for period in periods(loop, np.array([8.0]), np.array([8.2]))]
    assert [sum(step.share for step in flow) for flow in flows] == [1.0] * 8
    assert len(flows[0]) > 10
    assert len(flows[-1]) == 1
    assert len({step.order for flow in flows for step in flow}) > 2
    low, high = (1 / np.sqrt(1 / x**2 + 2 * 4.0) for x in (8.0, 8.2))
    box = tube(loop, np.array([8.0]), np.array([8.2])).samples[-1, 0]
    assert box[0] <= low
    assert high <= box[1]
    assert box[1] - box[0] < 1.05 * (high - low)


def test_a_loose_tube_gets_a_higher_degree() -> None:
    """The second polynomial of sin(2 sin(2 …)) is not enough for a wide set; where nothing is asked, errors decide."""
    loop = closed_loop({"x": "sin(2*x) + u"}, "-0.1*x", period=1, steps=4, discrete=True)
    low, high = np.array([0.3]), np.array([0.7])
    result = tube(loop, low, high)
    low_degree = _tube(loop, low, high, None, False, None, 4)
    assert (low_degree.degree, result.degree) == (4, 6)
    assert result.loose < 0.7 * low_degree.loose
    x = np.linspace(low, high, 2001)
    for box in result.samples:
        assert excess(box, x) <= 0
        x = np.sin(2 * x) - 0.1 * x


@pytest.mark.slow
def test_scaling_limits_and_readings() -> None:
    """u = clip(3·(N − 0.1)), N = tanh(v − x): the tube of the same formula, and DOP853."""
    loop = closed_loop(
        {"x": "v", "v": "u - x"}, "tanh(y)", period=0.25, steps=12, outputs="v - x", scale=3.0, offset=0.1,
        limits=(-0.9, 0.8),
    )  # fmt: skip
    low, high = np.array([0.2, 0.0]), np.array([0.3, 0.1])
    result = tube(loop, low, high, spans=True)
    for start in (low, high, np.array([0.2, 0.1])):
        x = start
        clipped = np.clip(3 * (np.tanh(x[1] - x[0]) - 0.1), -0.9, 0.8)
        assert loop.controller(x[None])[0] == pytest.approx([clipped])
        samples, inside = trajectory(loop, lambda y, u: [y[1], u[0] - y[0]], start)
        assert excess(result.samples, samples) <= 0
        assert excess(result.spans[:, None], inside) <= 0


@pytest.mark.slow
def test_finite_escape() -> None:
    """x' = x² from 1 leaves at t = 1: the tube ends before, and says so."""
    loop = closed_loop({"x": "x^2 + u"}, "0*x", period=0.25, steps=8)
    result = tube(loop, np.array([0.9]), np.array([1.0]))
    assert result.reached < 5
    assert "without bound" in result.reason


@pytest.mark.slow
def test_division_by_zero() -> None:
    """x² = x(0)² − 2t."""
    loop = closed_loop({"x": "u/x"}, "-1 + 0*x", period=0.25, steps=8)
    result = tube(loop, np.array([0.1]), np.array([0.2]))
    assert result.reached < 8
    assert "not defined" in result.reason


def _no_remainder(series, norms, rest):
    return flow_kernels.row_end(series, norms, 0 * rest)


def _narrow_tube(series, norms, rest, start, end, table):
    return flow_kernels.row_tube(series, norms, rest, start, start, table)


def _no_radius(rows_):
    values = rows_.values.copy()
    values[:, -1] = 0.0
    return rows_.with_values(values)


def _half_folded(self):
    m = self.monomials.count
    return self.with_values(np.delete(self.values, np.s_[m:-1], 1))


FAULTS = {
    "a remainder is dropped": (steps, "row_end", _no_remainder),
    "a tube of an instant": (steps, "row_tube", _narrow_tube),
    "radii are dropped": (rows.ModelRows, "fresh", _no_radius),
    "symbols are dropped": (rows.ModelRows, "folded", _half_folded),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a part of the proof a trajectory leaves the tube."""
    place, name, wrong = FAULTS[fault]
    if fault == "a remainder is dropped":  # let it matter
        monkeypatch.setattr(steps.flow_step, "__defaults__", (replace(steps.SETS, radius=0.3, drift=0.3),))
    monkeypatch.setattr(place, name, wrong)
    assert worst("oscillator", "relu", seed=3, starts=8)[0] > 0


@pytest.mark.slow
def test_a_priori_box_contains_the_flow() -> None:
    loop = closed_loop({"x": "v", "v": "-sin(x) + u"}, "0*x", period=0.5, steps=1)
    plant = loop.plant
    start = np.array([[1.0, 1.1], [0.2, 0.3], [-0.1, 0.1]])
    inside, box = box_kernels.enclose(plant.code, plant.numbers, plant.held, plant.outputs, start, 0.5)
    assert inside
    for u in (-0.1, 0.1):
        for x in (start[:2, 0], start[:2, 1]):
            run = trajectory(closed_loop({"x": "v", "v": "-sin(x) + u"}, f"{u} + 0*x", period=0.5, steps=1),
                             lambda y, w: [y[1], -sin(y[0]) + w[0]], x, 20)[1]  # fmt: skip
            assert excess(box[:2], run) <= 0
