"""Branch and bound: what it finds is true, its tree covers the box and proves the bound, and it says why it ended."""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import findroot, mp, sin

from integraph.certify.certificate.tree import Tree, leaves
from integraph.certify.problem import Box, Point, Problem
from integraph.certify.search.bisection import sizes, uppers
from integraph.certify.search.branch_and_bound import SearchResult, search
from integraph.certify.search.stop import Stop
from integraph.errors import UsageError
from integraph.numbers.arb.conversion import FIRST, MOST
from law import examples
from toy_problems import Bumpy, Cancelling, Capricious, Pole, Slow, Stated, Waves, Widths

SQUARE = Box((0.0, 0.0), (1.0, 2.0))
UNIT = Box((0.0,), (1.0,))
NAN, INF = math.nan, math.inf
CORNER = 2 - math.sin(3) * math.cos(4)  # sup |sin 3x cos 2y − xy| on [0, 1] × [0, 2], at its upper corner
TOLERANCE = 1e-12  # of reference values computed in floats


def proves(found: SearchResult, problem: Problem, box: Box) -> None:
    """The tree, read and evaluated anew, gives the bounds of what was found; the points give the values."""
    parts = list(leaves(found.tree, box))
    for part, leaf in parts:
        assert uppers(problem, part, leaf.bits)[0] == leaf.uppers
    for quantity, upper in enumerate(found.upper):
        assert all(leaf.uppers[quantity] <= upper for _, leaf in parts)
        assert upper == max(leaf.uppers[quantity] for _, leaf in parts)
    for low, point, quantity in zip(found.lower, found.points, range(problem.quantities), strict=True):
        if point is None:
            assert low == 0
        else:
            assert max(sizes(problem, point, bits)[quantity][0] for bits in (64, 256, MOST)) >= low > 0
            assert all(a <= x <= b for a, x, b in zip(box.low, point, box.high, strict=True))
    assert all(not low > upper for low, upper in zip(found.lower, found.upper, strict=True))
    assert found.bits == max(leaf.bits for _, leaf in parts)


def covers(tree: Tree, box: Box, points: list[Point]) -> None:
    parts = [part for part, _ in leaves(tree, box)]
    for point in points:
        assert any(all(a <= x <= b for a, x, b in zip(part.low, point, part.high, strict=True)) for part in parts), (
            f"{point} is lost"
        )


def test_a_known_maximum() -> None:
    found = search(Waves(), SQUARE, gap=1e-4, known=[(0.99, 1.99)])
    proves(found, Waves(), SQUARE)
    assert found.stopped is Stop.GAP
    assert found.lower[0] <= CORNER <= found.upper[0] <= (1 + 1e-4) * found.lower[0]


def test_several_quantities_share_a_tree() -> None:
    with mp.workdps(30):
        top = findroot(lambda y: sin(5 * y) + 5 * y * mp.cos(5 * y), 1.6)
        largest = float(abs(top * sin(5 * top)))
    found = search(Bumpy(), SQUARE, gap=0.05)
    proves(found, Bumpy(), SQUARE)
    assert found.stopped is Stop.GAP
    for low, true, high in zip(found.lower, (0.25, largest), found.upper, strict=True):
        assert low <= true * (1 + TOLERANCE)
        assert true <= high * (1 + TOLERANCE)
        assert high <= 1.05 * low


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e3, 1e300])
def test_errors_of_all_sizes(scale: float) -> None:
    found = search(Waves(scale), SQUARE, gap=0.01)
    proves(found, Waves(scale), SQUARE)
    assert found.lower[0] / scale <= CORNER <= found.upper[0] / scale * (1 + TOLERANCE)
    assert found.stopped is Stop.GAP


@examples(60)
@given(st.data())
def test_every_point_is_covered_and_below_the_bound(data: st.DataObject) -> None:
    side = st.floats(-3, 3)
    ends = [sorted((data.draw(side), data.draw(side))) for _ in range(2)]
    box = Box(tuple(e[0] for e in ends), tuple(e[1] for e in ends))
    problem = Waves(data.draw(st.sampled_from([1.0, 1e-9])))
    gap, boxes = data.draw(st.sampled_from([0.5, 0.02])), data.draw(st.integers(1, 300))
    found = search(problem, box, gap=gap, boxes=boxes, workers=1)
    proves(found, problem, box)
    assert found.boxes <= boxes
    rng = random.Random(1)
    points = [tuple(rng.uniform(a, b) for a, b in zip(box.low, box.high, strict=True)) for _ in range(50)]
    points = [tuple(min(max(x, a), b) for a, x, b in zip(box.low, p, box.high, strict=True)) for p in points]
    covers(found.tree, box, [box.low, box.high, box.centre, *points])
    for x, y in points:
        value = abs(math.sin(3 * x) * math.cos(2 * y) - x * y) * problem.scale
        assert value <= found.upper[0] + TOLERANCE * problem.scale


