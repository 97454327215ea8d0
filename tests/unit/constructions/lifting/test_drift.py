"""The choice among equals: the growth off the manifold is that of differences, and the choice drifts least."""

from __future__ import annotations

import numpy as np
import pytest

import integraph
from integraph.constructions.lifting import construction
from integraph.constructions.lifting.drift import growth, jacobian
from integraph.constructions.lifting.equations import ORDERS

NAGUMO = "v' = v - v^3/3 - w + 0.5; w' = 0.08*(v + 0.7 - 0.8*w)"
TOGGLE = "x' = 4/(1 + y^3) - x; y' = 4/(1 + x^3) - y"


def right(system: integraph.QuadraticSystem, y: np.ndarray) -> np.ndarray:
    return np.asarray(system.b + system.A @ y + system.Q @ np.outer(y, y).ravel())


def test_the_jacobian_is_that_of_differences() -> None:
    system = integraph.lift(TOGGLE)
    y = system.start([0.7, 0.4])[0]
    steps = 1e-6 * np.eye(len(y))
    columns = [(right(system, y + s) - right(system, y - s)) / 2e-6 for s in steps]
    assert np.allclose(jacobian(system, y[None])[0], np.stack(columns, 1), atol=1e-8)


def ordered(monkeypatch: pytest.MonkeyPatch, order: str) -> integraph.QuadraticSystem:
    monkeypatch.setattr(construction, "ORDERS", {order: ORDERS[order]})
    return integraph.lift(NAGUMO)


def test_growth_is_that_of_the_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    """w1 = v²: N is 2 − (4/3)v² + (2/3)v² where v² is w1, and without the 2 where it is v·v."""
    first, dissipative = (growth(ordered(monkeypatch, order)) for order in ("first", "dissipative"))
    assert first - dissipative == pytest.approx(2.0, abs=1e-5)


@pytest.mark.parametrize(("text", "start", "T"), [(NAGUMO, [0.0, 0.0], 40.0), (TOGGLE, [1.0, 0.5], 10.0)])
def test_the_choice_drifts_less(text: str, start: list[float], T: float, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = integraph.lift(text).simulate(start, [T], project=False).manifold_error
    monkeypatch.setattr(construction, "ORDERS", {"first": ORDERS["first"]})
    monkeypatch.setattr(construction, "growth", lambda system: 0.0)
    plain = integraph.lift(text).simulate(start, [T], project=False).manifold_error
    assert chosen < 1e-13 < 1e-7 < plain


@pytest.mark.parametrize("text", ["x' = ln(x - 3)", "x' = exp(1000*x)", "x' = exp(exp(20*x))", "x' = acosh(x)"])
@pytest.mark.filterwarnings("error")
def test_points_without_a_value_are_left_out(text: str) -> None:
    assert np.isfinite(growth(integraph.lift(text)))


def test_the_choice_is_the_same_every_time() -> None:
    assert len({str(integraph.lift(TOGGLE)) for _ in range(2)}) == 1
