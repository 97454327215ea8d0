"""Which registers hold what: live ranges never meet, gaps are filled, and what is freed is free."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import integraph
from integraph import Graph, build
from integraph.constructions.graph import emit
from integraph.constructions.graph.allocation import FREES
from integraph.constructions.graph.layout import GraphLayout, program
from integraph.constructions.graph.magnitude import magnitudes
from integraph.constructions.graph.packing import RegisterLot, gap, packed
from integraph.constructions.graph.runs import INPUT
from integraph.constructions.graph.schedule import ALWAYS
from integraph.program.views import dense
from integraph.targets.graph_builder import Builder
from law import examples
from random_graphs import graphs, laid

R = 45.0
CHAIN = "tanh(2*tanh(3*tanh(x+y)+y)+x)"


def points(graph: Graph, count: int = 5) -> np.ndarray:
    return np.random.default_rng(2).random((count, graph.inputs))


def held(chosen: GraphLayout, lot: RegisterLot, segments: int, x: np.ndarray) -> float:
    """The largest number in its registers after so many segments."""
    found = emit.segments(chosen.tape, chosen.time, chosen.allocation, chosen.free, R)[:segments]
    registers = emit.registers(chosen.tape, chosen.allocation)
    return float(np.max(np.abs(build(registers, found, dense(lot.place, (lot.size,)))(x))))


def saturated(layers: int, size: float = 100.0) -> Graph:
    """A chain of tanh layers whose arguments are as large as ±`size`."""
    text = "x + y"
    for n in range(layers):
        text = f"tanh({size}*({text}) - {size / 2 * (n + 1)})"
    return integraph.graph(text)


@examples(80)
@given(graphs(), st.sampled_from(FREES))
def test_every_policy_computes_the_graph(graph: Graph, free: str) -> None:
    x = points(graph)
    true = graph.values(x)
    found = program(laid(graph, free), R, "random")(x)
    np.testing.assert_allclose(found, true, rtol=0, atol=1e-11 * (1 + np.max(np.abs(true))))


@examples(150)
@given(graphs(), st.sampled_from(FREES))
def test_live_ranges_never_meet(graph: Graph, free: str) -> None:
    """In every segment a register belongs to one lot at most, the one it is freed in included."""
    chosen = laid(graph, free)
    lots, width = chosen.allocation.lots, chosen.allocation.width
    for segment in range(-1, chosen.time.depth):
        owners = np.zeros(width, np.int64)
        for lot in lots:
            if lot.first <= segment <= lot.last + lot.freed:
                owners[lot.place : lot.place + lot.size] += 1
        assert owners.max(initial=0) <= 1, segment


@examples(80)
@given(graphs(), st.sampled_from(FREES))
def test_lots_live_as_long_as_somebody_reads_them(graph: Graph, free: str) -> None:
    """From the program's own blocks: whatever a segment reads or writes belongs to a lot that is alive."""
    chosen = laid(graph, free)
    built = program(chosen, R, "random")
    for number, segment in enumerate(built.segments):
        alive = np.zeros(built.width, np.bool_)
        for lot in chosen.allocation.lots:
            alive[lot.place : lot.place + lot.size] |= lot.first <= number <= lot.last + lot.freed
        for block in segment.blocks:
            for ref in (*block.targets, *block.operands):
                assert alive[ref.indices()].all(), (segment.label, block.op.name)
    kept = np.zeros(built.width, np.bool_)
    for lot in chosen.allocation.lots:
        kept[lot.place : lot.place + lot.size] |= lot.last >= ALWAYS
    assert kept[built.readout.indices].all()


@examples(80)
@given(graphs())
def test_width_against_depth(graph: Graph) -> None:
    """Freeing costs no segment and never a register."""
    kept, cleaned, decayed = (laid(graph, free) for free in FREES)
    assert kept.time.depth == cleaned.time.depth == decayed.time.depth
    assert kept.allocation.width == sum(lot.size for lot in kept.allocation.lots)
    assert max(cleaned.allocation.width, decayed.allocation.width) <= kept.allocation.width
    assert not any(lot.freed for lot in kept.allocation.lots)
    least = 0
    for segment in range(kept.time.depth):
        least = max(least, sum(lot.size for lot in decayed.allocation.lots if lot.first <= segment <= lot.last))
    assert least <= decayed.allocation.width


