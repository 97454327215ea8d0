"""A graph on polynomial models, operation by operation, in the order of its nodes.

An operation that has no rule here is computed on intervals, cell by cell, and its rows depend on the inputs through
their radii only. Where an operation is not defined on a whole cell nothing is known of its result.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from integraph.bounds.ranges.interval_functions import FUNCTIONS
from integraph.bounds.ranges.patterns import MOVES
from integraph.bounds.ranges.propagation import node_range
from integraph.certify.bounds.network_models import Watch
from integraph.numbers import intervals
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.models.functions import apply, kink
from integraph.numbers.models.models import Models, joined, of_interval
from integraph.numbers.models.smooth_functions import SMOOTH, Power
from integraph.targets.graph import ROUNDED, Graph, Node
from integraph.targets.graph_evaluation import STRUCTURE

LARGEST = 4_000_000  # entries of the matrix of a product that is computed at once
KINKS = {"relu": 0.0, "abs": -1.0}
DOMAINS = {  # of functions that are not defined everywhere
    "ln": (0.0, math.inf), "log2": (0.0, math.inf), "log10": (0.0, math.inf), "log1p": (-1.0, math.inf),
    "sqrt": (0.0, math.inf), "asin": (-1.0, 1.0), "acos": (-1.0, 1.0), "acosh": (1.0, math.inf),
    "atanh": (-1.0, 1.0),
}  # fmt: skip
NONLINEAR = frozenset((*SMOOTH, *KINKS, *FUNCTIONS, "leaky_relu", "mul", "div", "min", "max", "power"))


def graph_models(graph: Graph, x: Models, watch: Watch = lambda rows: rows) -> Models:
    """The outputs one after the other, from the flat input. The rows of every node go through `watch`, in order."""
    uses = Counter(n for node in graph.nodes for n in node.args)
    values: list[Models] = []
    for number, node in enumerate(graph.nodes):
        if node.op == "input":
            rows = x.take(np.arange(node.data[0], node.data[0] + node.size))
        else:
            rows = _value(node, [values[n] for n in node.args], [graph.nodes[n] for n in node.args], x)
        shared = uses[number] > 1 and node.op in NONLINEAR
        values.append(watch(rows.with_symbols() if shared else rows))
    return joined([values[n] for n in graph.outputs])


def _value(node: Node, args: Sequence[Models], sources: Sequence[Node], x: Models) -> Models:
    if node.op == "constant":
        return _constant(node, x)
    if node.op in ("add", "sub", "mul", "div", "min", "max"):
        return _pair(
            node, *(_placed(rows, source.shape, node.shape) for rows, source in zip(args, sources, strict=True))
        )
    if node.op in MOVES:
        numbers = np.arange(sources[0].size).reshape(sources[0].shape)
        return args[0].take(np.ravel(STRUCTURE[node.op](numbers, node.data)))
    if node.op == "concat":
        starts = np.cumsum([0, *(source.size for source in sources)])
        parts = [np.arange(a, b).reshape(s.shape) for a, b, s in zip(starts, starts[1:], sources, strict=False)]
        return joined(args).take(np.ravel(np.concatenate(parts, node.data[0])))
    if node.op == "sum" and sources[0].size * node.size <= LARGEST:
        whole = np.eye(sources[0].size).reshape(*sources[0].shape, -1).sum(node.data[0])
        return args[0].affine(whole.reshape(node.size, -1), np.zeros(node.size))
    if node.op == "matmul":
        return _product(node, args, sources)
    if node.op == "neg":
        return -args[0]
    return _function(node, args, sources)


def _constant(node: Node, x: Models) -> Models:
    assert node.value is not None
    shape = (node.size, x.space.cells)
    value = np.broadcast_to(np.ravel(node.value)[:, None], shape)
    if node.data == ROUNDED:
        return of_interval(x.space, Interval(np.nextafter(value, -np.inf), np.nextafter(value, np.inf)))
    return of_interval(x.space, Interval(value, value))


def _placed(rows: Models, shape: tuple[int, ...], into: tuple[int, ...]) -> Models:
    """The rows of a value as they are broadcast."""
    if shape == into:
        return rows
    return rows.take(np.ravel(np.broadcast_to(np.arange(len(rows)).reshape(shape), into)))


def _pair(node: Node, a: Models, b: Models) -> Models:
    same = node.args[0] == node.args[1]
    if node.op == "add":
        return a + b
    if node.op == "sub":
        return a + -b
    if node.op == "mul":
        return apply(Power(2.0), a) if same else a * b
    if node.op == "div":
        return a * reciprocal(b)
    above = kink(a + -b, np.zeros((1, 1)))  # max(a, b) = b + max(a − b, 0)
    if node.op == "max":
        return (b + above).within(intervals.maximum(a.known, b.known))
    return (a + -above).within(intervals.minimum(a.known, b.known))


def reciprocal(x: Models) -> Models:
    """1/x; nothing is known where 0 is inside."""
    sign = np.where(x.known.high < 0, -1.0, 1.0)
    zero = np.zeros((1, 1))
    return apply(Power(-1.0), x.scale(sign, zero)).scale(sign, zero)


def _function(node: Node, args: Sequence[Models], sources: Sequence[Node]) -> Models:
    x = args[0]
    if node.op in KINKS or node.op == "leaky_relu":
        return kink(x, np.full((1, 1), KINKS[node.op] if node.op in KINKS else node.data[0]))
    if node.op == "power" and Fraction(float(node.data[0])) == node.data[0]:
        return _power(x, node.data[0])
    plain = _on_intervals(node, args, sources)
    if node.op in DOMAINS:
        low, high = DOMAINS[node.op]
        outside = (x.known.low < low) | (x.known.high > high)
        plain = Interval(np.where(outside, -np.inf, plain.low), np.where(outside, np.inf, plain.high))
    return apply(SMOOTH[node.op], x).within(plain) if node.op in SMOOTH else of_interval(x.space, plain)


def _power(x: Models, a: Fraction) -> Models:
    if a < 0 and a.denominator == 1:
        x, a = reciprocal(x), -a
    if a == 1:
        return x
    result = apply(Power(float(a)), x)
    return result.within(intervals.power(x.known, a)) if a > 0 and _within_domain(x, a) else result


def _within_domain(x: Models, a: Fraction) -> bool:
    return a.denominator == 1 or bool((x.known.low >= 0).all())


def _on_intervals(node: Node, args: Sequence[Models], sources: Sequence[Node]) -> Interval:
    """The ranges of a node, cell by cell."""

    def placed(ends: Floats, shape: tuple[int, ...]) -> Floats:
        return np.ascontiguousarray(ends.T).reshape(-1, *shape)

    known = [
        Interval(placed(x.known.low, source.shape), placed(x.known.high, source.shape))
        for x, source in zip(args, sources, strict=True)
    ]
    ranges = node_range(node, known)
    cells = args[0].space.cells
    return Interval(
        *(np.broadcast_to(end, (cells, *node.shape)).reshape(cells, -1).T for end in (ranges.low, ranges.high))
    )


def _product(node: Node, args: Sequence[Models], sources: Sequence[Node]) -> Models:
    """A product with a constant matrix as an affine map; of two variable ones on intervals."""
    first, second = sources
    exact = [source.op == "constant" and source.data != ROUNDED and len(source.shape) == 2 for source in sources]
    if exact[1] and second.value is not None:
        return _map(args[0], second.value.T, node.size // second.shape[1], by_rows=True)
    if exact[0] and first.value is not None and len(second.shape) == 2:
        return _map(args[1], first.value, second.shape[1], by_rows=False)
    return of_interval(args[0].space, _on_intervals(node, args, sources))


def _map(x: Models, A: Floats, copies: int, by_rows: bool) -> Models:
    """A applied to each of so many vectors, stored one after the other, or column by column."""
    m, n = A.shape
    if copies * copies * m * n <= LARGEST:
        pair = (np.eye(copies), A) if by_rows else (A, np.eye(copies))
        whole: Floats = A if copies == 1 else np.kron(*pair).astype(np.float64)
        return x.affine(whole, np.zeros(len(whole)))
    vectors = np.arange(copies * n).reshape((copies, n) if by_rows else (n, copies))
    parts = [x.take(rows).affine(A, np.zeros(m), fresh=False) for rows in (vectors if by_rows else vectors.T)]
    order = np.arange(copies * m).reshape(copies, m)
    return joined(parts).take(np.ravel(order if by_rows else order.T))
