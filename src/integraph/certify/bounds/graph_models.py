"""A graph on polynomial models, part by part.

Moves, sums and constant weights are sparse maps; every other operation has a rule on models, whose result is
intersected with its interval, cell by cell. Where an operation is not defined on a whole cell nothing is known of its
result, and of what is computed from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from integraph.bounds.ranges.patterns import average, normalised
from integraph.bounds.ranges.propagation import node_range
from integraph.certify.bounds.graph_parts import Part, Parts, Rows, graph_parts
from integraph.certify.bounds.network_models import Watch
from integraph.clock import check_deadline
from integraph.numbers import intervals
from integraph.numbers.intervals import Interval
from integraph.numbers.models.elementary_functions import Power
from integraph.numbers.models.functions import apply, kink, odd, reciprocal
from integraph.numbers.models.models import Models, joined
from integraph.numbers.models.products import matrix_product, placed
from integraph.numbers.models.row_functions import ROWS
from integraph.numbers.models.smooth_functions import SMOOTH
from integraph.targets.graph import Graph, Node

KINKS = {"relu": 0.0, "abs": -1.0}
DOMAINS = {  # of functions that are not defined everywhere
    "ln": (0.0, math.inf), "log2": (0.0, math.inf), "log10": (0.0, math.inf), "log1p": (-1.0, math.inf),
    "sqrt": (0.0, math.inf), "asin": (-1.0, 1.0), "acos": (-1.0, 1.0), "acosh": (1.0, math.inf),
    "atanh": (-1.0, 1.0),
}  # fmt: skip

PARTIAL = frozenset((*DOMAINS, "div", "power", "tan", "variable_power"))  # operations that have no value somewhere
Flags = NDArray[np.bool_]


def graph_models(graph: Graph, x: Models, watch: Watch | None = None, parts: Parts | None = None) -> Models:
    """The outputs one after the other, from the flat input. The rows of every part go through `watch`, in order."""
    parts = parts or graph_parts(graph)
    last, see = parts.last_uses(), watch or (lambda rows: rows)
    values: list[Models | None] = [see(x)]
    lost: list[Flags] = [
        np.zeros(x.space.cells, bool)
    ]  # cells on which a part, or one that it reads, may have no value
    for number, part in enumerate(parts.parts[1:], 1):
        check_deadline()
        rows = part.map.models(values, x.space) if part.map else _operation(graph, part, values)
        own = _undefined(graph.nodes[part.number], rows) if part.map is None else lost[0]
        lost.append(reduce(np.logical_or, [lost[n] for n in part.reads], own))
        values.append(see(rows))
        for n in part.reads:
            if last[n] == number:
                values[n] = None
    return joined([_known(_read(values, rows), lost[rows.part]) for rows in parts.outputs])


def _read(values: Sequence[Models | None], rows: Rows) -> Models:
    value = values[rows.part]
    assert value is not None
    return value if rows.places is None else value.take(rows.places)


def _operation(graph: Graph, part: Part, values: Sequence[Models | None]) -> Models:
    node = graph.nodes[part.number]
    operands, sources = [_read(values, rows) for rows in part.operands], [graph.nodes[n] for n in node.args]
    rows = _rows(node, operands, sources).within(_range(graph, node, operands, sources))
    return rows.with_symbols() if part.shared else rows


def _undefined(node: Node, rows: Models) -> Flags:
    """The cells on which an operation may have no value: a later one, which is bounded, would hide it."""
    finite = np.asarray((np.isfinite(rows.known.low) & np.isfinite(rows.known.high)).all(0))
    return ~finite if node.op in PARTIAL else np.zeros_like(finite)


def _known(rows: Models, lost: Flags) -> Models:
    """The rows, of which nothing is known on these cells."""
    low, high = np.where(lost, -np.inf, rows.known.low), np.where(lost, np.inf, rows.known.high)
    return replace(rows, r=np.where(lost, np.inf, rows.r), known=Interval(low, high))


def _rows(node: Node, args: Sequence[Models], sources: Sequence[Node]) -> Models:
    """The rule of an operation on models."""
    x, shape = args[0], sources[0].shape
    if node.op == "matmul":
        return matrix_product(x, shape, args[1], sources[1].shape)
    if len(args) == 2:
        return _pair(node, *(placed(y, source.shape, node.shape) for y, source in zip(args, sources, strict=True)))
    if node.op in ROWS:
        return ROWS[node.op](x, shape, node.value)
    if node.op == "power":
        return _power(x, node.data[0])
    if node.op == "cbrt":
        return odd(Power(1 / 3, rounded=True), x)
    if node.op in SMOOTH:
        return apply(SMOOTH[node.op], x)
    return kink(x, np.full((1, 1), node.data[0] if node.op == "leaky_relu" else KINKS[node.op]))


def _pair(node: Node, a: Models, b: Models) -> Models:
    same = node.args[0] == node.args[1]
    if node.op == "mul":
        return apply(Power(2.0), a) if same else a * b
    if node.op == "div":
        return _known(a * reciprocal(b), _zero(b.known))  # 0/0 too has no value
    if node.op == "variable_power":
        return _known(apply(SMOOTH["exp"], b * apply(SMOOTH["ln"], a)), a.known.low <= 0)
    above = kink(a + -b, np.zeros((1, 1)))  # max(a, b) = b + max(a − b, 0)
    return b + above if node.op == "max" else a + -above


def _power(x: Models, a: Fraction) -> Models:
    if a < 0 and a.denominator == 1:
        return _power(reciprocal(x), -a)
    return x if a == 1 else apply(Power(float(a), rounded=Fraction(float(a)) != a), x)


def _range(graph: Graph, node: Node, args: Sequence[Models], sources: Sequence[Node]) -> Interval:
    """What intervals say, cell by cell, and the patterns of nodes that `bounds.ranges` knows."""
    cells, axes = args[0].space.cells, max(len(source.shape) for source in sources)

    def placed_ends(x: Models, shape: tuple[int, ...]) -> Interval:
        whole = (cells, *(1,) * (axes - len(shape)), *shape)
        return Interval(*(np.ascontiguousarray(end.T).reshape(whole) for end in (x.known.low, x.known.high)))

    known = [placed_ends(x, source.shape) for x, source in zip(args, sources, strict=True)]
    ranges = node_range(node, known)
    if node.op in ("mul", "div"):
        bound = np.array(normalised(graph.nodes, node))
        ranges = intervals.intersection(ranges, Interval(-bound, bound))
    elif node.op == "matmul" and (hull := average(graph.nodes, node, known[1])) is not None:
        ranges = intervals.intersection(ranges, hull)
    gone = outside(node, known)
    if gone is not None:
        ranges = Interval(np.where(gone, -np.inf, ranges.low), np.where(gone, np.inf, ranges.high))
    low, high = (np.broadcast_to(end, (cells, *node.shape)).reshape(cells, -1).T for end in (ranges.low, ranges.high))
    return Interval(low, high)


def outside(node: Node, known: Sequence[Interval]) -> Flags | None:
    """Where an operation that is not defined everywhere may have no value: intervals only say what it does on the
    rest."""
    if node.op == "div":
        return _zero(known[1])
    if node.op == "variable_power":
        return known[0].low <= 0
    edges = domain(node)
    return None if edges is None else (known[0].low < edges[0]) | (known[0].high > edges[1])


def domain(node: Node) -> tuple[float, float] | None:
    """Where an operation of one argument is defined, or None where that is everywhere, but for poles."""
    rational = node.op == "power" and node.data[0].denominator != 1
    return (0.0, math.inf) if rational else DOMAINS.get(node.op)


def _zero(x: Interval) -> Flags:
    """Where 0 is inside."""
    return (x.low <= 0) & (x.high >= 0)
