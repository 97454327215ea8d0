"""Ranges of nodes from models: sampled values are inside, and on a small box they are narrower than deviations."""

from __future__ import annotations

import numpy as np
import pytest

from integraph.bounds.ranges.deviations import row_ranges
from integraph.certify.graph import model_ranges as module
from integraph.certify.graph.model_ranges import model_ranges
from integraph.certify.problem import Box
from transformers import to_graph, transformer


def test_values_are_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = to_graph(transformer(3, 4, 2, 5, 2))
    x = np.random.default_rng(0).standard_normal(graph.inputs)
    low, high = x - 1e-3, x + 1e-3
    known = row_ranges(graph, low, high)
    spans = model_ranges(graph, Box(tuple(low), tuple(high)), known)
    rng = np.random.default_rng(1)
    for _ in range(20):
        for value, span in zip(graph.nodes_at(np.where(rng.random(len(x)) < 0.5, low, high)), spans, strict=True):
            assert (value >= span.low - 1e-12).all()
            assert (value <= span.high + 1e-12).all()
    width, before = ((one[-1].high - one[-1].low).max() for one in (spans, known))
    assert width < 0.2 * before
    monkeypatch.setattr(module, "LARGEST", 1)
    assert model_ranges(graph, Box(tuple(low), tuple(high)), known) is known
