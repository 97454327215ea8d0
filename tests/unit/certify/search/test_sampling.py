"""What is seen: values that are there, the largest that a climb reaches, the same every time."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph.certify.problem import Box, Point
from integraph.certify.proof import Work, _tightened
from integraph.certify.search.bisection import sizes
from integraph.certify.search.branch_and_bound import search
from integraph.certify.search.sampling import PROBES, LargestSample, sample_largest
from integraph.certify.search.stop import Stop
from integraph.errors import UsageError
from law import examples
from lazy import Lazy
from toy_problems import Bumpy, Cancelling, Pole, Stated, Waves

optimize = Lazy("scipy.optimize")

SQUARE = Box((0.0, 0.0), (1.0, 2.0))
CORNER = 2 - math.sin(3) * math.cos(4)


def waves(x: np.ndarray) -> float:
    return -abs(math.sin(3 * x[0]) * math.cos(2 * x[1]) - x[0] * x[1])


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e3, 1e300])
def test_a_maximum_at_a_corner(scale: float) -> None:
    found = sample_largest(Waves(scale), SQUARE, 20, 64)
    assert found.point == (1.0, 2.0)
    assert found.low / scale == pytest.approx(CORNER, rel=1e-12)
    assert found.low <= found.high <= found.low * (1 + 1e-12)


def test_a_maximum_inside_is_climbed() -> None:
    box = Box((0.2, -0.5), (0.8, 0.3))
    found = sample_largest(Waves(), box, 300, 64)
    start = np.array(box.centre)
    best = optimize.minimize(
        waves, start, bounds=list(zip(box.low, box.high, strict=True)), method="Nelder-Mead", tol=1e-12
    )
    assert found.low == pytest.approx(-best.fun, rel=1e-9)
    assert found.points <= 600
    sampled = max(-waves(np.array(p)) for p in itertools.product(np.linspace(0.2, 0.8, 17), np.linspace(-0.5, 0.3, 17)))
    assert found.low > sampled


def test_any_quantity() -> None:
    first, second = (sample_largest(Bumpy(), SQUARE, 200, 64, quantity) for quantity in (0, 1))
    assert first.low == pytest.approx(0.25, rel=1e-12)
    assert second.low == pytest.approx(1.583346, rel=1e-6)


@examples(50)
@given(st.lists(st.tuples(st.floats(-2, 2), st.floats(-2, 2)), min_size=2, max_size=2), st.integers(1, 60))
def test_what_is_seen_is_there_and_below_what_is_proved(ends: list[tuple[float, float]], samples: int) -> None:
    box = Box(tuple(min(e) for e in ends), tuple(max(e) for e in ends))
    found = sample_largest(Waves(), box, samples, 64)
    assert found == sample_largest(Waves(), box, samples, 64)
    assert all(a <= x <= b for a, x, b in zip(box.low, found.point, box.high, strict=True))
    assert sizes(Waves(), found.point, 64)[0] == (found.low, found.high)
    assert found.low <= -waves(np.array(found.point)) * (1 + 1e-9) + 1e-15
    assert found.low >= sizes(Waves(), box.centre, 64)[0][0]
    assert found.low <= search(Waves(), box, gap=0.5, boxes=30, workers=1).upper[0]
    assert found.points <= 2 * samples + 1


def test_bits_are_raised_until_values_are_known() -> None:
    found = sample_largest(Cancelling(), Box((-1.0,), (1.0,)), 20, 64)
    assert found.low == pytest.approx(4 / 3, rel=1e-12)


def test_unknown_points_are_skipped_and_counted() -> None:
    found = sample_largest(Pole(), Box((-1.0,), (1.0,)), 50, 64)
    assert 50 < found.low < math.inf
    assert found.unknown == 1, "the centre"
    blind = sample_largest(Stated((math.nan,)), Box((0.0,), (1.0,)), 30, 64)
    assert (blind.low, blind.high) == (0.0, math.inf)
    assert blind.unknown == blind.points >= 30


def test_nothing_to_see() -> None:
    found = sample_largest(Waves(0.0), SQUARE, 20, 64)
    assert (found.low, found.high, found.unknown) == (0.0, 0.0, 0)
    point = Box((0.1, 0.2), (0.1, 0.2))
    assert sample_largest(Waves(), point, 20, 64) == LargestSample(*sizes(Waves(), (0.1, 0.2), 64)[0], (0.1, 0.2), 1, 0)
    with pytest.raises(UsageError, match="samples = 0"):
        sample_largest(Waves(), SQUARE, 0, 64)


class _Far(Waves):
    """Counts, and knows where the corners are."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Point] = []

    def at(self, point: Point, bits: int) -> tuple[tuple[float, float], ...]:
        self.asked.append(point)
        return ((1.0, 1.0),)


