"""ONNX operators of graphs that take entries to other places: joining, cutting, repeating, choosing."""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.onnx import shape_operators
from integraph.frontends.onnx.builder import OnnxValue, Operand
from integraph.frontends.onnx.node import OnnxNode
from integraph.frontends.tracer import broadcast
from integraph.targets.graph_evaluation import STRUCTURE


def concat(n: OnnxNode) -> Operand:
    parts = [n.operand(k) for k in range(len(n.inputs))]
    if len(parts) == 1 or all(isinstance(part, np.ndarray) for part in parts):
        return shape_operators.concat(n)
    axis = axis_of(n, n.attributes.get("axis", 1), len(parts[0].shape))
    return n.builder.draw("concat", *parts, where=n.where, data=(axis,))


def split(n: OnnxNode) -> tuple[Operand, ...]:
    x = n.operand(0)
    axis = axis_of(n, n.attributes.get("axis", 0), len(x.shape))
    size = x.shape[axis]
    sizes = n.attributes.get("split") if n.given(1) is None else n.integers(1, "sizes")
    if sizes is None:
        step = -(-size // n.outputs)
        sizes = [min(step, size - k * step) for k in range(n.outputs)]
    if (
        sum(sizes) != size
        or min(sizes) < 0
        or len(sizes) != n.outputs
        or n.attributes.get("num_outputs", n.outputs) != n.outputs
    ):
        raise SourceError(
            f"{n.where} splits {size} entries into {list(sizes)}, for {n.outputs} outputs: these do not fit"
        )
    parts = []
    for k, count in enumerate(sizes):
        parts.append(_cut(n, x, {axis: (sum(sizes[:k]), 1, count)}))
    return tuple(parts)


def slices(n: OnnxNode) -> Operand:
    x = n.operand(0)
    given = (
        [
            n.integers(k, what) if n.given(k) is not None else None
            for k, what in enumerate(("starts", "ends", "axes", "steps"), 1)
        ]
        if n.opset >= 10
        else [n.attributes.get(name) for name in ("starts", "ends", "axes", "steps")]
    )
    starts, ends = given[0] or [], given[1] or []
    axes = range(len(starts)) if given[2] is None else [axis_of(n, a, len(x.shape)) for a in given[2]]
    steps = given[3] or [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) == len(set(axes)) or 0 in steps:
        raise SourceError(
            f"{n.where} slices axes {list(axes)} from {starts} to {ends} by {steps}: each axis needs one of each, and "
            "no step may be 0"
        )
    cuts = {}
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        cuts[axis] = _clamped(x.shape[axis], start, end, step)
    return _cut(n, x, cuts)


def _clamped(size: int, start: int, end: int, step: int) -> tuple[int, int, int]:
    """(start, step, count) as ONNX clamps them; other than in Python, a backward slice starts at the first entry where
    its start lies before that."""
    start, end = (n + size if n < 0 else n for n in (start, end))
    if step > 0:
        entries = range(min(max(start, 0), size), min(max(end, 0), size), step)
    else:
        entries = range(min(max(start, 0), size - 1), min(max(end, -1), size - 1), step)
    return entries.start, step, len(entries)


def _cut(n: OnnxNode, x: Operand, cuts: dict[int, tuple[int, int, int]]) -> Operand:
    """(start, step, count) of some axes; all of the others."""
    data = tuple(cuts.get(axis, (0, 1, size)) for axis, size in enumerate(x.shape))
    if all(cut == (0, 1, size) for cut, size in zip(data, x.shape, strict=True)):
        return x
    return moved(n, "slice", x, data)


def gather(n: OnnxNode) -> Operand:
    x, indices = n.operand(0), n.constant(1, "indices")
    axis = axis_of(n, n.attributes.get("axis", 0), len(x.shape))
    size = x.shape[axis]
    if indices.dtype.kind != "i" or ((indices < -size) | (indices >= size)).any():
        raise SourceError(f"{n.where} takes entries {indices.ravel()[:8].tolist()} of {size}: some do not exist")
    n.room(*x.shape[:axis], indices.size, *x.shape[axis + 1 :])
    taken = moved(n, "take", x, (axis, tuple((indices.ravel() % size).tolist())))
    return shape_operators.reshaped(n, taken, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def expand(n: OnnxNode) -> Operand:
    x = n.operand(0)
    return spread(n, x, broadcast(x.shape, n.room(*n.integers(1, "sizes")), n.where))


def spread(n: OnnxNode, x: Operand, shape: tuple[int, ...]) -> Operand:
    return x if x.shape == shape else moved(n, "broadcast", x, (shape,))


def where(n: OnnxNode) -> Operand:
    choice, a, b = n.operand(0), n.operand(1), n.operand(2)
    if isinstance(choice, OnnxValue) and choice.limit is not None:
        value, note = n.builder.softplus(choice, n.traced(1), n.traced(2), n.where)
        n.notes.append(note)
        return value
    condition = n.constant(0, "conditions")
    if condition.dtype.kind != "b":
        raise SourceError(f"{n.where} chooses by constants of type {condition.dtype}: they must be truth values")
    shape = n.room(*broadcast(condition.shape, broadcast(a.shape, b.shape, n.where), n.where))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.where(condition, a, b)
    first = np.broadcast_to(condition, shape)
    a, b = spread(n, a, shape), spread(n, b, shape)
    if first.all() or not first.any():
        return a if first.all() else b
    for x in (a, b):
        if isinstance(x, np.ndarray) and x.dtype.kind != "f":
            raise SourceError(f"{n.where} chooses constants of type {x.dtype}: they must be floats")
    if isinstance(a, OnnxValue):
        return n.builder.choose(first, a, b, n.where)
    assert isinstance(b, OnnxValue)
    return n.builder.choose(~first, b, a, n.where)


def moved(n: OnnxNode, op: str, x: Operand, data: tuple[Any, ...]) -> Operand:
    """An operation that moves entries, of constants of any type too."""
    if isinstance(x, OnnxValue):
        return n.builder.move(op, x, data, n.where)
    value = np.asarray(STRUCTURE[op](x, data))
    n.room(*value.shape)
    return value


def axis_of(n: OnnxNode, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise SourceError(f"{n.where}: there is no axis {axis} among {rank}")
    return axis % rank
