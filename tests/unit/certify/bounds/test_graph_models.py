"""Graphs on models: every operation keeps how it depends on the inputs, and contains what it computes."""

from __future__ import annotations

import numpy as np
import pytest

from integraph import Graph
from integraph.bounds.ranges.patterns import MOVES
from integraph.bounds.ranges.propagation import ranges
from integraph.certify.bounds.cells import bounded
from integraph.certify.bounds.graph_models import graph_models
from integraph.certify.bounds.sparse_maps import SparseMap
from integraph.numbers.arrays import Floats
from integraph.numbers.models.models import Models, of_cells
from integraph.targets.graph import OPERATIONS, ROUNDED
from integraph.targets.graph_builder import Builder
from integraph.targets.windows import Axis, convolve, max_pool, mean_pool
from slow import mostly_slow
from transformers import to_graph, transformer

RADIUS = 1e-4
CENTRES = {"acosh": 2.0, "log1p": -0.4}
PAIRS = ("add", "sub", "mul", "div", "min", "max", "variable_power")


def one(op: str) -> Graph:
    """A graph of one operation on a (2, 2) input, or two."""
    b = Builder(op)
    x, y = b.input("x", (2, 2)), b.input("y", (2, 2))
    if op in (*PAIRS, "matmul"):
        return b.graph([b.apply(op, x, y)])
    if op in ("softmax", "log_softmax", "logsumexp"):
        return b.graph([getattr(b, op)(x)])
    if op == "power":
        return b.graph([b.power(x, 0.3)])
    data = {
        "sum": ((1,),), "reshape": ((4,),), "broadcast": ((3, 2, 2),), "transpose": (1, 0), "concat": (0,),
        "slice": ((1, -1, 2), (0, 1, 1)), "take": (1, (1, 1, 0)), "leaky_relu": (0.1,),
    }.get(op, ())  # fmt: skip
    return b.graph([b.apply(op, *((x, y) if op == "concat" else (x,)), data=data)])


def models(graph: Graph, centre: Floats, radius: Floats | float, degree: int = 1) -> Models:
    return graph_models(graph, of_cells((centre - radius)[None], (centre + radius)[None], degree))


@pytest.mark.parametrize("op", sorted(OPERATIONS))
def test_every_operation_keeps_how_it_depends_on_the_inputs(op: str) -> None:
    """On a small cell its errors are of second order: they would be all there is, were it computed on intervals."""
    graph, rng = one(op), np.random.default_rng(len(op))
    centre = CENTRES.get(op, 0.6) + 0.05 * rng.normal(size=8)
    y = models(graph, centre, RADIUS)
    linear = np.abs(y.p[..., 1:]).sum(2)
    assert (y.errors <= 0.01 * linear).all()
    for _ in range(20):
        x = centre + RADIUS * rng.choice([-1.0, 0.3, 1.0], 8)
        value = graph.values(x)[0]
        assert (y.known.low[:, 0] - 1e-14 <= value).all()
        assert (value <= y.known.high[:, 0] + 1e-14).all()


@mostly_slow("op", sorted(OPERATIONS - {*MOVES, "concat"}), quick=8)
def test_no_operation_is_wider_than_its_interval(op: str) -> None:
    graph, rng = one(op), np.random.default_rng(len(op))
    centre = CENTRES.get(op, 0.6) + 0.05 * rng.normal(size=8)
    for radius in (0.01, 0.3, 3.0, 1e3, 1e200):
        for degree in (0, 1, 2):
            y = models(graph, centre, radius, degree)
            plain = ranges(graph, centre - radius, centre + radius)[graph.outputs[0]]
            low, high = plain.low.ravel(), plain.high.ravel()
            slack = 1e-9 * (np.abs(low) + np.abs(high))
            assert (y.known.low <= y.known.high).all()
            unknown = np.isinf(y.known.low[:, 0]) & np.isinf(y.known.high[:, 0])  # not defined on the whole cell
            assert (unknown | ((y.known.low[:, 0] >= low - slack) & (y.known.high[:, 0] <= high + slack))).all()


def sampled(graph: Graph, low: Floats, high: Floats, count: int = 200) -> Floats:
    rng = np.random.default_rng(0)
    x = rng.uniform(low, high, (count, len(low)))
    x[::2] = np.where(x[::2] > 0.5 * (low + high), high, low)
    return graph.values(x)


