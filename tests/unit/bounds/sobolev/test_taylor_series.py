"""Taylor coefficients of formulas: against mpmath's derivatives, sympy's, and those of points inside a box."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from integraph.bounds.sobolev.taylor_series import taylor
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import Ball
from integraph.numbers.multi_index import below, count, factorials
from integraph.numbers.power_series import convolved, pairs, rank
from integraph.targets.expression import FUNCTIONS, Expression
from law import examples
from lazy import Lazy
from mp_formulas import MP, along, formula, tapes
from slow import mostly_slow

sympy = Lazy("sympy")

POINTS = {"acosh": (1.3, 4.0), "ln": (0.2, 3.0), "log2": (0.2, 3.0), "log10": (0.2, 3.0), "sqrt": (0.2, 3.0)}


def at(expression: Expression | str, x: Any, n: int) -> Ball:
    """The coefficients at one point, (M, outputs)."""
    expression = formula(expression) if isinstance(expression, str) else expression
    point = np.atleast_2d(np.asarray(x, float))
    return taylor(expression, point, point, n)[:, 0]


def agree(found: Ball, expression: Expression, x: Floats, v: Floats, n: int) -> None:
    """Σ c_α v^α over |α| = k is the k-th coefficient along v, within what the radii say."""
    expected, alphas = along(expression, x, v, n), below(len(x), n)
    assert found.finite.all()
    for k in range(n):
        rows = np.flatnonzero(alphas.sum(1) == k)
        total, allowed = MP.mpf(0), MP.mpf(10) ** -22 * abs(expected[k])
        for row in rows:
            weight = MP.fprod(MP.mpf(b) ** int(a) for a, b in zip(alphas[row], v, strict=True))
            total += MP.mpf(found.mid[row, 0]) * weight
            allowed += MP.mpf(found.rad[row, 0]) * abs(weight)
        assert abs(total - expected[k]) <= allowed + MP.mpf(10) ** -24, (k, total, expected[k], allowed)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_in_one_variable(name: str) -> None:
    for x in POINTS.get(name, (-0.6, 0.37)):
        expression = formula(f"{name}(x)")
        found = at(expression, x, 8)
        agree(found, expression, np.array([x]), np.ones(1), 8)
        assert np.all(found.rad < 1e-10 * (1 + np.abs(found.mid)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_in_three_variables(name: str) -> None:
    inner = "1.5 + 0.3*x*y - z^2/7 + x" if name in POINTS else "0.3*x*y - z^2/7 + x/2 - 0.1"
    expression, x = formula(f"{name}({inner})", "x y z"), np.array([0.4, -0.3, 0.8])
    found = at(expression, x, 6)
    for v in np.array([[1.0, 0, 0], [0, 0, 1], [0.5, -1.25, 0.75], [1, 1, -2]]):
        agree(found, expression, x, v, 6)
    assert np.all(found.rad < 1e-11 * (1 + np.abs(found.mid)))


SYMPY = {
    "sin(3*x)*exp(-y)/(1+x*y)": (0.3, 0.8),
    "x^y + y^3 - 2/x": (1.7, 0.4),
    "exp(-9*((x-0.5)^2+(y-0.5)^2))": (0.2, 0.9),
    "tanh(x*y)*cos(x-y)": (-0.7, 1.1),
    "sqrt(1+x^2+y^4)/(2+sin(x))": (0.6, -0.9),
    "(1+x+2*y)^(-3)": (0.1, 0.2),
    "(x-y)^5*x": (-0.4, 0.3),
    "1/(2+x*y)^2 + pi*x - e^y": (0.25, -0.5),
    "(2+x)^(1/3)*(3-y)^1.5": (0.3, 0.7),
    "2^(x*y)": (0.3, 0.7),
}


@mostly_slow("text", SYMPY, quick=2)
def test_every_mixed_derivative(text: str) -> None:
    x, y = sympy.symbols("x y")
    names = {"x": x, "y": y, "e": sympy.E}
    wanted, point, n = sympy.parse_expr(text.replace("^", "**").replace("1.5", "(3/2)"), names), SYMPY[text], 5
    found = at(formula(text, "x y"), point, n)
    assert found.finite.all()
    exact = {x: sympy.Rational(point[0]), y: sympy.Rational(point[1])}
    for row, (i, j) in enumerate(below(2, n)):
        derivative = sympy.diff(wanted.subs(sympy.Float(0.5), sympy.Rational(1, 2)), x, int(i), y, int(j))
        value = sympy.N(derivative.subs(exact), 40) / math.factorial(i) / math.factorial(j)
        assert abs(value - sympy.Rational(found.mid[row, 0])) <= sympy.Rational(found.rad[row, 0]), (i, j)
        assert found.rad[row, 0] < 1e-11 * (1 + abs(found.mid[row, 0]))


unit = st.floats(-1, 1, allow_subnormal=False)


@examples(40)
@given(tapes(), unit, unit, unit, unit)
def test_random_formulas(expression: Expression, x: float, y: float, u: float, v: float) -> None:
    agree(at(expression, (x, y), 5), expression, np.array([x, y]), np.array([u, v]), 5)


@examples(60)
@given(tapes(), st.lists(unit, min_size=4, max_size=4), st.integers(1, 5))
def test_a_box_contains_its_points(expression: Expression, ends: list[float], n: int) -> None:
    corner, other = np.array(ends[:2]), np.array(ends[2:])
    low = np.minimum(corner, other)
    high = low + 0.1 * np.abs(corner - other)
    over = taylor(expression, low[None], high[None], n)
    share = np.random.default_rng(1).random((30, 2))
    points = np.clip(np.concatenate([[low, high], low + share * (high - low)]), low, high)
    inside = taylor(expression, points, points, n)
    assert inside.finite.all()
    gap = np.abs(inside.mid - over.mid) - over.rad - inside.rad
    assert np.all((gap <= 0) | ~over.finite)
    if expression.outputs[0] < 6 and n < 3:
        assert over.finite.all()


def test_values_over_wide_boxes_are_tight() -> None:
    box = np.array([[-3.0]]), np.array([[5.0]])
    for text, low, high in (
        ("x^2", 0, 25),
        ("sin(x)", -1, 1),
        ("x*x", 0, 25),
        ("abs(x)", 0, 5),
        ("exp(x)", math.exp(-3), math.exp(5)),
    ):
        found = taylor(formula(text), *box, 1)
        least, most = (float(end.item()) for end in found.ends)
        assert least <= low <= high <= most
        assert most - least <= (high - low) * (1 + 1e-12)


def test_polynomials_end() -> None:
    found = at("3*x^2*y - 4*x + 1/4", (0.5, 0.25), 7)
    high = below(2, 7).sum(1) > 3
    assert np.all(found.mid[high] == 0)
    assert np.all(found.rad[high] == 0)
    assert np.all(np.abs(found.mid[0] - (3 * 0.0625 - 2 + 0.25)) <= found.rad[0])


@pytest.mark.parametrize("text", ["x^3", "x^0", "(x-x)^2", "x^4/4", "(2*x)^5"])
def test_natural_powers_at_zero(text: str) -> None:
    found = at(text, 0.0, 6)
    x = sympy.Symbol("x")
    wanted = sympy.Poly(sympy.parse_expr(text.replace("^", "**")) + 0 * x, x).all_coeffs()[::-1]
    wanted += [0] * (6 - len(wanted))
    assert found.finite.all()
    assert np.all(np.abs(found.mid[:, 0] - np.array(wanted, float)) <= found.rad[:, 0])


@pytest.mark.parametrize("text", ["x^(-3)", "x^5", "1/x^2", "cbrt(x)", "abs(x)", "min(x, x^2)", "max(1, -x)"])
def test_negative_bases(text: str) -> None:
    expression = formula(text)
    agree(at(expression, -1.7, 6), expression, np.array([-1.7]), np.ones(1), 6)


@pytest.mark.parametrize(
    "text", ["1/x", "0*(1/x)", "(1/x)^0", "1/x - 1/x", "tanh(1/x)", "ln(x)", "1/x^(-1)", "x^(-1)*x", "tan(x + pi/2)"]
)
def test_poles_stay_unknown(text: str) -> None:
    for low, high in ((0.0, 0.0), (-1.0, 1.0)):
        found = taylor(formula(text, "x"), np.array([[low]]), np.array([[high]]), 4)
        assert not found.finite[0].any()
    assert at(text, 0.5, 4).finite.all()


@pytest.mark.parametrize("text", ["abs(x)", "min(x, 2*x)", "max(x, -x)", "sqrt(x)", "cbrt(x)", "x^1.5"])
def test_kinks_have_a_value_but_no_derivative(text: str) -> None:
    found = at(text, 0.0, 4)
    assert found.finite[0].all()
    assert not found.finite[1:].any()
    assert at(text, 0.0, 1).finite.all()
    assert not at("sqrt(x)", -1.0, 1).finite.any()


def test_several_outputs_and_constants() -> None:
    found = at("x + y, 3, x*y", (0.5, 2.0), 3)
    wanted = np.array([[2.5, 3, 1], [1, 0, 2], [1, 0, 0.5], [0, 0, 0], [0, 0, 1], [0, 0, 0]])
    assert found.finite.all()
    assert np.all(np.abs(found.mid - wanted) <= found.rad)


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    expression, x = formula("exp(x*y)/(1+x)"), np.random.default_rng(2).random((50, 2))
    whole = taylor(expression, x, x + 0.01, 5)
    monkeypatch.setattr("integraph.bounds.sobolev.taylor_series.AT_ONCE", 1)
    single = taylor(expression, x, x + 0.01, 5)
    assert np.all(np.abs(whole.mid - single.mid) <= 1e-13 * (1 + np.abs(whole.mid)))


@settings(deadline=None)
@given(st.integers(1, 3), st.integers(2, 5), st.integers(0, 1000), st.sampled_from([0.0, 1e-17, 0.3]))
def test_products_contain_the_exact_sums(d: int, n: int, seed: int, spread: float) -> None:
    rng, M = np.random.default_rng(seed), count(d, n)
    a, b = (Ball(rng.standard_normal((M, 1)), spread * rng.random((M, 1))) for _ in range(2))
    p = pairs(d, range(n), range(n), range(n))
    found = convolved(a, b, p)
    assert found.finite.all()
    for side in (-1, 0, 1):
        x, y = (
            [Fraction(float(m)) + side * Fraction(float(r)) for m, r in zip(c.mid[:, 0], c.rad[:, 0], strict=True)]
            for c in (a, b)
        )
        products = [x[i] * y[j] for i, j in zip(p.left, p.right, strict=True)]
        for row, (start, stop) in enumerate(zip(p.starts, [*p.starts[1:], len(products)], strict=True)):
            exact = sum(products[start:stop])
            assert abs(exact - Fraction(float(found.mid[row, 0]))) <= Fraction(float(found.rad[row, 0]))


@given(st.integers(1, 5), st.integers(1, 5))
def test_ranks_and_pairs(d: int, n: int) -> None:
    alphas = below(d, n)
    assert np.array_equal(rank(alphas), np.arange(count(d, n)))
    found = pairs(d, range(n), range(n), range(n))
    assert len(found.left) == count(2 * d, n)
    ones = np.add.reduceat(np.ones(len(found.left)), found.starts)
    assert np.array_equal(ones, (alphas + 1).prod(1))  # so many β ≤ α
    assert found.most == ones.max()
    assert np.isfinite(factorials(d, n)).all()
