"""Bounds where a formula has no value, and on boxes as large as float64 allows."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import integraph


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
