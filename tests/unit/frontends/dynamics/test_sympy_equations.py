"""Systems in symbols of sympy: the same lift as of text, and sentences for what no lift has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import SourceError, UsageError
from integraph.frontends.dynamics import read_system
from integraph.targets.float_arithmetic import values
from lazy import Lazy, needs

sp: Any = Lazy("sympy")
pytestmark = needs("sympy")


def symbols() -> tuple[Any, ...]:
    return (*sp.symbols("x v t g"), sp.Function("x"), sp.Function("v"))


def test_equations_of_functions_of_time_are_those_of_symbols() -> None:
    x, v, t, g, X, V = symbols()
    one = read_system({x: v, v: -g * sp.sin(x) + sp.cos(t)}, parameters={"g": "1/3"})
    equations = [sp.Eq(X(t).diff(t), V(t)), sp.Eq(V(t).diff(t), -g * sp.sin(X(t)) + sp.cos(t))]
    other = read_system(equations, parameters={"g": "1/3"})
    keys = read_system({X(t): V(t), V(t): -g * sp.sin(X(t)) + sp.cos(t)}, parameters={"g": "1/3"})
    assert one.states == other.states == keys.states == ("x", "v", "t")
    assert one.expression.steps == other.expression.steps == keys.expression.steps
    system, text = integraph.lift(one), integraph.lift("x' = v; v' = -sin(x)/3 + cos(t)")
    assert set(system.formulas) == set(text.formulas)
    assert {term.value for term in system.terms} == {term.value for term in text.terms}


def test_one_equation_is_a_system() -> None:
    _, _, t, _, X, _ = symbols()
    assert read_system(sp.Eq(X(t).diff(t), -X(t))).states == ("x",)


def test_what_has_a_kink_a_jump_or_a_memory_gets_a_sentence() -> None:
    x, _, t, g, X, _ = symbols()
    cases = [
        (sp.Abs(x), r"Abs\(x\): a lift needs smooth functions, and this has a kink: write sqrt"),
        (sp.Max(x, 0), r"and this has a kink: write v \+ softplus"),
        (sp.sign(x), r"this jumps: write tanh"),
        (sp.floor(x), r"this jumps: write a sum of steps"),
        (sp.Piecewise((1, x < 0), (2, True)), r"this jumps: write v \+ \(u - v\)\*sigmoid"),
        (X(t - 1), r"x\(t - 1\) is a delay: an ODE has no delays"),
        (g * x, r"unknown symbol g: give it a value in parameters="),
    ]
    for side, words in cases:
        with pytest.raises(SourceError, match=words):
            read_system({x: side})


def test_reciprocals_of_functions_are_read() -> None:
    x = sp.Symbol("x")
    for function in (sp.sec, sp.csc, sp.cot, sp.sech, sp.csch, sp.coth):
        system = read_system({x: function(x) - x})
        expected = float((function(x) - x).subs(x, sp.Rational(7, 10)).evalf(20))
        assert values(system.expression, np.array([[0.7]]))[0, 0] == pytest.approx(expected, rel=1e-14)


def test_higher_derivatives_are_states() -> None:
    _, _, t, g, X, V = symbols()
    damped = [sp.Eq(X(t).diff(t, 3), -sp.sin(X(t)) - X(t).diff(t) * V(t)), sp.Eq(V(t).diff(t), X(t).diff(t, 2))]
    one, text = read_system(damped), read_system("x''' = -sin(x) - dx*v; v' = ddx")
    assert one.states == text.states == ("x", "dx", "ddx", "v")
    system, written = integraph.lift(one), integraph.lift(text)
    assert set(system.formulas) == set(written.formulas)
    assert {term.value for term in system.terms} == {term.value for term in written.terms}
    assert read_system({X(t).diff(t, 2): -g * X(t)}, parameters={"g": 2}).states == ("x", "dx")


def test_other_equations_are_refused() -> None:
    x, v, t, g, X, V = symbols()
    cases: list[tuple[list[Any], str]] = [
        ([sp.Eq(2 * X(t).diff(t), -X(t))], r"stands on the left: solve for derivatives"),
        ([sp.Eq(x, -x)], r"x stands on the left: solve for derivatives"),
        ([sp.Eq(sp.Derivative(X(v), v), v)], r"stands on the left: solve for derivatives"),
        ([sp.Eq(X(t).diff(t), X(t).diff(t, 2))], r"stands on a right-hand side: put what its equation says"),
        ([sp.Eq(X(t).diff(t), V(t)), sp.Eq(V(t).diff(t), X(t).diff(t))], r"put what its equation says"),
        ([sp.Eq(X(t).diff(t), sp.Derivative(X(t) ** 2, t))], r"write it out, as sympy's doit\(\) does"),
        ([sp.Eq(X(t).diff(t), sp.Integral(X(t), t))], r"an integral over time is a state"),
        ([sp.Eq(X(t).diff(t), sp.Heaviside(X(t)))], r"this jumps"),
        ([sp.Eq(X(t).diff(t), sp.zeta(X(t), 2))], r"it is not elementary: make it a state"),
        ([sp.Eq(X(t).diff(t), sp.Ei(X(t)))], r"Ei is not read from sympy"),
        ([sp.Eq(X(t).diff(t), sp.gamma(X(t)))], r"it is not elementary: make it a state"),
    ]
    for equations, words in cases:
        with pytest.raises(SourceError, match=words):
            read_system(equations)
    with pytest.raises(UsageError, match="x means two things"):
        read_system([sp.Eq(X(t).diff(t), 1), sp.Eq(X(t).diff(t, 2), 2)])
    with pytest.raises(UsageError, match=r"Eq\(x\(t\)"):
        read_system([x, -x])
    with pytest.raises(UsageError, match="the parameter g needs a number"):
        read_system({x: g * x}, parameters={"g": "pi"})
