"""Operations on constants, against mpmath: rounded once, and the promise knows of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

import integraph
from integraph.targets.folding import FEW
from integraph.targets.graph import ROUNDED
from integraph.targets.graph_builder import Builder

NEXT = float(np.nextafter(3.0, 4.0))
RNG = np.random.default_rng(5)


def factor(b: Builder, *steps: tuple[Any, ...]) -> int:
    """The last of some operations, each on what came before or on a number."""
    found: list[int] = []
    for op, *args in steps:
        found.append(b.apply(op, *(found[a] if isinstance(a, int) else b.constant(a) for a in args)))
    return found[-1]


@pytest.mark.parametrize(
    ("steps", "truth"),
    [
        ([("exp", 1e-9), ("sub", 0, 1.0), ("div", 1, 1e-9)], lambda: (mp.exp(mpf(1e-9)) - 1) / mpf(1e-9)),
        ([("add", 1.0, 1e-200), ("sub", 0, 1.0), ("div", 1, 1e-200)], lambda: mpf(1)),
        ([("sqrt", 3.0)], lambda: mp.sqrt(3)),
        ([("div", 1.0, 3.0)], lambda: mpf(1) / 3),
        ([("sin", 3.0), ("sin", NEXT), ("sub", 0, 1)], lambda: mp.sin(3) - mp.sin(mpf(NEXT))),
        ([("sqrt", 2.0), ("mul", 0, 0), ("sub", 1, 2.0)], lambda: mpf(0)),
        ([("sqrt", 64.0)], lambda: mpf(8)),
    ],
)  # fmt: skip
def test_numbers(steps: list[Any], truth: Any) -> None:
    b = Builder()
    x = b.input("x")
    number = factor(b, *steps)
    program = integraph.compile(b.graph([b.apply("mul", x, number)]), method="exact", box=(0, 1000))
    with mp.workdps(700):
        wanted = truth()
        off = float(abs(mpf(float(program([1000.0], "precise")[0])) - 1000 * wanted))
        near = float(wanted)
    assert b.nodes[number].value == near
    assert program.budget is not None
    assert off <= program.budget.total + 2.0**-53 * abs(1000 * near)


def test_two_numbers_that_are_rounded_to_one_are_two() -> None:
    """sin(3) and sin(3) + 1e-18 are one float64; their difference is 1e-18, not 0."""
    b = Builder()
    first = b.apply("sin", b.constant(3.0))
    second = b.apply("add", first, b.constant(1e-18))
    assert b.nodes[first].value == b.nodes[second].value
    assert b.nodes[b.apply("sub", second, first)].value == 1e-18


@pytest.mark.parametrize("op", ["matmul", "mul", "add", "sub"])
def test_large_arrays_are_not_folded_and_still_right(op: str) -> None:
    b = Builder()
    n = int(FEW**0.5) + 1
    one, other = (b.constant(RNG.normal(size=(n, n))) for _ in range(2))
    weights = b.apply(op, one, other)
    assert b.nodes[weights].op == op
    graph = b.graph([b.apply("matmul", b.input("x", (1, n)), weights)])
    program = integraph.compile(graph, method="exact")
    x = RNG.uniform(size=(3, n))
    assert program.budget is not None
    assert 0 < program.budget.total < 1e-10
    np.testing.assert_allclose(program(x), graph.values(x), rtol=0, atol=1e-12 * n)


def test_what_only_moves_is_exact() -> None:
    b = Builder()
    third = b.apply("div", b.constant(np.ones((2, 3))), b.constant(3.0))
    moved = b.apply("transpose", b.apply("neg", third), data=(1, 0))
    assert b.nodes[third].data == b.nodes[moved].data == ROUNDED
    assert b.nodes[b.apply("transpose", b.constant(np.ones((2, 3))), data=(1, 0))].data == ()
    assert b.nodes[b.apply("mul", third, b.constant(3.0))].data == ()  # 1 again
