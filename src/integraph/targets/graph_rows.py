"""Rows of scores in a graph: softmax, ln Σ exp, the logarithm of a softmax, and masks.

The logarithm of a softmax keeps its digits where the softmax underflows, and where ln Σ exp(x) is large. So `logarithm`
recognises the logarithm of a softmax, of a sum of exponentials, or of a sigmoid (the softmax of x and 0), and
`less_total` recognises x − ln Σ exp(x).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from integraph.errors import SourceError
from integraph.numbers.arrays import Floats
from integraph.targets.graph_evaluation import STRUCTURE

if TYPE_CHECKING:
    from integraph.targets.graph import Node
    from integraph.targets.graph_builder import Builder

PLACES = ("reshape", "broadcast", "transpose", "slice", "take")


def of_rows(build: Builder, op: str, x: int, text: str) -> int:
    """An operation of `ROWS` over the last axis. Entries to which −∞ was added are masked. The effect of a large
    negative number depends on the other scores, whose ranges are known when the graph is compiled."""
    scores, added = _added(build, x)
    mask = added > -np.inf
    if not mask.any(-1).all():
        raise SourceError(f"{text or op}: every entry of a row is masked, −∞: keep at least one")
    if op == "logsumexp" and mask.shape[-1:] == (1,):
        return build.apply("reshape", x, data=(mask.shape[:-1],), text=text)
    if mask.all():
        return build.apply(op, x, text=text)
    if op == "log_softmax":
        raise SourceError(f"{text or op}: takes the logarithm of masked entries of a softmax, ln 0: it has no value")
    left = np.where(mask, added, 0.0)
    if build.nodes[scores].shape != mask.shape:
        scores = build.apply("broadcast", scores, data=(mask.shape,))
    if left.any():
        scores = build.apply("add", scores, build.constant(left), text=text)
    mask.flags.writeable = False
    return build.apply(op, scores, value=mask, text=text)


def _added(build: Builder, x: int) -> tuple[int, Floats]:
    """Scores, and the constant that was added to them, in the shape of the sum."""
    node = build.nodes[x]
    operands = [(node.args[n], build.nodes[node.args[1 - n]]) for n in (0, 1)] if node.op in ("add", "sub") else []
    for scores, other in operands[: 1 if node.op == "sub" else 2]:
        if other.value is not None and other.op == "constant":
            return scores, np.broadcast_to(other.value if node.op == "add" else -other.value, node.shape)
    return x, np.zeros(node.shape)


def less_total(build: Builder, x: int, total: int) -> bool:
    """Whether x − total is each entry less ln Σ exp of its row."""
    row, moves = _moved(build, build.nodes[total])
    if row.op != "logsumexp" or row.args != (x,) or row.value is not None:
        return False
    rows = np.arange(row.size).reshape(row.shape)
    own, met, shape = rows[..., None], rows, build.nodes[x].shape
    for move in reversed(moves):
        met = STRUCTURE[move.op](met, move.data)
    joint = np.broadcast_shapes(met.shape, shape)
    return joint == shape and np.array_equal(np.broadcast_to(own, shape), np.broadcast_to(met, shape))


def _moved(build: Builder, node: Node) -> tuple[Node, list[Node]]:
    """The value that was moved, and the moves, the last first."""
    moves = list[Any]()
    while node.op in PLACES:
        moves.append(node)
        node = build.nodes[node.args[0]]
    return node, moves


def logarithm(build: Builder, x: int, text: str) -> int | None:
    """The logarithm of a softmax, a sigmoid or a sum of exponentials, moved or not, computed directly; None for other
    values."""
    node, moves = _moved(build, build.nodes[x])
    if node.op == "softmax":
        _all_take_part(node, moves, text)
        number = build.apply("log_softmax", node.args[0], value=node.value, text=text)
    elif node.op == "sum" and build.nodes[node.args[0]].op == "exp" and node.data[0]:
        scores = build.nodes[node.args[0]].args[0]
        number = build.logsumexp(last(build, scores, node.data[0], text), text)
    elif node.op == "sigmoid":
        below = build.apply("softplus", build.apply("neg", node.args[0], text=text), text=text)
        number = build.apply("neg", below, text=text)
    else:
        return None
    for move in reversed(moves):
        number = build.apply(move.op, number, data=move.data, text=text)
    return number


def _all_take_part(node: Node, moves: Sequence[Node], text: str) -> None:
    part: Any = np.ones(node.shape, np.bool_) if node.value is None else np.broadcast_to(node.value, node.shape)
    for move in reversed(moves):
        part = STRUCTURE[move.op](part, move.data)
    if not part.all():
        raise SourceError(f"{text or 'ln'}: takes the logarithm of masked entries of a softmax, ln 0: it has no value")


def last(build: Builder, x: int, axes: Sequence[int], text: str) -> int:
    """Node x with these axes as one, the last."""
    shape = build.nodes[x].shape
    gone = sorted(range(len(shape))[axis] for axis in axes)
    rest = [axis for axis in range(len(shape)) if axis not in gone]
    if rest + gone != list(range(len(shape))):
        x = build.apply("transpose", x, data=(*rest, *gone), text=text)
    flat = (*(shape[axis] for axis in rest), math.prod(shape[axis] for axis in gone))
    return x if build.nodes[x].shape == flat else build.apply("reshape", x, data=(flat,), text=text)
