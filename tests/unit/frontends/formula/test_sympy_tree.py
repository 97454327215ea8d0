"""Functions from sympy have sympy's values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from integraph.errors import SourceError
from integraph.frontends import function
from law import examples
from lazy import Lazy

sympy = Lazy("sympy")

x, y = sympy.symbols("x y")
ONE = (
    "exp",
    "log",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "atanh",
    "erf",
    "Abs",
)


def agrees(expression: Any, *point: float) -> None:
    """At a point, with sympy at 40 digits."""
    f = function(expression)
    symbols = [sympy.Symbol(name) for name in f.variables]
    exact = {symbol: sympy.Rational(value) for symbol, value in zip(symbols, point, strict=False)}
    expected = complex(expression.evalf(40, subs=exact))
    assert f.values is not None
    got = f.values(np.array([point[: f.inputs]]))
    assert expected.imag == 0.0
    assert got[0, 0] == pytest.approx(expected.real, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("value", [0.3, 0.875])
def test_functions(name: str, value: float) -> None:
    agrees(getattr(sympy, name)(x), value)
    agrees(getattr(sympy, name)(x * y + sympy.Rational(1, 7)), value, 0.4)


@pytest.mark.parametrize(
    "expression",
    [
        sympy.sin(3 * x) * sympy.exp(-y) / (1 + x * y),
        x**5 - 3 * x**-2 + x ** sympy.Rational(2, 3) - sympy.sqrt(y),
        sympy.cbrt(x) / sympy.sqrt(x + y),
        sympy.pi * x + sympy.E**y - sympy.E,
        sympy.Max(x, y, sympy.Rational(1, 4)) * sympy.Min(x, 2 * y),
        sympy.Rational(1, 3) * x - sympy.Rational(-7, 5),
        sympy.Float(0.1) * x + sympy.Float("1e-300", 50) - sympy.Float(1e300) / sympy.Float(1e299),
        x**y + 2**x + x**sympy.pi,
        sympy.log(x, 2) + sympy.acosh(1 + x),
        -x - y - 1,
        -2 * x * y,
        sympy.Integer(0) * x,
        x,
        sympy.diff(sympy.tanh(x * y) / (1 + x**2), x, 3),
        sympy.Mul(x, sympy.Add(y, 1, evaluate=False), -1, evaluate=False),
    ],
)
def test_expressions(expression: Any) -> None:
    agrees(expression, 0.7, 1.3)
    agrees(expression, 0.123, 0.05)


LEAVES = st.one_of(
    st.sampled_from([x, y, sympy.pi, sympy.E]),
    st.integers(-9, 9).map(sympy.Integer),
    st.fractions(-9, 9, max_denominator=50).map(lambda q: sympy.Rational(q.numerator, q.denominator)),
    st.floats(-3, 3).map(sympy.Float),
)


def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
        st.tuples(inner, inner).map(lambda p: p[0] * p[1]),
        st.tuples(inner, inner).map(lambda p: p[0] - p[1]),
        inner.map(lambda u: 1 / (u**2 + 1)),
        inner.map(lambda u: sympy.sin(u)),
        inner.map(lambda u: sympy.tanh(u)),
        st.tuples(inner, st.integers(2, 3)).map(lambda p: p[0] ** p[1]),
    )


@given(st.recursive(LEAVES, larger, max_leaves=8), st.floats(-1, 1), st.floats(-1, 1))
@examples(50, suppress_health_check=[HealthCheck.too_slow])  # the first draw imports sympy
def test_random_expressions(expression: Any, a: float, b: float) -> None:
    assume(all(n == 0 or abs(n) > 1e-300 for n in expression.atoms(sympy.Float)))  # sympy's exponents have no end
    f = function(expression, variables="x y")
    assert f.values is not None
    expected = expression.subs({x: sympy.Rational(a), y: sympy.Rational(b)}).evalf(40)
    assert f.values(np.array([[a, b]]))[0, 0] == pytest.approx(float(expected), rel=1e-7, abs=1e-7)


def numbers(expression: Any) -> list[Fraction]:
    found = function(expression).expression
    assert found is not None
    return [Fraction(step.text) for step in found.steps if step.op == "number"]


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e300, 5e-324, 2.0**-1074 * 3, 123456.789])
def test_a_float_is_the_binary_number_that_it_is(value: float) -> None:
    assert numbers(sympy.Float(value) + x) == [Fraction(value)]


def test_numbers_are_exact() -> None:
    assert numbers(sympy.Integer(10) ** 300 * x) == [Fraction(10**300)]
    assert numbers(sympy.Rational(-22, 7) + x) == [22, 7]
    assert numbers(sympy.Float("0.1", 60) + x)[0] != Fraction(0.1)
    assert abs(numbers(sympy.Float("0.1", 60) + x)[0] - Fraction(1, 10)) < Fraction(1, 10**58)


def test_inputs_and_outputs() -> None:
    x2, x10 = sympy.symbols("x2 x10")
    assert function(x10 + x2).variables == ("x2", "x10")
    assert function(x10 + x2, variables=[x10, x, x2]).variables == ("x10", "x", "x2")
    assert function(sympy.Integer(3)).variables == ("x",)
    for source in ([x, y * 2, 0], (x, y * 2, 0.0), sympy.Matrix([x, y * 2, 0]), sympy.Tuple(x, y * 2, 0)):
        f = function(source)
        assert f.outputs == 3
        assert f.values is not None
        np.testing.assert_array_equal(f.values(np.array([[1.0, 2.0]])), [[1.0, 4.0, 0.0]])
    assert function(sympy.Matrix([[x, y], [1, 2]])).outputs == 4


def test_nothing_is_written_that_no_output_needs() -> None:
    found = function(-x / y).expression
    assert found is not None
    used = {n for step in found.steps for n in step.args} | set(found.outputs)
    assert used == set(range(len(found.steps)))
    assert [step.op for step in found.steps].count("neg") == 1


@pytest.mark.slow
def test_deep_expressions() -> None:
    deep = x
    for _ in range(250):
        deep = sympy.sin(deep)
    f = function(deep)
    expected = 1.0
    for _ in range(250):
        expected = float(np.sin(expected))
    assert f.values is not None
    assert f.values(np.ones((1, 1)))[0, 0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (sympy.I * x, "ImaginaryUnit is not read from sympy"),
        (sympy.oo, "Infinity is not"),
        (x + sympy.nan, "NaN is not"),
        (sympy.zoo, "ComplexInfinity is not"),
        (sympy.Derivative(sympy.Function("f")(x), x), "Derivative is not"),
        (sympy.Integral(sympy.exp(-(x**2)), (x, 0, y)), "Integral is not"),
        (sympy.Sum(x**y, (y, 1, 3)), "Sum is not"),
        (sympy.Piecewise((x, x > 0), (0, True)), "Piecewise is not"),
        (sympy.Function("f")(x), r"f is not read from sympy \(f\(x\)\)"),
        (sympy.Function("sin")(x), "sin is not read from sympy"),
        (x > y, "StrictGreaterThan is not"),
        (sympy.Eq(x, y), "Equality is not"),
        (sympy.gamma(x) + 1, "gamma is not"),
        (sympy.EulerGamma, "EulerGamma is not"),
        (sympy.true, "BooleanTrue is not"),
        (sympy.MatrixSymbol("A", 2, 2), "MatrixSymbol is not"),
        ([sympy.Matrix([x])], "MutableDenseMatrix is not"),
        ([x, "y"], "str is not"),
        ([x, True], "bool is not"),
        (sympy.Matrix([]), "at least one output"),
        (x + sympy.Symbol("x", positive=True), "two different symbols are called x"),
        (x**1001, "too large: at most 1000"),
        (sympy.Integer(10) ** 5000, "a number of size 1e±400 or beyond"),
        (sympy.Float("1e-5000") * x, "a number of size 1e±400 or beyond"),
        (sympy.Add(*[sympy.Symbol(f"x{n}") for n in range(1500)]), "more than 2,000 steps"),
    ],
)
def test_what_is_not_read(expression: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        function(expression)


def test_a_symbol_that_is_no_input() -> None:
    with pytest.raises(SourceError, match="the symbol y is not among variables = x"):
        function(x * y, variables="x")
