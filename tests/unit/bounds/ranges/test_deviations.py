"""Deviations of rows: sampled values never lie outside, faults are caught, and layer norms are away from variance 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph.bounds.ranges import deviations
from integraph.bounds.ranges.deviations import LIPSCHITZ, Deviation, Deviations, row_ranges
from integraph.bounds.ranges.patterns import mean_of, row_norm
from integraph.bounds.ranges.propagation import ranges
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import quiet
from integraph.targets.activations import ACTIVATIONS
from integraph.targets.float_arithmetic import OPERATIONS
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder
from law import examples
from transformers import to_graph, transformer

SLACK = 1e-9  # of values that numpy computes


def points(graph: Graph, low: Floats, high: Floats, count: int, seed: int) -> Iterator[Floats]:
    """Corners, points inside, and those where the rows of the input are as equal as the box allows."""
    rng = np.random.default_rng(seed)
    rows = (0.5 * low + 0.5 * high).reshape(graph.nodes[0].shape)
    for kind in range(count):
        level = rows.mean(-1, keepdims=True) + (0.2 * rng.standard_normal((len(rows), 1)) if kind else 0.0)
        flat = np.clip(np.broadcast_to(level, rows.shape).reshape(-1), low, high)
        corner = np.where(rng.random(len(low)) < 0.5, low, high)
        yield (flat, corner, rng.uniform(low, high), 0.9 * flat + 0.1 * corner)[kind % 4]


def outside(graph: Graph, low: Floats, high: Floats, count: int = 40, seed: int = 0) -> str:
    """The first node whose value at a point is out of its range or its deviation, or nothing."""
    middle = 0.5 * low + 0.5 * high
    walk = Deviations(graph, ranges(graph, middle, middle))
    spans = quiet(ranges)(graph, low, high, walk.cut)
    centre = graph.nodes_at(middle)
    for x in points(graph, low, high, count, seed):
        for number, value in enumerate(graph.nodes_at(x)):
            span, node = spans[number], graph.nodes[number]
            slack = SLACK * (1.0 + np.abs(value))
            if not ((value >= span.low - slack) & (value <= span.high + slack)).all():
                return f"the range of node {number}, {node.op} {node.text}"
            delta = walk.known[number]
            away = np.abs(value - centre[number])
            beyond = away if delta.centred else np.maximum(away - delta.reach, 0.0)
            length = np.sqrt(np.square(beyond).sum(-1, keepdims=bool(node.shape)))
            if not (length <= (delta.length() if delta.centred else delta.radius) + SLACK).all():
                return f"the deviation of node {number}, {node.op} {node.text}"
    return ""


def case(gain: float, radius: float, seed: int, causal: bool = False) -> tuple[Graph, Floats, Floats]:
    graph = to_graph(transformer(3, 4, 2, 5, 2, causal, gain, seed))
    x = np.random.default_rng(seed).standard_normal(graph.inputs)
    return graph, x - radius, x + radius


@examples(4)
@given(st.sampled_from([0.1, 1.0, 4.0]), st.sampled_from([0.0, 1e-6, 0.01, 0.1, 0.5, 3.0]), st.integers(0, 99))
def test_values_are_inside(gain: float, radius: float, seed: int) -> None:
    assert not outside(*case(gain, radius, seed, bool(seed % 2)), count=12, seed=seed)


def shrunk(f: Callable[..., Floats], by: float) -> Callable[..., Floats]:
    return lambda *args: by * f(*args)


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        (deviations, "spectral_norm", shrunk(deviations.spectral_norm, 0.3)),
        (deviations, "LIPSCHITZ", {name: 0.05 * value for name, value in LIPSCHITZ.items()}),
        (Deviation, "length", shrunk(Deviation.length, 0.5)),
        (Deviations, "_least", shrunk(Deviations._least, 4.0)),
        (Deviations, "_scores", shrunk(Deviations._scores, 0.2)),
    ],
)
def test_faults_are_caught(monkeypatch: pytest.MonkeyPatch, place: object, name: str, value: object) -> None:
    assert not outside(*case(1.0, 0.1, 0), 10)
    monkeypatch.setattr(place, name, value)
    assert outside(*case(1.0, 0.1, 0), 10)


@pytest.mark.parametrize("name", sorted(LIPSCHITZ))
def test_lipschitz_constants(name: str) -> None:
    x = np.linspace(-30.0, 30.0, 600_001)
    y = OPERATIONS[name](x) if name in OPERATIONS else ACTIVATIONS[name].value(x)
    steepest = np.abs(np.diff(y) / np.diff(x)).max()
    assert 0.97 * LIPSCHITZ[name] <= steepest <= LIPSCHITZ[name] + 1e-9


def test_variances_are_away_from_zero() -> None:
    """Where intervals reach 0 each layer norm is seen to divide by no less than a sixth of what it does at points."""
    graph = to_graph(transformer(2, 32, 4, 32, 2, gain=0.1))
    x = np.random.default_rng(1).standard_normal(graph.inputs)
    plain, cut = ranges(graph, x - 0.5, x + 0.5), row_ranges(graph, x - 0.5, x + 0.5)
    roots = [n for n, node in enumerate(graph.nodes) if node.op == "power"]
    sampled = [graph.nodes_at(p) for p in points(graph, x - 0.5, x + 0.5, 20, 0)]
    assert plain[roots[-1]].high.max() > 300.0
    for n in roots:
        assert cut[n].high.max() < 6.0 * max(values[n].max() for values in sampled)


def test_patterns_of_rows() -> None:
    b = Builder()
    x = b.input("x", (2, 3))
    mean = b.apply("reshape", b.mean(x, (1,), ""), data=((2, 1),))
    other = b.apply("reshape", b.mean(x, (0,), ""), data=((3, 1),))
    third = b.apply("reshape", b.apply("mul", b.apply("sum", x, data=((1,),)), b.constant(1 / 3)), data=((2, 1),))
    assert mean_of(b.nodes, mean) == x
    assert mean_of(b.nodes, other) is None  # of columns
    assert mean_of(b.nodes, third) is None  # 1/3 is rounded
    d = b.apply("sub", x, mean)
    total = b.apply("reshape", b.apply("sum", b.apply("mul", d, d), data=((1,),)), data=((2, 1),))
    root = b.power(b.apply("add", total, b.constant(0.25)), -0.5, "")
    norm = row_norm(b.nodes, b.nodes[b.apply("mul", d, root)])
    assert norm is not None
    assert norm[0] == d
    np.testing.assert_allclose(norm[1:], [1.0, 0.25], rtol=1e-9)
    assert row_norm(b.nodes, b.nodes[b.apply("mul", x, root)]) is None
