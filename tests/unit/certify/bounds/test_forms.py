"""Sparse forms of convolutions: the same bounds as dense ones, all roundings counted, as many as work allows."""

from __future__ import annotations

import numpy as np
import pytest

import integraph
from bound_cases import announced
from integraph import Graph
from integraph.certify.bounds import backward as backward_bounds
from integraph.certify.bounds import forms, graph_steps, point_values, steps
from integraph.certify.bounds.graph_parts import every_node, graph_parts, part_values
from integraph.targets.graph_builder import Builder
from integraph.targets.windows import Axis, convolve, max_pool, mean_pool


def image_net(kind: str, pool: str, seed: int = 0) -> Graph:
    """Two convolutions with pooling between, and a dense layer, of a 9 × 9 image."""
    rng, b = np.random.default_rng(seed), Builder("images")
    x = b.input("x", (1, 1, 9, 9))
    y = b.apply(kind, convolve(b, x, rng.normal(size=(3, 1, 3, 3)) / 3, [Axis(3, 1, 1, 1, 1)] * 2))
    two = [Axis(2, 2)] * 2
    y = max_pool(b, y, two) if pool == "max" else mean_pool(b, y, two, count_zeros=True)
    y = b.apply(kind, convolve(b, y, rng.normal(size=(4, 3, 2, 2)) / 3, [Axis(2)] * 2))
    flat = b.apply("reshape", y, data=((1, 36),))
    return b.graph([b.apply("matmul", flat, b.constant(rng.normal(size=(36, 3)) / 6))])


@pytest.mark.parametrize("pool", ["max", "mean"])
@pytest.mark.parametrize("kind", ["tanh", "relu"])
def test_sparse_forms_bound_as_dense_ones_do(kind: str, pool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, rng = image_net(kind, pool), np.random.default_rng(1)
    low = rng.uniform(size=81)
    high, ends = low + 0.1, []
    for share in (0.0, 1.0):
        monkeypatch.setattr(forms, "DENSE", share)
        watch = announced(graph, low, high)
        ends.append([watch.bounds(n) for n in range(len(watch.steps))])
    for dense, sparse in zip(*ends, strict=True):
        np.testing.assert_allclose(dense.low, sparse.low, atol=1e-12)
        np.testing.assert_allclose(dense.high, sparse.high, atol=1e-12)
    values = part_values(graph, rng.uniform(low, high, (200, 81)))
    for own, value in zip(ends[1], values, strict=True):
        assert (value.min(0) >= own.low[:, 0] - 1e-12).all()
        assert (value.max(0) <= own.high[:, 0] + 1e-12).all()


def outside(seed: int) -> int:
    """How many outputs at a point are outside of their own linear bounds, in Arb."""
    graph, x = image_net("relu", "mean", seed), np.random.default_rng(seed).normal(size=81)
    watch = announced(graph, x, x)
    own, (low, high) = watch.bounds(watch.outputs[0].part), point_values.point_values(graph, x)
    assert (own.high - own.low < 1e-11).all()
    return int(((own.low[:, 0] > low) | (own.high[:, 0] < high)).sum())


def test_roundings_of_sparse_forms_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "DENSE", 1.0)
    assert sum(outside(seed) for seed in range(5)) == 0
    for part in (steps, backward_bounds):
        monkeypatch.setattr(part, "U", 0.0)
    monkeypatch.setattr(graph_steps, "affine", lambda *parts: steps.affine(*parts[:3]))  # the error of the map, too
    assert sum(outside(seed) for seed in range(5)) > 0


def test_as_many_entries_as_the_work_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, low = image_net("tanh", "mean"), np.zeros(81)
    whole = announced(graph, low, low + 0.1).ranges
    monkeypatch.setattr(backward_bounds, "CHUNK", 500)
    monkeypatch.setattr(backward_bounds, "WORK", 1.0)
    watch = announced(graph, low, low + 0.1)
    first = watch.bounds(watch.outputs[0].part)
    assert np.isfinite(first.low[0, 0])
    assert np.isinf(first.low[-1, 0])
    for own, best in zip(watch.ranges, whole, strict=True):
        assert (own.low <= best.low + 1e-12).all()
        assert (own.high >= best.high - 1e-12).all()


def test_affine_nodes_are_one_part() -> None:
    """A convolution, tanh, the mean (which is read often), a convolution, tanh, the dense layer."""
    graph = image_net("tanh", "mean")
    maps = [part.map is not None for part in graph_parts(graph).parts[1:]]
    assert maps == [True, False, True, True, False, True]
    every = every_node(graph).parts
    assert [part.number for part in every] == [-1, *range(len(graph.nodes))]


def test_values_at_points_by_intervals_are_those_of_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = image_net("tanh", "max")
    balls = integraph.bound(graph, (0, 0.1))
    monkeypatch.setattr(point_values, "BALLS", 0)
    plain = integraph.bound(graph, (0, 0.1))
    assert (plain.attained_high <= balls.attained_high).all()
    assert (plain.attained_low >= balls.attained_low).all()
    np.testing.assert_allclose(plain.attained_high, balls.attained_high, atol=1e-12)


@pytest.mark.parametrize("formula", ["x/x", "tanh(1/x)", "ln(x)", "sqrt(x - 1)", "x^y"])
def test_no_value_by_intervals(formula: str) -> None:
    """0 is where none of these has a value: nothing is attained there."""
    graph = integraph.graph(formula)
    low, high = point_values._interval_values(graph, np.zeros((1, graph.inputs)))
    assert np.isneginf(low).all()
    assert np.isposinf(high).all()
