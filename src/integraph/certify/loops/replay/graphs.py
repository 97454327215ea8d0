"""Graphs on rows of the checker, node by node; what several nodes read has a symbol for its radius."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from integraph.certify.loops.replay.functions import apply, kink
from integraph.certify.loops.replay.polynomials import CONSTANT
from integraph.certify.loops.replay.rows import Row, dot, linear, merged, of_ball
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import ZERO, symmetric
from integraph.numbers.arrays import Floats
from integraph.targets.graph import ROUNDED, Graph, Node
from integraph.targets.graph_evaluation import STRUCTURE

MOVES = ("reshape", "broadcast", "transpose", "slice", "take")  # of entries that stay what they are
KINKS = {"relu": ZERO, "abs": arb(-1)}
INVERSE = Fraction(-1)
SYMBOLS = 400  # at most; later radii stay radii
ROUNDING = 1e-12  # of a row: a radius that is less gets no symbol
POWERS = 64  # the highest power that is a product


def graph_rows(graph: Graph, rows: Sequence[Row]) -> list[Row]:
    """The outputs; symbols of nodes become part of their radii."""
    return [merged(row, len(rows[0].g)) for row in _Walk(graph, rows).outputs()]


class _Walk:
    """The values of all nodes. Their rows have as many symbols as there were when they were made: the others are 0."""

    def __init__(self, graph: Graph, rows: Sequence[Row]) -> None:
        self.graph, self.inputs = graph, _objects(rows)
        self.k, self.count = rows[0].k, len(rows[0].g)
        self.most = self.count + SYMBOLS
        self.values: list[Any] = []
        self.exact: dict[int, Floats] = {}  # nodes that are constant

    def outputs(self) -> list[Row]:
        uses = Counter(n for node in self.graph.nodes for n in node.args)
        for number, node in enumerate(self.graph.nodes):
            check_deadline()
            value = np.asarray(self._node(number, node), object).reshape(node.shape)
            if uses[number] > 1 and number not in self.exact and node.op not in MOVES:
                value = _each(self._shared, value).reshape(node.shape)
            self.values.append(value)
        return [self._padded(row) for n in self.graph.outputs for row in self.values[n].ravel()]

    def _padded(self, row: Row) -> Row:
        missing = self.count - len(row.g)
        return Row(row.k, row.p, row.g + [ZERO] * missing, row.r) if missing else row

    def _shared(self, row: Row) -> Row:
        """The row with its radius as a symbol of its own."""
        if not row.r > 0 or not row.r.is_finite() or self.count >= self.most:
            return row
        if row.r < ROUNDING * sum(row.sizes, ZERO):
            p = {**row.p, CONSTANT: row.p.get(CONSTANT, ZERO) + symmetric(row.r)}
            return Row(row.k, p, row.g, ZERO)
        g = self._padded(row).g + [row.r]
        self.count += 1
        return Row(row.k, row.p, g, ZERO)

    def _node(self, number: int, node: Node) -> Any:
        if node.op == "input":
            return self.inputs[node.data[0] : node.data[0] + node.size]
        if node.op == "constant":
            assert node.value is not None
            if node.data != ROUNDED:
                self.exact[number] = node.value
            ball = _near if node.data == ROUNDED else arb
            return _each(lambda x: of_ball(ball(float(x)), self.k, self.count), node.value)
        if node.op in MOVES and node.args[0] in self.exact:
            self.exact[number] = STRUCTURE[node.op](self.exact[node.args[0]], node.data)
        args = [_each(self._padded, self.values[n]) for n in node.args]
        if node.op in (*MOVES, "sum"):
            return STRUCTURE[node.op](args[0], node.data)
        if node.op == "concat":
            return np.concatenate(args, node.data[0])
        if node.op == "matmul":
            return self._matmul(node, *args)
        if node.op in SCORES:
            mask = np.broadcast_to(True if node.value is None else node.value, args[0].shape)
            return SCORES[node.op](args[0], mask)
        if node.op == "leaky_relu":
            return _each(lambda row: kink(row, arb(node.data[0])), args[0])
        if node.op == "power":
            return _each(lambda row: power(row, node.data[0]), args[0])
        return np.frompyfunc(lambda *rows: operation(node.op, rows), len(args), 1)(*args)

    def _matmul(self, node: Node, a: Any, b: Any) -> Any:
        """A product; with a constant matrix of rows whose radii are symbols."""
        A = self.exact.get(node.args[1])
        if A is None or A.ndim != 2 or node.args[0] in self.exact:
            left = np.broadcast_to(a, (*node.shape[:-2], *a.shape[-2:])).reshape(-1, *a.shape[-2:])
            right = np.broadcast_to(b, (*node.shape[:-2], *b.shape[-2:])).reshape(-1, *b.shape[-2:])
            sums = [
                dot([(1, x, y) for x, y in zip(row, column, strict=True)], 1)
                for one, other in zip(left, right, strict=True)
                for row in one
                for column in other.T
            ]
            return _objects(sums)
        made: list[Row] = []
        for vector in a.reshape(-1, a.shape[-1]):
            rows = [self._shared(row) for row in vector]
            made += linear(A.T, [self._padded(row) for row in rows])
        return _objects(made)


def _objects(rows: Sequence[Row]) -> Any:
    array = np.empty(len(rows), object)
    array[:] = rows
    return array


def _each(f: Callable[[Any], Row], x: Any) -> Any:
    return np.asarray(np.frompyfunc(f, 1, 1)(x), object)


def _near(x: float) -> arb:
    """The ball of all numbers that are rounded to x."""
    return arb(float(np.nextafter(x, -np.inf))).union(arb(float(np.nextafter(x, np.inf))))


def power(row: Row, exponent: Fraction) -> Row:
    """A power with a fixed exponent."""
    if exponent.denominator != 1 or not 1 <= exponent <= POWERS:
        return apply(exponent, row)
    if exponent == 1:
        return row
    half = power(row, Fraction(int(exponent) // 2))
    square = dot([(1, half, half)], 1)
    return dot([(1, square, row)], 1) if int(exponent) % 2 else square


def operation(op: str, args: Sequence[Row]) -> Row:
    """An operation on numbers, not arrays."""
    x, y = args[0], args[-1]
    match op:
        case "add":
            return x + y
        case "sub":
            return x - y
        case "neg":
            return -x
        case "mul":
            return dot([(1, x, y)], 1)
        case "div":
            return dot([(1, x, apply(INVERSE, y))], 1)
        case "max":
            return y + kink(x - y, ZERO)
        case "min":
            return x - kink(x - y, ZERO)
        case "variable_power":
            return apply("exp", dot([(1, y, apply("ln", x))], 1))
    return kink(x, KINKS[op]) if op in KINKS else apply(op, x)


def _totals(x: Any, mask: Any) -> Any:
    """Σ_j exp(x_j − x_i) over the last axis, for every i: differences share their errors."""
    grown = np.frompyfunc(lambda a, b: apply("exp", a - b), 2, 1)(x[..., None, :], x[..., :, None])
    rows = grown.reshape(-1, x.shape[-1])
    kept = np.broadcast_to(mask[..., None, :], grown.shape).reshape(rows.shape)
    return _objects([row[keep].sum() for row, keep in zip(rows, kept, strict=True)]).reshape(x.shape)


def _softmax(x: Any, mask: Any) -> Any:
    first = x.flat[0]
    nothing = of_ball(ZERO, first.k, len(first.g))
    return np.where(mask, _each(lambda row: apply(INVERSE, row), _totals(x, mask)), _objects([nothing]))


def _log_softmax(x: Any, mask: Any) -> Any:
    return _each(lambda row: -apply("ln", row), _totals(x, mask))


def _log_sum_exp(x: Any, mask: Any) -> Any:
    total = x - _log_softmax(x, mask)
    return np.take_along_axis(total, mask.argmax(-1)[..., None], -1)[..., 0]


SCORES: dict[str, Callable[[Any, Any], Any]] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _log_sum_exp,
}
