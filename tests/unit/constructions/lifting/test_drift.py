"""The choice among equals: the growth off the manifold is that of differences, and the choice drifts least."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import integraph
from integraph.constructions.lifting import construction
from integraph.constructions.lifting.drift import growth, jacobian, preference, spread
from integraph.constructions.lifting.equations import ORDERS
from integraph.constructions.lifting.simulation import distance
from integraph.errors import FlowError
from ode_models import COOLED_REACTORS, ELEMENTARY, Model, hill

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
    monkeypatch.setattr(construction, "preference", lambda system: (0.0, 0.0))
    plain = integraph.lift(text).simulate(start, [T], project=False).manifold_error
    assert chosen < 1e-13 < 1e-7 < plain


@pytest.mark.parametrize("text", ["x' = ln(x - 3)", "x' = exp(1000*x)", "x' = exp(exp(20*x))", "x' = acosh(x)"])
@pytest.mark.filterwarnings("error")
def test_points_without_a_value_are_left_out(text: str) -> None:
    assert np.isfinite(growth(integraph.lift(text)))


def test_the_choice_is_the_same_every_time() -> None:
    assert len({str(integraph.lift(TOGGLE)) for _ in range(2)}) == 1


def test_growth_is_computed_at_the_size_of_the_start() -> None:
    """w1 = v²: N is 2 − (2/3)v² at most, which falls with v."""
    system = integraph.lift(NAGUMO)
    large = replace(system, source=replace(system.source, start=(10.0, 0.0)))
    assert growth(large) < 10 * growth(system) < 0


def test_the_spread_is_that_of_sizes() -> None:
    """w1 = x², and x from 1/4 to 3/2 of the start."""
    system = integraph.lift("x' = -x^3")
    assert 0 < spread(system) < -np.log10(0.25**2)
    far = replace(system, source=replace(system.source, start=(1e6,)))
    assert spread(far) == pytest.approx(12, abs=0.7)
    assert spread(integraph.lift("x' = -x")) == 0


def test_sizes_decide_where_drift_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, tuple[float, float]] = {}

    def record(system: integraph.QuadraticSystem) -> tuple[float, float]:
        return seen.setdefault(str(system), preference(system))

    monkeypatch.setattr(construction, "preference", record)
    taken = str(integraph.lift(hill(10).equations))
    least = min(drift for drift, _ in seen.values())
    spreads = [size for drift, size in seen.values() if drift == least]
    assert max(spreads) > min(spreads)
    assert seen[taken] == (least, min(spreads))


def every_choice(model: Model, monkeypatch: pytest.MonkeyPatch) -> list[integraph.QuadraticSystem]:
    """All equal lifts of a model that are compared."""
    seen: dict[str, integraph.QuadraticSystem] = {}

    def record(system: integraph.QuadraticSystem) -> tuple[float, float]:
        seen.setdefault(str(system), system)
        return preference(system)

    monkeypatch.setattr(construction, "preference", record)
    integraph.lift(model.equations, progress=False)
    return list(seen.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["FitzHugh–Nagumo", "toggle", "Holling II", "Arrhenius", "Michaelis–Menten"])
def test_projection_repairs_every_choice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that drift by 1e-8 to 1, or leave every bound, when new variables are never computed again."""
    model = ELEMENTARY[name]
    T = model.time
    systems = every_choice(model, monkeypatch)
    field = integraph.function([systems[0].source.expression.source], variables=list(systems[0].source.states)).values
    assert field is not None
    right = solve_ivp(lambda _, y: field(y[None])[0], (0, T), model.start, "DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    start = np.array(model.start)
    off = []
    for system in systems:
        try:
            ended = system.simulate(start, [T], project=False).states[0, -1]
            off.append(float(np.abs(ended - right).max()))
        except FlowError:
            off.append(np.inf)
        assert np.abs(system.simulate(start, [T]).states[0, -1] - right).max() < 1.4e-11
        program = system.program(T, np.stack([start - 0.01, start + 0.01], 1))
        assert np.abs(program(start) - right).max() < 1.4e-11
    assert max(off) > 1e-9


def reactor_end(model: Model) -> np.ndarray:
    """C and T at the end by scipy, from the equations written once more."""
    coolant = int(model.equations.split("2.092*(")[1][:3])

    def side(_t: float, y: np.ndarray) -> list[float]:
        rate = 7.2e10 * np.exp(-8750 / y[1]) * y[0]
        return [1 - y[0] - rate, 350 - y[1] + 209.2 * rate + 2.092 * (coolant - y[1])]

    both = [("DOP853", 1e-13), ("Radau", 1e-12)]
    ends = [solve_ivp(side, (0, model.time), model.start, m, rtol=r, atol=1e-15).y[:, -1] for m, r in both]
    assert np.abs(ends[0] / ends[1] - 1).max() < 1e-10
    return np.asarray(ends[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", COOLED_REACTORS)
def test_small_variables_with_large_controls_are_kept_near_their_formulas(name: str) -> None:
    """Drift in exp(-8750/T), about 1e-11, is multiplied by 1e11. At its default tolerance, the engine leaves 1e-13 in
    the formulas of the program, which the reaction amplifies."""
    model = COOLED_REACTORS[name]
    system = integraph.lift(model.equations, progress=False)
    expected, start = reactor_end(model), np.array(model.start)
    simulation = system.simulate(start, [model.time])
    assert np.abs(simulation.states[0, -1] / expected - 1).max() < 1e-10
    assert simulation.manifold_error < 2e-12
    program = system.program(model.time, np.stack([0.999 * start, 1.001 * start], 1))
    assert np.abs(program(start) / expected - 1).max() < 5e-10
    assert np.abs(program.flow(start[None], engine="taylor", rtol=1e-14).outputs[0] / expected - 1).max() < 1e-10
    assert program.origin is not None
    assert float(program.origin.options["manifold error"]) < 2e-12
    seldom = system.simulate(start, [model.time], project=model.time / 2)
    assert seldom.manifold_error > 1e-8


def test_the_distance_has_no_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 % of a small variable is 1 %, at any size; where a formula is 0, what states can change counts."""
    monkeypatch.setattr(construction, "preference", lambda system: (0.0, 0.0))  # else variables have no unit
    system = integraph.lift("x' = v; v' = -a*sin(x)", inputs="a")
    for a in (1e-20, 1.0, 1e20):
        y = system.start([1.0, 0.0, a])
        off = y * np.array([1, 1, 1, 1.01, 1])
        assert 0.001 < distance(system, off, np.abs(y)) < 0.02
    y = system.start([0.0, 1.0, 1.0])
    sizes = np.array([[1.0, 1.0, 1.0, 0.0, 0.0]])
    sine = system.formulas.index("a*sin(x)")
    y[0, 3 + sine] = 1e-12
    assert 1e-12 <= distance(system, y, sizes) < 1e-10
