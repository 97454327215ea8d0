"""ONNX operators of graphs that take entries to other places: joining, cutting, repeating, choosing."""

from __future__ import annotations

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.onnx import shape_operators
from integraph.frontends.onnx.node import OnnxNode
from integraph.frontends.tensor_builder import Operand, TensorValue
from integraph.frontends.tensor_operations import choice, cut, moved, reshaped, spread
from integraph.frontends.tracer import broadcast


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
        parts.append(cut(n, x, {axis: (sum(sizes[:k]), 1, count)}))
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
    return cut(n, x, cuts)


def _clamped(size: int, start: int, end: int, step: int) -> tuple[int, int, int]:
    """(start, step, count) as ONNX clamps them; other than in Python, a backward slice starts at the first entry where
    its start lies before that."""
    start, end = (n + size if n < 0 else n for n in (start, end))
    if step > 0:
        entries = range(min(max(start, 0), size), min(max(end, 0), size), step)
    else:
        entries = range(min(max(start, 0), size - 1), min(max(end, -1), size - 1), step)
    return entries.start, step, len(entries)


def gather(n: OnnxNode) -> Operand:
    x, indices = n.operand(0), n.constant(1, "indices")
    axis = axis_of(n, n.attributes.get("axis", 0), len(x.shape))
    size = x.shape[axis]
    if indices.dtype.kind != "i" or ((indices < -size) | (indices >= size)).any():
        raise SourceError(f"{n.where} takes entries {indices.ravel()[:8].tolist()} of {size}: some do not exist")
    n.room(*x.shape[:axis], indices.size, *x.shape[axis + 1 :])
    taken = moved(n, "take", x, (axis, tuple((indices.ravel() % size).tolist())))
    return reshaped(n, taken, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def expand(n: OnnxNode) -> Operand:
    x = n.operand(0)
    return spread(n, x, broadcast(x.shape, n.room(*n.integers(1, "sizes")), n.where))


def where(n: OnnxNode) -> Operand:
    condition = n.operand(0)
    if isinstance(condition, TensorValue) and condition.limit is not None:
        value, note = n.builder.softplus(condition, n.traced(1), n.traced(2), n.where)
        n.notes.append(note)
        return value
    return choice(n, n.constant(0, "conditions"), n.operand(1), n.operand(2))


def axis_of(n: OnnxNode, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise SourceError(f"{n.where}: there is no axis {axis} among {rank}")
    return axis % rank
