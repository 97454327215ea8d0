"""ONNX operators of graphs that only constants have: sizes, counting, comparisons: masks and shapes are written so."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.onnx.arithmetic import aligned
from integraph.frontends.onnx.node import OnnxNode
from integraph.frontends.onnx.structure_operators import axis_of
from integraph.frontends.tensor_builder import COMPARED, Array, Operand, TensorValue
from integraph.frontends.tracer import broadcast

COMPARE: dict[str, Callable[[Array, Array], Any]] = {
    "And": np.logical_and,
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Or": np.logical_or,
}


def compare(n: OnnxNode) -> Operand:
    a, b = n.operand(0), aligned(n)
    if isinstance(a, TensorValue) and isinstance(b, np.ndarray) and n.operator == "Greater":
        return replace(a, shape=broadcast(a.shape, b.shape, n.where), where=n.where, limit=b)
    if isinstance(a, TensorValue) or isinstance(b, TensorValue):
        raise SourceError(f"{n.where} {COMPARED}")
    n.room(*broadcast(a.shape, b.shape, n.where))
    return np.asarray(COMPARE[n.operator](a, b))


def negation(n: OnnxNode) -> Operand:
    x = n.constant(0, "operands")
    if x.dtype.kind != "b":
        raise SourceError(f"{n.where} negates constants of type {x.dtype}: they must be truth values")
    return np.asarray(~x)


def remainder(n: OnnxNode) -> Operand:
    a, b = n.constant(0, "operands"), n.constant(1, "operands")
    n.room(*broadcast(a.shape, b.shape, n.where))
    if a.dtype.kind != "i" or b.dtype.kind != "i" or not b.all():
        raise SourceError(f"{n.where} takes remainders of types {a.dtype} and {b.dtype}: of integers, and not by 0")
    return np.asarray(np.fmod(a, b) if n.attributes.get("fmod") else np.mod(a, b))


def is_nan(n: OnnxNode) -> Operand:
    """A computed number is a number: where one would not be, evaluation ends with an error."""
    return np.broadcast_to(np.False_, n.room(*n.operand(0).shape))


def shape(n: OnnxNode) -> Operand:
    sizes = n.operand(0).shape
    return np.array(sizes[n.attributes.get("start", 0) : n.attributes.get("end", len(sizes))], np.int64)


def arange(n: OnnxNode) -> Operand:
    start, limit, step = (n.constant(k, "limits") for k in range(3))
    if any(part.size != 1 for part in (start, limit, step)) or not step.all():
        raise SourceError(
            f"{n.where} counts from {start} to {limit} by {step}: needs single numbers, and a step that is not 0"
        )
    first, by = start.reshape(()), step.reshape(())
    (count,) = n.room(max(math.ceil((limit.reshape(()) - first) / by), 0))
    return n.checked(np.asarray(first + by * np.arange(count)))


def triangle(n: OnnxNode) -> Operand:
    x = n.constant(0, "operands")
    k = 0 if n.given(1) is None else n.integers(1, "diagonal")[0]
    n.room(*x.shape)
    if x.ndim < 2:
        raise SourceError(f"{n.where} takes a triangle of shape {x.shape}: it needs two axes")
    k = min(max(k, -x.shape[-2]), x.shape[-1])
    return np.triu(x, k) if n.attributes.get("upper", 1) else np.tril(x, k)


def running_sum(n: OnnxNode) -> Operand:
    x = n.constant(0, "operands")
    axis = axis_of(n, n.integers(1, "axis")[0], x.ndim)
    if n.attributes.get("exclusive") or x.dtype.kind == "b":
        raise SourceError(f"{n.where} is an exclusive sum or one of truth values: only plain sums are supported")
    n.room(*x.shape)
    order = np.flip(x, axis) if n.attributes.get("reverse") else x
    sums = np.cumsum(order, axis)
    return n.checked(np.flip(sums, axis) if n.attributes.get("reverse") else sums)
