"""Random graphs of arrays, and graphs as layouts: runs with times and registers."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import integraph
from integraph import Graph
from integraph.bounds.ranges.propagation import ranges
from integraph.constructions.graph.layout import GraphLayout, layout
from integraph.constructions.graph.rules import lower
from integraph.targets.graph_builder import Builder

SMOOTH = ("tanh", "atan", "gelu", "sigmoid", "sin", "erf", "silu")
STEPS = ("smooth", "smooth", "affine", "add", "mul", "square", "exp", "div", "part", "join", "total", "rows", "rows")


def laid(source: Any, free: str = "keep", box: tuple[float, float] = (0.0, 1.0)) -> GraphLayout:
    graph = integraph.graph(source)
    low, high = (np.full(graph.inputs, end) for end in box)
    found = lower(graph, ranges(graph, low, high), None)
    return layout(found.tape, found.outputs, free)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Values stay of moderate size: what is multiplied or divided by is bounded first."""
    b, rng = Builder("random"), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    known = [b.input("x", (draw(st.integers(1, 4)),)), b.input("y", (2,))]
    for name in draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=8)):
        x, other = (draw(st.sampled_from(known)) for _ in range(2))
        known.append(_step(b, rng, name, x, other, draw))
    return b.graph([known[-1], *draw(st.lists(st.sampled_from(known[2:]), max_size=1))])


def _step(b: Builder, rng: np.random.Generator, name: str, x: int, other: int, draw: st.DrawFn) -> int:
    (n,) = b.nodes[x].shape
    if b.nodes[other].shape != (n,):
        other = _affine(b, rng, other, n)
    if name == "smooth":
        return b.apply(draw(st.sampled_from(SMOOTH)), x)
    if name == "affine":
        return _affine(b, rng, x, draw(st.integers(1, 4)))
    if name == "add":
        return b.apply("add", x, other)
    if name == "mul":
        return b.apply("mul", b.apply("tanh", x), other)
    if name == "square":
        return b.power(b.apply("tanh", x), 2)
    if name == "exp":
        return b.apply("mul", b.apply("exp", b.apply("sin", x)), b.apply("atan", other))
    if name == "div":
        under = b.apply("add", b.constant(2.0), b.apply("sin", other))
        return b.apply("div", x, under)
    if name == "part":
        return b.apply("slice", x, data=((n - 1, -1, draw(st.integers(1, n))),))
    if name == "join":
        return b.apply("concat", x, other, data=(0,))
    if name == "total":
        return b.apply("add", b.apply("sum", x, data=((0,),)), other)
    return draw(st.sampled_from((b.softmax, b.log_softmax)))(x)


def _affine(b: Builder, rng: np.random.Generator, x: int, rows: int) -> int:
    (n,) = b.nodes[x].shape
    A, c = rng.normal(size=(rows, n)) / n, rng.normal(size=rows)
    column = b.apply("matmul", b.constant(A), b.apply("reshape", x, data=((n, 1),)))
    return b.apply("add", b.apply("reshape", column, data=((rows,),)), b.constant(c))