def test_samples_fill_boxes_of_many_dimensions() -> None:
    problem, d = _Far(), 12
    sample_largest(problem, Box((-1.0,) * d, (1.0,) * d), 400, 64)
    asked = np.array(problem.asked[1 + PROBES : 408])  # after the first, and those that choose the precision
    corners = asked[np.all(np.abs(asked) == 1, axis=1)]
    assert len(corners) == len(np.unique(corners, axis=0)) == 100
    assert np.abs(corners.mean(axis=0)).max() < 0.2
    inside = asked[np.all(np.abs(asked) < 1, axis=1)]
    assert np.abs(inside.mean(axis=0)).max() < 0.1
    assert np.all(np.abs(inside.std(axis=0) - 1 / math.sqrt(3)) < 0.1)


@pytest.mark.parametrize(("low", "high"), [(-1.7e308, 1.7e308), (0.0, 5e-324), (1e16, 1e16 + 2)])
def test_boxes_of_all_extents(low: float, high: float) -> None:
    problem = _Far()
    sample_largest(problem, Box((low, 0.0), (high, 1.0)), 50, 64)
    assert all(low <= point[0] <= high for point in problem.asked)


class _Needle:
    """0 up to what cannot be told, and near 0.3 a value that is known."""

    quantities = 1
    near, top = Box((0.296875,), (0.3046875,)), 1.0

    def upper(self, where: Box, bits: int) -> tuple[float, ...]:
        away = where.high[0] < self.near.low[0] or where.low[0] > self.near.high[0]
        return (5e-324 if away else self.top,)

    def at(self, point: Point, bits: int) -> tuple[tuple[float, float], ...]:
        inside = self.near.low[0] <= point[0] <= self.near.high[0]
        return ((self.top, self.top) if inside else (0.0, 5e-324),)


def test_what_is_larger_than_a_blurred_value_is_not_the_end() -> None:
    """A value that was not seen before refutes nothing that was asked: the search goes on from there."""
    box = Box((0.0,), (1.0,))
    before = sample_largest(_Needle(), box, 2, 64)
    assert (before.low, before.high) == (0.0, 5e-324)
    found, largest, blurred = _tightened(_Needle(), box, None, 0.1, before, Work(10_000, 60.0, 1, None, False))
    assert (found.stopped, found.lower, found.upper) == (Stop.GAP, (1.0,), (1.0,))
    assert (largest.low, blurred) == (1.0, False)
    asked, _, _ = _tightened(_Needle(), box, 0.5, 0.1, before, Work(10_000, 60.0, 1, None, False))
    assert (asked.stopped, asked.lower) == (Stop.REFUTED, (1.0,))
    for boxes in range(1, 60):
        few, _, _ = _tightened(_Needle(), box, None, 0.1, before, Work(boxes, 60.0, 1, None, False))
        assert few.boxes <= boxes
        assert few.stopped in (Stop.BOXES, Stop.GAP)
        assert few.lower <= few.upper == (1.0,)
