"""ONNX operators that act entry by entry."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends import tensor_operations
from integraph.frontends.onnx.node import OnnxNode
from integraph.frontends.onnx.shape_operators import inference
from integraph.frontends.tensor_builder import Array, Operand
from integraph.frontends.tensor_operations import reshaped
from integraph.frontends.tracer import broadcast

LEAK = float(np.float32(0.01))  # LeakyRelu's default, an attribute of float32

FOLD: dict[str, Callable[[Array, Array], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": lambda a, b: a / b if a.dtype.kind == "f" else np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)),
}


def arithmetic(n: OnnxNode) -> Operand:
    a, b = n.operand(0), aligned(n)
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        for k in (0, 1):
            if isinstance(n.operand(k), np.ndarray):
                n.weights(k, "constants")
        rule = {"Add": n.builder.add, "Sub": n.builder.sub, "Mul": n.builder.mul, "Div": n.builder.div}[n.operator]
        return rule(a, b, n.where)
    n.room(*broadcast(a.shape, b.shape, n.where))
    if n.operator == "Div" and not b.all():
        raise SourceError(f"{n.where} divides by 0")
    if a.dtype.kind == "b" or a.dtype != b.dtype:
        raise SourceError(f"{n.where} combines constants of types {a.dtype} and {b.dtype}")
    if a.dtype.kind == "f":
        folded = n.builder.fold(n.operator.lower(), a, b, n.where)
        if folded is not None:
            return folded
        n.notes.append(f"{n.where}: constants combined in float64")
    with np.errstate(over="ignore", invalid="ignore"):
        value = n.checked(np.asarray(FOLD[n.operator](a, b)))
    if value.dtype.kind == "i" and value.size and np.abs(value).max() >= 2**31:
        raise SourceError(f"{n.where} makes an integer of 2³¹ or more, which a file of 32-bit integers would wrap")
    return value


def aligned(n: OnnxNode) -> Operand:
    """The second operand; before opset 7 its axes could be aligned with any axis of the first."""
    a, b = n.operand(0), n.operand(1)
    axis = n.attributes.get("axis")
    if axis is None or not n.attributes.get("broadcast"):
        return b
    missing = len(a.shape) - (axis + len(a.shape) if axis < 0 else axis) - len(b.shape)
    if not 0 <= missing <= len(a.shape):
        raise SourceError(f"{n.where}: axis {axis} does not align shape {b.shape} with shape {a.shape}")
    return reshaped(n, b, (*b.shape, *(1,) * missing))


def leaky_relu(n: OnnxNode) -> Operand:
    return n.builder.unary("leaky_relu", n.traced(), n.where, n.number("alpha", LEAK))


def prelu(n: OnnxNode) -> Operand:
    x, slope = n.traced(), n.weights(1, "slopes")
    if slope.ndim == 1 and slope.size > 1 and len(x.shape) > 2 and n.opset < 7:  # one for each channel
        slope = slope.reshape(-1, *(1,) * (len(x.shape) - 2))
    return n.builder.unary("leaky_relu", x, n.where, slope)


def gelu(n: OnnxNode) -> Operand:
    kind = n.attributes.get("approximate", "none")
    if kind not in ("none", "tanh"):
        raise SourceError(f"{n.where}: approximate is {kind!r}, it must be none or tanh")
    return n.builder.unary("gelu_tanh" if kind == "tanh" else "gelu", n.traced(), n.where)


def fast_gelu(n: OnnxNode) -> Operand:
    x = n.traced() if n.given(1) is None else n.builder.add(n.traced(), n.weights(1, "biases"), n.where)
    return n.builder.unary("gelu_tanh", x, n.where)


def swish(n: OnnxNode) -> Operand:
    x, alpha = n.traced(), n.number("alpha", 1.0)
    if alpha == 1.0:
        return n.builder.unary("silu", x, n.where)
    return n.builder.mul(x, n.builder.unary("sigmoid", n.builder.mul(x, np.array(alpha), n.where), n.where), n.where)


def negative(n: OnnxNode) -> Operand:
    x = n.operand(0)
    return np.asarray(0 - x) if isinstance(x, np.ndarray) else n.builder.neg(x, n.where)


def batch_normalisation(n: OnnxNode) -> Operand:
    x = n.traced()
    inference(n)
    if n.attributes.get("training_mode"):
        raise SourceError(f"{n.where} is in training mode: save the model for inference")
    names = ("scale", "B", "mean", "var")
    scale, shift, mean, var = (n.weights(k, f"{name} values") for k, name in enumerate(names, 1))
    units = x.shape[1:] if n.attributes.get("spatial", 1) == 0 else x.shape[1:2]
    if len(x.shape) < 2 or any(p.shape != units for p in (scale, shift, mean, var)):
        raise SourceError(f"{n.where} normalises shape {x.shape} with constants of shapes {scale.shape} to {var.shape}")
    n.notes.append(f"{n.where}: read as an affine map, its coefficients rounded to float64")
    aligned = (*units, *(1,) * (len(x.shape) - 1 - len(units)))
    mean, var, scale, shift = (part.reshape(aligned) for part in (mean, var, scale, shift))
    return tensor_operations.batch_normalisation(
        n, x, mean, var, n.number("epsilon", float(np.float32(1e-5))), scale, shift
    )
