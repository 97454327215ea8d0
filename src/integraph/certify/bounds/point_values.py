"""What a network or a graph computes at a point, on Arb balls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb

from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import above, below, column, matrix, precision
from integraph.numbers.arrays import Floats
from integraph.targets.activations import CUBIC
from integraph.targets.arb_functions import fixed_power, power, value
from integraph.targets.graph import ROUNDED, Graph, Node
from integraph.targets.graph_evaluation import STRUCTURE
from integraph.targets.network import Network

BITS = 128
Real = Callable[[arb], arb]


def point_values(source: Network | Graph, x: Floats) -> tuple[Floats, Floats]:
    """Ends (low, high) between which every output is at x; infinite where it has no value."""
    with precision(BITS):
        balls = _network(source, x) if isinstance(source, Network) else graph_values(source, x)
        return np.array([below(ball) for ball in balls]), np.array([above(ball) for ball in balls])


def _network(network: Network, x: Floats) -> list[arb]:
    values = [arb(v) for v in x.tolist()]
    for layer in network.layers:
        arguments = (matrix(layer.A) * column(values) + column([arb(b) for b in layer.b.tolist()])).entries()
        if layer.activation == "leaky_relu":
            slopes = np.broadcast_to(np.asarray(layer.slope), (len(arguments),)).tolist()
            values = [_kinked(v, c) for v, c in zip(arguments, slopes, strict=True)]
        else:
            values = [ACTIVATIONS[layer.activation](v) for v in arguments]
    return values


def graph_values(graph: Graph, x: Floats) -> list[arb]:
    """The outputs at a point, at the precision of the moment."""
    inputs = np.array([arb(v) for v in x.tolist()], object)
    values: list[Any] = []
    for node in graph.nodes:
        if node.op == "input":
            values.append(inputs[node.data[0] : node.data[0] + node.size].reshape(node.shape))
        else:
            values.append(np.asarray(_computed(node, [values[n] for n in node.args]), object).reshape(node.shape))
    return [ball for n in graph.outputs for ball in values[n].ravel().tolist()]


def _computed(node: Node, args: list[Any]) -> Any:
    if node.op == "constant":
        assert node.value is not None
        return _each(_near if node.data == ROUNDED else arb, node.value)
    if node.op == "power":
        return _each(lambda v: fixed_power(v, node.data[0]), args[0])
    if node.op == "leaky_relu":
        return _each(lambda v: _kinked(v, node.data[0]), args[0])
    if node.op in STRUCTURE:
        return STRUCTURE[node.op](args[0], node.data)
    if node.op == "concat":
        return np.concatenate(args, node.data[0])
    if node.op == "matmul":
        return np.matmul(*args)
    if node.op in ROWS:
        return ROWS[node.op](_masked(args[0], node.value))
    if node.op == "variable_power":
        return np.vectorize(power, otypes=[object])(*args)
    if node.op in ACTIVATIONS:
        return _each(ACTIVATIONS[node.op], args[0])
    return np.vectorize(lambda *balls: value(node.op, "", balls), otypes=[object])(*args)


def _each(f: Callable[[Any], arb], x: Any) -> Any:
    return np.vectorize(f, otypes=[object])(x)


def _near(x: float) -> arb:
    """The ball of all numbers that are rounded to x."""
    return arb(float(np.nextafter(x, -np.inf))).union(arb(float(np.nextafter(x, np.inf))))


def _kinked(x: arb, slope: float) -> arb:
    return x if x >= 0 else slope * x if x <= 0 else x.union(slope * x)


def _masked(x: Any, mask: Any) -> Any:
    """The scores, −∞ where they do not take part."""
    scores = x.copy()
    if mask is not None:
        scores[~np.broadcast_to(mask, x.shape)] = arb.neg_inf()
    return scores


def _softmax(x: Any) -> Any:
    grown = _each(arb.exp, x)
    return grown / grown.sum(-1, keepdims=True)


def _log_sum_exp(x: Any) -> Any:
    return _each(arb.log, _each(arb.exp, x).sum(-1))


ROWS: dict[str, Callable[[Any], Any]] = {
    "softmax": _softmax,
    "log_softmax": lambda x: x - _log_sum_exp(x)[..., None],
    "logsumexp": _log_sum_exp,
}
ACTIVATIONS: dict[str, Real] = {
    "identity": lambda x: x,
    "tanh": ranges.tanh,
    "sigmoid": ranges.sigmoid,
    "arctan": ranges.atan,
    "softplus": ranges.softplus,
    "silu": lambda x: x * ranges.sigmoid(x),
    "gelu": lambda x: x * (-x / arb(2).sqrt()).erfc() / 2,
    "gelu_tanh": lambda x: x * ranges.sigmoid((8 / arb.pi()).sqrt() * (x + arb(CUBIC) * x**3)),
    "sin": ranges.sin,
    "exp": ranges.exp,
    "gaussian": ranges.gaussian,
    "erf": ranges.erf,
    "log_cosh": ranges.log_cosh,
    "relu": lambda x: _kinked(x, 0.0),
}
