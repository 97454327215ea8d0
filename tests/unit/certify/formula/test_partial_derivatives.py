"""Proved bounds of partial derivatives: sympy's derivatives at points never leave them, and they are tight."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph.certify.formula.partial_derivatives import Partials, partials
from integraph.certify.problem import Box
from integraph.certify.taylor import taylor
from integraph.errors import UsageError
from integraph.numbers.arb.conversion import above, box, precision
from integraph.numbers.multi_index import below
from law import examples
from lazy import Lazy
from mp_formulas import formula

sympy = Lazy("sympy")

MODEL = "sin(3*x)*exp(-y)/(1+x*y)"
FORMULAS = [MODEL, "tanh(4*x+y)*exp(-x^2)", "sqrt(3+x*y)*cos(2*y)", "x^3*y - 2*x + ln(2+x)"]
UNIT = st.floats(0, 1, allow_subnormal=False)


def all_of(order: int, d: int = 2) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, alpha)) for alpha in below(d, order + 1))


@lru_cache
def derivatives(text: str, alphas: tuple[tuple[int, ...], ...], module: str) -> list[Callable[..., Any]]:
    x, y = sympy.symbols("x y")
    wanted = sympy.parse_expr(text.replace("^", "**"), {"x": x, "y": y, "ln": sympy.log})
    return [sympy.lambdify((x, y), sympy.diff(wanted, x, i, y, j), module) for i, j in alphas]


def test_all_partials_of_order_4_within_one_percent() -> None:
    found = partials(formula(MODEL), (0, 0), (1, 1), 4, workers=1)
    assert found.why == ""
    assert found.lower.shape == found.upper.shape == (15, 1)
    assert np.all(found.lower <= found.upper)
    assert np.all(found.upper <= 1.01 * found.lower)
    x, y = np.meshgrid(np.linspace(0, 1, 401), np.linspace(0, 1, 401))
    for derivative, lower, upper in zip(derivatives(MODEL, all_of(4), "numpy"), found.lower, found.upper, strict=True):
        seen = np.abs(derivative(x, y)).max()
        assert lower.item() <= seen * (1 + 1e-4)
        assert seen * (1 - 1e-12) <= upper.item()


@pytest.mark.parametrize("text", FORMULAS)
def test_no_point_of_a_box_exceeds_its_bound(text: str) -> None:
    """Forty boxes of every size, three points in each, all |α| ≤ 3: 1200 cases for each formula."""
    alphas, rng = all_of(3), np.random.default_rng(5)
    problem, exact = Partials(formula(text, "x y"), alphas), derivatives(text, alphas, "mpmath")
    for _ in range(40):
        low = rng.uniform(-1, 0.8, 2)
        high = np.minimum(low + rng.random(2) * 2.0 ** -rng.integers(0, 14), 1.0)
        bounds = problem.upper(Box(tuple(low.tolist()), tuple(high.tolist())), 64)
        assert all(map(math.isfinite, bounds))
        with mpmath.workdps(40):
            for point in (low, high, np.clip(low + rng.random(2) * (high - low), low, high)):
                for derivative, bound in zip(exact, bounds, strict=True):
                    assert abs(derivative(*map(mpmath.mpf, point))) <= bound


@examples(40)
@given(st.sampled_from(FORMULAS), UNIT, UNIT, st.sampled_from([53, 64, 200]))
def test_values_at_points(text: str, x: float, y: float, bits: int) -> None:
    alphas = all_of(3)
    found = Partials(formula(text, "x y"), alphas).at((x, y), bits)
    with mpmath.workdps(60):
        for derivative, (low, high) in zip(derivatives(text, alphas, "mpmath"), found, strict=True):
            size = abs(derivative(mpmath.mpf(x), mpmath.mpf(y)))
            assert low <= size <= high
            assert high - low <= 1e-11 * (1 + high)


def test_small_boxes_are_bounded_by_more_than_ball_arithmetic() -> None:
    """The excess of the forms falls with the square of the size of the box, that of plain ranges with the size."""
    expression, alphas = formula(MODEL), all_of(4)
    problem, centre = Partials(expression, alphas), (0.3, 0.7)
    excess = []
    for half in (2.0**-6, 2.0**-8):
        whole = Box(tuple(c - half for c in centre), tuple(c + half for c in centre))
        rng = np.random.default_rng(1)
        points = np.concatenate([rng.uniform(whole.low, whole.high, (300, 2)), _corners(whole)])
        seen = [np.abs(derivative(*points.T)).max() for derivative in derivatives(MODEL, alphas, "numpy")]
        excess.append(np.array(problem.upper(whole, 64)) - seen)
        with precision(64):
            plain = [above(abs(c)) for c in taylor(expression, box(whole.low, whole.high), 4)[0]]
        scale = [math.factorial(i) * math.factorial(j) for i, j in alphas]
        natural = np.array(plain) * scale - seen
        assert np.all(excess[-1] <= natural + 1e-12)
        assert np.median(excess[-1] / natural) < 0.15
    assert np.median(excess[1] / excess[0]) < 0.1


def _corners(whole: Box) -> np.ndarray:
    return np.array([(x, y) for x in (whole.low[0], whole.high[0]) for y in (whole.low[1], whole.high[1])])


def test_several_outputs_and_a_choice_of_derivatives() -> None:
    expression = formula("x*y, exp(2*x), 5")
    problem = Partials(expression, ((1, 0), (0, 0)))
    assert problem.quantities == 6
    assert problem.order == 1
    found = problem.upper(Box((0.0, 1.0), (1.0, 3.0)), 64)
    sizes = (3.0, 3.0, 2 * math.e**2, math.e**2, 0.0, 5.0)
    assert np.all(np.array(found) >= np.array(sizes) * (1 - 1e-15))
    assert found == pytest.approx(sizes, rel=1e-6)
    assert problem.at((0.5, 2.0), 64)[4:] == ((0.0, 0.0), (5.0, 5.0))
    both = partials(expression, [0, 1], [1, 3], 1, workers=1)
    assert both.upper.shape == (3, 3)
    assert both.upper[:, 2].tolist() == [5.0, 0.0, 0.0]
    assert both.lower[1].tolist() == pytest.approx([3.0, 2 * math.e**2, 0.0])


def test_a_problem_can_be_sent() -> None:
    problem = Partials(formula(MODEL), all_of(2))
    again = pickle.loads(pickle.dumps(problem))
    whole = Box((0.25, 0.5), (0.5, 1.0))
    assert again == problem
    assert again.upper(whole, 64) == problem.upper(whole, 64)


@pytest.mark.parametrize("text", ["1/x + y", "ln(x) + y", "abs(x)*y", "sqrt(x)*y", "tan(2*x+pi/2)*y"])
def test_what_is_not_smooth_is_unknown(text: str) -> None:
    problem = Partials(formula(text, "x y"), all_of(2))
    bounds = dict(zip(problem.alphas, problem.upper(Box((-0.5, 0.0), (0.5, 1.0)), 64), strict=True))
    assert bounds[1, 0] == bounds[2, 0] == math.inf
    values = dict(zip(problem.alphas, problem.at((0.0, 0.5), 64), strict=True))
    assert values[1, 0] == (0.0, math.inf)
    found = partials(formula(text, "x y"), (-0.5, 0), (0.5, 1), 1, boxes=40, workers=1)
    assert found.upper.max() == math.inf
    assert found.why


def test_a_degenerate_box_is_a_point() -> None:
    found = partials(formula(MODEL), (0.5, 0.25), (0.5, 0.25), 2, workers=1)
    assert np.all(found.upper <= found.lower * (1 + 1e-12))
    assert found.upper[0, 0] == pytest.approx(math.sin(1.5) * math.exp(-0.25) / 1.125)


def test_bounds_are_powers_of_their_own_variables() -> None:
    """Sides of different lengths, far from 0: x^3 y^2 on [10, 20]×[−3, −1]."""
    found = partials(formula("x^3*y^2"), (10, -3), (20, -1), 3, gap=1e-6, workers=1)
    wanted = [72000, 10800, 48000, 1080, 7200, 16000, 54, 720, 2400, 0]
    assert found.lower[:, 0].tolist() == pytest.approx(wanted, rel=1e-6)
    assert np.all(found.upper[:, 0] >= wanted)
    assert found.upper[:, 0].tolist() == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 2), (1, 2)])
def test_each_mixed_second_derivative_has_its_own_sides(first: int, second: int) -> None:
    """The product of two of three variables, where the third hardly moves; around 0 it has no slope."""
    names = ["x", "y", "z"]
    low, high = [-(2.0**-20)] * 3, [2.0**-20] * 3
    low[first], low[second], high[first], high[second] = -1.0, -3.0, 1.0, 3.0
    problem = Partials(formula(f"{names[first]}*{names[second]}", "x y z"), all_of(1, 3))
    found = problem.upper(Box(tuple(low), tuple(high)), 64)
    wanted = [3.0, 0.0, 0.0, 0.0]
    wanted[1 + first], wanted[1 + second] = 3.0, 1.0
    assert np.all(np.array(found) >= wanted)
    assert found == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize(("low", "high", "n"), [((0,), (1,), 2), ((0, 0), (1, 1, 1), 2), ((0, 0), (1, 1), -1)])
def test_a_box_of_another_dimension_is_refused(low: tuple[int, ...], high: tuple[int, ...], n: int) -> None:
    with pytest.raises(UsageError, match="as many sides"):
        partials(formula(MODEL), low, high, n)
