"""What each ONNX operator means to the tracer. An operator that is not in the tables is refused by name."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.onnx.affine import batch_normalisation, conv, gemm, matmul
from integraph.frontends.onnx.node import Node
from integraph.frontends.onnx.shapes import (
    cast,
    concat,
    constant,
    constant_of_shape,
    dropout,
    flatten,
    identity,
    reshape,
    reshaped,
    squeeze,
    transpose,
    unsqueeze,
)
from integraph.frontends.onnx.tensors import Array, finite
from integraph.frontends.trace import Operand, Traced, broadcast

Rule = Callable[[Node], Operand]

LEAK = float(np.float32(0.01))  # LeakyRelu's default, an attribute of float32

FOLD: dict[str, Callable[[Array, Array], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": lambda a, b: a / b if a.dtype.kind == "f" else np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)),
}
UNARY = {
    "Atan": "arctan",
    "Erf": "erf",
    "Exp": "exp",
    "Relu": "relu",
    "Sigmoid": "sigmoid",
    "Sin": "sin",
    "Softplus": "softplus",
    "Tanh": "tanh",
}


def arithmetic(n: Node) -> Operand:
    a, b = n.operand(0), _aligned(n)
    if isinstance(a, Traced) or isinstance(b, Traced):
        for k in (0, 1):
            if not isinstance(n.operand(k), Traced):
                n.weights(k, "constants")
        rule = {"Add": n.tracer.add, "Sub": n.tracer.sub, "Mul": n.tracer.mul, "Div": n.tracer.div}[n.operator]
        return rule(a, b, n.where)
    n.room(*broadcast(a.shape, b.shape, n.where))
    if n.operator == "Div" and not b.all():
        raise SourceError(f"{n.where} divides by 0")
    if a.dtype.kind == "b" or a.dtype != b.dtype:
        raise SourceError(f"{n.where} combines constants of types {a.dtype} and {b.dtype}")
    if a.dtype.kind == "f":
        n.notes.append(f"{n.where}: constants combined in float64")
    with np.errstate(over="ignore", invalid="ignore"):
        found = finite(np.asarray(FOLD[n.operator](a, b)), n.where)
    if found.dtype.kind == "i" and found.size and np.abs(found).max() >= 2**31:
        raise SourceError(f"{n.where} makes an integer of 2³¹ or more, which a file of 32-bit integers would wrap")
    return found


def _aligned(n: Node) -> Operand:
    """The second operand; before opset 7 its axes could be aligned with any axis of the first."""
    a, b = n.operand(0), n.operand(1)
    axis = n.attributes.get("axis")
    if axis is None or not n.attributes.get("broadcast"):
        return b
    missing = len(a.shape) - (axis + len(a.shape) if axis < 0 else axis) - len(b.shape)
    if not 0 <= missing <= len(a.shape):
        raise SourceError(f"{n.where}: axis {axis} does not align shape {b.shape} with shape {a.shape}")
    return reshaped(n, b, (*b.shape, *(1,) * missing))


def activation(n: Node) -> Operand:
    return n.tracer.unary(UNARY[n.operator], n.traced(), n.where)


def leaky_relu(n: Node) -> Operand:
    return n.tracer.unary("leaky_relu", n.traced(), n.where, n.number("alpha", LEAK))


def prelu(n: Node) -> Operand:
    x, slope = n.traced(), n.weights(1, "slopes")
    if slope.ndim == 1 and slope.size > 1 and len(x.shape) > 2 and n.opset < 7:  # one for each channel
        slope = slope.reshape(-1, *(1,) * (len(x.shape) - 2))
    return n.tracer.unary("leaky_relu", x, n.where, slope)


def gelu(n: Node) -> Operand:
    kind = n.attributes.get("approximate", "none")
    if kind not in ("none", "tanh"):
        raise SourceError(f"{n.where}: approximate is {kind!r}, it must be none or tanh")
    return n.tracer.unary("gelu_tanh" if kind == "tanh" else "gelu", n.traced(), n.where)


def fast_gelu(n: Node) -> Operand:
    x = n.traced() if n.given(1) is None else n.tracer.add(n.traced(), n.weights(1, "biases"), n.where)
    return n.tracer.unary("gelu_tanh", x, n.where)


def swish(n: Node) -> Operand:
    x, alpha = n.traced(), n.number("alpha", 1.0)
    if alpha == 1.0:
        return n.tracer.unary("silu", x, n.where)
    return n.tracer.mul(x, n.tracer.unary("sigmoid", n.tracer.mul(x, np.array(alpha), n.where), n.where), n.where)


def negative(n: Node) -> Operand:
    x = n.operand(0)
    return n.tracer.neg(x, n.where) if isinstance(x, Traced) else np.asarray(0 - x)


def greater(n: Node) -> Operand:
    return n.tracer.greater(n.traced(), n.weights(1, "thresholds"), n.where)


def choose(n: Node) -> Operand:
    return n.tracer.choose(n.traced(0), n.traced(1), n.traced(2), n.where)


def power(n: Node) -> Operand:
    exponent = n.constant(1, "exponents")
    if exponent.size != 1:
        raise SourceError(f"{n.where} has exponents of shape {exponent.shape}: one number is supported")
    return n.tracer.power(n.traced(), float(exponent.reshape(())), n.where)


OPS: dict[str, Rule] = {
    **dict.fromkeys(FOLD, arithmetic),
    **dict.fromkeys(UNARY, activation),
    "BatchNormalization": batch_normalisation,
    "Cast": cast,
    "Concat": concat,
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "Conv": conv,
    "Dropout": dropout,
    "Flatten": flatten,
    "Gelu": gelu,
    "Gemm": gemm,
    "Greater": greater,
    "Identity": identity,
    "LeakyRelu": leaky_relu,
    "MatMul": matmul,
    "Neg": negative,
    "PRelu": prelu,
    "Pow": power,
    "Reshape": reshape,
    "Squeeze": squeeze,
    "Swish": swish,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
    "Where": choose,
}
MICROSOFT: dict[str, Rule] = {"FastGelu": fast_gelu, "Gelu": gelu}
DOMAINS = {"": OPS, "ai.onnx": OPS, "com.microsoft": MICROSOFT}
