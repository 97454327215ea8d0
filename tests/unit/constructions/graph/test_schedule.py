"""When a graph's runs happen: together, on the critical path, once, in place, late or not at all."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erf

import integraph
from integraph import Graph
from integraph.constructions.graph import forms
from integraph.constructions.graph.allocation import FREES
from integraph.constructions.graph.forms import constant
from integraph.constructions.graph.layout import GraphLayout, layout, program
from integraph.constructions.graph.runs import NOBODY, Run, RunTape, needed_runs, starts
from integraph.constructions.graph.schedule import schedule
from integraph.program.views import dense
from integraph.targets.graph_builder import Builder
from law import examples
from random_graphs import graphs, laid

X = np.random.default_rng(1).random((7, 2))
x, y = X.T


def run_of(chosen: GraphLayout, atom: str) -> int:
    (found,) = {a.run for a in chosen.tape.atoms if a.name == atom}
    return found


def sizes(source: Any) -> tuple[int, int]:
    chosen = laid(source)
    return chosen.allocation.width, chosen.time.depth


@pytest.mark.parametrize("free", FREES)
def test_two_branches_share_a_segment(free: str) -> None:
    """Both arguments are computed at once, then both functions; the deeper branch decides the depth."""
    built = program(laid(["tanh(x+y)", "erf(tanh(x-y)+x)"], free), 45.0, "two")
    gadgets = [{block.op.name for block in segment.blocks} for segment in built.segments]
    assert gadgets[1] >= {"tanh"}
    assert [sum(block.op.name == "tanh" for block in segment.blocks) for segment in built.segments] == [0, 2, 0, 0]
    assert built.segments[1].label == "tanh(x+y); tanh(x-y)"
    assert built.depth == 4
    wanted = np.stack([np.tanh(x + y), erf(np.tanh(x - y) + x)], 1)
    np.testing.assert_allclose(built(X), wanted, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("formula", "width", "depth"),
    [
        ("x", 1, 0),  # the read-out alone
        ("2*x - y", 2, 0),
        ("2*x + 1", 2, 1),  # a register for the 1
        ("x*y - x^2 + 3", 3, 1),
        ("x*exp(y)", 2, 1),  # in place
        ("exp(x)*exp(y)", 3, 2),  # one run
        ("tanh(x)", 3, 1),
        ("tanh(tanh(tanh(x)))", 7, 3),  # each reads the registers of the one before
        ("tanh(2*tanh(2*tanh(x)))", 9, 5),  # arguments between them
        ("sin(3*x)*exp(-y)/(1+x*y)", 5, 2),
        ("tanh(x) + tanh(y) + atan(x) + erf(y)", 11, 2),  # atan takes x over
    ],
)
def test_width_and_depth(formula: str, width: int, depth: int) -> None:
    assert sizes(formula) == (width, depth)


def critical(tape: RunTape, taken: dict[int, int]) -> int:
    """The longest path by definition: a stage takes a segment; a sum, or a load before the first stage, one more."""
    ready: dict[int, int] = defaultdict(int)  # how many segments it takes until an atom is there
    busy: dict[int, int] = defaultdict(int)
    for run in tape.runs:
        fresh = [atom for atom in run.atoms if run.starts.get(atom) and atom not in taken]
        sources = {source for atom in fresh for source in run.sources(atom)}
        old = [taken[atom] for atom in run.atoms if atom in taken]
        loaded = max((ready[s] for s in sources), default=0) + 1 if fresh else 0
        begin = (
            max([loaded, *(ready[a] for a in (*run.reads, *old)), *(busy[a] for a in old)]) if run.stages else loaded
        )
        end = begin + len(run.stages)
        for source in sources:
            busy[source] = max(busy[source], begin)
        for read in run.reads:
            busy[read] = max(busy[read], end)
        ready.update(dict.fromkeys(run.atoms, end))
    return max(ready.values(), default=0)


@examples(60)
@given(graphs(), st.sampled_from(FREES))
def test_the_depth_is_the_critical_path(graph: Graph, free: str) -> None:
    chosen = laid(graph, free)
    assert chosen.time.depth == critical(chosen.tape, chosen.time.taken)


@examples(60)
@given(graphs())
def test_nobody_reads_what_is_not_there(graph: Graph) -> None:
    chosen = laid(graph)
    time = chosen.time
    for number, run in enumerate(chosen.tape.runs):
        assert time.end[number] - time.begin[number] == max(len(run.stages), 1) - 1
        assert time.load[number] == time.begin[number] - bool(run.stages)
        assert all(chosen.ready(atom) < time.begin[number] for atom in run.reads - set(run.atoms))
        for atom in run.atoms:
            if atom in time.taken:
                assert chosen.ready(time.taken[atom]) < time.begin[number]
            elif run.starts.get(atom):
                assert all(chosen.ready(source) < time.load[number] for source in run.sources(atom))


def test_what_is_used_twice_is_computed_once() -> None:
    once = laid("tanh(x+y)")
    for formula in ("tanh(x+y) + 2*tanh(x+y)", "tanh(x+y) - 3*tanh(y+x)", "sin(tanh(x+y)) * exp(tanh(x+y))"):
        texts = [run.text for run in laid(formula).tape.runs]
        assert sum(text == "tanh(x+y)" for text in texts) == len(once.tape.runs), formula
    assert len(laid("sin(3*x)").tape.runs) == len(laid("sin(3*x) + cos(3*x)").tape.runs) == 1, "a sine has its cosine"
    assert len(laid("sinh(x)*exp(y) + sinh(x)").tape.runs) == 2
    tape = RunTape()
    a = tape.input("a", (3,))
    twice, more = forms.scaled(a, 2.0), forms.add(a, a)
    assert tape.sum(twice, "2a").atoms == tape.sum(more, "a + a").atoms != tape.sum(forms.scaled(a, 3.0), "3a").atoms
    assert tape.sum(a, "a") is a, "registers are not copied"


def test_dead_runs_vanish() -> None:
    tape = RunTape()
    a = tape.input("a", (2,))
    kept = tape.sum(forms.scaled(a, 2.0), "kept")
    dead = tape.sum(forms.scaled(kept, 3.0), "dead")
    tape.sum(forms.scaled(dead, 4.0), "dead too")
    last = tape.sum(forms.product(kept, a), "last")
    found = needed_runs(tape, last.atoms)
    assert [run.text for run in found.runs] == ["kept", "last"]
    assert [atom.run for atom in found.atoms] == [-1, 0, NOBODY, NOBODY, 1]
    built = program(layout(tape, [last], "keep"), 40.0, "two")
    assert (built.width, built.depth) == (6, 2)
    np.testing.assert_allclose(built([[1.0, 3.0]]), [[2.0, 18.0]], rtol=1e-15)


@pytest.mark.parametrize(
    ("formula", "in_place"),
    [
        ("x*exp(y)", True),
        (["x*exp(y)", "x"], False),  # the read-out needs x
        ("x*exp(x*y)", True),  # after x·y is computed
        ("x*exp(x)", False),  # the run itself reads x
        ("tanh(x) + x*exp(y)", True),  # after tanh is done
        ("tanh(x + y*exp(x)) + x*exp(y)", False),
    ],
)
def test_takeover_in_place(formula: Any, in_place: bool) -> None:
    """A product that starts as a copy of registers which nobody reads any more runs in them."""
    chosen = laid(formula)
    names = [chosen.tape.atoms[n].name for n in chosen.time.taken]
    assert ("z(x*exp" in "".join(names)) == in_place
    for new, old in chosen.time.taken.items():
        assert chosen.allocation.place[new] == chosen.allocation.place[old]
    points = X[:, : integraph.graph(formula).inputs]
    true = integraph.graph(formula).values(points)
    for free in FREES:
        np.testing.assert_allclose(program(laid(formula, free), 50.0, "")(points), true, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("stages", "taken", "begin"), [(1, {}, 1), (2, {4: 0}, 2), (3, {4: 0}, 3)])
def test_only_a_run_that_waits_anyway_runs_in_place(stages: int, taken: dict[int, int], begin: int) -> None:
    """One that reads `a` is done after two segments; what would take `a` over needs `late`."""
    tape = RunTape()
    a, late = tape.input("a", ()), tape.atom("late", ())
    tape.add(Run("late", (late,), {}, frozenset(), (lambda where: (),) * stages))
    reader = tape.atom("reader", ())
    tape.add(Run("reader", (reader,), {}, a.atoms, (lambda where: (),) * 2))
    spare = tape.sum(forms.scaled(a, 2.0), "spare")
    new = tape.atom("new", ())
    tape.add(Run("new", (new,), {new: starts([(dense(0, ()), a)])}, frozenset({late}), (lambda where: (),)))
    found = schedule(tape, {reader, new, *spare.atoms})
    assert (found.taken, found.begin[-1]) == (taken, begin)


def test_constants_wait_for_the_last_segment() -> None:
    chosen = laid("tanh(tanh(x + 1)) + 3")
    one = run_of(chosen, "one")
    assert chosen.time.load[one] == chosen.time.end[one] == chosen.time.depth - 1
    used_early = laid(["tanh(tanh(x)) + 0*y", "3"])
    assert used_early.time.depth == 2
    tape = RunTape()
    a = tape.input("a", ())
    number = tape.sum(constant((), 2.0), "two")
    product = tape.sum(forms.product(a, number), "product")
    assert schedule(tape, product.atoms).load == (0, 1), "a number that somebody reads does not wait"


def test_names() -> None:
    """Registers are called after what they hold, segments after what they compute."""
    built = integraph.compile("tanh(x*y + tanh(x)) + 2")
    inner, outer = "tanh(x)", "tanh(x*y + tanh(x))"
    names = ["x", "y", f"alpha({inner})", f"lam({inner})", f"arg({outer})", f"alpha({outer})", f"lam({outer})", "one"]
    assert [group.name for group in built.registers] == names
    assert [segment.label for segment in built.segments] == [inner, outer, outer]
    assert all(text in built.describe() for text in names)
    long = integraph.compile("tanh(" + "+".join(f"{n}*x" for n in range(2, 40)) + ")")
    assert max(len(group.name) for group in long.registers) <= 32
    assert max(len(segment.label) for segment in long.segments) <= 72
    twice = integraph.compile("sin(x)*cos(x)")
    assert [group.name for group in twice.registers if re.search(r"#2$", group.name)] != [], "each name once"


def test_names_where_registers_are_used_again() -> None:
    """The first and the last who live there; inputs keep their names."""
    formula = "tanh(2*tanh(3*tanh(x+y)+1)+1)"
    built = program(laid(formula, "decay"), 40.0, formula)
    names = [group.name for group in built.registers]
    assert names[:2] == ["x", "y"]
    assert "arg(tanh(x+y))…" in "".join(names)
    assert len(set(names)) == len(names) == built.width
    assert sum(group.view.size for group in built.registers) == built.width


@pytest.mark.parametrize("shape", [(), (1,), (2, 1), (2, 3)])
@pytest.mark.parametrize("exponents", [[2.0, -1.0, 3.0], [[-2.0], [0.0]], [1.0, 0.5, -2.0], [2.0, 2.0, 2.0], [[[3.0]]]])
def test_an_exponent_for_each_entry(shape: tuple[int, ...], exponents: Any) -> None:
    """A whole exponent needs no positive base, whatever its neighbours are."""
    b, c = Builder(), np.array(exponents)
    graph = b.graph([b.apply("variable_power", b.input("x", shape), b.constant(c))])
    low = 0.5 if (c != np.rint(c)).any() else -2.0
    x = np.random.default_rng(3).uniform(low, low + 1.5, (5, graph.inputs))
    program = integraph.compile(graph, method="exact", box=(low, low + 1.5))
    wanted = [np.power(row.reshape(shape), c).ravel() for row in x]
    np.testing.assert_allclose(program(x), wanted, rtol=1e-13)
