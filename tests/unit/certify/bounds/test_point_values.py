"""Values at a point on Arb balls, against float64: every activation, every operation of random graphs, transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import integraph
from integraph import Graph
from integraph.certify.bounds import search
from integraph.certify.bounds.bounds import Ending
from integraph.certify.bounds.point_values import point_values
from integraph.targets.activations import NAMES
from law import examples
from random_graphs import graphs


@pytest.mark.parametrize("name", NAMES)
def test_activations(name: str) -> None:
    rng = np.random.default_rng(len(name))
    network = integraph.network([(rng.normal(size=(5, 2)), rng.normal(size=5), name), (rng.normal(size=(2, 5)), None)])
    for x in rng.normal(size=(5, 2)):
        low, high = point_values(network, x)
        assert (high - low <= 4e-16 * np.abs(high)).all()
        assert np.allclose(low, network(x), rtol=1e-13, atol=1e-14)


@given(graphs())
@examples(40, deadline=None)
def test_random_graphs(graph: Graph) -> None:
    x = np.random.default_rng(1).uniform(0, 1, graph.inputs)
    low, high = point_values(graph, x)
    assert np.allclose(low, graph.values(x)[0], rtol=1e-10, atol=1e-11)
    assert (low <= high).all()


@pytest.mark.parametrize("formula", ["ln(x - 1)", "1/x", "sqrt(x - 1)"])
def test_no_value_is_infinite(formula: str) -> None:
    low, high = point_values(integraph.graph(formula), np.zeros(1))
    assert low[0] == -np.inf
    assert high[0] == np.inf


def test_values_that_are_not_proved_are_no_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_: Any, lowest: Any, highest: Any, __: Any) -> Any:
        return lowest, highest, (np.full(len(lowest), np.inf), np.full(len(lowest), -np.inf))

    monkeypatch.setattr(search, "attained", nothing)
    bounds = integraph.bound("sin(x)", (0, 1), gap=0.5)
    assert bounds.ending is Ending.SEEN
    assert "attained [none, none], gap inf" in str(bounds)
    assert "these are not proved" in str(bounds)
