"""Linear bounds backwards contain what is sampled and what Arb computes, and are tighter than forward models."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import integraph
from bound_cases import announced
from integraph import Graph, Network
from integraph.certify.bounds import backward as module
from integraph.certify.bounds import steps
from integraph.certify.bounds.graph_parts import part_values
from integraph.certify.bounds.network_models import network_models
from integraph.certify.bounds.point_values import point_values
from integraph.numbers.models.models import of_cells
from law import examples
from random_graphs import graphs
from slow import mostly_slow


def random_network(sizes: tuple[int, ...], name: str, seed: int = 0) -> Network:
    rng = np.random.default_rng([seed, len(name)])
    layers = list(pairwise(sizes))
    return integraph.network(
        [
            (rng.normal(size=(b, a)) / np.sqrt(a), rng.normal(size=b), name if n < len(layers) - 1 else None)
            for n, (a, b) in enumerate(layers)
        ]
    )


@mostly_slow("name", ["tanh", "relu", "gelu", "leaky_relu", "sigmoid", "softplus", "sin", "gaussian", "silu"], quick=4)
def test_networks(name: str) -> None:
    network, rng = random_network((20, 16, 12, 3), name), np.random.default_rng(1)
    for radius in (0.001, 0.1, 2.0):
        low, high = np.full(20, -radius), np.full(20, radius)
        watch = announced(network, low, high)
        own = watch.bounds(len(watch.steps) - 1)
        values = network(np.where(rng.uniform(size=(500, 20)) < 0.5, low, rng.uniform(low, high, (500, 20))))
        assert (values.min(0) >= own.low[:, 0] - 1e-12).all()
        assert (values.max(0) <= own.high[:, 0] + 1e-12).all()
        alone = network_models(network, of_cells(low[None], high[None], 1)).known
        assert (watch.ranges[-1].high - watch.ranges[-1].low <= (alone.high - alone.low) * (1 + 1e-9)).all()


@given(graphs(), st.floats(0.01, 1.0), st.integers(0, 1000))
@examples(60, deadline=None)
def test_random_graphs(graph: Graph, width: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.uniform(0, 1 - width, graph.inputs)
    watch = announced(graph, low, low + width)
    bounds = [watch.bounds(number) for number in range(len(watch.steps))]
    for point in rng.uniform(low, low + width, (20, graph.inputs)):
        for own, values in zip(bounds, part_values(graph, point[None]), strict=True):
            slack = 1e-9 * (1 + np.abs(values[0]))
            assert (own.low[:, 0] <= values[0] + slack).all()
            assert (own.high[:, 0] >= values[0] - slack).all()


FORMULAS = ["max(x, y) - min(x, x*y)", "x*y/(1 + x^2)", "(x - 2*y)/(y - 3)", "abs(x - y)*exp(-y)", "x*x - y*y"]


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas(formula: str) -> None:
    graph, rng = integraph.graph(formula), np.random.default_rng(0)
    for low, high in ((np.array([-1.0, -2.0]), np.array([1.0, 1.0])), (np.array([0.4, 0.5]), np.array([0.5, 0.6]))):
        watch = announced(graph, low, high)
        own = watch.bounds(watch.outputs[0].part)
        values = graph.values(rng.uniform(low, high, (2000, 2)))
        assert own.low[0, 0] <= values.min() + 1e-12
        assert own.high[0, 0] >= values.max() - 1e-12
        assert own.high[0, 0] - own.low[0, 0] <= 12 * np.ptp(values)


def outside(seed: int) -> int:
    """How many outputs of a net at a point are outside of their own linear bounds, in Arb."""
    network = random_network((30, 20, 20, 4), "relu", seed)
    x = np.random.default_rng(seed).normal(size=30)
    watch = announced(network, x, x)
    own, (low, high) = watch.bounds(len(watch.steps) - 1), point_values(network, x)
    assert (own.high - own.low < 1e-11).all()
    return int(((own.low[:, 0] > low) | (own.high[:, 0] < high)).sum())


def test_roundings_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(outside(seed) for seed in range(5)) == 0
    for part in (steps, module):
        monkeypatch.setattr(part, "U", 0.0)
    assert sum(outside(seed) for seed in range(5)) > 0


def test_a_large_net_gets_a_tighter_answer() -> None:
    network = random_network((100, 40, 40, 5), "tanh")
    low, high = np.full(100, -0.02), np.full(100, 0.02)
    alone = network_models(network, of_cells(low[None], high[None], 1)).known
    bounds = integraph.bound(network, (-0.02, 0.02))
    assert (bounds.width < 0.9 * (alone.high - alone.low)[:, 0]).all()
    assert (bounds.low <= bounds.attained_low).all()
    assert (bounds.attained_high <= bounds.high).all()
