"""The range of every value of a graph over a box: intervals that contain all values in real arithmetic.

An operation sees the ranges of its operands, not how they depend on each other, except where the same node is taken
twice (x·x is a square), where a value is an affine map of the inputs (`affine_forms`), and in the patterns of
attention and layer norms (`patterns`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from integraph.bounds.ranges import affine_forms
from integraph.bounds.ranges.interval_functions import FUNCTIONS, ROWS, leaky_relu
from integraph.bounds.ranges.patterns import MOVES, average, normalised, of_norm
from integraph.errors import SourceError
from integraph.numbers import intervals as arithmetic
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.targets.graph import ROUNDED, Graph, Node
from integraph.targets.graph_evaluation import STRUCTURE

PAIRS: dict[str, Callable[[Interval, Interval], Interval]] = {
    "add": arithmetic.add,
    "sub": arithmetic.sub,
    "mul": arithmetic.mul,
    "div": arithmetic.div,
    "min": arithmetic.minimum,
    "max": arithmetic.maximum,
    "variable_power": arithmetic.variable_power,
    "matmul": arithmetic.matmul,
}
SAME: dict[str, Callable[[Interval], Interval]] = {  # of a value and itself
    "sub": lambda x: Interval(np.zeros_like(x.low), np.zeros_like(x.low)),
    "mul": lambda x: arithmetic.power(x, Fraction(2)),
    "div": lambda x: arithmetic.power(x, Fraction(0)),
}


def ranges(graph: Graph, low: Floats, high: Floats) -> list[Interval]:
    """One interval for each node, of its shape, for all inputs with low ≤ x ≤ high."""
    box = Interval(np.asarray(low, np.float64), np.asarray(high, np.float64))
    affine = affine_forms.forms(graph, box)
    intervals: list[Interval] = []
    for number, node in enumerate(graph.nodes):
        args = [intervals[n] for n in node.args]
        own = _input(node, box) if node.op == "input" else node_range(node, args)
        if number in affine:
            own = arithmetic.intersection(own, affine_forms.span(affine[number], box))
        intervals.append(_known(graph, node, args, own))
    return intervals


def _input(node: Node, box: Interval) -> Interval:
    own = slice(node.data[0], node.data[0] + node.size)
    return Interval(box.low[own].reshape(node.shape), box.high[own].reshape(node.shape))


def _known(graph: Graph, node: Node, args: Sequence[Interval], own: Interval) -> Interval:
    """The range, cut down where the node is part of a pattern."""
    if node.op in ("mul", "div"):
        bound = np.array(normalised(graph.nodes, node))
        return arithmetic.intersection(own, Interval(-bound, bound))
    if node.op == "matmul":
        for hull in (average(graph.nodes, node, args[1]), of_norm(graph.nodes, node)):
            own = own if hull is None else arithmetic.intersection(own, hull)
    return own


def node_range(node: Node, args: Sequence[Interval]) -> Interval:
    """The range of one operation, from those of its operands."""
    if node.op == "constant":
        assert node.value is not None
        rounded = Interval(np.nextafter(node.value, -np.inf), np.nextafter(node.value, np.inf))
        return rounded if node.data == ROUNDED else Interval(node.value, node.value)
    if node.op in PAIRS:
        if node.op in SAME and node.args[0] == node.args[1]:
            return SAME[node.op](args[0])
        return PAIRS[node.op](*args)
    if node.op in FUNCTIONS:
        return FUNCTIONS[node.op](args[0])
    if node.op in MOVES:
        move = STRUCTURE[node.op]
        return Interval(move(args[0].low, node.data), move(args[0].high, node.data))
    if node.op == "concat":
        return Interval(
            *(np.concatenate(ends, node.data[0]) for ends in zip(*((x.low, x.high) for x in args), strict=True))
        )
    if node.op == "sum":
        return arithmetic.total(args[0], node.data[0])
    if node.op == "power":
        return arithmetic.power(args[0], node.data[0])
    if node.op == "leaky_relu":
        return leaky_relu(args[0], node.data[0])
    if node.op in ROWS:
        return ROWS[node.op](args[0], node.value)
    raise SourceError(f"{node.text or node.op}: the range of the operation {node.op!r} is not known")
