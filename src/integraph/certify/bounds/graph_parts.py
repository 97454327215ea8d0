"""A graph as parts: affine maps of earlier parts, and operations of their own on rows of earlier parts.

All that moves, sums and constant weights make of a value is one map, composed once for a graph and not for each cell.
Part 0 holds the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from integraph.bounds.ranges.patterns import MOVES
from integraph.certify.bounds.linear_nodes import LINEAR, linear
from integraph.certify.bounds.sparse_maps import SparseMap, of_value
from integraph.numbers.arrays import Floats, Indices
from integraph.targets.graph import Graph


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a part, all in order where there are no places."""

    part: int
    places: Indices | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A node of the graph, with the size of its value: an affine map of earlier parts, or else its operation on
    `operands`. `shared`: others read its rows more than once."""

    number: int  # of the node; −1: the inputs
    size: int
    map: SparseMap | None = None
    operands: tuple[Rows, ...] = ()
    shared: bool = False

    @property
    def reads(self) -> tuple[int, ...]:
        """Parts."""
        return tuple(n for n, _ in self.map.terms) if self.map else tuple(rows.part for rows in self.operands)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """All parts in order, and where the outputs are."""

    parts: tuple[Part, ...]
    outputs: tuple[Rows, ...]

    def last_uses(self) -> list[int]:
        """The last part that reads each, beyond all for outputs."""
        last = list(range(len(self.parts)))
        for number, part in enumerate(self.parts):
            for n in part.reads:
                last[n] = number
        for rows in self.outputs:
            last[rows.part] = len(self.parts)
        return last


_PARTS: WeakKeyDictionary[Graph, Parts] = WeakKeyDictionary()


def graph_parts(graph: Graph) -> Parts:
    """The parts of a graph."""
    parts = _PARTS.get(graph)
    if parts is None:
        parts = _PARTS[graph] = _Division(graph, False).parts()
    return parts


def part_values(graph: Graph, points: Floats) -> list[Floats]:
    """The value of every part at points (B, inputs), in float64: (B, size) each."""
    every = [graph.nodes_at(point) for point in points]
    parts = graph_parts(graph).parts[1:]
    shapes = [graph.nodes[part.number].shape for part in parts]
    return [
        points,
        *(
            np.stack([np.ravel(np.broadcast_to(nodes[part.number], shape)) for nodes in every])
            for part, shape in zip(parts, shapes, strict=True)
        ),
    ]


def every_node(graph: Graph) -> Parts:
    """A part for each node: part n + 1 is node n."""
    return _Division(graph, True).parts()


class _Division:
    """The nodes of a graph in order, as maps of parts, and the parts so far."""

    def __init__(self, graph: Graph, every: bool) -> None:
        self._graph, self._every, self._uses = graph, every, _uses(graph)
        self._parts = [Part(-1, graph.inputs)]
        self._maps: list[SparseMap] = []

    def parts(self) -> Parts:
        for number in range(len(self._graph.nodes)):
            self._add(number)
        outputs = tuple(self._rows(n) for n in self._graph.outputs)
        return Parts(tuple(self._parts), outputs)

    def _add(self, number: int) -> None:
        node, shared = self._graph.nodes[number], self._uses[number] > 1
        own: SparseMap | None = None
        if node.op == "input":
            own = of_value(0, self._graph.inputs).take(np.arange(node.data[0], node.data[0] + node.size))
        elif node.op in LINEAR:
            own = linear(node, [self._maps[n] for n in node.args], [self._graph.nodes[n] for n in node.args])
        if own is None:
            operands = tuple(self._rows(n) for n in node.args)
            self._parts.append(Part(number, node.size, None, operands, shared))
            own = of_value(len(self._parts) - 1, node.size)
        self._maps.append(own)
        if (shared and not own.short) or (self._every and self._parts[-1].number != number):
            self._settle(number)

    def _settle(self, number: int) -> None:
        """Makes a part of a node that is a map."""
        size = self._graph.nodes[number].size
        self._parts.append(Part(number, size, self._maps[number]))
        self._maps[number] = of_value(len(self._parts) - 1, size)

    def _rows(self, number: int) -> Rows:
        if self._maps[number].places is None:
            self._settle(number)
        own = self._maps[number]
        part, places = own.terms[0][0], own.places
        assert places is not None
        return Rows(part, None if np.array_equal(places, np.arange(self._parts[part].size)) else places)


def _uses(graph: Graph) -> list[int]:
    """How often the rows of each node are read; a move reads for those that read it."""
    uses = [0] * len(graph.nodes)
    for number in range(len(graph.nodes) - 1, -1, -1):
        node = graph.nodes[number]
        for n in node.args:
            several = node.size > graph.nodes[n].size
            uses[n] += max(uses[number], 1 + several) if node.op in MOVES else 1 + several
    return uses
