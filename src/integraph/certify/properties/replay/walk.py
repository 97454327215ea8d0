"""A network, a graph and a formula of outputs and inputs on rows of the checker, operation by operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from integraph.certify.properties.replay.functions import FUNCTIONS, apply, fixed_power, kink
from integraph.certify.properties.replay.products import products, total
from integraph.certify.properties.replay.rows import Row, Space, affine, folded, of_ball, shared
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import ZERO
from integraph.targets.expression import CONSTANTS, Step
from integraph.targets.graph import ROUNDED, Graph, Node
from integraph.targets.graph_evaluation import STRUCTURE
from integraph.targets.network import Layer, Network

KINKS = {"relu": arb(0), "abs": arb(-1)}
INVERSE = Fraction(-1)


def outputs(source: Network | Graph, inputs: Sequence[Row]) -> list[Row]:
    """What a source makes of its inputs."""
    return _network(source, list(inputs)) if isinstance(source, Network) else _graph(source, inputs)


def _network(network: Network, rows: list[Row]) -> list[Row]:
    for layer in network.layers:
        rows = [_activated(layer, n, row) for n, row in enumerate(affine(layer.A, layer.b, rows))]
    return rows


def _activated(layer: Layer, unit: int, row: Row) -> Row:
    if layer.activation == "identity":
        return row
    if layer.activation == "leaky_relu":
        return kink(row, arb(float(np.broadcast_to(layer.slope, (len(layer.A),))[unit])))
    return kink(row, KINKS["relu"]) if layer.activation == "relu" else apply(FUNCTIONS[layer.activation], row)


def _graph(graph: Graph, inputs: Sequence[Row]) -> list[Row]:
    space = inputs[0].space
    uses = Counter(n for node in graph.nodes for n in node.args)
    flat = _objects(inputs)
    values: list[Any] = []
    sums, inner = products(graph)
    for number, node in enumerate(graph.nodes):
        check_deadline()
        if node.op == "input":
            values.append(flat[node.data[0] : node.data[0] + node.size].reshape(node.shape))
            continue
        if number in inner:
            values.append(None)
            continue
        if number in sums:
            value = total(graph, sums[number], values, node.shape)
        else:
            value = np.asarray(_node(node, [values[n] for n in node.args], space), object).reshape(node.shape)
        if uses[number] > 1 and node.op not in STRUCTURE:
            value = _objects(folded([shared(row) for row in value.ravel()])).reshape(node.shape)
        values.append(value)
    return [row for n in graph.outputs for row in values[n].ravel()]


def _objects(rows: Sequence[Row]) -> Any:
    array = np.empty(len(rows), object)
    array[:] = rows
    return array


def _node(node: Node, args: list[Any], space: Space) -> Any:
    if node.op == "constant":
        assert node.value is not None
        ball = _near if node.data == ROUNDED else arb
        return _each(lambda x: of_ball(space, ball(float(x))), node.value)
    if node.op == "leaky_relu":
        return _each(lambda row: kink(row, arb(node.data[0])), args[0])
    if node.op == "power":
        return _each(lambda row: apply(fixed_power(node.data[0]), row), args[0])
    if node.op in STRUCTURE:
        return STRUCTURE[node.op](args[0], node.data)
    if node.op == "concat":
        return np.concatenate(args, node.data[0])
    if node.op == "matmul":
        return _matmul(*args)
    if node.op in SCORES:
        mask = np.broadcast_to(True if node.value is None else node.value, args[0].shape)
        return SCORES[node.op](args[0], mask)
    return np.frompyfunc(lambda *rows: operation(node.op, rows), len(args), 1)(*args)


def _each(f: Callable[[Any], Row], x: Any) -> Any:
    return np.frompyfunc(f, 1, 1)(x)


def _near(x: float) -> arb:
    """The ball of all numbers that are rounded to x."""
    return arb(float(np.nextafter(x, -np.inf))).union(arb(float(np.nextafter(x, np.inf))))


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
            return apply(fixed_power(Fraction(2)), x) if x is y else x * y
        case "div":
            return x * apply(fixed_power(INVERSE), y)
        case "max":
            return y + kink(x - y, KINKS["relu"])
        case "min":
            return x - kink(x - y, KINKS["relu"])
        case "variable_power" | "power":
            return apply(FUNCTIONS["exp"], y * apply(FUNCTIONS["ln"], x))
    return kink(x, KINKS[op]) if op in KINKS else apply(FUNCTIONS[op], x)


def _matmul(a: Any, b: Any) -> Any:
    """A product; with a matrix of exact numbers as an affine map, whose radii are symbols."""
    if b.ndim == 2 and (A := _exact(b)) is not None:
        vectors = a.reshape(-1, a.shape[-1])
        rows = [row for vector in vectors for row in affine(A.T, np.zeros(A.shape[1]), vector.tolist())]
        return _objects(rows).reshape(*a.shape[:-1], b.shape[-1])
    if a.ndim == b.ndim == 2 and (A := _exact(a)) is not None:
        columns = [_objects(affine(A, np.zeros(len(A)), column.tolist())) for column in b.T]
        return np.stack(columns, 1)
    return np.matmul(a, b)


def _exact(x: Any) -> Any:
    """The numbers of rows that are constant, or None."""
    if all(not row.g and row.r == 0 and row.p[0].is_exact() and row.known.is_exact() for row in x.ravel()):
        return np.array([float(row.p[0]) for row in x.ravel()]).reshape(x.shape)
    return None


def _totals(x: Any, mask: Any) -> Any:
    """Σ_j exp(x_j − x_i) over the last axis, for every i: differences share their errors."""
    grown = np.frompyfunc(lambda a, b: apply(FUNCTIONS["exp"], a - b), 2, 1)(x[..., None, :], x[..., :, None])
    rows = grown.reshape(-1, x.shape[-1])
    kept = np.broadcast_to(mask[..., None, :], grown.shape).reshape(rows.shape)
    return _objects([row[keep].sum() for row, keep in zip(rows, kept, strict=True)]).reshape(x.shape)


def _softmax(x: Any, mask: Any) -> Any:
    nothing = of_ball(x.flat[0].space, ZERO)
    shares = _each(lambda row: apply(fixed_power(INVERSE), row), _totals(x, mask))
    return np.where(mask, shares, _objects([nothing]))


def _log_softmax(x: Any, mask: Any) -> Any:
    return _each(lambda row: -apply(FUNCTIONS["ln"], row), _totals(x, mask))


def _log_sum_exp(x: Any, mask: Any) -> Any:
    total = x - _log_softmax(x, mask)
    first = mask.argmax(-1)
    return np.take_along_axis(total, first[..., None], -1)[..., 0]


SCORES: dict[str, Callable[[Any, Any], Any]] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _log_sum_exp,
}


@dataclass(frozen=True, slots=True)
class RowArithmetic:
    """The steps of a formula on rows, for `targets.expression.evaluate`."""

    space: Space

    def number(self, text: str) -> Row:
        if text in CONSTANTS:
            return of_ball(self.space, arb.pi() if text == "pi" else arb.const_e())
        exact = Fraction(text)
        return of_ball(self.space, arb(exact.numerator) / exact.denominator)

    def apply(self, step: Step, args: Sequence[Row]) -> Row:
        if step.op == "power" and step.text:
            return apply(fixed_power(Fraction(step.text)), args[0])
        return operation(step.op, args)
