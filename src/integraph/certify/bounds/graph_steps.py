"""A graph as steps of linear bounds: one for each of its parts. What has no rule here is known by its range alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from integraph.certify.bounds.graph_models import KINKS
from integraph.certify.bounds.graph_parts import Part, Parts, Rows
from integraph.certify.bounds.network_steps import Rule, Steps, curved, kinked
from integraph.certify.bounds.sparse_maps import SparseMap
from integraph.certify.bounds.steps import Operand, Read, Step, affine, entrywise, known
from integraph.numbers import intervals
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import add_up
from integraph.numbers.intervals import Interval
from integraph.numbers.models.elementary_functions import Power, Smooth
from integraph.numbers.models.lines import Lines, kink_lines, lines
from integraph.numbers.models.smooth_functions import SMOOTH
from integraph.numbers.roundoff import UP, U
from integraph.targets.graph import Graph, Node

PAIRS = ("mul", "div", "min", "max")


def graph_rules(graph: Graph, parts: Parts) -> list[Rule]:
    """One for each part."""
    return [_rule(graph, parts, part) for part in parts.parts]


def graph_wanted(graph: Graph, parts: Parts) -> list[bool]:
    """Which parts to bound: outputs, and what goes into an operation that has lines or planes, unless it is a function
    of one operand, whose range is known where that of the operand is."""
    outputs = {rows.part for rows in parts.outputs}
    nodes = [graph.nodes[part.number] if part.map is None and part.number >= 0 else None for part in parts.parts]
    bent = [part for part, node in zip(parts.parts, nodes, strict=True) if node and (_single(node) or node.op in PAIRS)]
    read = {rows.part for part in bent for rows in part.operands}
    single = [node is not None and _single(node) for node in nodes]
    return [n in outputs or (n in read and not single[n]) for n in range(len(nodes))]


def _single(node: Node) -> bool:
    """Whether it is a function of one operand, entry by entry."""
    return node.op in KINKS or node.op == "leaky_relu" or _function(node) is not None


def _rule(graph: Graph, parts: Parts, part: Part) -> Rule:
    if part.number < 0:
        return lambda ranges: (known(ranges[-1]),)
    if part.map is not None:
        own = part.map
        return lambda ranges: (_affine(own, ranges),)
    node, sources = graph.nodes[part.number], [graph.nodes[n] for n in graph.nodes[part.number].args]
    reads = [
        Read(rows.part, _index(rows, source, node), parts.parts[rows.part].size)
        for rows, source in zip(part.operands, sources, strict=True)
    ]

    def rule(ranges: Sequence[Interval]) -> Steps:
        spans = [_known(ranges[read.number], read.index) for read in reads]
        if node.op in KINKS or node.op == "leaky_relu":
            below = np.full((1, 1), KINKS[node.op] if node.op in KINKS else node.data[0])
            return kinked(reads[0], below, spans[0], ranges[-1])
        if (f := _function(node)) is not None:
            return curved(reads[0], f, spans[0], ranges[-1])
        return (_pair(node.op, reads, spans) if node.op in PAIRS else known(ranges[-1]),)

    return rule


def _affine(own: SparseMap, ranges: Sequence[Interval]) -> Step:
    """A map of earlier parts; of constants alone, what is known of it."""
    if not own.terms:
        return known(ranges[-1])
    sizes = [ranges[n].size for n, _ in own.terms]
    off = own.size[:, None] + sum(weights.size @ size for (_, weights), size in zip(own.terms, sizes, strict=True))
    return affine([(n, weights.matrix) for n, weights in own.terms], own.b, sizes, own.lost * off)


def _pair(op: str, reads: Sequence[Read], ranges: Sequence[Interval]) -> Step:
    """Products and quotients between planes; min and max between lines of the difference."""
    a, b = ranges
    slopes, below, above, lost = (_difference if op in ("min", "max") else _planes)(op, a, b)
    operands = [Operand(read, low.T, high.T) for read, (low, high) in zip(reads, slopes, strict=True)]
    return entrywise(operands, (a.size.T, b.size.T), below.T, above.T, lost.T)


def _function(node: Node) -> Smooth | None:
    """The function of one operand that a node is, x·x too."""
    if node.op == "mul" and node.args[0] == node.args[1]:
        return Power(2.0)
    if node.op == "power" and Fraction(float(node.data[0])) == node.data[0]:
        return Power(float(node.data[0]))
    return SMOOTH.get(node.op)


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


def _index(rows: Rows, source: Node, node: Node) -> Indices | None:
    """Which entries of a part an operation reads, where its operand is a part of that, or broadcast; all without."""
    if source.shape == node.shape or node.op not in PAIRS:
        return rows.places
    spread = np.ravel(np.broadcast_to(np.arange(source.size).reshape(source.shape), node.shape))
    return spread if rows.places is None else rows.places[spread]


def _known(x: Interval, index: Indices | None) -> Interval:
    return x if index is None else Interval(x.low[index], x.high[index])
