"""Lifted models: the equations checked by sympy, the numbers of new variables, simulations against scipy."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import integraph
from integraph import QuadraticSystem
from integraph.errors import SourceError
from law import examples
from lazy import Lazy, needs
from ode_grids import GRIDS
from ode_models import COOLED_REACTORS, ELEMENTARY, HODGKIN_HUXLEY, POLYNOMIAL, Model

sp: Any = Lazy("sympy")
QUICK = ("pendulum", "Duffing", "Holling II", "exp(-1/T)", "tanh pair")
SHORT = (
    "circular 3",
    "circular 8",
    "hill 20",
    "hard 3",
    "monom 2",
    "cubic cycle 5",
    *QUICK,
    "(1 + x)^12",
    "Kepler 2-D",
)
ALL = POLYNOMIAL | ELEMENTARY
MODELS = [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in ALL]
VARIABLES = st.sampled_from(["x", "y"])
SIDES = st.recursive(
    st.sampled_from(["x", "y", "0.5", "2", "(x - 3*y)"]),
    lambda inner: st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("{}*{}".format, inner, inner),
        st.builds("{}/(2 + {}^2)".format, inner, VARIABLES),
        st.builds("{}({})".format, st.sampled_from(["sin", "cos", "exp", "tanh", "atan", "ln", "sqrt"]), VARIABLES),
    ),
    max_leaves=3,
)


@cache
def lifted(model: Model) -> QuadraticSystem:
    return integraph.lift(model.equations, inputs=model.inputs, seconds=600, progress=False)


def symbolic(text: str) -> Any:
    """A formula as sympy reads it, with rational numbers. The texts are ours."""
    names = {"ln": sp.log, "sigmoid": lambda x: 1 / (1 + sp.exp(-x))}
    plain = re.sub(r"(\w)'", r"d\1", text)
    used = {name: sp.Symbol(name, positive=True) for name in re.findall(r"[A-Za-z_]\w*(?!\w|\()", plain)}
    return sp.sympify(plain.replace("^", "**"), locals=used | names, rational=True)


def right_sides(model: Model, system: QuadraticSystem) -> dict[str, Any]:
    """What is written on the right of each state, read by sympy alone."""
    sides = {name: symbolic("0") for name in system.source.inputs}
    defined: dict[Any, Any] = {}
    for equation in re.split(r"[;\n]", model.equations):
        left, right = equation.split("=")
        name, order = left.strip().rstrip("'"), left.count("'")
        if not order:
            defined[symbolic(name)] = symbolic(right)
            continue
        sides |= {"d" * n + name: symbolic("d" * (n + 1) + name) for n in range(order - 1)}
        sides["d" * (order - 1) + name] = symbolic(right).subs(defined)
    return sides | ({} if "t" not in system.names or "t" in sides else {"t": symbolic("1")})


def residuals(model: Model, system: QuadraticSystem) -> list[Any]:
    return [one - other for one, other in both_sides(model, system)]


def both_sides(model: Model, system: QuadraticSystem) -> list[tuple[Any, Any]]:
    """Derivatives of all variables along the original flow, and their quadratic right-hand sides."""
    sides = right_sides(model, system)
    values = [symbolic(name) for name in system.source.variables] + [symbolic(f) for f in system.formulas]
    quadratic = [symbolic("0")] * len(values)
    for term in system.terms:
        factor = [values[n] for n in (term.j, term.k) if n >= 0]
        quadratic[term.i] += sp.Rational(term.value.numerator, term.value.denominator) * sp.prod(factor)
    flow = [sum(sp.diff(v, symbolic(name)) * side for name, side in sides.items()) for v in values]
    return list(zip(flow, quadratic, strict=True))


def is_zero(residual: Any) -> bool:
    """Over one denominator and multiplied out, with 1 − sin² for cos²; what is left, sympy simplifies."""
    rest = sp.expand(sp.numer(sp.together(residual)))
    rest = sp.expand(rest.subs({one**2: 1 - sp.sin(one.args[0]) ** 2 for one in rest.atoms(sp.cos)}))
    return bool(rest == 0 or sp.simplify(rest) == 0)


@needs("sympy")
@pytest.mark.parametrize("name", MODELS)
def test_sympy_finds_the_lifted_equations_true(name: str) -> None:
    model = ALL[name]
    assert all(map(is_zero, residuals(model, lifted(model))))


@needs("sympy")
@pytest.mark.slow
@pytest.mark.parametrize("name", [*COOLED_REACTORS, *GRIDS])
def test_sympy_finds_reactors_and_grids_true(name: str) -> None:
    """Grids of as many states as are lifted monomial by monomial."""
    model = COOLED_REACTORS.get(name)
    if model is None:
        cells, _, start = GRIDS[name][0](32)
        model = Model("; ".join(f"{state}' = {side}" for state, side in cells.items()), 32, tuple(start))
    system = integraph.lift(model.equations, progress=False)
    assert all(map(is_zero, residuals(model, system)))


@needs("sympy")
@examples(60)
@given(st.tuples(SIDES, SIDES))
@pytest.mark.slow
def test_sympy_finds_random_lifts_true(sides: tuple[str, str]) -> None:
    model = Model(f"x' = {sides[0]}; y' = {sides[1]}", 0, ())
    try:
        system = integraph.lift(model.equations, seconds=2.0, progress=False)
    except SourceError:  # that time was too short
        assume(False)
    assert all(map(is_zero, residuals(model, system)))


@needs("sympy")
@pytest.mark.parametrize(
    "side", ["exp(x + 2) - x", "exp(x/8 + 1) - x", "exp(-8/x + 1) - x", "exp(x + 1) + exp(2*x + 2)", "exp(1000 - x)"]
)
def test_shifts_of_exponents_are_exact(side: str) -> None:
    model = Model(f"x' = {side}", 3, ())
    assert all(map(is_zero, residuals(model, lifted(model))))


def test_several_shifts_of_an_exponent_are_written_by_one_variable() -> None:
    """The number between them is rounded, unless it is none of float64."""
    near, far = (integraph.lift(f"x' = exp(x + {c}) + exp(x)", progress=False) for c in (1, 1000))
    assert near.formulas == ("exp(x + 1)",)
    assert float(near.terms[0].value) == pytest.approx(1 + np.exp(-1), rel=1e-15)
    assert set(far.formulas) == {"exp(x + 1000)", "exp(x)"}


@needs("sympy")
def test_sympy_finds_a_wrong_coefficient() -> None:
    system = lifted(ELEMENTARY["pendulum"])
    wrong = [not is_zero(r) for r in residuals(Model("x' = v; v' = -1.001*sin(x)", 2, ()), system)]
    assert wrong == [False, True, False, False]


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in SHORT else pytest.mark.slow) for n in ALL])
def test_a_lift_takes_few_variables(name: str) -> None:
    model = ALL[name]
    system = lifted(model)
    assert len(system.new) <= model.new
    assert system.minimal


def true_end(model: Model, system: QuadraticSystem) -> np.ndarray:
    """x(T) by DOP853 on the original right-hand sides, as they were parsed; by Radau where they are stiff."""
    values = integraph.function([system.source.expression.source], variables=list(system.source.variables)).values
    assert values is not None
    held = np.zeros(len(system.source.inputs))
    side = lambda t, y: np.concatenate([values(y[None])[0], held])  # noqa: E731
    method, rtol = ("Radau", 1e-12) if model.stiff else ("DOP853", 1e-13)
    return np.asarray(solve_ivp(side, (0, model.time), model.start, method=method, rtol=rtol, atol=1e-15).y[:, -1])


@pytest.mark.parametrize("name", MODELS)
def test_simulations_agree_with_scipy(name: str) -> None:
    model = ALL[name]
    system = lifted(model)
    expected = true_end(model, system)
    simulation = system.simulate(model.start, [model.time])
    assert np.max(np.abs(simulation.states[0, -1] - expected) / np.maximum(np.abs(expected), 1)) < 1e-10
    assert simulation.manifold_error < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_programs_agree_with_scipy(name: str) -> None:
    model = ALL[name]
    system = lifted(model)
    start = np.array(model.start, float)
    radius = 0.01 * start if model.stiff else 0.01  # Robertson's y may not be negative
    program = system.program(model.time, np.stack([start - radius, start + radius], 1))
    expected = true_end(model, system)[: program.outputs]
    assert np.max(np.abs(program(start) - expected) / np.maximum(np.abs(expected), 1)) < 1e-10


@pytest.mark.slow
def test_hill_is_followed_for_longer() -> None:
    """To T = 15, where drift without projection is amplified most."""
    model = replace(ELEMENTARY["Hill-2"], time=15.0)
    system = lifted(model)
    expected, start = true_end(model, system), np.array(model.start)
    assert np.abs(system.simulate(start, [15.0]).states[0, -1] - expected).max() < 1e-10
    program = system.program(15.0, np.stack([start - 0.01, start + 0.01], 1))
    assert np.abs(program(start) - expected).max() < 1e-10


@pytest.mark.slow
def test_hodgkin_huxley_is_lifted() -> None:
    """At rest and after a second of the model, against its own right-hand sides by Radau."""
    model = Model(HODGKIN_HUXLEY, 80, (-65.0, 0.05, 0.6, 0.32), 1.0, stiff=True)
    try:
        system = integraph.lift(model.equations, seconds=30, progress=False)
    except SourceError:  # a busy machine
        system = integraph.lift(model.equations, seconds=200, progress=False)
    assert len(system.new) <= model.new
    expected = true_end(model, system)
    end = system.simulate(model.start, [model.time]).states[0, -1]
    assert np.max(np.abs(end - expected) / np.maximum(np.abs(expected), 1)) < 1e-10
    point = {
        symbolic(name): value
        for name, value in zip("Vmhn", (sp.Rational(37, 10), *3 * [sp.Rational(1, 3)]), strict=True)
    }
    for flow, quadratic in both_sides(model, system):  # coefficients are rounded: shifts of one exponent
        slope, side = (each.subs(point).evalf(40) for each in (flow, quadratic))
        assert abs(slope - side) <= 1e-13 * max(1, abs(slope))