def close(graph: Graph, centre: Floats, radius: Floats | float, degree: int) -> float:
    """How much wider bounds are than between the points where they are probably attained; these are inside."""
    low, high = centre - radius, centre + radius
    cells = bounded(graph, low[None], high[None], degree, 1)
    seen = sampled(graph, low, high)
    peaks, dips = (np.diag(graph.values(points[0])) for points in (cells.peaks, cells.dips))
    size = 1e-12 * (1 + np.abs(peaks).max())
    for values in (seen.min(0), seen.max(0), peaks, dips):
        assert (cells.least[0] <= values + size).all()
        assert (cells.most[0] >= values - size).all()
    return float(((cells.most - cells.least)[0] / (peaks - dips)).max())


@pytest.mark.parametrize("causal", [False, True])
def test_attention_and_layer_norms(causal: bool) -> None:
    net = transformer(tokens=3, width=4, heads=2, hidden=6, layers=1, causal=causal)
    centre = np.random.default_rng(0).normal(size=12)
    assert close(to_graph(net), centre, 1e-4, 2) < 1.01
    assert close(to_graph(net), centre, 3e-3, 2) < 1.2


@pytest.mark.slow
def test_a_transformer_of_some_size() -> None:
    graph = to_graph(transformer(tokens=16, width=32, layers=2))
    centre, radius = np.random.default_rng(0).normal(size=512), np.zeros(512)
    assert close(graph, centre, 3e-4, 1) < 1.3
    radius[:12] = 0.01
    assert close(graph, centre, radius, 2) < 1.1
    wide = bounded(graph, (centre - 0.5)[None], (centre + 0.5)[None], 1, 1)
    assert np.isfinite(wide.most - wide.least).all()


@pytest.mark.slow
def test_convolutions_and_pooling() -> None:
    rng, b = np.random.default_rng(3), Builder("convolution")
    x = b.input("x", (1, 2, 8, 8))
    axes, pool = [Axis(3, 1, 1, 1, 1)] * 2, [Axis(2, 2)] * 2
    y = b.apply("tanh", convolve(b, x, rng.normal(size=(4, 1, 3, 3)), axes, groups=2))
    y = mean_pool(b, y, pool, count_zeros=True)
    y = b.apply("gelu", convolve(b, y, rng.normal(size=(3, 4, 3, 3)) / 4, axes))
    graph = b.graph([max_pool(b, y, pool)])
    assert close(graph, rng.normal(size=128), 1e-3, 1) < 1.3


def test_affine_parts_are_one_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """A convolution applies one matrix, not one for each place of its window."""
    applied, real = [], SparseMap.models
    monkeypatch.setattr(SparseMap, "models", lambda self, *values: applied.append(self) or real(self, *values))
    b = Builder("convolution")
    y = convolve(b, b.input("x", (1, 1, 9, 9)), np.ones((2, 1, 3, 3)), [Axis(3, 1, 1, 1, 1)] * 2)
    models(b.graph([b.apply("tanh", y)]), np.zeros(81), 0.1)
    assert len(applied) == 1


@pytest.mark.parametrize("weight", [0.1, 1e-320, 1e-200, 1e90, 0.0, -3.0])
@pytest.mark.parametrize("rounded", [False, True])
def test_weights_of_all_sizes(weight: float, rounded: bool) -> None:
    """Maps after each other contain the products of weights, and what rounded ones may mean."""
    b = Builder("weights")
    x = b.input("x", (2,))
    factor = b.constant(np.array([weight, 1.0]), data=ROUNDED if rounded else ())
    for _ in range(3):
        x = b.apply("sub", b.apply("mul", x, factor), b.apply("take", x, data=(0, (1, 0))))
    graph = b.graph([x])
    y = models(graph, np.array([0.3, 0.7]), 0.1)
    rng = np.random.default_rng(0)
    for point in rng.uniform([0.2, 0.6], [0.4, 0.8], (50, 2)):
        value = graph.values(point)[0]
        slack = 1e-15 * (1 + np.abs(value))
        assert (y.known.low[:, 0] <= value + slack).all()
        assert (value - slack <= y.known.high[:, 0]).all()


def test_cancellation_counts_its_rounding() -> None:
    """(x·c)/c − x is 0, and its bounds contain 0, with radii of rounding size."""
    b = Builder("cancellation")
    x = b.input("x", (50,))
    c = b.constant(np.random.default_rng(0).uniform(1, 2, 50))
    graph = b.graph([b.apply("sub", b.apply("div", b.apply("mul", x, c), c), x)])
    y = models(graph, np.linspace(1, 2, 50), 0.1)
    assert (y.known.low <= 0).all()
    assert (y.known.high >= 0).all()
    assert (y.known.high - y.known.low < 1e-12).all()
