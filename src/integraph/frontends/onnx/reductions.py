"""ONNX operators of graphs that add up: products of matrices, sums along axes, softmax and layer normalisation."""

from __future__ import annotations

import math

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.onnx.node import OnnxNode
from integraph.frontends.onnx.shape_operators import axes_of
from integraph.frontends.onnx.structure_operators import axis_of
from integraph.frontends.tensor_builder import Operand
from integraph.frontends.tensor_operations import (
    along,
    kept,
    log_sum_exp,
    product,
    reshaped,
    rows,
    standardise,
    transposed,
)
from integraph.numbers.arrays import broadcasts

EPSILON = float(np.float32(1e-5))  # LayerNormalization's default, an attribute of float32
SUMS = ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceSum", "ReduceSumSquare")

AFTER = {"ReduceL2": "sqrt", "ReduceLogSum": "ln"}  # what is done to the sum


def matmul(n: OnnxNode) -> Operand:
    return product(n, n.operand(0), n.operand(1))


def gemm(n: OnnxNode) -> Operand:
    a, b = (
        transposed(n, n.operand(k), (1, 0)) if n.attributes.get(f"trans{'AB'[k]}") else n.operand(k) for k in (0, 1)
    )
    if any(len(x.shape) != 2 for x in (a, b)):
        raise SourceError(f"{n.where} multiplies shapes {a.shape} and {b.shape}: both must be matrices")
    total = _scaled(n, product(n, a, b), n.number("alpha", 1.0), "weights")
    if n.given(2) is None:
        return total
    bias = _scaled(n, n.operand(2), n.number("beta", 1.0), "biases")
    return biased(n, total, bias)


def biased(n: OnnxNode, total: Operand, bias: Operand) -> Operand:
    """With biases that do not change its shape."""
    if not broadcasts(bias.shape, total.shape):
        raise SourceError(f"{n.where} has biases of shape {bias.shape} for a result of shape {total.shape}")
    return n.builder.apply("add", total, bias, where=n.where)


def _scaled(n: OnnxNode, x: Operand, factor: float, what: str) -> Operand:
    if isinstance(x, np.ndarray):
        return n.scaled(factor, x, what)
    return x if factor == 1 else n.builder.mul(x, np.array(factor), n.where)


def reduce(n: OnnxNode) -> Operand:
    x = n.operand(0)
    axes = axes_of(n, len(x.shape))
    if not axes:
        axes = [] if n.attributes.get("noop_with_empty_axes") else list(range(len(x.shape)))
    if n.operator in ("ReduceL2", "ReduceSumSquare"):
        x = n.builder.apply("mul", x, x, where=n.where)
    if n.operator == "ReduceLogSumExp":
        total = log_sum_exp(n, x, axes)
    else:
        total = n.builder.apply("sum", x, where=n.where, data=(tuple(axes),))
    if n.operator == "ReduceMean":
        count = np.array(float(math.prod(x.shape[axis] for axis in axes)))
        total = n.builder.apply("div", total, count, where=n.where)
    if n.operator in AFTER:
        total = n.builder.apply(AFTER[n.operator], total, where=n.where)
    return reshaped(n, total, kept(x.shape, axes)) if n.attributes.get("keepdims", 1) else total


def softmax(n: OnnxNode) -> Operand:
    """Along one axis; before opset 13 over all axes from one on, together."""
    x, op = n.traced(), "softmax" if n.operator == "Softmax" else "log_softmax"
    axis = axis_of(n, n.attributes.get("axis", -1 if n.opset >= 13 else 1), len(x.shape))
    if n.opset >= 13:
        return along(n, op, x, axis)
    flat = n.builder.reshape(x, (*x.shape[:axis], -1), n.where)
    return n.builder.reshape(rows(n, op, flat), x.shape, n.where)


def layer_normalisation(n: OnnxNode) -> Operand:
    """(x − mean)/√(variance + ε)·scale + bias, over the axes from one on."""
    x, draw = n.traced(), n.builder
    axes = range(axis_of(n, n.attributes.get("axis", -1), len(x.shape)), len(x.shape))
    value = standardise(n, x, axes, n.number("epsilon", EPSILON))
    value = draw.mul(value, n.operand(1), n.where)
    bias = n.given(2)
    value = value if bias is None else draw.add(value, bias, n.where)
    if value.shape != x.shape:
        raise SourceError(f"{n.where} has scales or biases that do not fit the shape {x.shape}")
    return value
