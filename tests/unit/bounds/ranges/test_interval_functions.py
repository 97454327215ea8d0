"""Ranges of single operations: domains, infinite ends, and as narrow as they can be."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from integraph.bounds.ranges.interval_functions import log_softmax, logsumexp, softmax
from integraph.bounds.ranges.propagation import ranges
from integraph.numbers.intervals import MOST, Interval, mul, power
from integraph.targets.graph_builder import Builder

INF = math.inf


def one(op: str, low: float, high: float, **how: Any) -> tuple[float, float]:
    """The range of one operation of x."""
    b = Builder()
    x = b.input("x")
    found = ranges(b.graph([b.apply(op, x, **how)]), np.array([low]), np.array([high]))[-1]
    return float(found.low), float(found.high)


def near(found: tuple[float, float], low: float, high: float) -> bool:
    return all(
        a == b or (math.isfinite(b) and abs(a - b) <= 1e-12 * (1e-290 + abs(b)))
        for a, b in zip(found, (low, high), strict=True)
    )


@pytest.mark.parametrize(
    ("op", "ends", "expected"),
    [
        ("ln", (-1, 2), (-INF, math.log(2))),
        ("ln", (0, 1), (-INF, 0)),
        ("ln", (1, 2), (0, math.log(2))),
        ("ln", (-2, 0), (-INF, INF)),
        ("ln", (-2, -1), (-INF, INF)),
        ("log1p", (-3, 0), (-INF, 0)),
        ("sqrt", (-1, 4), (0, 2)),
        ("sqrt", (-1, 0), (0, 0)),
        ("sqrt", (-2, -1), (-INF, INF)),
        ("asin", (-5, 1), (-math.pi / 2, math.pi / 2)),
        ("acos", (0.5, 9), (0, math.acos(0.5))),
        ("acos", (2, 3), (-INF, INF)),
        ("acosh", (-4, 2), (0, math.acosh(2))),
        ("atanh", (0, 4), (0, INF)),
        ("atanh", (1, 4), (-INF, INF)),
        ("sin", (1, 2), (math.sin(1), 1)),
        ("sin", (0, 0.5), (0, math.sin(0.5))),
        ("sin", (-6, -5), (math.sin(-6), math.sin(-5))),
        ("cos", (-1, 0.5), (math.cos(1), 1)),
        ("cos", (3, 4), (-1, math.cos(4))),
        ("cos", (1e15, INF), (-1, 1)),
        ("tan", (-1, 1), (math.tan(-1), math.tan(1))),
        ("tan", (1, 2), (-INF, INF)),
        ("exp", (-INF, 0), (0, 1)),
        ("exp", (1000, 1001), (MOST, INF)),
        ("exp", (-2000, -1000), (0, 0)),
        ("sinh", (-1000, -900), (-INF, -MOST)),
        ("cosh", (-1, 2), (1, math.cosh(2))),
        ("abs", (-3, 1), (0, 3)),
        ("gaussian", (-1, 2), (math.exp(-4), 1)),
        ("gelu", (-INF, INF), (-0.16997120747990369, INF)),
        ("gelu", (0, 1), (0, 0.8413447460685429)),
        ("silu", (-INF, -2000), (-0.0, 0)),
        ("silu", (-1, 1), (-1 / (1 + math.e), 1 / (1 + 1 / math.e))),
        ("relu", (-INF, 2), (0, 2)),
        ("softplus", (-INF, 0), (0, math.log(2))),
        ("sigmoid", (-INF, INF), (0, 1)),
        ("erf", (-INF, INF), (-1, 1)),
    ],
)
def test_ranges_of_functions(op: str, ends: tuple[float, float], expected: tuple[float, float]) -> None:
    found = one(op, *ends)
    assert near(tuple(0.0 if abs(v) < 1e-300 else v for v in found), *expected), found
    assert found[0] <= expected[0] or op == "gelu"


@pytest.mark.parametrize(
    ("exponent", "ends", "expected"),
    [
        (2, (-1, 3), (0, 9)),
        (3, (-2, 1), (-8, 1)),
        (-1, (0, 4), (0.25, INF)),
        (-1, (-4, 0), (-INF, -0.25)),
        (-1, (-1, 1), (-INF, INF)),
        (-1, (-4, -2), (-0.5, -0.25)),
        (-2, (-1, 2), (0.25, INF)),
        (-3, (-2, -1), (-1, -0.125)),
        (-2, (0, 0), (-INF, INF)),
        (0, (-1, 1), (1, 1)),
        (Fraction(1, 2), (-1, 4), (0, 2)),
        (Fraction(-1, 2), (-1, 4), (0.5, INF)),
        (Fraction(-1, 2), (-1, 0), (-INF, INF)),
        (Fraction(1, 3), (-8, -1), (-INF, INF)),
        (Fraction(400), (5, 6), (5.0**400 if 400 * math.log10(5) < 308 else MOST, INF)),
    ],
)
def test_powers(exponent: Fraction, ends: tuple[float, float], expected: tuple[float, float]) -> None:
    assert near(one("power", *ends, data=(Fraction(exponent),)), *expected)


@pytest.mark.parametrize(("slope", "expected"), [(0.5, (-1, 3)), (-0.5, (0, 3)), (0.0, (0, 3)), (-2.0, (0, 4))])
def test_leaky_relu(slope: float, expected: tuple[float, float]) -> None:
    assert near(one("leaky_relu", -2, 3, data=(slope,)), *expected)
    assert near(one("leaky_relu", -2, -1, data=(slope,)), *sorted((-2 * slope, -slope)))
    assert one("leaky_relu", -INF, 1, data=(0.0,))[0] == 0.0


def test_a_value_and_itself() -> None:
    """x·x is a square, x − x nothing, x/x one; and what is affine has the range of its coefficients."""
    b = Builder()
    x, y = b.input("x"), b.input("y")
    half = b.apply("sub", x, b.apply("div", x, b.constant(2.0)))
    nodes = [
        *(b.apply(op, x, x) for op in ("mul", "sub", "div")),
        half,
        b.apply("sub", b.apply("add", x, y), b.apply("mul", y, b.constant(3.0))),
    ]
    graph = b.graph(nodes)
    found = ranges(graph, np.array([-1.0, 0.0]), np.array([2.0, 1.0]))
    ends = [(float(found[n].low), float(found[n].high)) for n in graph.outputs]
    for own, expected in zip(ends, [(0, 4), (0, 0), (1, 1), (-0.5, 1), (-3, 2)], strict=True):
        assert near(own, *expected)
    assert ranges(graph, np.array([0.0, -INF]), np.array([1.0, 1.0]))[graph.outputs[-1]].high == INF


def test_zero_times_anything_is_zero() -> None:
    zero, all_ = Interval(np.array(0.0), np.array(0.0)), Interval(np.array(-INF), np.array(INF))
    assert abs(mul(zero, all_).high) <= 5e-324
    positive = Interval(np.array(5e-324), np.array(1e-300))
    assert mul(positive, positive).low == 0 < mul(positive, positive).high
    huge = Interval(np.array(1e200), np.array(1e300))
    assert mul(huge, huge).low == MOST
    assert mul(huge, huge).high == INF
    assert power(Interval(np.array(1e-200), np.array(1e-200)), Fraction(2)).high > 0


@pytest.mark.parametrize("masked", [False, True])
def test_softmax_is_as_narrow_as_a_grid(masked: bool) -> None:
    rng = np.random.default_rng(2)
    low = rng.normal(size=(3, 4)) * np.array([[1.0], [30.0], [0.1]])
    high = low + rng.uniform(size=(3, 4)) * np.array([[3.0], [300.0], [1e-9]])
    mask = np.array([[True] * 4, [True, True, False, True], [False, True, True, True]]) if masked else None
    taking = np.ones((3, 4), bool) if mask is None else mask
    found = softmax(Interval(low, high), mask)
    for i in range(4):
        for own, others, end in ((low, high, found.low), (high, low, found.high)):
            score = np.where(taking, others, -INF)
            score[:, i] = np.where(taking[:, i], own[:, i], -INF)
            best = np.exp(score - score.max(-1, keepdims=True))
            best = (best / best.sum(-1, keepdims=True))[:, i]
            np.testing.assert_allclose(end[:, i], best, rtol=1e-10, atol=1e-300)
    unknown = softmax(Interval(np.full(3, -INF), np.full(3, INF)), None)
    assert (unknown.low == 0).all()
    assert (unknown.high == 1).all()


@pytest.mark.parametrize("masked", [False, True])
def test_sums_of_exponentials_are_as_narrow_as_their_ends(masked: bool) -> None:
    """They rise with every score; around the values in many digits, by no more than rounding."""
    rng = np.random.default_rng(3)
    low = rng.normal(size=(3, 4)) * np.array([[1.0], [3000.0], [1e-9]])
    high = low + rng.uniform(size=(3, 4)) * np.array([[3.0], [300.0], [1e-9]])
    mask = np.array([[True] * 4, [True, True, False, True], [False, True, True, True]]) if masked else None
    found = logsumexp(Interval(low, high), mask)
    taking = np.ones((3, 4), bool) if mask is None else mask
    with mpmath.workdps(60):
        for row in range(3):
            for scores, end, side in ((low, found.low, -1), (high, found.high, 1)):
                true = mpmath.log(mpmath.fsum(mpmath.exp(mpmath.mpf(x)) for x in scores[row, taking[row]]))
                assert 0 <= side * (end[row] - true) <= 1e-13 + 1e-15 * abs(true)
    unknown = logsumexp(Interval(np.array([-INF, 0.0]), np.array([INF, 1.0])), None)
    assert (unknown.low, unknown.high) == (pytest.approx(0.0, abs=1e-13), INF)


@pytest.mark.parametrize("masked", [False, True])
def test_logarithms_of_a_softmax_are_as_narrow_as_their_ends(masked: bool) -> None:
    """They rise with their own score, and fall with all others; e^1000 is no obstacle."""
    rng = np.random.default_rng(3)
    low = rng.normal(size=(3, 4)) * np.array([[1.0], [3000.0], [1e-9]])
    high = low + rng.uniform(size=(3, 4)) * np.array([[3.0], [300.0], [1e-9]])
    mask = np.array([[True] * 4, [True, True, False, True], [False, True, True, True]]) if masked else None
    taking = np.ones((3, 4), bool) if mask is None else mask
    result = log_softmax(Interval(low, high), mask)
    with mpmath.workdps(60):
        for row, i in zip(*np.nonzero(taking), strict=True):
            for own, others, end, side in ((low, high, result.low, -1), (high, low, result.high, 1)):
                rest = [mpmath.mpf(others[row, j]) for j in range(4) if taking[row, j] and j != i]
                true = -mpmath.log1p(mpmath.fsum(mpmath.exp(x - mpmath.mpf(own[row, i])) for x in rest))
                assert 0 <= side * (end[row, i] - true) <= 1e-13 + 1e-11 * abs(true)
    unknown = log_softmax(Interval(np.full(3, -INF), np.full(3, INF)), None)
    assert (unknown.low == -INF).all()
    assert (unknown.high == 0).all()


def test_matrix_products_with_unknown_factors() -> None:
    x = Interval(np.array([[1.0, -INF], [1.0, 0.0]]), np.array([[2.0, INF], [2.0, 0.0]]))
    b = Builder()
    graph = b.graph([b.apply("matmul", b.input("x", (2, 2)), b.constant([[1.0, 1.0], [0.0, 1.0]]))])
    found = ranges(graph, x.low.ravel(), x.high.ravel())[-1]
    assert (found.low[0, 1], found.high[0, 1]) == (-INF, INF)
    np.testing.assert_allclose([found.low[1], found.high[1]], [[1, 1], [2, 2]])
    np.testing.assert_allclose([found.low[0, 0], found.high[0, 0]], [1, 2])


def test_products_of_positive_matrices_are_exact() -> None:
    b = Builder()
    x, y = b.input("x", (2, 3)), b.input("y", (3, 2))
    graph = b.graph([b.apply("matmul", x, y), b.apply("matmul", b.apply("sub", y, b.constant(2.0)), x)])
    found = ranges(graph, np.zeros(12), np.ones(12))
    product, other = (found[n] for n in graph.outputs)
    assert (product.low == 0).all()
    assert np.allclose(product.high, 3)
    assert np.allclose(other.low, -4)
    assert np.allclose(other.high, 0)
