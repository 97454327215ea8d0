"""The checker's bound of disturbances: exact where the plant is linear, and no trajectory leaves its tube."""

from __future__ import annotations

from dataclasses import replace
from math import exp, sin

import numpy as np
import pytest
from flint import arb
from scipy.integrate import solve_ivp

import integraph
from integraph.api.loops import closed_loop
from integraph.certify.loops.certification import path
from integraph.certify.loops.disturbance import Disturbance
from integraph.certify.loops.replay import check, disturbance, steps
from integraph.certify.loops.replay.disturbance import Noise, noise_of
from integraph.certify.loops.replay.intervals import Ends
from integraph.certify.loops.tube import tube
from integraph.certify.problem import Box
from integraph.numbers.arb.conversion import above, below, precision
from integraph.numbers.arrays import Floats
from loop_truth import excess

PLANT = {"x": "v", "v": "-sin(x) - 0.3*v*w + u + w"}
SETTING = {"plant": PLANT, "controller": "-v", "period": 0.2, "steps": 5}
START = {"x": (0.8, 0.9), "v": (0.0, 0.1)}
LOW, HIGH = np.array([0.8, 0.0]), np.array([0.9, 0.1])
W = {"w": (-0.05, 0.1)}


def boxes(loop) -> Floats:
    with precision(check.BITS):
        sets = check.tube(loop, Box(tuple(LOW), tuple(HIGH)), 4, path(loop, LOW, HIGH, 4, loop.steps))
        return np.array([[(below(a), above(b)) for a, b in (row.range() for row in one.rows)] for one in sets])


def bang_bang(start: Floats, sign: float, discrete: bool) -> Floats:
    """Samples with w at an end, the other one where v is negative."""
    samples, x = [start], start

    def field(t: float, y: Floats, u: float) -> list[float]:
        w = 0.1 if sign * y[1] > -0.2 else -0.05
        return [y[1], -sin(y[0]) - 0.3 * y[1] * w + u + w]

    for _ in range(5):
        if discrete:
            x = x + 0.2 * np.array(field(0.0, x, -x[1]))
        else:
            run = solve_ivp(field, (0, 0.2), x, "DOP853", rtol=1e-10, atol=1e-10, max_step=0.005, args=(-x[1],))
            x = run.y[:, -1]
        samples.append(x)
    return np.array(samples)


@pytest.mark.parametrize("discrete", [pytest.param(False, marks=pytest.mark.slow), True])
def test_disturbed_trajectories_stay_inside(discrete: bool) -> None:
    plant = {"x": "x + 0.2*v", "v": "v + 0.2*(-sin(x) - 0.3*v*w + u + w)"} if discrete else PLANT
    loop = closed_loop(**SETTING | {"plant": plant}, disturbances=W, discrete=discrete)
    tubes = boxes(loop)
    for start in (LOW, HIGH, np.array([0.8, 0.1])):
        for sign in (-1.0, 1.0):
            assert excess(tubes, bang_bang(start, sign, discrete)) <= 0
    widths = np.ptp(tube(loop, LOW, HIGH).samples[-1], axis=1)
    assert (np.ptp(tubes[-1], axis=1) <= 1.03 * widths).all()


def test_drive_of_a_linear_plant() -> None:
    """x' = −2x + w has |e| ≤ (1 − e^−2h)/2 < h, y' = x + 2y: M has no negative entries."""
    loop = closed_loop({"x": "-2*x + w", "y": "x + 2*y + u"}, "0*x", period=1, steps=1, disturbances={"w": (-1.0, 1.0)})
    side = Ends(arb(-1), arb(1))
    with precision(64):
        noise = noise_of(loop.disturbance)
        assert noise is not None
        box = [side, side, Ends(arb(0), arb(0)), side]
        mine = disturbance.drive(steps.interval_ring(), loop.expression, box, noise, 2, arb(0.5))
    assert above(mine[0]) == pytest.approx(0.5)  # −2 counts as 0
    assert above(mine[1]) == pytest.approx((exp(1.0) - 2.0) / 4)  # ∫ e^(2(h − s)) s ds


def test_sides_of_noise() -> None:
    with precision(64):
        noise = noise_of(Disturbance(("a", "b"), np.array([-1e-30, 3.0]), np.array([1.0, 3.0])))
    assert noise is not None
    with precision(256):
        for end, c, rho in zip(noise.ends, noise.middle, noise.radius, strict=True):
            assert c - rho <= end.low
            assert end.high <= c + rho


FAULTS = {  # what is wrong: module, name, replacement
    "nothing is driven": (steps, "drive", lambda ring, plant, box, noise, n, h: [arb(0)] * n),
    "the radius is halved": (
        check,
        "noise_of",
        lambda w: Noise(one.ends, one.middle, [r / 2 for r in one.radius]) if (one := noise_of(w)) else None,
    ),
    "derivatives are those in the middle": (
        disturbance,
        "_slopes",
        lambda ring, plant, box, axis, right=disturbance._slopes: right(
            ring, plant, [Ends(s.low / 8, s.high / 8) for s in box], axis
        ),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, name, wrong = FAULTS[fault]
    monkeypatch.setattr(place, name, wrong)
    loop = closed_loop({"x": "v", "v": "x^3*w + u"}, "0*v", period=0.2, steps=5, disturbances={"w": (-1.0, 1.0)})
    tubes, samples, x = boxes(loop), [], HIGH
    for _ in range(6):
        samples.append(x)
        x = solve_ivp(lambda t, y: [y[1], y[0] ** 3], (0, 0.2), x, "DOP853", rtol=1e-11, atol=1e-11).y[:, -1]
    assert excess(tubes, np.array(samples)) > 0


@pytest.mark.parametrize("discrete", [False, True])
def test_certificates(discrete: bool) -> None:
    """Of another bound of w, another name, or none, nothing is proved."""
    setting = SETTING | {"discrete": discrete}
    result = integraph.loop(**setting, start=START, disturbances=W, spec="x <= 5 always", progress=False)
    checked = integraph.check(result, result)
    assert checked, checked.reason
    for other in ({"w": (-0.05, 0.1001)}, {"w": (-0.0501, 0.1)}, {"w": (-0.05, 0.0999)}):
        assert "another loop" in integraph.check(result, closed_loop(**setting, disturbances=other)).reason
    fixed = closed_loop(**setting, parameters={"w": 0.1})
    assert "another loop" in integraph.check(result, fixed).reason


def test_constants_in_an_interval_have_certificates() -> None:
    plant = {"x": "v", "v": "-g*sin(x) - v + u + w"}
    more = {"parameters": {"g": (0.98, 1.02)}, "disturbances": W}
    result = integraph.loop(**SETTING | {"plant": plant}, start=START, **more, spec="x <= 0.95 always", progress=False)
    certificate = result.certificate()
    assert (certificate.box.low[2], certificate.box.high[2]) == (0.98, 1.02)
    assert integraph.check(certificate, result)
    narrow = replace(certificate, box=Box((*certificate.box.low[:2], 0.9), certificate.box.high)).sealed()
    assert not integraph.check(narrow, result)
