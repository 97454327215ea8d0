"""Plants that are not known exactly: trajectories with any constant and any disturbance stay in the tube."""

from __future__ import annotations

from math import sin

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from integraph.api.loops import closed_loop, simulate
from integraph.certify.loops import disturbance, loop
from integraph.certify.loops.disturbance import Disturbance
from integraph.certify.loops.tube import Tube, tube
from loop_truth import excess

PLANT = {"x": "v", "v": "-sin(x) - 0.3*v*w + u + w"}
LOW, HIGH = np.array([0.8, 0.0]), np.array([0.9, 0.1])


def pendulum() -> loop.Loop:
    return closed_loop(PLANT, "-v", period=0.2, steps=10, disturbances={"w": (-0.05, 0.1)})


def disturbed(start: np.ndarray, wave: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples and states between, by DOP853: w constant at either end, switching in a period, or a sine."""
    signals = [lambda t: -0.05, lambda t: 0.1, lambda t: 0.1 if t < 0.07 else -0.05,
               lambda t: 0.025 + 0.075 * sin(40 * t)]  # fmt: skip
    w, x, samples, between = signals[wave], start, [start], []
    for _ in range(10):
        u = -x[1]
        run = solve_ivp(
            lambda t, y, u=u: [y[1], -sin(y[0]) - 0.3 * y[1] * w(t) + u + w(t)], (0, 0.2), x, "DOP853",
            [0.05, 0.1, 0.15, 0.2], rtol=1e-11, atol=1e-11, max_step=0.01,
        )  # fmt: skip
        x = run.y[:, -1]
        samples.append(x)
        between.append(run.y[:, :-1].T)
    return np.array(samples), np.array(between)


def worst(result: Tube) -> float:
    leaves = []
    for start in (LOW, HIGH, np.array([0.8, 0.1])):
        for wave in range(4):
            samples, between = disturbed(start, wave)
            leaves += [excess(result.samples, samples), excess(result.spans[:, None], between)]
    return max(leaves)


@pytest.mark.slow
def test_disturbed_trajectories_stay_inside() -> None:
    result = tube(pendulum(), LOW, HIGH, spans=True)
    assert result.reached == 10, result.reason
    assert worst(result) <= 0
    ends = np.array([disturbed(start, wave)[0][-1] for start in (LOW, HIGH) for wave in (0, 1)])
    assert (np.ptp(result.samples[-1], axis=1) < 1.6 * np.ptp(ends, axis=0)).all()


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["nothing is added", "half is added"])
def test_faults_are_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = disturbance.widened
    if fault == "nothing is added":
        monkeypatch.setattr(loop, "widened", lambda plant, step, h, w: step)
    else:
        half = lambda w: Disturbance(w.names, 0.5 * w.low, 0.5 * w.high)  # noqa: E731
        monkeypatch.setattr(loop, "widened", lambda plant, step, h, w: right(plant, step, h, half(w)))
    assert worst(tube(pendulum(), LOW, HIGH, spans=True)) > 0


@pytest.mark.slow
def test_drive_of_a_linear_plant() -> None:
    """x' = −2x + w, |w| ≤ 1, from 0: |x| < 1/2 for ever, and x comes near."""
    closed = closed_loop({"x": "-2*x + w + u"}, "0*x", period=0.125, steps=40, disturbances={"w": (-1, 1)})
    low, high = tube(closed, np.zeros(1), np.zeros(1)).samples[-1, 0]
    assert 0.4999 < high < 0.6
    assert -0.6 < low < -0.4999


def test_drive_of_plants_that_grow() -> None:
    """x' = x + w, |w| ≤ 1, from 0: |x(1)| ≤ e − 1, which a constant disturbance reaches; y' = y + x + w: |y(1)| ≤ e."""
    closed = closed_loop(
        {"x": "x + w + 0*u", "y": "x + y + w"}, "0*x", period=0.25, steps=4, disturbances={"w": (-1, 1)}
    )
    ends = tube(closed, np.zeros(2), np.zeros(2)).samples[-1]
    for true, (low, high) in zip((np.e - 1, np.e), ends, strict=True):
        assert true <= high < 1.001 * true
        assert -1.001 * true < low <= -true


@pytest.mark.slow
def test_uncertain_constants_are_states() -> None:
    closed = closed_loop(
        {"x": "v", "v": "-k*x - c*v + u"}, "-v", period=0.1, steps=20, parameters={"k": (0.9, 1.1), "c": 0.5}
    )
    assert closed.states == ("x", "v", "k")
    low, high = np.array([0.9, 0.0, 0.9]), np.array([1.0, 0.0, 1.1])
    result = tube(closed, low, high, spans=True)
    for k in (0.9, 1.0, 1.1):
        for x in ([0.9, 0.0], [1.0, 0.0]):
            state = np.array(x)
            for number in range(20):
                u = -state[1]
                field = lambda t, y, k=k, u=u: [y[1], -k * y[0] - 0.5 * y[1] + u]  # noqa: E731
                state = solve_ivp(field, (0, 0.1), state, "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
                assert excess(result.samples[number + 1, :2], state) <= 0
            assert simulate(closed, [[*x, k]])[-1, 0, :2] == pytest.approx(state, abs=1e-8)
    assert result.samples[:, 2] == pytest.approx(np.broadcast_to([0.9, 1.1], (21, 2)), abs=1e-9)
    assert np.ptp(result.samples[-1, 0]) < 0.15


def test_discrete_time_takes_a_new_disturbance_in_every_period() -> None:
    closed = closed_loop(
        {"x": "0.5*x + w + m - 1 + u"}, "0*x", period=1, steps=30, discrete=True, disturbances={"w": (-1, 1)},
        parameters={"m": (1, 1.1)},
    )  # fmt: skip
    end = tube(closed, np.array([0.0, 1.0]), np.array([0.0, 1.1])).samples[-1, 0]
    assert end == pytest.approx([-2, 2.2], abs=1e-6)
    runs = simulate(closed, np.tile([0.0, 1.05], (500, 1)), seed=1)[-1, :, 0]
    assert excess(end[None], runs[:, None]) <= 0
    assert np.ptp(runs) > 2