@pytest.mark.slow
@examples(80)
@given(graphs(), st.sampled_from(("clean", "decay")))
def test_what_is_freed_is_back_at_its_start(graph: Graph, free: str) -> None:
    """To 1e-12 of what was there after cleaning, to e^−r of it after decay."""
    chosen = laid(graph, free)
    freed = [lot for lot in chosen.allocation.lots if lot.freed]
    assume(freed)
    x = points(graph)
    for lot in freed:
        before, after = (held(chosen, lot, lot.last + n, x) for n in (1, 2))
        assert after <= (1e-12 * (1 + before) if free == "clean" else 1.001 * math.exp(-R) * before)


@examples(80)
@given(graphs())
def test_magnitudes_bound_what_registers_hold(graph: Graph) -> None:
    """In the end of the flow, where everything is kept."""
    chosen, x = laid(graph), points(graph)
    known = magnitudes(chosen.tape)
    states = program(chosen, R, "").flow(x, states=True).states
    for lot in chosen.allocation.lots:
        largest = np.max(np.abs(states[:, lot.place : lot.end]))
        assert largest <= (1 + 1e-12) * known.end[lot.atoms[-1]]
        if lot.atoms[-1] in known.cleaned:
            assert largest <= (1 + 1e-12) * known.cleaned[lot.atoms[-1]]


def test_magnitudes_of_one_formula() -> None:
    """Sums count by their terms where they are cleaned; what nothing is known of starts as if it were tiny."""
    chosen = laid("tanh(1000*x - 999*y) + ln(tan(x))", box=(1.0, 1.25))
    known, atoms = magnitudes(chosen.tape), enumerate(chosen.tape.atoms)
    (arg, alpha, lam, u) = (next(n for n, a in atoms if a.letters == s) for s in ("z", "alpha", "lam", "u"))
    assert known.cleaned[arg] == 1000 * 1.25 + 999 * 1.25
    assert known.end[arg] == known.start[arg] == 1000 * 1.25 - 999
    assert known.start[alpha] == known.end[alpha] == 1
    assert known.cleaned[lam] == known.end[arg]
    assert (known.end[u], known.start[u]) == (math.inf, 0.0)


def test_only_polynomials_are_cleaned() -> None:
    """Sums and λ = x·tanh x, but never what a contracting gadget computed; an input is not ours to clean."""
    chosen = laid(CHAIN, "clean")
    assert {chosen.tape.atoms[n].letters for n in chosen.allocation.left} == {"z", "lam"}
    first = [chosen.tape.atoms[lot.atoms[0]] for lot in chosen.allocation.lots if lot.freed]
    assert [atom.letters for atom in first if atom.run == INPUT or atom.letters == "alpha"] == []


def squares() -> Graph:
    """((x − y)²)² and more of it: a sum of a sum of a sum, each read only by the next, while a net goes on."""
    b = Builder("squares")
    x, y = (b.input(name, (3,)) for name in "xy")
    even = b.power(b.apply("sub", x, y), 8)
    deep = even
    for n in range(5):
        deep = b.apply("tanh", b.apply("add", b.apply("mul", deep, b.constant(np.full(3, 2.0 + n))), b.constant(0.1)))
    return b.graph([deep])


IN_PLACE = "tanh(2*tanh(2*tanh(3*tanh(2*x+y)+1)+1)+1) + x*exp(y)"


@pytest.mark.parametrize("source", [CHAIN, IN_PLACE, squares()], ids=["chain", "in place", "squares"])
def test_what_cleaning_needs_is_still_there(source: Any) -> None:
    """Nobody takes its registers over, and it stays until the cleaning is done."""
    chosen, graph = laid(source, "clean"), integraph.graph(source)
    owner = {atom: lot for lot in chosen.allocation.lots for atom in lot.atoms}
    assert any(lot.freed for lot in owner.values())
    for number, left in chosen.allocation.left.items():
        for needed in frozenset().union(*(start.form.atoms for start in left)):
            assert owner[needed].last > owner[number].last
            assert owner[needed].atoms[-1] == needed
    x = points(graph)
    np.testing.assert_allclose(program(chosen, R, "")(x), graph.values(x), rtol=0, atol=1e-13)


def test_inputs_decay_too() -> None:
    chosen = laid("erf(2*tanh(x*y) + tanh(tanh(tanh(x))))", "decay")
    lots = [lot for lot in chosen.allocation.lots if lot.freed and chosen.tape.atoms[lot.atoms[0]].run == INPUT]
    assert len(lots) == 2
    assert [lot.place for lot in chosen.allocation.lots[:2]] == [0, 1], "y(0) = (x, 0, …)"


