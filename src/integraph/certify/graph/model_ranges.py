"""Ranges of a graph's nodes from polynomial models, for boxes on which deviations let a variance come near 0.

A model knows how a value depends on the inputs to first order, so that what cancels does; on small boxes of deep
graphs it is narrower by orders of magnitude, and it takes longer.
"""

from __future__ import annotations

import numpy as np

from integraph.certify.bounds.graph_models import graph_models
from integraph.certify.bounds.graph_parts import every_node
from integraph.certify.problem import Box
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval, intersection
from integraph.numbers.models.models import Models, of_cells
from integraph.targets.graph import Graph

LARGEST = 4_000_000  # inputs times entries of a node


@quiet
def model_ranges(graph: Graph, box: Box, known: list[Interval]) -> list[Interval]:
    """The ranges of all nodes, none wider than those that are known; these, where the graph is too large for models."""
    if graph.inputs * max(node.size for node in graph.nodes) > LARGEST:
        return known
    before = [Interval(np.array(box.low), np.array(box.high)), *known]
    narrow: list[Interval] = []

    def watch(rows: Models) -> Models:
        own = before[len(narrow)]
        rows = rows.within(Interval(own.low.reshape(-1, 1), own.high.reshape(-1, 1)))
        shape = np.shape(own.low)
        span = Interval(rows.known.low[:, 0].reshape(shape), rows.known.high[:, 0].reshape(shape))
        narrow.append(intersection(own, span))
        return rows

    graph_models(graph, of_cells(np.array([box.low]), np.array([box.high]), 1), watch, every_node(graph))
    return narrow[1:]
