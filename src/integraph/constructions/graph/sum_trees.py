"""Long sums of a graph as balanced trees: ((a + b) − c) + … of n terms is n nodes that each hold what came before.

Writing a value as a polynomial then takes n log n terms, not n². The value in real arithmetic is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from integraph.targets.graph import Graph, Node

LONG = 64  # terms; shorter sums stay as they are
SUMS = ("add", "sub")


def balanced(graph: Graph) -> Graph:
    """The same graph; sums of more than `LONG` terms, whose parts nobody else reads, are trees."""
    inner = _inner(graph)
    sums = {n: _terms(graph, n, inner) for n, node in enumerate(graph.nodes) if node.op in SUMS and n not in inner}
    trees = {n: terms for n, terms in sums.items() if len(terms[0]) > LONG}
    if not trees:
        return graph
    gone = {part for _, parts in trees.values() for part in parts}
    copy = _Copy()
    for n, node in enumerate(graph.nodes):
        if n in trees:
            copy.place[n] = copy.tree(node, trees[n][0])
        elif n not in gone:
            copy.place[n] = copy.add(replace(node, args=tuple(copy.place[k] for k in node.args)))
    return replace(graph, nodes=tuple(copy.nodes), outputs=tuple(copy.place[n] for n in graph.outputs))


def _inner(graph: Graph) -> set[int]:
    """Sums that are only read by a sum of the same shape."""
    uses = Counter(n for node in graph.nodes for n in node.args) + Counter(graph.outputs)
    pairs = ((node, n, graph.nodes[n]) for node in graph.nodes if node.op in SUMS for n in node.args)
    return {n for node, n, part in pairs if uses[n] == 1 and part.op in SUMS and part.shape == node.shape}


def _terms(graph: Graph, root: int, inner: set[int]) -> tuple[list[tuple[int, bool]], list[int]]:
    """(term, whether it is subtracted) from left to right, and the inner nodes of a sum."""
    terms, parts, waiting = [], [], [(root, False)]
    while waiting:
        n, minus = waiting.pop()
        if n != root and n not in inner:
            terms.append((n, minus))
            continue
        parts += [n] if n != root else []
        first, second = graph.nodes[n].args
        waiting += [(second, minus != (graph.nodes[n].op == "sub")), (first, minus)]
    return terms, parts


class _Copy:
    """Nodes of the new graph, and the new number of each old one."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.place: dict[int, int] = {}

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def tree(self, root: Node, terms: Sequence[tuple[int, bool]]) -> int:
        """The first term of a sum is never subtracted."""
        plus, minus = ([self.place[n] for n, negative in terms if negative == wanted] for wanted in (False, True))
        number = self._sum(root, plus)
        return self.add(replace(root, op="sub", args=(number, self._sum(root, minus)))) if minus else number

    def _sum(self, root: Node, terms: Sequence[int]) -> int:
        """Terms two by two, until one is left."""
        while len(terms) > 1:
            pairs = [terms[k : k + 2] for k in range(0, len(terms), 2)]
            terms = [self._pair(root, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return terms[0]

    def _pair(self, root: Node, first: int, second: int) -> int:
        """Of terms that are smaller than the sum, the pair has the shape that they have together."""
        shape = np.broadcast_shapes(self.nodes[first].shape, self.nodes[second].shape)
        return self.add(replace(root, op="add", args=(first, second), shape=shape))
