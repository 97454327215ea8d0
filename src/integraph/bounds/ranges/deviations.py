"""Ranges of graphs with layer norms: how far the rows of each value can be from those at the middle of the box.

A deviation is the sum of a vector in a box, |δ_i| ≤ reach_i, and one in a ball, ‖δ‖ ≤ radius; a row is the last axis.
Matrices and functions multiply its length by their norm or Lipschitz constant, an average of rows is as far off as the
worst of them and as the rows are from each other, and a layer norm multiplies it by 1/√(variance) at most. So the
variance of a row is seen to be away from 0: it is not below ⟨d, e⟩² of any direction e, and of the residual stream,
whose rows hold the inputs, the best is that of the middle. Intervals alone would let every entry move to the mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from integraph.bounds.ranges.patterns import average, is_square, mean_of, row_norm
from integraph.bounds.ranges.propagation import ranges
from integraph.numbers import intervals as arithmetic
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.roundoff import UP
from integraph.numbers.spectral_norm import spectral_norm
from integraph.targets.graph import Graph, Node
from integraph.targets.graph_evaluation import STRUCTURE

SMALL = 1e-100  # a length below it has no direction
LIPSCHITZ = {
    "relu": 1.0, "tanh": 1.0, "sigmoid": 0.25, "silu": 1.1, "gelu": 1.13, "erf": 1.1284, "softplus": 1.0, "atan": 1.0,
    "sin": 1.0, "cos": 1.0, "asinh": 1.0, "log_cosh": 1.0, "abs": 1.0, "neg": 1.0,
}  # fmt: skip


class Deviation(NamedTuple):
    """`reach` has the shape of the value, `radius` one number for each row. `centred`: less its mean, in each row."""

    reach: Floats
    radius: Floats
    centred: bool = False

    def length(self) -> Floats:
        """‖δ‖ at most, of each row."""
        return UP * (_norms(self.reach) + self.radius)

    def entries(self) -> Floats:
        """|δ_i| at most."""
        return self.length() + 0.0 * self.reach if self.centred else UP * (self.reach + self.radius)


@quiet
def row_ranges(graph: Graph, low: Floats, high: Floats) -> list[Interval]:
    """The ranges of all nodes, those of layer norms and what depends on them cut down by deviations."""
    nodes = graph.nodes
    if not any(row_norm(nodes, node) for node in nodes):
        return ranges(graph, low, high)
    middle = 0.5 * low + 0.5 * high
    return ranges(graph, low, high, Deviations(graph, ranges(graph, middle, middle)).cut)


class Deviations:
    """Walks with `ranges` through the nodes of a graph; `centres` are their values at one point of the box."""

    def __init__(self, graph: Graph, centres: list[Interval]) -> None:
        self.nodes, self.centres = graph.nodes, centres
        self.known: list[Deviation] = []

    @quiet
    def cut(self, number: int, before: list[Interval], own: Interval) -> Interval:
        """The range of the next node, if those of the nodes before it are known and its own is `own`."""
        node, centre = self.nodes[number], self.centres[number]
        squares = self._squares(node)
        if squares is not None:
            own = arithmetic.intersection(own, squares)
        deviation, entries = self._rule(node, before) if node.size and node.shape else (None, None)
        if entries is not None:
            own = arithmetic.intersection(own, arithmetic.add(centre, Interval(-entries, entries)))
        if deviation is None:
            reach = UP * np.maximum(own.high - centre.low, centre.high - own.low)
            deviation = Deviation(reach, np.zeros((*node.shape[:-1], 1) if node.shape else ()))
        self.known.append(deviation)
        return own

    def _rule(self, node: Node, before: list[Interval]) -> tuple[Deviation | None, Floats | None]:
        """The deviation of a node, if a rule knows it, and bounds of its entries that are better than their range."""
        args = [self.known[n] for n in node.args]
        if node.op == "constant":
            return Deviation(np.zeros(node.shape), np.zeros((*node.shape[:-1], 1))), None
        if node.op in ("add", "sub"):
            return self._sum(node, args)
        if node.op in LIPSCHITZ:
            factor = LIPSCHITZ[node.op]
            return _plain(Deviation(UP * factor * args[0].reach, UP * factor * args[0].radius, args[0].centred)), None
        if node.op in ("mul", "div"):
            return self._scaled(node)
        if node.op == "matmul":
            return self._product(node, before)
        if node.op in ("reshape", "transpose") and args[0].reach.shape and not args[0].centred:
            return self._moved(node, args[0])
        return None, None

    def _sum(self, node: Node, args: list[Deviation]) -> tuple[Deviation | None, Floats | None]:
        if node.op == "sub" and mean_of(self.nodes, node.args[1]) == node.args[0]:
            x = _plain(args[0])
            return Deviation(x.reach, x.radius, True), None
        shapes = {self.nodes[n].shape[-1:] for n in node.args if self.nodes[n].op != "constant"}
        if shapes != {node.shape[-1:]}:
            return None, None
        x, y = (_plain(arg) for arg in args)
        rows = (*node.shape[:-1], 1)
        reach = np.broadcast_to(UP * (x.reach + y.reach), node.shape)
        return _entries(Deviation(reach, np.broadcast_to(UP * (x.radius + y.radius), rows)))

    def _scaled(self, node: Node) -> tuple[Deviation | None, Floats | None]:
        norm = row_norm(self.nodes, node)
        if norm is not None:
            return self._normed(node, *norm)
        for n, c in (node.args, node.args[::-1])[: 1 if node.op == "div" else 2]:
            value, x = self.nodes[c].value, _plain(self.known[n])
            if value is not None and self.nodes[c].op == "constant" and self.nodes[n].shape == node.shape:
                factor = np.abs(value) if node.op == "mul" else UP / np.abs(value)
                factor = np.broadcast_to(UP * factor, node.shape)
                return _entries(Deviation(factor * x.reach, UP * factor.max(-1, keepdims=True) * x.radius))
        return None, None

    def _normed(self, node: Node, d: int, size: float) -> tuple[Deviation | None, Floats | None]:
        """d·(w‖d‖² + c)^−½ is w^−½ times the part d of the unit vector along D = (d, √(c/w)). D moves by ‖δ‖ as d does,
        and is longer: the unit vector turns by an angle θ with sin θ ≤ ‖δ‖/‖d₀‖ where that is below 1, and no part of
        it moves by more than its chord."""
        centre, length = self.centres[d], self.known[d].length()
        whole = np.sqrt(np.square(centre.distance).sum(-1, keepdims=True)) / UP
        turned = 2.0 * np.sin(0.5 * UP * np.arcsin(np.minimum(UP * length / whole, 1.0)))
        change = np.where(length < whole, UP * turned, 2.0)
        return _entries(Deviation(np.zeros(node.shape), UP * size * np.fmin(UP * change, 2.0)))

    def _product(self, node: Node, before: list[Interval]) -> tuple[Deviation | None, Floats | None]:
        left, right = node.args
        matrix, x = self.nodes[right], self.known[left]
        if matrix.op == "constant" and matrix.value is not None and matrix.value.ndim == 2:
            W, length = np.asarray(matrix.value), x.length()
            columns = _norms(W, 0)
            entries = columns * length
            if not x.centred:
                entries = np.minimum(entries, x.reach @ np.abs(W) + columns * x.radius)
            return Deviation(np.zeros(node.shape), UP * spectral_norm(W) * length), UP * entries
        if average(self.nodes, node, before[right]) is not None:
            return self._average(node, before[left])
        if matrix.op == "transpose" and matrix.data[-2] == len(matrix.shape) - 1:
            return None, self._scores(node, self.known[matrix.args[0]].length().transpose(matrix.data))
        return None, None

    def _scores(self, node: Node, columns: Floats) -> Floats:
        """|⟨q, k⟩ − ⟨q₀, k₀⟩| at most, of rows q and columns k."""
        q, k = (self.centres[n].size for n in node.args)
        return UP * (_norms(q) * columns + self.known[node.args[0]].length() * (_norms(k, -2) + columns))

    def _average(self, node: Node, weights: Interval) -> tuple[Deviation | None, Floats | None]:
        """P V − P₀ V₀ = P (V − V₀) + (P − P₀) V₀, and the rows of P − P₀ sum up to 0."""
        left, right = node.args
        V, P = self.centres[right], self.centres[left]
        mean = (0.5 * V.low + 0.5 * V.high).mean(-2, keepdims=True)
        apart = UP * _norms(np.maximum(V.high - mean, mean - V.low)).max(-2, keepdims=True)
        change = np.maximum(weights.high - P.low, P.high - weights.low).sum(-1, keepdims=True)
        worst = self.known[right].length().max(-2, keepdims=True)
        radius = UP * (worst + UP * apart * np.minimum(2.0, UP * change))
        return _entries(Deviation(np.zeros(node.shape), np.broadcast_to(radius, (*node.shape[:-1], 1))))

    def _moved(self, node: Node, x: Deviation) -> tuple[Deviation | None, Floats | None]:
        """Rows that stay, are cut into parts, or are joined."""
        shape = x.reach.shape
        move, new, old = STRUCTURE[node.op], node.shape[-1], shape[-1]
        if node.op == "transpose" and node.data[-1] == len(shape) - 1:
            return Deviation(move(x.reach, node.data), move(x.radius, node.data)), None
        if node.op == "reshape" and old % new == 0:
            spread = np.broadcast_to(x.radius, (*shape[:-1], old // new))
            return Deviation(move(x.reach, node.data), spread.reshape(*node.shape[:-1], 1)), None
        if node.op == "reshape" and new % old == 0:
            parts = x.radius.reshape(*node.shape[:-1], new // old)
            return Deviation(move(x.reach, node.data), _norms(parts)), None
        return None, None

    def _squares(self, node: Node) -> Interval | None:
        """The range of Σ d² over rows."""
        if node.op != "sum" or not is_square(self.nodes[node.args[0]]):
            return None
        d = self.nodes[node.args[0]].args[0]
        if tuple(axis % len(self.nodes[d].shape) for axis in node.data[0]) != (len(self.nodes[d].shape) - 1,):
            return None
        return Interval(np.square(self._least(d)[..., 0]) / UP, np.full(node.shape, np.inf))

    def _least(self, d: int) -> Floats:
        """‖d‖ at least, of each row: how far it reaches in the direction of the row at the middle."""
        centre, x = self.centres[d], self.known[d]
        e = 0.5 * centre.low + 0.5 * centre.high
        e = e - e.mean(-1, keepdims=True) if x.centred else e
        size = np.sqrt(np.square(e).sum(-1, keepdims=True))
        e = e / np.where(size > SMALL, size, np.inf)
        along = np.where(e >= 0, e * centre.low, e * centre.high).sum(-1, keepdims=True)
        lost = (UP - 1.0) * (np.abs(e) * centre.size).sum(-1, keepdims=True)
        mean = np.abs(e.mean(-1, keepdims=True)) + (UP - 1.0) if x.centred else 0.0
        moved = UP * (((np.abs(e) + mean) * x.reach).sum(-1, keepdims=True) + x.radius)
        least = (along - lost - UP * moved) / UP
        return np.where(least > 0, least, 0.0)


def _norms(x: Floats, axis: int = -1) -> Floats:
    """Lengths along an axis, at most; squares below 1e−300 may be lost."""
    lengths: Floats = UP * np.sqrt(np.square(x).sum(axis, keepdims=True) + SMALL**3)
    return lengths


def _plain(x: Deviation) -> Deviation:
    """A deviation without its mean as one in a ball."""
    return Deviation(np.zeros(x.reach.shape), x.length()) if x.centred else x


def _entries(x: Deviation) -> tuple[Deviation, Floats]:
    return x, x.entries()
