"""A graph as steps of linear bounds: one for each node. What has no rule here is known by its range alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from integraph.bounds.ranges.patterns import MOVES
from integraph.certify.bounds.graph_models import KINKS
from integraph.certify.bounds.network_steps import Rule, Steps, curved, kinked
from integraph.certify.bounds.steps import Operand, Step, Total, entrywise, known, product
from integraph.numbers import intervals
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import add_up
from integraph.numbers.intervals import Interval
from integraph.numbers.models.elementary_functions import Power, Smooth
from integraph.numbers.models.lines import Lines, kink_lines, lines
from integraph.numbers.models.smooth_functions import SMOOTH
from integraph.numbers.roundoff import UP, U
from integraph.targets.graph import ROUNDED, Graph, Node
from integraph.targets.graph_evaluation import STRUCTURE

PAIRS = ("add", "sub", "mul", "div", "min", "max")


def graph_rules(graph: Graph) -> list[Rule]:
    """One for each node."""
    return [_rule(graph, node) for node in graph.nodes]


def graph_wanted(graph: Graph) -> list[bool]:
    """Which nodes to bound: outputs, and what goes into a function that is not linear."""
    curved = [node for node in graph.nodes if _function(node) or node.op in (*KINKS, "leaky_relu", "min", "max", "mul")]
    numbers = {n for node in curved for n in node.args} | set(graph.outputs)
    return [n in numbers and graph.nodes[n].op not in ("input", "constant") for n in range(len(graph.nodes))]


def _rule(graph: Graph, node: Node) -> Rule:
    def rule(ranges: Sequence[Interval]) -> Steps:
        x, operand = ranges[node.args[0]] if node.args else ranges[-1], node.args[0] if node.args else -1
        if node.op in KINKS or node.op == "leaky_relu":
            below = np.full((1, 1), KINKS[node.op] if node.op in KINKS else node.data[0])
            return kinked(operand, below, x, ranges[-1])
        if (f := _function(node)) is not None:
            return curved(operand, f, x, ranges[-1])
        return (_step(graph, node, ranges) or known(ranges[-1]),)

    return rule


def _step(graph: Graph, node: Node, ranges: Sequence[Interval]) -> Step | None:
    if node.op in PAIRS:
        return _pair(graph, node, ranges)
    if node.op == "matmul":
        return _product(graph, node, ranges)
    if node.op == "concat":
        return _concat(graph, node, ranges)
    if len(node.args) != 1:
        return None
    source, x = graph.nodes[node.args[0]], ranges[node.args[0]]
    if node.op in MOVES:
        index = np.ravel(STRUCTURE[node.op](np.arange(source.size).reshape(source.shape), node.data))
        return _combined([(node.args[0], 1.0, index, x)], len(index), x.low.shape[1])
    if node.op == "neg":
        return _combined([(node.args[0], -1.0, None, x)], node.size, x.low.shape[1])
    if node.op == "sum":
        owner = np.broadcast_to(np.expand_dims(np.arange(node.size).reshape(node.shape), node.data[0]), source.shape)
        return Total(node.args[0], np.ravel(owner))
    return None


def _function(node: Node) -> Smooth | None:
    """The function of one operand that a node is, x·x too."""
    if node.op == "mul" and node.args[0] == node.args[1]:
        return Power(2.0)
    if node.op == "power" and Fraction(float(node.data[0])) == node.data[0]:
        return Power(float(node.data[0]))
    return SMOOTH.get(node.op)


def _combined(parts: Sequence[tuple[int, float, Indices | None, Interval]], entries: int, cells: int) -> Step:
    """A sum of operands times ±1, each read through an index."""
    operands, sizes, zero = [], [], np.zeros((cells, entries))
    for number, factor, index, x in parts:
        slope = np.full((1, entries), factor)
        operands.append(Operand(number, slope, slope, index, len(x.low)))
        sizes.append(x.size.T if index is None else x.size[index].T)
    return entrywise(operands, sizes, zero, zero)


def _concat(graph: Graph, node: Node, ranges: Sequence[Interval]) -> Step:
    """A move of the operands, one after the other: each entry reads one of them."""
    sources = [graph.nodes[n] for n in node.args]
    starts = np.cumsum([0, *(source.size for source in sources)])
    numbers = [np.arange(a, b).reshape(s.shape) for a, b, s in zip(starts, starts[1:], sources, strict=False)]
    order = np.ravel(np.concatenate(numbers, node.data[0]))
    operands, sizes, cells = [], [], ranges[-1].low.shape[1]
    for n, start, source in zip(node.args, starts, sources, strict=False):
        own = (start <= order) & (order < start + source.size)
        index = np.where(own, order - start, 0)
        slope = own.astype(np.float64)[None]
        operands.append(Operand(n, slope, slope, index, source.size))
        sizes.append(ranges[n].size[index].T * slope)
    zero = np.zeros((cells, node.size))
    return entrywise(operands, sizes, zero, zero)


def _pair(graph: Graph, node: Node, ranges: Sequence[Interval]) -> Step | None:
    """Sums; products and quotients between planes; min and max between lines of the difference."""
    placed = [_placed(graph.nodes[n], node) for n in node.args]
    a, b = (_read(ranges[n], index) for n, index in zip(node.args, placed, strict=True))
    if node.op in ("add", "sub"):
        signs = (1.0, 1.0 if node.op == "add" else -1.0)
        parts = [(n, sign, index, ranges[n]) for n, sign, index in zip(node.args, signs, placed, strict=True)]
        return _combined(parts, node.size, a.low.shape[1])
    slopes, below, above, lost = (_difference if node.op in ("min", "max") else _planes)(node.op, a, b)
    operands = [
        Operand(n, low.T, high.T, index, len(ranges[n].low))
        for n, index, (low, high) in zip(node.args, placed, slopes, strict=True)
    ]
    return entrywise(operands, (a.size.T, b.size.T), below.T, above.T, lost.T)


Planes = tuple[tuple[tuple[Floats, Floats], tuple[Floats, Floats]], Floats, Floats, Floats]


def _difference(op: str, a: Interval, b: Interval) -> Planes:
    """max(a, b) = b + max(a − b, 0), min(a, b) = a − max(a − b, 0)."""
    x = intervals.sub(a, b)
    y = Interval(np.maximum(x.low, 0.0), np.maximum(x.high, 0.0))
    drawn = kink_lines(np.zeros((1, 1)), x, 0.5 * x.low + 0.5 * x.high, y)
    low, high = (drawn.low_slope, drawn.low), (drawn.high_slope, drawn.high)
    lost = 4 * U * (a.size + b.size)  # of 1 − slope
    if op == "max":
        return ((low[0], high[0]), (1.0 - low[0], 1.0 - high[0])), low[1], high[1], lost
    return ((1.0 - high[0], 1.0 - low[0]), (high[0], low[0])), -high[1], -low[1], lost


def _planes(op: str, a: Interval, b: Interval) -> Planes:
    """a·w with w = b or 1/b: |(a − m)(w − n)| is at most the product of the radii, so that n·a + m·w − m·n is close."""
    w, first, last = b, (np.ones_like(b.low), np.zeros_like(b.low)), (np.ones_like(b.low), np.zeros_like(b.low))
    if op == "div":
        w = intervals.power(b, Fraction(-1))
        drawn = reciprocal_lines(b, w)
        first, last = (drawn.low_slope, drawn.low), (drawn.high_slope, drawn.high)
    (m, r), (n, s) = _middle(a), _middle(w)
    up = m >= 0
    slopes = [np.where(up, x, y) for x, y in ((first[0], last[0]), (last[0], first[0]))]
    offsets = [np.where(up, x, y) for x, y in ((first[1], last[1]), (last[1], first[1]))]
    lost = r * s * UP + 8 * U * (np.abs(m) * (w.size + np.abs(slopes[0]) * b.size + np.abs(slopes[1]) * b.size))
    lost += 8 * U * np.abs(m) * np.maximum(np.abs(offsets[0]), np.abs(offsets[1]))
    return ((n, n), (m * slopes[0], m * slopes[1])), m * offsets[0] - m * n, m * offsets[1] - m * n, lost


def reciprocal_lines(x: Interval, y: Interval) -> Lines:
    """Of 1/x, y its values; below 0 those of 1/(−x), turned."""
    negative = x.high < 0
    size = Interval(np.where(negative, -x.high, x.low), np.where(negative, -x.low, x.high))
    values = Interval(np.where(negative, -y.high, y.low), np.where(negative, -y.low, y.high))
    drawn = lines(Power(-1.0), size, 0.5 * size.low + 0.5 * size.high, values)
    turned = Lines(drawn.high_slope, -drawn.high, drawn.low_slope, -drawn.low)
    return turned.where(negative, drawn)


def _middle(x: Interval) -> tuple[Floats, Floats]:
    """A number inside, and how far the ends are from it at most."""
    middle = 0.5 * x.low + 0.5 * x.high
    return middle, np.maximum(add_up(x.high, -middle), add_up(middle, -x.low))


def _product(graph: Graph, node: Node, ranges: Sequence[Interval]) -> Step | None:
    """A product with a constant matrix, or with some for parts of the other factor."""
    for place in (0, 1):
        number, other = node.args[1 - place], graph.nodes[node.args[place]]
        variable = graph.nodes[number]
        if other.op == "constant" and other.data != ROUNDED and variable.shape[:-2] == node.shape[:-2]:
            assert other.value is not None
            return product(number, np.asarray(other.value, np.float64), place == 0, node.shape, ranges[number].size.T)
    return None


def _placed(source: Node, node: Node) -> Indices | None:
    """Which entries of an operand are read, where it is broadcast."""
    if source.shape == node.shape:
        return None
    return np.ravel(np.broadcast_to(np.arange(source.size).reshape(source.shape), node.shape))


def _read(x: Interval, index: Indices | None) -> Interval:
    return x if index is None else Interval(x.low[index], x.high[index])
