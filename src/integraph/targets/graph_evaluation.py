"""The operations of a graph in numpy, float64: the reference that a compiled graph is compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from integraph.targets.activations import ACTIVATIONS
from integraph.targets.float_arithmetic import OPERATIONS

Array = Any


def _softmax(x: Array, mask: Array | None) -> Array:
    _, grown = _grown(x, mask)
    return grown / grown.sum(-1, keepdims=True)


def _log_softmax(x: Array, mask: Array | None) -> Array:
    top, grown = _grown(x, mask)
    return x - top - np.log(grown.sum(-1, keepdims=True))


def _log_sum_exp(x: Array, mask: Array | None) -> Array:
    top, grown = _grown(x, mask)
    return top[..., 0] + np.log(grown.sum(-1))


def _grown(x: Array, mask: Array | None) -> tuple[Array, Array]:
    """The largest of each row of scores, and e^(x − that), 0 for masked entries."""
    scores = x if mask is None else np.where(mask, x, -np.inf)
    top = scores.max(-1, keepdims=True)
    return top, np.exp(scores - top)


ROWS: dict[str, Callable[[Array, Array | None], Array]] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _log_sum_exp,
}

STRUCTURE: dict[str, Callable[[Array, tuple[Any, ...]], Array]] = {
    "sum": lambda x, data: x.sum(data[0]),
    "reshape": lambda x, data: x.reshape(data[0]),
    "broadcast": lambda x, data: np.broadcast_to(x, data[0]),
    "transpose": lambda x, data: x.transpose(data),
    "slice": lambda x, data: x[tuple(slice(a, _stop(a, step, n), step) for a, step, n in data)],
    "take": lambda x, data: np.take(x, data[1], data[0]),
    "leaky_relu": lambda x, data: np.where(x < 0, data[0] * x, x),
    "power": lambda x, data: np.power(x, float(data[0])),
}


def _stop(start: int, step: int, count: int) -> int | None:
    """Where a slice of so many entries ends; from the front backwards it has no end."""
    end = start + count * step
    return end if end >= 0 else None


def compute(node: Any, args: Sequence[Array]) -> Array:
    """The value of a node of `targets.graph`, from those of its operands."""
    if node.op == "constant":
        return node.value
    if node.op in STRUCTURE:
        return STRUCTURE[node.op](np.asarray(args[0]), node.data)
    if node.op == "concat":
        return np.concatenate(args, node.data[0])
    if node.op == "matmul":
        return np.matmul(*args)
    if node.op in ROWS:
        return ROWS[node.op](args[0], node.value)
    if node.op == "variable_power":
        return np.power(np.where(args[0] < 0, np.nan, args[0]), args[1])
    if node.op in OPERATIONS:
        return OPERATIONS[node.op](*args)
    return ACTIVATIONS[node.op].value(np.asarray(args[0]))