def test_one_box() -> None:
    found = search(Waves(), SQUARE)
    proves(found, Waves(), SQUARE)
    assert (found.stopped, len(found.tree), found.boxes) == (Stop.ONE_BOX, 1, 2)
    assert found.upper[0] >= CORNER


def test_a_goal_is_reached() -> None:
    assert search(Waves(), SQUARE, goal=4.0).boxes == 1
    found = search(Waves(), SQUARE, goal=2.1)
    proves(found, Waves(), SQUARE)
    assert found.stopped is Stop.GOAL
    assert CORNER <= found.upper[0] <= 2.1
    closer = search(Waves(), SQUARE, goal=2.1, gap=1e-3)
    assert closer.stopped is Stop.GAP
    assert closer.upper[0] <= 1.001 * closer.lower[0] < found.upper[0]


def test_a_goal_below_a_value_is_refuted_with_the_point() -> None:
    found = search(Waves(), SQUARE, goal=2.09)
    assert found.stopped is Stop.REFUTED
    assert found.lower[0] > 2.09
    assert sizes(Waves(), found.points[0], 128)[0][0] > 2.09  # type: ignore[arg-type]
    assert search(Waves(), SQUARE, goal=2.09, known=[(1.0, 2.0)]).boxes <= 2
    proves(found, Waves(), SQUARE)


@pytest.mark.parametrize("said", [NAN, INF, -1.0, -INF])
def test_no_bound_is_no_proof(said: float) -> None:
    problem = Stated((0.5, said))
    found = search(problem, UNIT, goal=2.0, boxes=200)
    assert found.stopped is Stop.BOXES
    assert found.upper == (0.5, INF)
    assert len(found.tree) == 1, "a division that brought nothing is left out"
    assert search(problem, UNIT).upper == (0.5, INF)
    assert search(problem, UNIT, gap=1.0, boxes=200).upper == (0.5, INF)


def test_what_is_unprovable_says_why() -> None:
    found = search(Stated((1.0,), "ln of 0"), UNIT, goal=5.0, boxes=50)
    assert (found.stopped, found.upper, found.why) == (Stop.BOXES, (INF,), "ln of 0")


def test_unknown_in_a_region() -> None:
    box = Box((-1.0,), (1.0,))
    found = search(Pole(), box, goal=1e4, boxes=5000)
    assert found.stopped is Stop.REFUTED
    assert found.upper == (INF,)
    away = Box((1e-3,), (1.0,))
    found = search(Pole(), away, gap=0.01)
    assert 1e3 <= found.upper[0] <= 1.01e3
    proves(found, Pole(), away)


def test_precision_is_raised_until_it_suffices() -> None:
    box = Box((-1.0,), (1.0,))
    found = search(Cancelling(), box, gap=1e-3)
    assert found.bits > 200
    assert found.stopped is Stop.GAP
    proves(found, Cancelling(), box)
    alone = search(Cancelling(), box)
    assert alone.bits > 200
    assert 4 / 3 <= found.upper[0] <= 1.34
    assert 4 / 3 <= alone.upper[0] <= 1.34


@dataclass(frozen=True)
class Deep:
    """|x| + 2^−bits·2^70, and nothing at all where a box is wide and bits are few: more bits help deep in the tree."""

    quantities = 1

    def upper(self, box: Box, bits: int) -> tuple[float, ...]:
        if box.high[0] - box.low[0] > 0.3:
            return (NAN,)
        return (max(-box.low[0], box.high[0]) + 2.0 ** (70 - min(bits, 1000)),)

    def at(self, point: Point, bits: int) -> tuple[tuple[float, float], ...]:
        return ((abs(point[0]), abs(point[0])),)


def test_precision_is_raised_deep_in_the_tree() -> None:
    found = search(Deep(), UNIT, gap=0.01, known=[(1.0,)])
    assert found.stopped is Stop.GAP
    assert FIRST < found.bits <= 256
    proves(found, Deep(), UNIT)
    assert 1 <= found.upper[0] <= 1.01


def test_a_zero_quantity_is_settled() -> None:
    found = search(Waves(0.0), SQUARE, gap=0.1)
    assert (found.upper, found.lower, found.points, found.stopped) == ((0.0,), (0.0,), (None,), Stop.GAP)
    assert search(Waves(0.0), SQUARE, goal=0.0).stopped is Stop.GOAL


