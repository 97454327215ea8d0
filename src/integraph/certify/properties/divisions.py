"""How a box was divided: bisections and the parts that remain, in arrays that grow."""

from __future__ import annotations

import numpy as np

from integraph.certify.certificate.tree import Split
from integraph.numbers.arrays import Floats, Indices

LEAF = -1  # instead of an axis


class Divisions:
    """Nodes in the order in which they were made: an axis and a number where a node was bisected, `LEAF` where not. The
    halves of a node follow each other."""

    def __init__(self) -> None:
        self._axis = np.full(1024, LEAF)
        self._at = np.zeros(1024)
        self._first = np.zeros(1024, np.int64)
        self.count = 1

    def bisect(self, nodes: Indices, axes: Indices, at: Floats) -> tuple[Indices, Indices]:
        """The numbers of the lower and of the upper halves."""
        first = self.count + 2 * np.arange(len(nodes))
        self.count += 2 * len(nodes)
        while self.count > len(self._axis):
            self._axis = np.concatenate([self._axis, np.full(len(self._axis), LEAF)])
            self._at, self._first = (np.concatenate([a, np.zeros_like(a)]) for a in (self._at, self._first))
        self._axis[nodes], self._at[nodes], self._first[nodes] = axes, at, first
        return first, first + 1

    def preorder(self) -> tuple[Split | None, ...]:
        """The tree as a certificate holds it: None for a leaf."""
        axis, at, first = (a[: self.count].tolist() for a in (self._axis, self._at, self._first))
        tree: list[Split | None] = []
        waiting = [0]
        while waiting:
            node = waiting.pop()
            if axis[node] == LEAF:
                tree.append(None)
            else:
                tree.append(Split(axis[node], at[node]))
                waiting += [first[node] + 1, first[node]]
        return tuple(tree)
