"""Solutions by DOP853, by mpmath and by closed forms are inside the boxes, and the boxes are not much wider."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest

import integraph
from integraph.certify.loops import flow_kernels, rows, steps
from integraph.certify.solutions import integration, vector_field
from integraph.certify.solutions.enclosure import Enclosure
from integraph.errors import UsageError
from solution_truth import outside, paths, starts, unlifted

pytestmark = pytest.mark.slow  # kernels take long to compile

MODELS: dict[str, Any] = {  # equations, the same in Python, start, radius, T, the width beside that of the solutions
    "pendulum": ("x' = v; v' = -sin(x)", lambda x, v: [v, -np.sin(x)], [1, 0], 1e-6, 10.0, 1.01),
    "Lorenz": (
        "x' = 10*(y - x); y' = x*(28 - z) - y; z' = x*y - 8/3*z",
        lambda x, y, z: [10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], [1, 1, 1], 1e-6, 5.0, 1.01,
    ),
    "van der Pol": (
        "x' = v; v' = (1 - x^2)*v - x", lambda x, v: [v, (1 - x * x) * v - x], [2, 0], 0.01, 10.0, 1.05
    ),
    "Kepler": (
        "r = x^2 + y^2; x' = u; u' = -x/r^1.5; y' = v; v' = -y/r^1.5",
        lambda x, u, y, v: [u, -x * np.hypot(x, y) ** -3, v, -y * np.hypot(x, y) ** -3],
        [1, 0, 0, 1], 1e-4, 6.25, 1.02,
    ),
    "Lotka–Volterra": (
        "x' = 1.5*x - x*y; y' = x*y - 3*y", lambda x, y: [1.5 * x - x * y, x * y - 3 * y], [5, 2], 0.01, 5.0, 1.02
    ),
    "FitzHugh–Nagumo": (
        "v' = v - v^3/3 - w + 1/2; w' = 0.08*(v + 0.7 - 0.8*w)",
        lambda v, w: [v - v**3 / 3 - w + 0.5, 0.08 * (v + 0.7 - 0.8 * w)], [-1, 1], 1e-3, 40.0, 1.02,
    ),
    "stiff": (
        "x' = -1000*(x - cos(t)); t' = 1", lambda x, t: [-1000 * (x - np.cos(t)), 1.0], [0, 0], 1e-6, 0.1, 1.1
    ),
}  # fmt: skip


def worst(name: str, count: int) -> tuple[float, Enclosure, np.ndarray]:
    """How far solutions leave the boxes, at the times asked for or on a step; the boxes; the hull's widths."""
    text, field, centre, radius, T, _ = MODELS[name]
    times = np.linspace(0.0, T, 21)
    box = np.add.outer(np.array(centre, float), [-radius, radius])
    result = unlifted(text).enclose(box, times, cells=1)
    assert result.complete, result.reason
    truth = paths(field, starts(box, count), len(box), times)
    slack = 1e-9 * max(1.0, float(np.abs(truth).max()))
    leaves = [outside(result.low[:, None], result.high[:, None], truth, slack)]
    middles = 0.5 * result.steps[:-1] + 0.5 * result.steps[1:]
    inside = paths(field, starts(box, count), len(box), middles)
    leaves.append(outside(result.over[:, None, :, 0], result.over[:, None, :, 1], inside, slack))
    return max(leaves), result, np.ptp(truth[-1], axis=0)


@pytest.mark.parametrize("name", MODELS)
def test_two_hundred_solutions_are_inside(name: str) -> None:
    leaves, result, hull = worst(name, 200)
    assert leaves <= 0
    wide = hull > 1e-8
    assert (result.width[-1][wide] <= MODELS[name][-1] * hull[wide]).all()


def _no_remainder(series: Any, norms: Any, rest: Any) -> Any:
    return flow_kernels.row_end(series, norms, 0 * rest)


def _instant(series: Any, norms: Any, rest: Any, start: float, end: float, table: Any) -> Any:
    return flow_kernels.row_tube(series, norms, rest, start, start, table)


