"""Bounds where a formula has no value, and on boxes as large as float64 allows."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import integraph
from integraph import Graph
from integraph.certify.bounds.bounds import Ending
from integraph.certify.bounds.graph_models import graph_models
from integraph.numbers.intervals import Interval
from integraph.numbers.models.lines import families
from integraph.numbers.models.models import of_cells
from integraph.numbers.models.smooth_functions import SMOOTH
from integraph.targets.graph_builder import Builder


@pytest.mark.parametrize(
    ("formula", "box"), [("x/x", (0, 0)), ("abs(x)/x", (0, 0)), ("x^y", (0, 0)), ("x^(0*y)", (0, 0)), ("x^x", (0, 0))]
)
def test_nothing_is_attained_where_there_is_no_value(formula: str, box: tuple[float, float]) -> None:
    bounds = integraph.bound(formula, box)
    assert np.isinf(bounds.low).all()
    assert np.isinf(bounds.high).all()
    assert np.isnan(bounds.lowest).all()
    assert np.isnan(bounds.highest).all()
    assert (bounds.attained_low, bounds.attained_high) == (np.inf, -np.inf)
    assert "attained [none, none]" in str(bounds)


def test_a_value_is_attained_only_where_there_is_one() -> None:
    """x^y has no value on the edge x = 0, and float64 says that 0^0 is 1."""
    bounds = integraph.bound("x^y", (0, 1))
    assert np.isinf(bounds.high).all()
    for point, value, sign in ((bounds.lowest, bounds.attained_low, 1), (bounds.highest, bounds.attained_high, -1)):
        assert point[0, 0] > 0
        assert sign * (value[0] - float(mpmath.mpf(point[0, 0]) ** mpmath.mpf(point[0, 1]))) >= 0


@pytest.mark.parametrize(
    ("formula", "low", "high"),
    [
        ("asin(x)", 1.0, 1 + 1e-12),
        ("acosh(x)", 1 - 1e-13, 1.0),
        ("sqrt(1 - x)", 1.0, 1 + 1e-12),
        ("(1 - x)^(1/3)", 1.0, 1 + 1e-12),
        ("tanh(acos(-x))", -1 - 1e-12, -1.0),
    ],
)
def test_a_box_that_reaches_over_the_edge_of_a_domain_by_little(formula: str, low: float, high: float) -> None:
    bounds = integraph.bound(formula, (low, high))
    assert np.isinf(bounds.low).all()
    assert np.isinf(bounds.high).all()


def test_nothing_is_attained_beyond_the_edge_of_a_domain() -> None:
    """The argument is less than −1 by 1e-160 everywhere, which no enclosure of it shows."""
    bounds = integraph.bound("acos(x/(1e-160 - x))", (0.5, 1))
    assert np.isinf(bounds.low).all()
    assert np.isnan(bounds.lowest).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("inputs", [1, 2, 16])
def test_the_largest_box_of_all(inputs: int) -> None:
    """No warning, and bounds that hold, though widths and sums overflow."""
    rng = np.random.default_rng(inputs)
    network = integraph.network([(rng.normal(size=(8, inputs)), np.zeros(8), "tanh"), (np.ones((1, 8)), np.zeros(1))])
    bounds = integraph.bound(network, (-1.7e308, 1.7e308))
    assert -8.001 < bounds.low[0] <= bounds.attained_high[0]
    assert bounds.attained_low[0] <= bounds.high[0] < 8.001
    assert np.isfinite(bounds.width).all()
    formula = integraph.bound("x + sin(x)", (-1.7e308, 1.7e308), gap=1e-3, seconds=0.2)
    assert formula.low[0] <= -1.7e308
    assert formula.high[0] >= 1.7e308
    assert np.isinf(formula.width).all()


@pytest.mark.filterwarnings("error")
def test_the_influence_of_an_input_overflows_in_silence() -> None:
    names = [f"x{n}" for n in range(13)]
    bounds = integraph.bound(["1.5e308*x0", "1.5e308*x0", "+".join(names)], (-1, 1), variables=names)
    assert (bounds.high >= [1.5e308, 1.5e308, 13]).all()


def product_of(*factors: float) -> Graph:
    """Of the input, one factor after the other."""
    b = Builder("product")
    y = b.input("x", (14,))
    for factor in factors:
        y = b.apply("mul", y, b.constant(np.full(14, factor)))
    return b.graph([y])


@pytest.mark.parametrize(
    ("x", "factors"),
    [
        (1.9e-150, (1.6e-308, -1e171)),  # half of the smallest number is 0
        (1.1809516828309e-310, (-1.149e150,)),  # half of an odd subnormal number is rounded
        (5e-324, (1e200, 1e100)),
    ],
)
def test_subnormal_numbers_keep_their_errors(x: float, factors: tuple[float, ...]) -> None:
    at = np.full(14, x)
    right = Fraction(x)
    for factor in factors:
        right *= Fraction(factor)
    bounds = integraph.bound(product_of(*factors), np.stack([at, at], 1))
    assert Fraction(float(bounds.low[0])) <= right <= Fraction(float(bounds.high[0]))
    models = graph_models(product_of(*factors), of_cells(at[None], at[None], 1)).known
    assert Fraction(float(models.low[0, 0])) <= right <= Fraction(float(models.high[0, 0]))


@pytest.mark.parametrize("name", ["gaussian", "gelu", "gelu_tanh", "exp", "silu", "tanh", "softplus"])
def test_lines_over_ranges_on_which_derivatives_overflow(name: str) -> None:
    ends = np.array([[-1.4e299, -1e155, -1e308, -5.0]]), np.array([[7.6e286, 1e155, 1e308, 1e200]])
    x = Interval(*ends)
    y = Interval(np.full((1, 4), -np.inf), np.full((1, 4), np.inf))
    for drawn in families(SMOOTH[name], x, y):
        for at in (-0.9, 0.0, 0.5):
            value = float(SMOOTH[name].value(np.array([at]))[0])
            with np.errstate(all="ignore"):
                assert (drawn.low_slope * at + drawn.low <= value + 1e-12).all()
                assert (drawn.high_slope * at + drawn.high >= value - 1e-12).all()


@pytest.mark.parametrize(("formula", "box"), [("0.1*(x + 1) - 0.1*x, sin(3*x)", (0, 1)), ("0.1*x + 0.1", [(0.5, 0.5)])])
def test_rounding_is_not_divided(formula: str, box: object) -> None:
    """Of a constant, or at a point, nothing is left but rounding: that is no gap, and takes no more than one pass."""
    bounds = integraph.bound(formula, box, gap=0.01, progress=False)
    assert bounds.ending is Ending.GAP
    assert bounds.cells <= 64
    assert bounds.gap[0] == 0
    assert 0 < bounds.width[0] < 1e-13
    assert "none" not in str(bounds)
    assert bounds.low[0] <= bounds.attained_low[0] <= bounds.high[0]