@pytest.mark.parametrize("free", FREES)
@pytest.mark.parametrize("layers", [1, 2, 6])
def test_saturated_nets_stay_accurate(free: str, layers: int) -> None:
    graph = saturated(layers)
    x = points(graph, 40)
    assert np.max(np.abs(graph.values(x))) > 1 - 1e-12
    for engine in ("exact", "taylor"):
        found = program(laid(graph, free), R, "net")(x, engine)
        np.testing.assert_allclose(found, graph.values(x), rtol=0, atol=1e-11)


def test_width_of_a_chain_does_not_grow_under_decay() -> None:
    """Three registers a layer are kept; the ones before the last are used again."""
    widths = {free: [laid(saturated(n, 2.0), free).allocation.width for n in (4, 6, 8)] for free in FREES}
    assert np.diff(widths["keep"]).tolist() == [6, 6]
    assert np.diff(widths["decay"]).tolist() == [0, 0]
    assert all(k > c > d for k, c, d in zip(widths["keep"], widths["clean"], widths["decay"], strict=True))


@examples(300)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 5)), max_size=7), st.integers(1, 6))
def test_the_smallest_gap_that_fits(taken: list[tuple[int, int]], need: int) -> None:
    """By hand: runs of free registers between what is there."""
    place, size = (np.array([pair[k] for pair in taken], np.int64) for k in (0, 1))
    busy = np.zeros(int(np.max(place + size, initial=0)), np.bool_)
    for start, length in taken:
        busy[start : start + length] = True
    gaps, at = [], 0
    for occupied, group in itertools.groupby(busy):
        length = len(list(group))
        gaps += [(length, at)] if not occupied and length >= need else []
        at += length
    assert gap(place, size, need) == (min(gaps)[1] if gaps else len(busy))


def test_best_fit() -> None:
    """A hole of two and one of three: what needs two goes into the first, what needs three into the other."""
    sizes_and_lives = [(1, -1, ALWAYS), (3, 0, 1), (9, 0, ALWAYS), (2, 0, 1), (8, 0, ALWAYS), (2, 3, 4), (3, 3, 4)]
    lots = [RegisterLot([n], *one) for n, one in enumerate(sizes_and_lives)]
    packed(lots, [True] * len(lots))
    assert (lots[6].place, lots[5].place) == (lots[1].place, lots[3].place)
    assert [lot.freed for lot in lots] == [False, True, False, True, False, False, False]
    assert max(lot.place + lot.size for lot in lots) == 1 + 3 + 9 + 2 + 8
    early = [RegisterLot([n], *one) for n, one in enumerate([(1, -1, 0), (2, 0, 1), (2, 2, 3)])]
    packed(early, [True] * 3)
    assert early[2].place != early[1].place, "the segment after the last use is for freeing"
    packed(early, [False] * 3)
    assert [lot.place for lot in early] == [0, 1, 3], "nothing can be freed"


def test_layouts_print_the_table() -> None:
    found = integraph.layouts(CHAIN)
    widths = [laid(CHAIN, free).allocation.width for free in FREES]
    rows = [line.split() for line in str(found).splitlines()[1:]]
    assert rows == [["free", "W", "D"], *([free, str(w), "6"] for free, w in zip(FREES, widths, strict=True))]
    assert repr(found) == str(found)
    for free in ("keep", "clean"):
        assert integraph.compile(CHAIN, free=free).width == widths[FREES.index(free)]


def test_scores_with_a_mask_are_not_cleaned() -> None:
    """−1e9 takes the last digits of what it is added to; a register that is used again must not hold what is left."""
    b = Builder("masked")
    scores = b.apply("add", b.input("x", (2, 2)), b.constant([[0.0, -1e9], [0.0, 0.0]]))
    late = b.apply("sin", b.log_softmax(scores))
    graph = b.graph(
        [b.apply("tanh", b.apply("slice", b.apply("mul", late, b.constant(9.751)), data=((0, 1, 2), (0, 1, 1))))]
    )
    x = np.random.default_rng(3).uniform(-2, -0.5, (20, 4))
    program = integraph.compile(graph, free="clean", box=(-2, -0.5))
    np.testing.assert_allclose(program(x), graph.values(x), rtol=0, atol=1e-13)
