"""Lifted models: the equations checked by sympy, the numbers of new variables, simulations against scipy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import integraph
from integraph import QuadraticSystem
from lazy import Lazy, needs
from ode_models import ELEMENTARY, POLYNOMIAL, Model

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
MODELS = [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in ELEMENTARY]


def lifted(model: Model) -> QuadraticSystem:
    return integraph.lift(model.equations, inputs=model.inputs, progress=False)


def symbolic(text: str) -> Any:
    """A formula as sympy reads it, with rational numbers. The texts are ours."""
    names = {"ln": sp.log, "sigmoid": lambda x: 1 / (1 + sp.exp(-x))}
    plain = re.sub(r"(\w)'", r"d\1", text)
    used = {name: sp.Symbol(name, positive=True) for name in re.findall(r"[A-Za-z_]\w*(?!\w|\()", plain)}
    return sp.sympify(plain.replace("^", "**"), locals=used | names, rational=True)


def right_sides(model: Model, system: QuadraticSystem) -> dict[str, Any]:
    """What is written on the right of each state, read by sympy alone."""
    sides = {name: symbolic("0") for name in system.source.inputs}
    for equation in re.split(r"[;\n]", model.equations):
        left, right = equation.split("=")
        name, order = left.strip().rstrip("'"), left.count("'")
        sides |= {"d" * n + name: symbolic("d" * (n + 1) + name) for n in range(order - 1)}
        sides["d" * (order - 1) + name] = symbolic(right)
    return sides | ({} if "t" not in system.names or "t" in sides else {"t": symbolic("1")})


def residuals(model: Model, system: QuadraticSystem) -> list[Any]:
    """Derivatives of all variables along the original flow, minus their quadratic right-hand sides."""
    sides = right_sides(model, system)
    values = [symbolic(name) for name in system.source.variables] + [symbolic(f) for f in system.formulas]
    quadratic = [symbolic("0")] * len(values)
    for term in system.terms:
        factor = [values[n] for n in (term.j, term.k) if n >= 0]
        quadratic[term.i] += sp.Rational(term.value.numerator, term.value.denominator) * sp.prod(factor)
    flow = [sum(sp.diff(v, symbolic(name)) * side for name, side in sides.items()) for v in values]
    return [one - other for one, other in zip(flow, quadratic, strict=True)]


@needs("sympy")
@pytest.mark.parametrize("name", MODELS)
def test_the_lifted_equations_are_true(name: str) -> None:
    model = ELEMENTARY[name]
    system = lifted(model)
    for residual in residuals(model, system):
        point = {s: sp.Rational(37 + 11 * n, 97) for n, s in enumerate(sorted(residual.free_symbols, key=str))}
        if name == "Torricelli":
            point = {symbolic("h"): sp.Rational(7, 3), symbolic("k"): sp.Rational(5, 7)}
        assert abs(residual.subs(point).evalf(50)) < 1e-40 or sp.simplify(residual) == 0


@needs("sympy")
@pytest.mark.parametrize("name", ["pendulum", "Holling II", "exp(-1/T)", "Kepler 2-D", "tanh pair"])
@pytest.mark.slow
def test_sympy_simplifies_the_difference_to_zero(name: str) -> None:
    model = ELEMENTARY[name]
    assert [sp.simplify(residual) for residual in residuals(model, lifted(model))] == [0] * len(lifted(model).names)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in SHORT else pytest.mark.slow) for n in (*POLYNOMIAL, *ELEMENTARY)]
)
def test_a_lift_takes_few_variables(name: str) -> None:
    model = (POLYNOMIAL | ELEMENTARY)[name]
    system = lifted(model)
    assert len(system.new) <= model.new
    assert system.minimal


def true_end(model: Model, system: QuadraticSystem) -> np.ndarray:
    """x(T) by DOP853 on the original right-hand sides, as they were parsed."""
    values = integraph.function([system.source.expression.source], variables=list(system.source.variables)).values
    assert values is not None
    held = np.zeros(len(system.source.inputs))
    side = lambda t, y: np.concatenate([values(y[None])[0], held])  # noqa: E731
    return np.asarray(solve_ivp(side, (0, model.time), model.start, method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1])


@pytest.mark.parametrize("name", MODELS)
def test_simulations_agree_with_scipy(name: str) -> None:
    model = ELEMENTARY[name]
    system = lifted(model)
    expected = true_end(model, system)
    simulation = system.simulate(model.start, [model.time])
    assert np.max(np.abs(simulation.states[0, -1] - expected) / np.maximum(np.abs(expected), 1)) < 1e-10
    assert simulation.manifold_error < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("name", ELEMENTARY)
def test_programs_agree_with_scipy(name: str) -> None:
    model = ELEMENTARY[name]
    system = lifted(model)
    start = np.array(model.start, float)
    program = system.program(model.time, np.stack([start - 0.01, start + 0.01], 1))
    expected = true_end(model, system)[: program.outputs]
    assert np.max(np.abs(program(start) - expected) / np.maximum(np.abs(expected), 1)) < 1e-10
