"""Bounds of all derivatives over a box: against derivatives that are known otherwise, and where there are none."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph.bounds.sobolev.norm import Sobolev, derivative_bounds, explain
from integraph.errors import SourceError, UsageError
from integraph.frontends.formula.parser import parse
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import below
from integraph.targets.function import Function, Table
from law import examples
from lazy import Lazy
from slow import mostly_slow

sympy = Lazy("sympy")
DOUBLED = "a0 = x; " + "".join(f"a{n} = (a{n - 1} + a{n - 1})/2; " for n in range(1, 61)) + "1/a60"  # 2^60 ways to x


def bounds(text: str, n: int, low: float = 0.0, high: float = 1.0, **options: float) -> Sobolev:
    f = parse(text)
    return derivative_bounds(f, n, np.full(f.inputs, low), np.full(f.inputs, high), **options)


def two_sided(found: Sobolev, sup: Floats, loose: float, dense: float = 1e-3) -> None:
    """`sup` is seen on a grid, so that the truth may be larger by a share of `dense`."""
    assert np.isfinite(found.lower).all()
    assert np.isfinite(found.upper).all()
    assert np.all(found.lower <= sup * (1 + dense) + 1e-300)
    assert np.all(sup <= found.upper * (1 + 1e-12) + 1e-12 * found.upper.max())
    assert np.all(found.upper <= loose * found.lower * (1 + 1e-12) + 1e-11 * found.upper.max())


@examples(25)
@given(st.floats(0.2, 8), st.floats(-2, 2), st.floats(0.1, 2), st.integers(0, 7))
def test_sines(a: float, low: float, width: float, n: int) -> None:
    found = bounds(f"sin({a!r}*x)", n, low, low + width)
    x = np.linspace(low, low + width, 4001)
    sup = np.array([[a**k * np.abs(np.sin(a * x + k * math.pi / 2)).max()] for k in range(n + 1)])
    two_sided(found, sup, 1.1)


@examples(25)
@given(st.floats(-4, 4), st.floats(-4, 4), st.integers(0, 5))
def test_exponentials(a: float, b: float, n: int) -> None:
    found = bounds(f"exp({a!r}*x + {b!r}*y)", n, -1.0, 0.5)
    top = math.exp(max(-a, a / 2) + max(-b, b / 2))
    two_sided(found, top * np.abs([[a ** int(i) * b ** int(j)] for i, j in below(2, n + 1)]), 1.1, 1e-9)


def hermite(k: int) -> Callable[[Floats], Floats]:
    """(e^(−t²))^(k) = (−1)^k H_k(t) e^(−t²)."""
    return lambda t: np.abs(np.polynomial.hermite.hermval(t, [0.0] * k + [1.0])) * np.exp(-np.square(t))


def test_gaussian_in_one_variable() -> None:
    found = bounds("exp(-9*(x-.5)^2)", 10)
    t = 3 * (np.linspace(0, 1, 20001) - 0.5)
    two_sided(found, np.array([[3.0**k * hermite(k)(t).max()] for k in range(11)]), 1.1)


@pytest.mark.slow
def test_gaussian_in_three_variables() -> None:
    found = bounds("exp(-9*((x-.5)^2+(y-.5)^2+(z-.5)^2))", 6, loose=1.5)
    t = 3 * (np.linspace(0, 1, 20001) - 0.5)
    sup = np.array([3.0**k * hermite(k)(t).max() for k in range(7)])
    two_sided(found, sup[below(3, 7)].prod(1)[:, None], 1.5, 1e-2)


def test_runge() -> None:
    found = bounds("1/(1+25*x^2)", 12, -1.0, 1.0, loose=1.2)
    x = np.linspace(-1, 1, 40001)
    pole = 1 / (1 - 5j * x)  # 1/(1+25x²) = Re 1/(1−5ix)
    sup = [[math.factorial(k) * 5.0**k * np.abs(np.real(1j**k * pole ** (k + 1))).max()] for k in range(13)]
    two_sided(found, np.array(sup), 1.2)


def test_a_quotient_in_two_variables() -> None:
    text, n = "sin(3*x)*exp(-y)/(1+x*y)", 4
    found = bounds(text, n)
    x, y = sympy.symbols("x y")
    f, grid = sympy.sin(3 * x) * sympy.exp(-y) / (1 + x * y), np.meshgrid(*[np.linspace(0, 1, 401)] * 2)
    values = (sympy.lambdify((x, y), sympy.diff(f, x, int(i), y, int(j)))(*grid) for i, j in below(2, n + 1))
    two_sided(found, np.array([[np.abs(v).max()] for v in values]), 1.1)


@mostly_slow("text", ["exp(x)*exp(-x)", "(x+y)^2-x^2-2*x*y", "x/(1+y)-x*(1+y)^(-1)", "3", "0*x", "x-x"], quick=4)
def test_derivatives_that_vanish(text: str) -> None:
    """Rounding and dependency leave a little; it stays little, and the search ends."""
    found = bounds(text, 3)
    assert np.all(found.upper[-1] <= 1e-3)
    assert found.norm[0] <= found.norm[1]


def test_the_norm_is_the_largest_of_all() -> None:
    found = bounds("sin(3*x), cos(2*x)", 3)
    assert found.lower.shape == found.upper.shape == (4, 2)
    lower, upper = found.norm
    assert lower <= 27 <= upper <= 1.1 * lower
    assert "W^(3,∞) norm between" in repr(found)
    assert len(found.table().splitlines()) == 4
    assert "(3,)" in found.table()


def test_a_box_may_be_a_point_or_flat() -> None:
    f = parse("exp(x*y)")
    found = derivative_bounds(f, 2, np.array([0.5, 1.0]), np.array([0.5, 1.0]))
    exact = math.exp(0.5) * np.array([1, 1, 0.5, 1, 1.5, 0.25])
    assert np.all(np.abs(found.lower[:, 0] - exact) < 1e-11)
    assert np.all(np.abs(found.upper[:, 0] - exact) < 1e-11)
    flat = derivative_bounds(f, 2, np.array([0.0, 1.0]), np.array([0.5, 1.0]))
    assert np.all((exact <= flat.upper[:, 0]) & (flat.upper[:, 0] <= 1.1 * exact))


def test_the_same_every_time() -> None:
    first, second = (bounds("tanh(6*x*y)", 4) for _ in range(2))
    assert np.array_equal(first.lower, second.lower)
    assert np.array_equal(first.upper, second.upper)


def test_a_spent_budget_leaves_a_valid_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("integraph.bounds.sobolev.supremum.BOXES", 64)
    found, x = bounds("exp(x)*sin(40*x)*exp(-x)", 4), np.linspace(0, 1, 4001)
    sup = [40.0**k * np.abs(np.sin(40 * x + k * math.pi / 2)).max() for k in range(5)]
    assert np.isfinite(found.upper).all()
    assert np.all(found.upper[:, 0] >= sup)
    assert np.all(found.lower[:, 0] <= np.array(sup) * (1 + 1e-3))


DEAD = {
    "1/x": "1/x is not finite at x = 0",
    "y + ln(x)*2": "ln(x) is not finite at x = 0",
    "abs(x-0.3)": "abs(x-0.3) is not smooth near x = 0.3",
    "sqrt(x*y)": "sqrt(x*y) is not smooth at x = 0, y = 0",
    "min(x, 1-x) + y": "min(x, 1-x) is not smooth at x = 0.5",
    "sqrt(x-2)": "sqrt(x-2) is not finite at x = 0",
    "tan(3*x)": "tan(3*x) is not finite near x = 0.523598775598",
    "exp(1000*x)": "exp(1000*x) is not finite at x = 1",
    DOUBLED: "1/a60 is not finite at x = 0",
    "1/(x-y-0.123)": "1/(x-y-0.123) is not finite near x = ",
    "tanh(1/(x-0.71))": "1/(x-0.71) is not finite near x = 0.71",
}


@mostly_slow("text", DEAD, quick=3)
def test_dead_ends_are_named(text: str) -> None:
    f = parse(text, "x y" if "y" in text else "x")
    why = explain(f, np.zeros(f.inputs), np.ones(f.inputs), 3)
    assert why.startswith(DEAD[text])
    found = bounds(text, 3)
    assert found.why.startswith(DEAD[text])
    assert found.norm[1] == math.inf
    assert np.isinf(found.upper[1:]).any()
    assert np.isfinite(found.lower).all()


def test_a_hole_in_a_constant_is_a_hole() -> None:
    found = bounds("(1/(x-0.71))^0", 1)
    assert found.upper[0, 0] == math.inf
    assert found.why


def test_few_boxes_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("integraph.bounds.sobolev.supremum.BOXES", 100)
    found = bounds("sin(7*x+1)*exp(y)", 3, loose=1.01)
    assert np.all(found.upper <= 1.01 * found.lower * (1 + 1e-12))


def test_a_kink_leaves_the_values_bounded() -> None:
    found = bounds("abs(x-0.3)", 2)
    assert 0.7 <= found.upper[0, 0] <= 0.77
    assert np.isinf(found.upper[1:]).all()


@pytest.mark.parametrize("text", ["1/(x+1e-6)", "ln(x+1e-5)", "sqrt(x+0.001)", "abs(x+1e-3)", "1/(x+y+0.01)"])
def test_close_to_a_pole_is_not_a_pole(text: str) -> None:
    f = parse(text)
    assert explain(f, np.zeros(f.inputs), np.ones(f.inputs), 4) == ""
    found = bounds(text, 4)
    assert found.why == ""
    assert found.norm[1] <= 1.1 * found.norm[0] < math.inf


def test_values_alone_are_only_seen() -> None:
    f = Function(1, 1, "f", ("x",), values=lambda x: np.sin(5 * x))
    found = derivative_bounds(f, 2, np.zeros(1), np.ones(1))
    assert 0.999 < found.lower[0, 0] <= 1
    assert np.all(found.lower[1:] == 0)
    assert np.isinf(found.upper).all()
    assert found.why
    assert explain(f, np.zeros(1), np.ones(1), 2)


def test_given_derivatives_are_seen() -> None:
    def derivative(alpha: tuple[int, ...], x: Floats) -> Floats:
        if sum(alpha) > 1:
            raise SourceError("not given")
        return np.cos(5 * x) * 5

    f = Function(1, 1, "f", ("x",), values=lambda x: np.sin(5 * x), derivative=derivative)
    found = derivative_bounds(f, 2, np.zeros(1), np.ones(1))
    assert found.lower[1, 0] == 5
    assert found.lower[2, 0] == 0
    broken = Function(1, 1, "f", ("x",), values=lambda x: x, derivative=lambda alpha, x: x * np.nan)
    with pytest.raises(SourceError, match="nan at x = 0"):
        derivative_bounds(broken, 1, np.zeros(1), np.ones(1))


def test_a_table_is_seen() -> None:
    table = Table(2, 2, {(0,): np.array([[1.0], [-3.0], [2.0]]), (1,): np.array([[0.5], [0.25], [-4.0]])})
    found = derivative_bounds(Function(1, 1, "t", ("x",), table=table), 2, np.zeros(1), np.ones(1))
    assert found.lower[:, 0].tolist() == [3, 4, 0]
    assert np.isinf(found.upper).all()


def test_too_many_derivatives_are_refused() -> None:
    f = parse("+".join("abcdfghi"))
    with pytest.raises(UsageError, match="take a lower order"):
        derivative_bounds(f, 20, np.zeros(8), np.ones(8))
