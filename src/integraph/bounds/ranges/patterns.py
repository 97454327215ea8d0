"""Tighter ranges for patterns of nodes, where the ranges of the operands alone say too little.

Attention: a row of a softmax holds weights that sum up to 1, so what it averages stays in its hull.
Layer norms: with q ≥ w Σ d², |d_i|·q^−½ is at most w^−½, whatever d is, and so is √Σ (d_i·q^−½)². A matrix times such a
row, scaled by γ and shifted by β, is within w^−½·√Σ (γ_i A_ij)² of β A.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.roundoff import UP, U
from integraph.targets.graph import Node
from integraph.targets.graph_evaluation import STRUCTURE

MOVES = ("reshape", "broadcast", "transpose", "slice", "take")  # operations that only place values elsewhere
HALF = Fraction(1, 2)
LEAST, MOST = 1e-70, 1e70  # of factors, so that no square of a product of two underflows or overflows

Nodes = Sequence[Node]


def average(nodes: Nodes, node: Node, values: Interval) -> Interval | None:
    """The hull of the rows of `values`, if the node is softmax @ values."""
    weights = nodes[node.args[0]]
    while weights.op in ("reshape", "broadcast", "transpose"):
        before = nodes[weights.args[0]]
        last = weights.data[-1] if weights.op == "transpose" else len(weights.shape) - 1
        if last != len(weights.shape) - 1 or before.shape[-1:] != weights.shape[-1:]:
            return None  # rows were torn apart
        weights = before
    if weights.op != "softmax":
        return None
    return Interval(values.low.min(-2, keepdims=True), values.high.max(-2, keepdims=True))


def normalised(nodes: Nodes, node: Node, last: bool = False) -> float:
    """w^−½ if the node is d·q^−½ or d/q^½ with q = w Σ d² + c, c ≥ 0, and d_i is among what q_i sums; else ∞. With
    `last` the sums must be over the last axis at least."""
    for d, _, axes, largest in _norms(nodes, node):
        if not last or len(nodes[d].shape) - 1 in axes:
            return largest
    return math.inf


def row_norm(nodes: Nodes, node: Node) -> tuple[int, float] | None:
    """d and w^−½ at most, if the node is that with one sum and one c for each row of d, along its last axis."""
    for d, root, axes, largest in _norms(nodes, node):
        shape = nodes[d].shape
        if axes == [len(shape) - 1] and nodes[root].shape == (*shape[:-1], 1) and node.shape == shape:
            return d, largest
    return None


def _norms(nodes: Nodes, node: Node) -> Iterator[tuple[int, int, list[int], float]]:
    """d, q^±½, the axes of the sum, and w^−½ at most."""
    if node.op not in ("mul", "div"):
        return
    for d, root in (node.args, node.args[::-1])[: 1 if node.op == "div" else 2]:
        square_root = _root(nodes, nodes[root], HALF if node.op == "div" else -HALF)
        if square_root is not None:
            weight, total, moves = square_root
            square = nodes[total.args[0]]
            if is_square(square) and square.args[0] == d and _own(nodes[d], node, total, moves):
                axes = [axis % len(nodes[d].shape) for axis in total.data[0]]
                yield d, root, axes, UP / math.sqrt(weight)


def of_norm(nodes: Nodes, node: Node) -> Interval | None:
    """The range of rows @ matrix if the rows are those of a layer norm, scaled and shifted by constants or not."""
    matrix, x = nodes[node.args[1]], nodes[node.args[0]]
    layers: list[tuple[str, Floats]] = []
    while x.op in ("add", "mul") and matrix.op == "constant":
        inner, number = _constant(nodes, x)
        if number is None or inner.shape != x.shape:
            break
        if number.size != 1 and (number.size != x.shape[-1] or number.shape[-1] != x.shape[-1]):
            break  # not one number for each column
        layers.append((x.op, number.reshape(-1)))
        x = inner
    if matrix.op != "constant" or matrix.value is None or x.op not in ("mul", "div"):
        return None
    if not all(map(_moderate, (matrix.value, *(number for _, number in layers)))):
        return None
    largest = normalised(nodes, x, last=True)
    if not math.isfinite(largest):
        return None
    scale, shift = np.ones(x.shape[-1]), np.zeros(x.shape[-1])
    summed = shift  # the absolute values of all that is added, which may cancel
    for op, number in reversed(layers):
        if op == "mul":
            scale, shift, summed = scale * number, shift * number, summed * np.abs(number)
        else:
            shift, summed = shift + number, summed + np.abs(number)
        if not (_moderate(scale) and _moderate(summed)):
            return None
    size = np.sqrt(np.square(scale[:, None] * matrix.value).sum(-2, keepdims=True))
    centre = np.matmul(shift[None, :], matrix.value)
    lost = UP - 1.0 + 4 * len(shift) * U
    radius = (1.0 + lost) * largest * size + lost * np.matmul(summed[None, :], np.abs(matrix.value))
    return Interval(centre - radius, centre + radius)


def _moderate(x: Floats) -> bool:
    """Whether all numbers but 0 are far from the ends of float64."""
    sizes = np.abs(x[x != 0])
    return bool(((sizes >= LEAST) & (sizes <= MOST)).all())


def mean_of(nodes: Nodes, number: int) -> int | None:
    """The node of whose rows, along its last axis, a value holds exactly the means; None if there is none."""
    node, share = nodes[number], Fraction(1)
    shape = node.shape
    while node.op in ("mul", "div", "reshape"):
        inner = nodes[node.args[0]]
        if node.op != "reshape":
            inner, constant = _constant(nodes, node)
            if constant is None or constant.size != 1 or not constant.all() or not np.isfinite(constant).all():
                return None
            factor = Fraction(float(constant.item()))
            share = share * factor if node.op == "mul" else share / factor
        node = inner
    if node.op != "sum":
        return None
    x = nodes[node.args[0]].shape
    means = [axis % len(x) for axis in node.data[0]] == [len(x) - 1] and share * x[-1] == 1
    return node.args[0] if means and shape == (*x[:-1], 1) else None


def _root(nodes: Nodes, node: Node, exponent: Fraction) -> tuple[float, Node, list[Node]] | None:
    """w at least, the sum, and the moves from it on, if a value is (w·sum + c)^exponent, w > 0, c ≥ 0."""
    weight, moves, inside = 1.0, list[Node](), False
    while node.op != "sum":
        if node.op in MOVES:
            moves.append(node)
            node = nodes[node.args[0]]
        elif not inside:
            power = HALF if node.op == "sqrt" else node.data[0] if node.op == "power" else None
            if power != exponent:
                return None
            node, inside = nodes[node.args[0]], True
        else:
            x, c = _constant(nodes, node)
            if c is None or x.shape != node.shape or not c.min() >= (0.0 if node.op == "add" else math.ulp(0.0)):
                return None
            if node.op != "add":
                weight *= c.min() if node.op == "mul" else 1.0 / c.max()
                if not LEAST <= weight <= MOST:
                    return None
            node = x
    return (weight, node, moves[::-1]) if inside and weight > 0 else None


def _constant(nodes: Nodes, node: Node) -> tuple[Node, Floats | None]:
    """The other operand and the constant of a sum or product with one, or of a quotient by one."""
    if node.op in ("add", "mul", "div"):
        for x, c in (node.args, node.args[::-1])[: 1 if node.op == "div" else 2]:
            if nodes[c].op == "constant":
                return nodes[x], nodes[c].value
    return node, None


def is_square(node: Node) -> bool:
    """Whether the node is the square of its first operand."""
    return (node.op == "mul" and node.args[0] == node.args[1]) or (node.op == "power" and node.data[0] == 2)


def _own(d: Node, node: Node, total: Node, moves: Sequence[Node]) -> bool:
    """Whether each value is divided by the sum that its own d is part of, by the numbers of the sums."""
    sums = np.arange(total.size).reshape(total.shape)
    part_of = np.broadcast_to(np.expand_dims(sums, tuple(axis % len(d.shape) for axis in total.data[0])), d.shape)
    for move in moves:
        sums = STRUCTURE[move.op](sums, move.data)
    return bool((np.broadcast_to(sums, node.shape) == np.broadcast_to(part_of, node.shape)).all())