@pytest.mark.parametrize(("place", "wrong"), [("row_end", _no_remainder), ("row_tube", _instant)])
def test_faults_are_seen(place: str, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    coarse = replace(integration.SOLUTIONS, order=5, radius=0.02)
    monkeypatch.setattr(integration, "SOLUTIONS", coarse)
    assert worst("van der Pol", 50)[0] <= 0
    monkeypatch.setattr(steps, place, wrong)
    assert worst("van der Pol", 50)[0] > 0


def _precise(field: Any, start: list[float], T: float) -> list[Any]:
    with mpmath.workdps(22):
        solution = mpmath.odefun(lambda t, y: field(*y), 0, [mpmath.mpf(x) for x in start])
        return list(solution(T))


POINTS: dict[str, Any] = {  # equations, the same in mpmath, start, T, the width that is reached
    "pendulum": ("x' = v; v' = -sin(x)", lambda x, v: [v, -mpmath.sin(x)], [1.0, 0.0], 10.0, 1e-11),
    "Kepler": (
        "r = x^2 + y^2; x' = u; u' = -x/r^1.5; y' = v; v' = -y/r^1.5",
        lambda x, u, y, v: [u, -x / (x * x + y * y) ** 1.5, v, -y / (x * x + y * y) ** 1.5],
        [1.0, 0.0, 0.0, 1.0], 3.0, 1e-11,
    ),
    "Lorenz": (
        "x' = 10*(y - x); y' = x*(28 - z) - y; z' = x*y - 8/3*z",
        lambda x, y, z: [10 * (y - x), x * (28 - z) - y, x * y - mpmath.mpf(8) / 3 * z], [1.0, 1.0, 1.0], 1.0, 1e-10,
    ),
    "functions": (
        "x' = asin(x/4) + acos(v/3) - tanh(x); v' = asinh(x) - acosh(2 + v^2) + atanh(x/5) + 0.1*erf(v)",
        lambda x, v: [
            mpmath.asin(x / 4) + mpmath.acos(v / 3) - mpmath.tanh(x),
            mpmath.asinh(x) - mpmath.acosh(2 + v * v) + mpmath.atanh(x / 5) + mpmath.erf(v) / 10,
        ],
        [0.5, 0.25], 0.25, 1e-11,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", POINTS)
def test_points_to_rounding(name: str) -> None:
    text, field, start, T, width = POINTS[name]
    result = unlifted(text).enclose(start, T)
    truth = _precise(field, start, T)
    assert all(low <= x <= high for low, x, high in zip(result.low[-1], truth, result.high[-1], strict=True))
    assert result.width.max() < width


def test_dropped_rounding_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solution from (3, 7) decays, and rounding errors grow by e^30: with radii dropped, the box is elsewhere."""

    def no_radius(self: rows.ModelRows) -> rows.ModelRows:
        values = self.values.copy()
        values[:, -1] = 0.0
        return self.with_values(values)

    saddle = unlifted("x' = -x + 7*(7*x - 3*y)/10; y' = -y + 3*(7*x - 3*y)/10")
    low, high = saddle.enclose([3.0, 7.0], 10.0)["x"][-1]
    assert low <= 3 * math.exp(-10) <= high
    monkeypatch.setattr(rows.ModelRows, "fresh", no_radius)
    low, high = saddle.enclose([3.0, 7.0], 10.0)["x"][-1]
    assert not low <= 3 * math.exp(-10) <= high


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("x' = x^2", [1.0], 1.0),
        ("x' = x^3", [-1.0], 0.5),
        ("x' = exp(x)", [0.0], 1.0),
        ("x' = 1 + x^2", [0.0], math.pi / 2),
        ("x' = -1/x", [1.0], 0.5),
    ],
)
def test_the_end_of_existence(text: str, start: list[float], end: float) -> None:
    result = integraph.lift(text, progress=False).enclose(start, [0.25, 5.0])
    assert not result.complete
    assert end - 1e-6 < result.time < end
    assert result.blow_up is not None
    assert end < result.blow_up < end + 1e-6
    assert np.isfinite(result.width[0]).all()
    assert (result.low[1], result.high[1]) == (-np.inf, np.inf)
    assert float(result.reason.split("t = ")[1].split(",")[0]) <= result.time  # rounded towards what is proved
    assert float(result.reason.split("t = ")[2]) >= result.blow_up


def test_a_box_of_starts_that_blow_up() -> None:
    result = integraph.lift("x' = x^2", progress=False).enclose([(0.9, 1.0)], 5.0)
    assert 1 - 1e-3 < result.time < 1
    assert result.blow_up is not None
    assert 1 / 0.9 < result.blow_up < 1.2


def test_a_tank_runs_empty_and_stays_so() -> None:
    """1/√x of the lifted equations is infinite at t = 1, x = (1 − t)² is not."""
    result = integraph.lift("x' = -2*sqrt(x)", progress=False).enclose([1.0], 3.0)
    assert result.time < 1
    assert result.blow_up is None


def test_what_may_blow_up() -> None:
    """x' = x² from 0 is 0 for ever, from 0.1 it ends at 10."""
    result = integraph.lift("x' = x^2", progress=False).enclose([(0.0, 0.1)], 20.0)
    assert result.time < 10
    assert result.blow_up is None
    assert "some of them not at t = " in repr(result)


@pytest.mark.parametrize(
    ("text", "x0", "says"),
    [
        ("x' = 1/x", [0.0], "the derivative of x has no value on the set of starts"),
        ("x' = 1/x", [(-1.0, 2.0)], "a function may have no value on the set of starts"),
        ("x' = ln(x)", [-1.0], "the derivative of x has no value"),
        ("x' = sqrt(x)", [(-0.1, 0.1)], "no value"),
    ],
)
def test_starts_outside_the_domain(text: str, x0: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        unlifted(text).enclose(x0, 1.0)


def test_time_zero() -> None:
    result = unlifted("x' = -x").enclose([(1.0, 2.0)], [0.0, 0.0, 1.0])
    assert (result.low[:2], result.high[:2]) == (pytest.approx(1.0, abs=0), pytest.approx(2.0, abs=0))
    alone = unlifted("x' = -x").enclose([(1.0, 2.0)], 0.0)
    assert alone.complete
    assert alone(0.0).tolist() == [[1.0, 2.0]]


def test_inputs_are_held_and_may_be_intervals() -> None:
    """x' = −k·x from 1 with k in [1, 2]."""
    result = unlifted("x' = -k*x", inputs=["k"]).enclose({"x": 1.0, "k": (1.0, 2.0)}, 1.0)
    assert result.low[0, 0] <= math.exp(-2) <= math.exp(-1) <= result.high[0, 0]
    assert result.width[0, 0] < 1.05 * (math.exp(-1) - math.exp(-2))


def test_little_time() -> None:
    result = unlifted("x' = -1000*(x - cos(t)); t' = 1").enclose([0.0, 0.0], [0.001, 100.0], seconds=0.2)
    assert not result.complete
    assert 0 < result.time < 100
    assert "the time to compute was over" in result.reason
    low, high = result(result.time)[1]
    assert low <= result.time <= high


def test_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_field, "MEMORY", 1e5)
    with pytest.raises(UsageError, match="a step needs"):
        unlifted("x' = y*z - x; y' = x*z; z' = -x*y").enclose([(0.0, 0.1)] * 3, 1.0)
