"""What a network, a graph or a program computes at points and on tiny boxes: on Arb balls, and where these know nothing
of a program, on polynomial models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb, arb_mat

from integraph.bounds.ranges import propagation
from integraph.certify.bounds.graph_models import PARTIAL, domain, outside
from integraph.certify.bounds.program_models import program_models, segment_forms
from integraph.certify.enclosure.closed_forms import enclose
from integraph.certify.problem import Unprovable
from integraph.clock import now
from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import above, below, box, matrix, precision
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.models.models import of_cells
from integraph.program import Program
from integraph.targets.activations import CUBIC
from integraph.targets.arb_functions import fixed_power, power, value
from integraph.targets.graph import ROUNDED, Graph, Node
from integraph.targets.graph_evaluation import STRUCTURE
from integraph.targets.network import Network

BITS = 128
POINTS, WORK = 64, 6_000_000  # points at most, and points times the numbers of the source, about
BALLS = 1_000_000  # of a graph, beyond which they are computed on intervals
SECONDS = 3.0  # for all points of a graph or a program
Ends = tuple[Floats, Floats]
Real = Callable[[arb], arb]
Source = Network | Graph | Program


def point_values(source: Source, x: Floats) -> Ends:
    """Ends (low, high) between which every output is at x; infinite where it has no value."""
    return box_values(source, x, x)


def box_values(source: Source, low: Floats, high: Floats) -> Ends:
    """The same for all x of a box: tight where it is tiny."""
    if isinstance(source, Program):
        return _program(source, low, high)
    with precision(BITS):
        x = box(low.tolist(), high.tolist())
        if isinstance(source, Graph):
            return _ends(graph_values(source, x))
        return _ends([row[0] for row in _network(source, [x])])


def attained(source: Source, lowest: Floats, highest: Floats, inside: Floats) -> tuple[Floats, Floats, Ends]:
    """Points, one for each output, where it is nearly smallest and nearly largest, and what it provably attains there:
    of points that are proposed, those that serve most outputs. At such points, on the edge of the box, a graph may have
    no value; at one inside it may."""
    proposed = [lowest, highest, inside[None]] if isinstance(source, Graph) else [lowest, highest]
    points, uses = np.unique(np.concatenate(proposed), axis=0, return_counts=True)
    points = points[np.argsort(-uses, kind="stable")[:POINTS]]
    work = _numbers(source) * len(points)
    if isinstance(source, Graph) and work > BALLS:
        low, high = _interval_values(source, points)
    else:
        low, high = _values(source, points[: max(1, WORK * len(points) // max(work, 1))])
    points = points[: len(low)]
    every, least, most = np.arange(low.shape[1]), high.argmin(0), low.argmax(0)
    values = high[least, every], low[most, every]
    lowest, highest = (np.where(np.isfinite(value)[:, None], points[which], np.nan)
                       for value, which in zip(values, (least, most), strict=True))  # fmt: skip
    return lowest, highest, values


def _interval_values(graph: Graph, points: Floats) -> Ends:
    """At points (n, inputs) by intervals of float64, for graphs that are large for balls: ends of (n, outputs)."""
    low, high = np.full((len(points), graph.sizes), -np.inf), np.full((len(points), graph.sizes), np.inf)
    for n, x in enumerate(points):
        known = propagation.ranges(graph, x, x)
        if all(
            _has_values(node, [known[k] for k in node.args], own) for node, own in zip(graph.nodes, known, strict=True)
        ):
            low[n] = np.concatenate([np.ravel(known[k].low) for k in graph.outputs])
            high[n] = np.concatenate([np.ravel(known[k].high) for k in graph.outputs])
    return low, high


def _has_values(node: Node, args: list[Interval], own: Interval) -> bool:
    """Whether an operation has a value for all arguments in these intervals."""
    if node.op not in PARTIAL:
        return True
    gone = outside(node, args)
    return bool(np.isfinite(own.low).all() and np.isfinite(own.high).all()) and (gone is None or not gone.any())


def _numbers(source: Source) -> int:
    """How many numbers the source has."""
    if isinstance(source, Network):
        return sum(layer.A.size for layer in source.layers)
    return source.terms if isinstance(source, Program) else sum(node.size for node in source.nodes)


def _values(source: Source, points: Floats) -> Ends:
    """At points (n, inputs), or the first of them if the time does not suffice for all: ends of (n, outputs)."""
    if isinstance(source, Network):
        with precision(BITS):
            rows = _network(source, [[arb(v) for v in x] for x in points.tolist()])
            ends = [_ends(row) for row in rows]
            return np.stack([low for low, _ in ends], 1), np.stack([high for _, high in ends], 1)
    values, end = [point_values(source, points[0])], now() + SECONDS
    for x in points[1:]:
        if now() > end:
            break
        values.append(point_values(source, x))
    return np.stack([low for low, _ in values]), np.stack([high for _, high in values])


def _ends(balls: list[arb]) -> Ends:
    return np.array([below(ball) for ball in balls]), np.array([above(ball) for ball in balls])


def _program(program: Program, low: Floats, high: Floats) -> Ends:
    if "free" not in segment_forms(program):  # of such a segment balls would take the terms one by one
        for engine in ("closed", "taylor"):
            try:
                least, most = enclose(program, tuple(low.tolist()), tuple(high.tolist()), engine)
            except Unprovable:
                continue
            return np.array(least), np.array(most)
    values = program_models(program, of_cells(low[None], high[None], 0)).known
    return values.low[:, 0], values.high[:, 0]


def _network(network: Network, points: list[list[arb]]) -> list[list[arb]]:
    """A row for each output, a column for each point."""
    count = len(points)
    values = arb_mat([list(row) for row in zip(*points, strict=True)])
    for layer in network.layers:
        bias = arb_mat(len(layer.b), count, [arb(b) for b in layer.b.tolist() for _ in range(count)])
        arguments = (matrix(layer.A) * values + bias).entries()
        if layer.activation == "leaky_relu":
            slopes = np.repeat(np.broadcast_to(np.asarray(layer.slope), (len(layer.b),)), count).tolist()
            results = [_kinked(v, c) for v, c in zip(arguments, slopes, strict=True)]
        else:
            results = [ACTIVATIONS[layer.activation](v) for v in arguments]
        values = arb_mat(len(layer.b), count, results)
    return [list(row) for row in values.tolist()]


def graph_values(graph: Graph, x: list[arb]) -> list[arb]:
    """The outputs at a point or on a small box, at the precision of the moment."""
    inputs = np.array(x, object)
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
    if (edges := domain(node)) is not None:
        low, high = edges
        args = [_each(lambda v: v if low <= v <= high else ranges.UNKNOWN, args[0])]
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
        return np.vectorize(_power, otypes=[object])(*args)
    if node.op in ACTIVATIONS:
        return _each(ACTIVATIONS[node.op], args[0])
    return np.vectorize(lambda *balls: value(node.op, "", balls), otypes=[object])(*args)


def _each(f: Callable[[Any], arb], x: Any) -> Any:
    return np.vectorize(f, otypes=[object])(x)


def _power(x: arb, y: arb) -> arb:
    """x^y, which has a value for x > 0 only."""
    return power(x, y) if x > 0 else ranges.UNKNOWN


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
