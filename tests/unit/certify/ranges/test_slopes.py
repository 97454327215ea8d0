"""Bounds of y' from terms, and of y between two times from bounds of y'."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import integraph
from integraph.certify.ranges.slopes import between, slopes
from integraph.numbers.intervals import Interval
from integraph.program.terms import concatenate


def test_slopes_hold_the_right_side() -> None:
    program = integraph.compile("exp(-x)*y + tanh(x)")
    rng = np.random.default_rng(0)
    for number in range(program.depth):
        terms = concatenate(list(program.segment_terms(number)))
        centre, radius = rng.normal(size=(program.width, 1)), rng.uniform(0, 0.3, (program.width, 1))
        bounds = slopes(terms, Interval(centre - radius, centre + radius))
        states = centre + radius * rng.uniform(-1, 1, (program.width, 500))
        rates = terms.evaluate(states)
        assert (bounds.low <= rates + 1e-12).all()
        assert (bounds.high >= rates - 1e-12).all()
        lone = slopes(terms, Interval(centre, centre))
        assert np.allclose(lone.low, terms.evaluate(centre), atol=1e-12)


def test_between_two_times() -> None:
    """y = sin πt on [0, 1]: both ends are 0, the slope is within ±π, so y is below π/2; exactly a tent."""
    ends, slope = Interval(np.zeros(1), np.zeros(1)), Interval(np.array([-np.pi]), np.array([np.pi]))
    way = between(ends, ends, slope, 1.0)
    assert np.pi / 2 <= way.high[0] < np.pi / 2 + 1e-9
    assert way.low[0] == -way.high[0]


def test_one_sign_needs_no_room() -> None:
    start, end = Interval(np.array([1.0]), np.array([2.0])), Interval(np.array([3.0]), np.array([4.0]))
    way = between(start, end, Interval(np.array([0.0]), np.array([np.inf])), 1.0)
    assert (way.low[0], way.high[0]) == (1.0, 4.0)


def test_unknown_slopes() -> None:
    ends = Interval(np.zeros(1), np.zeros(1))
    way = between(ends, ends, Interval(np.array([-np.inf]), np.array([np.inf])), 1.0)
    assert (way.low[0], way.high[0]) == (-np.inf, np.inf)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-160, 1.0, 1e160, 1e308])
def test_between_holds_a_triangle_of_any_size(size: float) -> None:
    """Up at the slope a, down at the slope −b: the tip, where a·b is no float64 and where a + b is none."""
    zero = np.zeros(1)
    for rise, fall in ((size, size), (size, 0.25 * size), (size, 1e-6 * size)):
        way = between(Interval(zero, zero), Interval(zero, zero), Interval(zero - fall, zero + rise), 1.0)
        tip = Fraction(rise) * Fraction(fall) / (Fraction(rise) + Fraction(fall))
        assert tip <= Fraction(float(way.high[0])) <= tip * Fraction(1001, 1000) + Fraction(2.0**-1000)
        assert way.low[0] == -way.high[0]
