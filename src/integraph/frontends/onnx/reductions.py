"""ONNX operators of graphs that add up: products of matrices, sums along axes, softmax and layer normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.onnx.builder import OnnxValue, Operand
from integraph.frontends.onnx.node import OnnxNode
from integraph.frontends.onnx.shape_operators import axes_of, reshaped, transposed
from integraph.frontends.onnx.structure_operators import axis_of
from integraph.text import counted

EPSILON = float(np.float32(1e-5))  # LayerNormalization's default, an attribute of float32
SUMS = ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceSum", "ReduceSumSquare")

AFTER = {"ReduceL2": "sqrt", "ReduceLogSum": "ln"}  # what is done to the sum


def matmul(n: OnnxNode) -> Operand:
    return _product(n, n.operand(0), n.operand(1))


def _product(n: OnnxNode, a: Operand, b: Operand) -> Operand:
    """As numpy's: a vector is a row on the left and a column on the right."""
    if not a.shape or not b.shape:
        raise SourceError(f"{n.where} multiplies shapes {a.shape} and {b.shape}: each needs an axis")
    columns, rows = a.shape[-1], b.shape[-2:][0]
    if columns != rows:
        raise SourceError(
            f"{n.where} multiplies shapes {a.shape} and {b.shape}: {counted(columns, 'column')} and "
            f"{counted(rows, 'row')} must agree"
        )
    row, column = len(a.shape) == 1, len(b.shape) == 1
    x = reshaped(n, a, (1, *a.shape)) if row else a
    y = reshaped(n, b, (*b.shape, 1)) if column else b
    product = n.builder.apply("matmul", x, y, where=n.where)
    lead, (rows, columns) = product.shape[:-2], product.shape[-2:]
    return reshaped(n, product, (*lead, *(() if row else (rows,)), *(() if column else (columns,))))


def gemm(n: OnnxNode) -> Operand:
    a, b = (
        transposed(n, n.operand(k), (1, 0)) if n.attributes.get(f"trans{'AB'[k]}") else n.operand(k) for k in (0, 1)
    )
    if any(len(x.shape) != 2 for x in (a, b)):
        raise SourceError(f"{n.where} multiplies shapes {a.shape} and {b.shape}: both must be matrices")
    total = _scaled(n, _product(n, a, b), n.number("alpha", 1.0), "weights")
    if n.given(2) is None:
        return total
    bias = _scaled(n, n.operand(2), n.number("beta", 1.0), "biases")
    return biased(n, total, bias)


def biased(n: OnnxNode, total: Operand, bias: Operand) -> Operand:
    """With biases that do not change its shape."""
    try:
        fits = np.broadcast_shapes(total.shape, bias.shape) == total.shape
    except ValueError:
        fits = False
    if not fits:
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
        total = _log_sum_exp(n, x, axes)
    else:
        total = n.builder.apply("sum", x, where=n.where, data=(tuple(axes),))
    if n.operator == "ReduceMean":
        count = np.array(float(math.prod(x.shape[axis] for axis in axes)))
        total = n.builder.apply("div", total, count, where=n.where)
    if n.operator in AFTER:
        total = n.builder.apply(AFTER[n.operator], total, where=n.where)
    return reshaped(n, total, _kept(x.shape, axes)) if n.attributes.get("keepdims", 1) else total


def _log_sum_exp(n: OnnxNode, x: Operand, axes: Sequence[int]) -> Operand:
    """Over these axes as one, the last; over none it is x."""
    if not axes:
        return x
    rest = [axis for axis in range(len(x.shape)) if axis not in axes]
    turned = transposed(n, x, (*rest, *axes))
    flat = reshaped(n, turned, (*turned.shape[: len(rest)], math.prod(turned.shape[len(rest) :])))
    if isinstance(flat, np.ndarray):
        return n.builder.apply("logsumexp", flat, where=n.where)
    return n.builder.of_rows("logsumexp", flat, n.where)


def _kept(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(1 if axis in axes else size for axis, size in enumerate(shape))


def softmax(n: OnnxNode) -> Operand:
    """Along one axis; before opset 13 over all axes from one on, together."""
    x = n.traced()
    rank = len(x.shape)
    axis = axis_of(n, n.attributes.get("axis", -1 if n.opset >= 13 else 1), rank)
    if n.opset < 13:
        flat = n.builder.reshape(x, (*x.shape[:axis], -1), n.where)
        return n.builder.reshape(_softmax(n, flat), x.shape, n.where)
    if axis == rank - 1:
        return _softmax(n, x)
    order = [k for k in range(rank) if k != axis] + [axis]
    back = [order.index(k) for k in range(rank)]
    return n.builder.transpose(_softmax(n, n.builder.transpose(x, order, n.where)), back, n.where)


def _softmax(n: OnnxNode, x: OnnxValue) -> OnnxValue:
    if n.operator == "Softmax":
        return n.builder.of_rows("softmax", x, n.where)
    if x.part is not None:
        raise SourceError(f"{n.where} takes the logarithm of masked entries, ln 0: it has no value")
    return n.builder.of_rows("log_softmax", x, n.where)


def layer_normalisation(n: OnnxNode) -> Operand:
    """(x − mean)/√(variance + ε)·scale + bias, over the axes from one on."""
    x, draw = n.traced(), n.builder
    axes = range(axis_of(n, n.attributes.get("axis", -1), len(x.shape)), len(x.shape))
    centred = draw.sub(x, _mean(n, x, axes), n.where)
    variance = _mean(n, draw.mul(centred, centred, n.where), axes)
    width = draw.add(variance, np.array(n.number("epsilon", EPSILON)), n.where)
    value = draw.mul(centred, draw.draw("power", width, where=n.where, data=(Fraction(-1, 2),)), n.where)
    value = draw.mul(value, n.operand(1), n.where)
    bias = n.given(2)
    value = value if bias is None else draw.add(value, bias, n.where)
    if value.shape != x.shape:
        raise SourceError(f"{n.where} has scales or biases that do not fit the shape {x.shape}")
    return value


def _mean(n: OnnxNode, x: OnnxValue, axes: Sequence[int]) -> OnnxValue:
    mean = n.builder.value(n.builder.composer.mean(n.builder.node(x, n.where), axes, n.text), n.where)
    return n.builder.reshape(n.builder.lift(mean, n.where), _kept(x.shape, axes), n.where)
