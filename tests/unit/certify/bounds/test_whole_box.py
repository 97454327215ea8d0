"""Bounds of a whole box beside those of its cells: never wider than linear bounds or intervals, and never wrong."""

from __future__ import annotations

import numpy as np
import pytest

import integraph
from integraph.bounds.ranges import propagation
from integraph.certify.bounds.cells import Cells, linear_ranges, plain_ranges
from integraph.numbers.intervals import Interval
from networks import random_network


@pytest.mark.parametrize("kind", ["tanh", "sigmoid"])
def test_nets_of_some_inputs(kind: str) -> None:
    net = random_network((7, 16, 16, 2), kind)
    box = Interval(np.full(7, -3.0), np.full(7, 3.0))
    whole, bounds = linear_ranges(net, box), integraph.bound(net, (-3, 3))
    assert whole is not None
    assert (bounds.low >= whole.low).all()
    assert (bounds.high <= whole.high).all()
    values = net(np.random.default_rng(0).uniform(-3, 3, (20_000, 7)))
    assert (values >= bounds.low).all()
    assert (values <= bounds.high).all()


def test_graphs_are_never_wider_than_intervals() -> None:
    from integraph.targets.graph_builder import Builder

    b = Builder()
    x = b.input("x", (2, 10))
    graph = b.graph([b.apply("tanh", b.apply("mul", x, b.apply("tanh", x)))])
    low, high = np.full(20, -2.0), np.full(20, 3.0)
    plain = plain_ranges(graph, Interval(low, high))
    assert plain is not None
    known = propagation.ranges(graph, low, high)[graph.outputs[0]]
    assert np.array_equal(plain.high, np.ravel(known.high))
    bounds = integraph.bound(graph, np.stack([low, high], 1))
    assert (bounds.low >= plain.low).all()
    assert (bounds.high <= plain.high).all()


def test_infinite_bounds_stay() -> None:
    ends, none = np.zeros((1, 1)), np.zeros((1, 2, 1))
    cells = Cells(ends, ends, np.array([[-np.inf, -2.0]]), np.array([[np.inf, 2.0]]), ends, none, none)
    cut = cells.within(Interval(np.full(2, -1.0), np.full(2, 1.0)))
    assert cut.least.tolist() == [[-np.inf, -1.0]]
    assert cut.most.tolist() == [[np.inf, 1.0]]
