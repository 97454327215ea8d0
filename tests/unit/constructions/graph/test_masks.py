"""Masks that are large numbers: an entry is left out only where the ranges of whole scores show it has no weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import integraph
from integraph.errors import EscapeError
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder
from slow import mostly_slow

Rows = Callable[[Builder, int], int]
N = 3
OPS = ("softmax", "logsumexp", "log_softmax")
FREE = ("keep", "clean", "decay")


def graph_of(rows: Rows, op: str) -> Graph:
    b = Builder()
    return b.graph([getattr(b, op)(rows(b, b.input("x", (N,))))])


def added(*constants: Any) -> Rows:
    """x and some constants, one after the other."""

    def rows(b: Builder, x: int) -> int:
        for number in constants:
            x = b.apply("add", x, b.constant(np.broadcast_to(np.asarray(number, float), N)))
        return x

    return rows


def subtracted(b: Builder, x: int) -> int:
    return b.apply("add", b.apply("sub", b.constant([-1e9, 0.0, 0.0]), x), b.constant([1e9, 0.0, 0.0]))


def product(b: Builder, x: int) -> int:
    """A product of matrices with a bias, which is taken back."""
    turned = b.apply("matmul", b.apply("reshape", x, data=((1, N),)), b.constant(np.eye(N)[::-1]))
    biased = b.apply("add", b.apply("reshape", turned, data=((N,),)), b.constant([0.0, -1e9, 0.0]))
    return b.apply("add", biased, b.constant([0.0, 1e9, 0.0]))


def joined(b: Builder, x: int) -> int:
    first, rest = (b.apply("slice", x, data=((start, 1, n),)) for start, n in ((0, 1), (1, N - 1)))
    low = b.apply("add", first, b.constant([-1e9]))
    return b.apply("add", b.apply("concat", low, rest, data=(0,)), b.constant([1e9, 0.0, 0.0]))


def scaled(b: Builder, x: int) -> int:
    """−1e9·(x − 1) in the first place."""
    return b.apply("add", b.apply("mul", x, b.constant([-1e9, 1.0, 1.0])), b.constant([1e9, 0.0, 0.0]))


def steep(b: Builder, x: int) -> int:
    """Scores that differ by more than the mask."""
    return b.apply("add", b.apply("mul", x, b.constant([1.0, 1e10, 1.0])), b.constant([0.0, -1e9, 0.0]))


CASES: dict[str, tuple[Rows, Callable[[Any], list[Any]]]] = {
    "taken back": (added([0, -1e9, 0], [0, 1e9, 0]), lambda x: x),
    "added to the others too": (added([0, -1e9, 0], [-1e9, 0, -1e9]), lambda x: [t - 10**9 for t in x]),
    "twice": (added([-1e9, 0, 0], [0, -1e9, 0], [1e9, 1e9, 0]), lambda x: x),
    "subtracted": (subtracted, lambda x: [-t for t in x]),
    "product": (product, lambda x: x[::-1]),
    "joined": (joined, lambda x: x),
    "scaled": (scaled, lambda x: [10**9 * (1 - x[0]), x[1], x[2]]),
    "steep": (steep, lambda x: [x[0], 10**10 * x[1] - 10**9, x[2]]),
    "a mask": (added([0, -1e9, 0]), lambda x: [x[0], x[1] - 10**9, x[2]]),
    "a mask in float16": (added([0, -65504.0, 0]), lambda x: [x[0], x[1] - 65504, x[2]]),
    "the largest float32": (added([0, 0, -3.4e38], 0.5), lambda x: [x[0] + 0.5, x[1] + 0.5, x[2] - mpmath.mpf(3.4e38)]),
}

LARGE = {
    "added to the others too": 1e9,
    "joined": 1e9,
    "scaled": 1e9,
    "steep": 1e10,
}  # numbers that are rounded on the way


def truth(op: str, scores: list[Any]) -> np.ndarray:
    top = max(scores)
    total = top + mpmath.log(mpmath.fsum(mpmath.exp(t - top) for t in scores))
    wanted = {
        "softmax": lambda: [mpmath.exp(t - total) for t in scores],
        "logsumexp": lambda: [total],
        "log_softmax": lambda: [t - total for t in scores],
    }[op]()
    return np.array([float(t) for t in wanted])


@pytest.mark.parametrize("free", FREE)
@pytest.mark.parametrize("op", OPS)
@mostly_slow("case", CASES, quick=2)
def test_a_mask_counts_together_with_all_scores(case: str, op: str, free: str) -> None:
    rows, scores = CASES[case]
    graph = graph_of(rows, op)
    program = integraph.compile(graph, free=free)
    for x in np.random.default_rng(5).uniform(size=(8, N)):
        with mpmath.workdps(60):
            own = scores([mpmath.mpf(float(t)) for t in x])
            wanted = truth(op, own)
        np.testing.assert_allclose(program(x), wanted, rtol=2e-14, atol=1e-15 * LARGE.get(case, 10.0))
        np.testing.assert_allclose(graph.values(x)[0], wanted, rtol=1e-6, atol=1e-6 + 1e-15 * LARGE.get(case, 1.0))


@pytest.mark.parametrize("s", [1e6, 1e12, 1e16])
def test_gaps_of_logarithms_keep_their_digits_where_the_highest_is_known(s: float) -> None:
    """x·(s, −s, 1): the logarithm of the highest share is no more than 0, the others are off by their own rounding."""
    b = Builder()
    graph = b.graph([b.log_softmax(b.apply("mul", b.input("x", (1,)), b.constant([s, -s, 1.0])))])
    program = integraph.compile(graph, box=(0.1, 1.0))
    for x in np.random.default_rng(2).uniform(0.1, 1.0, (8, 1)):
        with mpmath.workdps(60):
            wanted = truth("log_softmax", [mpmath.mpf(x[0]) * mpmath.mpf(t) for t in (s, -s, 1.0)])
        found = program(x)
        assert found.max() <= 0.0
        np.testing.assert_allclose(found, wanted, rtol=4e-16, atol=0.0)


@pytest.mark.parametrize("free", FREE)
@pytest.mark.parametrize("op", OPS)
def test_a_mask_beside_scores_of_unknown_size_costs_no_digit(op: str, free: str) -> None:
    """atanh has no range on the box, so the mask of −1e9 takes part, and the mean of a row is −3e8."""
    b = Builder()
    scores = b.apply("mul", b.apply("atanh", b.input("x", (N,))), b.constant([1.0, 1.0, 0.0]))
    graph = b.graph([getattr(b, op)(b.apply("add", scores, b.constant([0.0, 0.0, -1e9])))])
    program = integraph.compile(graph, box=(-1, 1), free=free)
    points = np.random.default_rng(4).uniform(-0.9, 0.9, (8, N))
    batch = program(points)
    for x, many in zip(points, batch, strict=True):
        with mpmath.workdps(60):
            wanted = truth(op, [mpmath.atanh(mpmath.mpf(x[0])), mpmath.atanh(mpmath.mpf(x[1])), mpmath.mpf(-(10**9))])
        lost = 1e9 * 2.0**-52 if op == "logsumexp" else 0.0  # ln n − c is a register
        for found in (many, program(x), graph.values(x)[0]):
            np.testing.assert_allclose(found, wanted, rtol=4e-15, atol=1e-15 + lost)


@pytest.mark.parametrize("s", [1e6, 1e12, 1e16])
@pytest.mark.parametrize("written", [Builder.log_softmax, lambda b, x: b.apply("sub", x, b.logsumexp(x))])
def test_large_scores_that_tie_keep_their_logarithms(s: float, written: Rows) -> None:
    """x·s, x·s + y and −x·s: the difference of the first two is small; x − ln Σ exp(x) is recognised."""
    b = Builder()
    x, y = b.input("x", (1,)), b.input("y", (1,))
    large = b.apply("mul", x, b.constant([s, s, -s]))
    apart = b.apply("mul", y, b.constant([0.0, np.spacing(s), 0.0]))
    program = integraph.compile(b.graph([written(b, b.apply("add", large, apart))]), box=(-1.0, 1.0))
    for point in np.random.default_rng(2).uniform(-1.0, 1.0, (8, 2)):
        scores = [s * point[0], s * point[0] + np.spacing(s) * point[1], -s * point[0]]  # as they are rounded
        with mpmath.workdps(60):
            wanted = truth("log_softmax", [mpmath.mpf(t) for t in scores])
        found = program(point)
        assert found.max() <= 0.0
        np.testing.assert_allclose(found, wanted, rtol=4e-16, atol=4e-16)


@pytest.mark.parametrize("op", OPS)
def test_an_entry_without_weight_still_needs_a_value(op: str) -> None:
    b = Builder()
    x = b.input("x", (2,))
    low, high = (b.apply("slice", part, data=((n, 1, 1),)) for n, part in enumerate((b.apply("ln", x), x)))
    rows = b.apply("concat", low, b.apply("add", high, b.constant([1e5])), data=(0,))
    program = integraph.compile(b.graph([getattr(b, op)(rows)]), box=[(-1, 1), (1, 2)])
    np.testing.assert_allclose(program([0.5, 1.5]), truth(op, [mpmath.log(0.5), mpmath.mpf(100001.5)]), rtol=1e-15)
    with pytest.raises(EscapeError):
        program([-0.5, 1.5])


def test_a_row_of_one_entry_is_1_but_needs_its_score() -> None:
    b = Builder()
    x = b.input("x", (2, 1))
    large = b.apply("add", b.apply("ln", x), b.constant(-1e9))
    program = integraph.compile(b.graph([b.softmax(large), b.log_softmax(large)]), box=(-1, 1))
    for engine in ("exact", "taylor", "oracle", "precise"):
        np.testing.assert_allclose(program([0.5, 0.25], engine), [1.0, 1.0, 0.0, 0.0], rtol=1e-15, atol=0.0)
        with pytest.raises(EscapeError):
            program([0.5, -0.25], engine)
