"""Compiling is linear in the nodes: twice as many cost twice as many calls, no recursion is as deep as a chain."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import integraph
from integraph.constructions.decay_rate import smallest
from integraph.constructions.graph.allocation import FREES
from integraph.constructions.graph.packing import RegisterLot, by_size, by_time
from integraph.constructions.graph.schedule import ALWAYS
from integraph.constructions.graph.sum_trees import LONG, balanced
from integraph.constructions.theorem2 import construction, narrow
from integraph.constructions.theorem2.budget import Parts
from integraph.program.box import interval
from integraph.targets import from_layers
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder
from law import examples
from lazy import framework
from slow import mostly_slow

N = 100  # nodes; so many that what is constant does not count
LINEAR = 2.5  # n log n, and one look more at a budget


def calls(work: Callable[[], Any]) -> int:
    """Calls of functions, of Python and of C."""
    count = 0

    def event(frame: Any, kind: str, argument: Any) -> None:
        nonlocal count
        count += kind in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(event)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def chain(n: int) -> Graph:
    build = Builder("chain")
    x = build.input("x")
    for _ in range(n):
        x = build.apply("tanh", x, text="tanh")
    return build.graph([x])


def long_sum(n: int) -> Graph:
    """((f₁ − f₂) + f₃) − …"""
    build = Builder("sum")
    x = build.input("x")
    terms = [build.apply("tanh", build.apply("mul", x, build.constant(k / n)), text="f") for k in range(1, n + 1)]
    total = terms[0]
    for k, term in enumerate(terms[1:]):
        total = build.apply("add" if k % 2 else "sub", total, term)
    return build.graph([total])


def fan(n: int) -> Graph:
    build = Builder("fan")
    x = build.input("x")
    return build.graph(build.apply("tanh", build.apply("mul", x, build.constant(k / n))) for k in range(1, n + 1))


def residual(n: int) -> Graph:
    build = Builder("residual")
    x = build.input("x")
    for _ in range(n):
        x = build.apply("add", x, build.apply("tanh", x, text="f"), text="sum")
    return build.graph([x])


def product(n: int) -> Graph:
    build = Builder("product")
    x = found = build.input("x")
    for _ in range(n):
        found = build.apply("mul", found, x)
    return build.graph([found])


def net(n: int) -> Any:
    rng = np.random.default_rng(0)
    return from_layers([(0.4 * rng.normal(size=(3, 3)), rng.normal(size=3), "tanh") for _ in range(n)])


GRAPHS = {f.__name__: f for f in (chain, long_sum, fan, residual, product)}
OPTIONS: dict[str, tuple[Callable[[int], Any], dict[str, Any]]] = {
    **{f"{name}, {free}": (make, {"free": free}) for name, make in GRAPHS.items() for free in FREES},
    **{f"chain, eps, {free}": (chain, {"free": free, "eps": 1e-6}) for free in ("keep", "decay", "auto")},
    **{f"net, {free}": (net, {"method": "wide", "free": free}) for free in FREES},
    "net, narrow": (net, {"method": "narrow"}),
    "net, exact": (net, {"method": "exact"}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_compiling_is_linear(name: str) -> None:
    make, options = OPTIONS[name]
    small, large = make(N), make(2 * N)
    integraph.compile(small, **options)  # what is computed once
    counts = [calls(lambda source=source: integraph.compile(source, **options)) for source in (small, large)]
    assert counts[1] <= LINEAR * counts[0], counts


@pytest.mark.slow
@pytest.mark.parametrize("free", FREES)
def test_using_is_linear(free: str, tmp_path: Any) -> None:
    def use(program: integraph.Program) -> None:
        repr(program), program.describe(), program.terms, program.digest, program._repr_html_()
        program.save(tmp_path / "chain.integraph")
        integraph.load(tmp_path / "chain.integraph")(0.3)

    use(integraph.compile(residual(N), free=free))  # what is computed once
    programs = [integraph.compile(residual(n), free=free) for n in (N, 2 * N)]
    counts = [calls(lambda program=program: use(program)) for program in programs]
    assert counts[1] <= LINEAR * counts[0], counts


def onnx_chain(n: int) -> Any:
    framework("onnx")
    import onnx_models as models

    build, x = models.Builder(17), "x"
    for _ in range(n):
        x = build.node("Tanh", x)
    return build.model(x, (1, 2))


def jax_chain(n: int) -> Any:
    jnp = framework("jax.numpy")

    def f(x: Any) -> Any:
        for _ in range(n):
            x = jnp.tanh(x)
        return x

    return f


def test_onnx_is_read_linearly() -> None:
    for read in (integraph.network, integraph.graph):
        small, large = onnx_chain(N), onnx_chain(2 * N)
        read(small)
        assert calls(lambda read=read, model=large: read(model)) <= LINEAR * calls(
            lambda read=read, model=small: read(model)
        )


@pytest.mark.slow
def test_no_recursion_is_as_deep_as_a_chain() -> None:
    """Twice the depth that Python allows, from every source."""
    n = 2 * sys.getrecursionlimit()
    x = np.array([0.4])
    want = 0.4
    for _ in range(n):
        want = np.tanh(want)
    sources = [(chain(n), {}), (onnx_chain(n), {"method": "exact"}), (jax_chain(n), {"method": "exact", "inputs": 1})]
    for source, options in sources:
        program = integraph.compile(source, **options)
        found = program(np.full(program.inputs, x[0]))
        np.testing.assert_allclose(found, want, rtol=1e-10)
        assert len(repr(program)) < 1000


@mostly_slow("n", [LONG, LONG + 1, 150], quick=1)
def test_long_sums_are_the_same_sums(n: int) -> None:
    graph = long_sum(n)
    tree = balanced(graph)
    assert (tree is graph) == (n <= LONG)
    x = np.linspace(0, 1, 5)
    np.testing.assert_allclose(tree.values(x), graph.values(x), rtol=0, atol=1e-13 * n)
    np.testing.assert_allclose(integraph.compile(graph)(x), graph.values(x), rtol=0, atol=1e-13 * n)


def test_long_sums_keep_shapes_and_what_others_read() -> None:
    build = Builder("shapes")
    x = build.input("x", (2,))
    y = build.apply("reshape", x, data=((2, 1),))
    total, seen = x, 0
    for k in range(3 * LONG):
        term = build.apply("mul", y if k == LONG else x, build.constant(float(k)))
        total = build.apply("add", total, term)
        seen = total if k == 2 * LONG else seen
    graph = build.graph([total, seen])
    tree = balanced(graph)
    assert len(tree.nodes) == len(graph.nodes)
    assert [tree.nodes[n].shape for n in tree.outputs] == [graph.nodes[n].shape for n in graph.outputs] == [(2, 2)] * 2
    point = np.array([[0.25, 0.5]])
    np.testing.assert_array_equal(tree.values(point), graph.values(point))


LOTS = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 12), st.integers(0, 6), st.booleans()), max_size=40)
ROUNDED = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 12), st.integers(0, 3), st.integers(-3, 3)), max_size=40)


@examples(300)
@given(LOTS, st.sampled_from([by_size, by_time]))
def test_packed_lots_never_meet(given: Sequence[tuple[int, int, int, bool]], pack: Any) -> None:
    """By hand: in every segment a register has one lot, and nobody lies above what all together need."""
    lots = [
        RegisterLot([0], 2, -1, 3),
        *(RegisterLot([0], size, first, first + long) for size, first, long, _ in given),
    ]
    until = [4, *(lot.last + 1 if can else ALWAYS for lot, (*_, can) in zip(lots[1:], given, strict=True))]
    lots[0].place = 0
    pack(lots, until)
    for time in range(-1, 30):
        held = [
            r
            for lot, end in zip(lots, until, strict=True)
            if lot.first <= time <= end
            for r in range(lot.place, lot.end)
        ]
        assert len(held) == len(set(held))
    assert max(lot.end for lot in lots) <= sum(lot.size for lot in lots)


def test_packing_by_time_uses_registers_again() -> None:
    lots = [RegisterLot([n], 1, n, n + 1) for n in range(100)]
    by_time(lots, [lot.last + 1 for lot in lots])
    assert max(lot.end for lot in lots) == 3


@examples(300)
@given(ROUNDED, st.sampled_from([by_size, by_time]))
def test_nobody_moves_in_after_a_lot_whose_rounding_it_cannot_bear(
    given: Sequence[tuple[int, int, int, int]], pack: Any
) -> None:
    """Nor after one that was there long before."""
    lots = [
        RegisterLot([0], size, first, first + long, subtracted=10.0**digits, bears=16 * 10.0**digits)
        for size, first, long, digits in given
    ]
    pack(lots, [lot.last + 1 for lot in lots])
    for n, later in enumerate(lots):
        for m, lot in enumerate(lots):
            meet = n != m and lot.place < later.end and later.place < lot.end
            assert not meet or lot.last + 1 < later.first or later.last + 1 < lot.first
            assert not meet or lot.first > later.first or lot.subtracted <= later.bears


@pytest.mark.parametrize("pack", [by_size, by_time])
def test_registers_are_used_again_by_those_who_bear_it(pack: Any) -> None:
    """Large and small numbers in turn: each kind has registers of its own, and what bears nothing has fresh ones."""
    lots = [RegisterLot([n], 1, n, n, subtracted=(1.0, 1e9)[n % 2], bears=(16.0, 16e9)[n % 2]) for n in range(100)]
    pack(lots, [lot.last + 1 for lot in lots])
    assert len({lot.place for lot in lots[::2]}) == len({lot.place for lot in lots[1::2]}) == 1
    assert lots[0].place != lots[1].place
    lots = [RegisterLot([n], 1, n, n, subtracted=1.0, bears=0.0) for n in range(10)]
    pack(lots, [lot.last + 1 for lot in lots])
    assert len({lot.place for lot in lots}) == 10


@pytest.mark.parametrize(("seed", "eps"), [(0, 1e-2), (1, 1e-6), (2, 1e-8)])
def test_the_smallest_rate_in_a_few_looks(seed: int, eps: float) -> None:
    """As bisection finds it, a look for each step."""
    rng = np.random.default_rng(seed)
    source = from_layers([(rng.normal(size=(4, 4)), rng.normal(size=4), "silu") for _ in range(6)])
    plan = construction.plan(source, interval(None, 4))
    looks = 0

    def error(r: float) -> Parts:
        nonlocal looks
        looks += 1
        return narrow.error(plan, [(r, r)] * 6)

    found = smallest(error, eps)
    assert found is not None
    assert looks <= 9
    low, high = 0.0, 40.0
    while high - low > 0.01:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if error(middle).total <= eps else (middle, high)
    assert found[0] == np.ceil(100 * high) / 100
    assert found[1].total <= eps