def test_a_single_point_is_a_box() -> None:
    box = Box((0.3, 0.4), (0.3, 0.4))
    found = search(Waves(), box, gap=1e-9)
    assert (found.stopped, len(found.tree)) == (Stop.GAP, 1)
    assert search(Waves(), box, gap=0.0).stopped is Stop.STUCK
    assert search(Waves(), Box((0.3, 0.0), (0.3, 2.0)), gap=0.01).stopped is Stop.GAP


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1.7e308, 1.7e308), (0.0, 1.5e-323), (1.0, math.nextafter(1.0, 2)), (1e16, 1e16 + 4), (-5e-324, 5e-324)],
)
def test_boxes_of_all_extents(low: float, high: float) -> None:
    box = Box((low, 0.0), (high, 1.0))
    tall = Box((0.0, low), (1.0, high))
    for where in (box, tall):
        found = search(Capricious(), where, gap=1e-9, boxes=400)
        proves(found, Capricious(), where)
        covers(found.tree, where, [where.low, where.high, where.centre])


def test_bounds_that_rise_when_a_box_is_halved() -> None:
    for boxes in (1, 7, 50, 1000):
        found = search(Capricious(), UNIT, gap=0.1, boxes=boxes)
        proves(found, Capricious(), UNIT)
        assert found.upper[0] >= 1
    assert found.upper[0] <= search(Capricious(), UNIT).upper[0]


def test_budgets() -> None:
    assert search(Waves(), SQUARE, gap=1e-9, boxes=100).stopped is Stop.BOXES
    assert search(Waves(), SQUARE, gap=1e-9, boxes=1).boxes == 1
    begun = time.monotonic()
    found = search(Slow(0.01), UNIT, gap=1e-9, seconds=0.3)
    assert found.stopped is Stop.SECONDS
    assert 0.3 <= time.monotonic() - begun < 2
    proves(found, Slow(), UNIT)
    assert found.upper[0] < search(Slow(), UNIT).upper[0]


def test_more_budget_is_never_worse() -> None:
    bounds = [search(Waves(), SQUARE, gap=0.0, boxes=boxes).upper[0] for boxes in (1, 10, 100, 1000, 4000)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < bounds[0]


class Interrupted(Waves):
    """Ctrl-C while the box of this number is evaluated."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.numbers = iter(range(1, after))

    def upper(self, where: Box, bits: int) -> tuple[float, ...]:
        if next(self.numbers, None) is None:
            raise KeyboardInterrupt
        return super().upper(where, bits)


@pytest.mark.parametrize("after", [1, 2, 3, 4, 5, 40, 333])
def test_an_interrupted_search_keeps_what_it_has(after: int) -> None:
    found = search(Interrupted(after), SQUARE, gap=1e-6)
    assert found.stopped is Stop.INTERRUPTED
    assert found.upper[0] >= CORNER
    if after > 1:
        proves(found, Waves(), SQUARE)
    else:
        assert found.upper == (INF,)


def test_a_mistake_in_a_problem_is_not_a_bound() -> None:
    with pytest.raises(ValueError, match="2 bounds for 1"):
        uppers(_TwoForOne(), UNIT, 64)


class _TwoForOne(Waves):
    def upper(self, where: Box, bits: int) -> tuple[float, ...]:
        return 1.0, 2.0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"goal": NAN}, "goal = nan"),
        ({"goal": -1.0}, "goal = -1"),
        ({"gap": INF}, "gap = inf"),
        ({"boxes": 0}, "boxes = 0"),
        ({"seconds": NAN}, "seconds = nan"),
        ({"seconds": 0.0}, "seconds = 0"),
        ({"workers": 0}, "workers = 0"),
        ({"known": [(3.0, 0.0)]}, "not in the box"),
        ({"known": [(NAN, 0.0)]}, "not in the box"),
    ],
)
def test_arguments_are_checked(options: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        search(Waves(), SQUARE, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("box", [Box((1.0,), (0.0,)), Box((NAN,), (0.0,)), Box((0.0,), (INF,))])
def test_a_box_is_a_box(box: Box) -> None:
    with pytest.raises(UsageError, match="a box needs"):
        search(Capricious(), box)


def test_a_box_with_too_many_sides() -> None:
    """Of 64 sides a search with 4096 boxes halves 12: it ends early, unless these are the ones that matter."""
    box = Box((0.0,) * 64, (1.0,) * 64)
    result = search(Widths(64), box, goal=1.0, boxes=4096, workers=1)
    proves(result, Widths(64), box)
    assert (result.stopped, result.stopped.early) == (Stop.SIDES, True)
    assert result.boxes < 4096 / 8
    assert result.upper[0] < 64
    assert search(Widths(6), box, goal=3.0, boxes=4096, workers=1).stopped is Stop.GOAL
    few = Box((0.0,) * 8, (1.0,) * 8)
    assert search(Widths(8), few, goal=0.5, boxes=4096, workers=1).stopped is Stop.BOXES
