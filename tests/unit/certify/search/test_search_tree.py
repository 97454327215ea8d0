"""A divided box: trees that do not divide it are refused, divisions that bring nothing are left out."""

from __future__ import annotations

import io
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph import progress
from integraph.certify.certificate.tree import Leaf, Split, Tree, leaves
from integraph.certify.problem import Box, Point
from integraph.certify.search.bisection import BoxPart, Job, divide, is_settled, is_tighter, next_bits, sizes
from integraph.certify.search.branch_and_bound import search, urgency
from integraph.certify.search.search_tree import SearchNode, harvest, middle, over
from integraph.numbers.arb.conversion import MOST
from toy_problems import Cancelling, Stated, Waves

NAN, INF = math.nan, math.inf
UNIT, SQUARE = Box((0.0,), (1.0,)), Box((0.0, 0.0), (1.0, 2.0))
LEAF = Leaf(64, (1.0,))
HALF = Split(0, 0.5)


def test_the_parts_of_a_tree() -> None:
    low, middle_, high = Leaf(64, (1.0,)), Leaf(128, (2.0,)), Leaf(256, (3.0,))
    found = list(leaves((HALF, low, Split(1, 1.5), middle_, high), SQUARE))
    assert found == [
        (Box((0.0, 0.0), (0.5, 2.0)), low),
        (Box((0.5, 0.0), (1.0, 1.5)), middle_),
        (Box((0.5, 1.5), (1.0, 2.0)), high),
    ]


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        ((), "0 nodes, 1 boxes"),
        ((HALF,), "1 nodes, 2 boxes"),
        ((HALF, LEAF), "2 nodes, 1 boxes"),
        ((LEAF, LEAF), "node 1 of 2"),
        ((HALF, LEAF, LEAF, LEAF), "node 3 of 4"),
        ((Split(1, 0.5), LEAF, LEAF), "axis 1"),
        ((Split(-1, 0.5), LEAF, LEAF), "axis -1"),
        ((Split(0, 1.0), LEAF, LEAF), "not inside"),
        ((Split(0, 0.0), LEAF, LEAF), "not inside"),
        ((Split(0, 7.0), LEAF, LEAF), "not inside"),
        ((Split(0, NAN), LEAF, LEAF), "not inside"),
        ((HALF, LEAF, Split(0, 0.25), LEAF, LEAF), "not inside"),
    ],
)
def test_a_malformed_tree_is_refused(tree: Tree, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        list(leaves(tree, UNIT))


@given(st.data())
def test_any_tree_covers_its_box(data: st.DataObject) -> None:
    box = Box((-1.0, 0.0, 2.0), (1.0, 0.5, 1e3))
    tree: list[Split | Leaf] = []
    waiting = [box]
    while waiting:
        part = waiting.pop()
        split = middle(part, box) if len(tree) < 40 and data.draw(st.booleans()) else None
        tree.append(split or LEAF)
        if split:
            waiting += part.split(split.axis, split.at)[::-1]
    point = tuple(data.draw(st.floats(a, b)) for a, b in zip(box.low, box.high, strict=True))
    parts = list(leaves(tuple(tree), box))
    assert any(all(a <= x <= b for a, x, b in zip(p.low, point, p.high, strict=True)) for p, _ in parts)
    volume = sum(math.prod(b - a for a, b in zip(p.low, p.high, strict=True)) for p, _ in parts)
    assert volume == pytest.approx(2 * 0.5 * 998)


def test_the_relatively_widest_axis_is_halved() -> None:
    assert middle(SQUARE, SQUARE) == Split(0, 0.5)
    assert middle(Box((0.0, 0.0), (0.5, 2.0)), SQUARE) == Split(1, 1.0)
    assert middle(Box((0.0, 1.0), (0.5, 2.0)), SQUARE) == Split(0, 0.25)
    assert middle(Box((-1.7e308,), (1.7e308,)), Box((-1.7e308,), (1.7e308,))) == Split(0, 0.0)
    assert middle(Box((0.0,), (1e-323,)), UNIT) == Split(0, 5e-324)
    assert middle(Box((0.0, 1.0), (5e-324, 1.0)), SQUARE) is None
    assert middle(Box((0.0, 1.0), (5e-324, 1.5)), Box((0.0, 1.0), (5e-324, 100.0))) == Split(1, 1.25)


def part(*bounds: float, bits: int = 64) -> BoxPart:
    return BoxPart(bits, bits, bounds, None)


def test_divisions_that_bring_nothing_are_left_out() -> None:
    halves = Box((0.0,), (0.5,)), Box((0.5,), (1.0,))
    quarters = halves[0].split(0, 0.25)

    def grown(root: BoxPart, low: BoxPart, high: BoxPart, *deeper: BoxPart) -> list[SearchNode]:
        nodes = [SearchNode(UNIT, root, (HALF, 1, 2)), SearchNode(halves[0], low), SearchNode(halves[1], high)]
        if deeper:
            nodes[1].halves = Split(0, 0.25), 3, 4
            nodes += [SearchNode(quarters[0], deeper[0]), SearchNode(quarters[1], deeper[1])]
        return nodes

    assert harvest(grown(part(2.0), part(1.0), part(1.5))) == (HALF, Leaf(64, (1.0,)), Leaf(64, (1.5,)))
    assert harvest(grown(part(2.0), part(3.0), part(1.5))) == (Leaf(64, (2.0,)),)
    assert len(harvest(grown(part(2.0, 1.0), part(1.0, 3.0), part(1.0, 1.0)))) == 3, "each has its better bound"
    kept = harvest(grown(part(2.0), part(1.0), part(1.5), part(0.5), part(0.5)))
    assert kept == (HALF, Leaf(64, (1.0,)), Leaf(64, (1.5,))), "1.5 needs no quarters"
    assert len(harvest(grown(part(2.0), part(1.0), part(0.7), part(0.5), part(0.5)))) == 5
    assert harvest(grown(part(1.8), part(1.0), part(1.5), part(2.0), part(0.5))) == kept, "2.0 is no reason for 1.8"


def test_bounds_are_largest_over_parts() -> None:
    assert over([(1.0, INF), (3.0, 0.0), (2.0, 5.0)]) == (3.0, INF)


def test_what_is_settled() -> None:
    assert is_settled(1.0, 1.0)
    assert is_settled(0.0, 0.0)
    assert not is_settled(1.1, 1.0)
    assert not is_settled(NAN, 1.0)
    assert not is_settled(1.0, NAN)
    assert not is_settled(INF, INF)


def test_the_most_urgent_is_farthest_from_its_goal() -> None:
    assert urgency((1.0, 5.0), (1.0, 5.0)) is None
    assert urgency((2.0, 5.5), (1.0, 5.0)) == (-2.0, -2.0)
    order = [(INF,), (9.0,), (2.0,)]
    assert sorted(order, key=lambda bounds: urgency(bounds, (1.0,)) or (0.0, 0.0)) == order
    assert sorted(order, key=lambda bounds: urgency(bounds, (0.0,)) or (0.0, 0.0)) == order


def test_precisions_to_try() -> None:
    assert next_bits(BoxPart(64, 64, (1.0,), None)) == 128
    assert next_bits(BoxPart(64, 512, (1.0,), None)) == 1024
    assert next_bits(BoxPart(64, MOST, (1.0,), None)) == 128
    assert next_bits(BoxPart(MOST, MOST, (1.0,), None)) is None
    assert is_tighter((0.9,), (1.0,), (0.0,))
    assert is_tighter((0.9,), (INF,), (0.0,))
    assert not is_tighter((0.995,), (1.0,), (0.0,))
    assert not is_tighter((0.5, 2.0), (1.0, 2.0), (1.0, 0.0)), "what is settled needs no better bound"


def test_both_halves_are_bounded() -> None:
    found = divide(Waves(), Job(SQUARE, 0, 0.5, part(3.0), (0.0,), (0.0,)))
    halves = SQUARE.split(0, 0.5)
    assert [found.lower.uppers, found.upper.uppers] == [Waves().upper(box, 64) for box in halves]
    assert found.lower.centre == (sizes(Waves(), (0.25, 1.0), 64)[0][0],)
    assert found.boxes == 2
    quiet = divide(Waves(), Job(SQUARE, 0, 0.5, part(3.0), (0.0,), (5.0,)))
    assert quiet.lower.centre is quiet.upper.centre is None


def test_halves_that_are_no_better_get_more_bits() -> None:
    problem, box = Cancelling(), Box((-1.0,), (1.0,))
    found = divide(problem, Job(box, 0, 0.0, part(*problem.upper(box, 64)), (0.0,), (0.0,)))
    assert (found.lower.bits, found.upper.bits, found.boxes) == (128, 128, 4)
    assert [found.lower.uppers, found.upper.uppers] == [problem.upper(half, 128) for half in box.split(0, 0.0)]
    content = divide(problem, Job(box, 0, 0.0, part(*problem.upper(box, 64)), (1e99,), (0.0,)))
    assert (content.lower.bits, content.boxes) == (64, 2)


class _Silly(Stated):
    def at(self, point: Point, bits: int) -> tuple[tuple[float, float], ...]:
        return ((2.0, 1.0), (NAN, NAN), (INF, INF), (-1.0, 1.0), (0.5, NAN))


def test_values_that_cannot_be_are_unknown() -> None:
    assert sizes(_Silly((1.0,) * 5), (0.0,), 64) == ((0.0, INF),) * 5
    assert sizes(_Silly((1.0,) * 4), (0.0,), 64) == ((0.0, INF),) * 4


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_long_search_shows_a_bar_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen := _Terminal())
    search(Waves(), SQUARE, gap=0.01)
    assert screen.getvalue() == "", "it was over in a moment"
    monkeypatch.setattr(progress, "AFTER", 0.0)
    search(Waves(), SQUARE, gap=0.01, progress=False)
    assert screen.getvalue() == ""
    search(Waves(), SQUARE, gap=0.01)
    assert "proving: ≤" in screen.getvalue()
    monkeypatch.setattr(sys, "stderr", plain := io.StringIO())
    search(Waves(), SQUARE, gap=0.01)
    assert plain.getvalue() == ""
