"""What each ONNX operator means to the tracer. An operator that is not in the tables is refused by name."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.onnx.node import Node
from integraph.frontends.onnx.shapes import (
    cast,
    concat,
    constant,
    constant_of_shape,
    dropout,
    flatten,
    identity,
    inference,
    reshape,
    reshaped,
    squeeze,
    transpose,
    transposed,
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
        return finite(np.asarray(FOLD[n.operator](a, b)), n.where)


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


def matmul(n: Node) -> Operand:
    a, b = n.operand(0), n.operand(1)
    _one_computed(n, a, b)
    if isinstance(a, Traced):
        x, W = a, _matrix(n, n.weights(1, "weights")).T
        fits = a.shape[-1:] == (a.features,)
    else:
        x, W = n.traced(1), _matrix(n, n.weights(0, "weights"))
        W = W.T if len(a.shape) == 1 else W
        fits = x.shape in ((x.features,), (*x.shape[:-2], x.features, 1))
    if not fits or W.shape[1] != x.features:
        raise SourceError(_mismatch(n, x))
    lead = broadcast(a.shape[:-2], b.shape[:-2], n.where)
    shape = (*lead, *a.shape[-2:-1], *(b.shape[-1:] if len(b.shape) > 1 else ()))
    return n.tracer.reshape(n.tracer.dense(x, W, None, n.where), shape, n.where)


def _one_computed(n: Node, a: Operand, b: Operand) -> None:
    if isinstance(a, Traced) == isinstance(b, Traced):
        kind = "computed tensors" if isinstance(a, Traced) else "constants"
        raise SourceError(
            f"{n.where} multiplies two {kind}: a dense layer has weights from the file and one computed operand"
        )


def _mismatch(n: Node, x: Traced) -> str:
    return (
        f"{n.where} multiplies shapes {n.operand(0).shape} and {n.operand(1).shape}: a dense layer takes all "
        f"{x.features} features at once. If the first axis is a batch, save the model with a batch of 1 or any size"
    )


def _matrix(n: Node, W: Array) -> Array:
    """A matrix with leading axes of size 1 dropped; a vector is a column."""
    if W.ndim == 1:
        return W[:, None]
    if W.ndim < 2 or math.prod(W.shape[:-2]) != 1:
        raise SourceError(f"{n.where} has weights of shape {W.shape}: a dense layer has one matrix")
    return W.reshape(W.shape[-2:])


def gemm(n: Node) -> Operand:
    alpha, beta = n.number("alpha", 1.0), n.number("beta", 1.0)
    a, b = (
        transposed(n, n.operand(k), (1, 0)) if n.attributes.get(f"trans{'AB'[k]}") else n.operand(k) for k in (0, 1)
    )
    if any(len(x.shape) != 2 for x in (a, b)):
        raise SourceError(f"{n.where} multiplies shapes {a.shape} and {b.shape}: both must be matrices")
    _one_computed(n, a, b)
    n.weights(1 if isinstance(a, Traced) else 0, "weights")
    if isinstance(a, Traced):
        assert not isinstance(b, Traced)
        x, W, shape = a, n.scaled(alpha, b, "weights").T, (1, b.shape[1])
        fits = a.shape == (1, a.features) and W.shape[1] == a.features
    else:
        assert isinstance(b, Traced)
        x, W, shape = b, n.scaled(alpha, a, "weights"), (len(a), 1)
        fits = x.shape == (x.features, 1) and W.shape[1] == x.features
    if not fits:
        raise SourceError(_mismatch(n, x))
    bias = None
    if n.given(2) is not None:
        C = n.scaled(beta, n.weights(2, "biases"), "biases")
        try:
            bias = np.broadcast_to(C, shape).ravel()
        except ValueError:
            raise SourceError(f"{n.where} has biases of shape {C.shape} for a result of shape {shape}") from None
    return n.tracer.reshape(n.tracer.dense(x, W, bias, n.where), shape, n.where)


def conv(n: Node) -> Operand:
    """A dense layer, if the kernel covers all there is (MATLAB writes them so)."""
    x, W = n.traced(), n.weights(1, "weights")
    space = x.shape[2:]
    pads, auto = n.attributes.get("pads", []), n.attributes.get("auto_pad", "NOTSET")
    dense = (
        n.attributes.get("group", 1) == 1
        and len(x.shape) > 2
        and W.shape[1:] == x.shape[1:]
        and x.shape[0] == 1
        and tuple(n.attributes.get("kernel_shape", space)) == space
        and not any(pads)
        and (auto in ("NOTSET", "VALID") or set(space) == {1})
        and all(d == 1 or size == 1 for d, size in zip(n.attributes.get("dilations", []), space, strict=False))
        and all(step > 0 for name in ("dilations", "strides") for step in n.attributes.get(name, []))
    )
    if not dense:
        raise SourceError(
            f"{n.where} is a convolution, kernel of shape {W.shape} over shape {x.shape}: only one that covers its "
            "whole input, without padding or groups, is a dense layer"
        )
    bias = None if n.given(2) is None else n.weights(2, "biases")
    found = n.tracer.dense(x, W.reshape(len(W), -1), bias, n.where)
    return n.tracer.reshape(found, (1, len(W), *(1,) * len(space)), n.where)


def batch_normalisation(n: Node) -> Operand:
    x = n.traced()
    inference(n)
    if n.attributes.get("training_mode"):
        raise SourceError(f"{n.where} is in training mode: save the model for inference")
    names = ("scale", "B", "mean", "var")
    scale, shift, mean, var = (n.weights(k, f"{name} values") for k, name in enumerate(names, 1))
    units = x.shape[1:] if n.attributes.get("spatial", 1) == 0 else x.shape[1:2]
    if len(x.shape) < 2 or any(p.shape != units for p in (scale, shift, mean, var)):
        raise SourceError(f"{n.where} normalises shape {x.shape} with constants of shapes {scale.shape} to {var.shape}")
    width = np.asarray(var + n.number("epsilon", float(np.float32(1e-5))))
    if not (width > 0).all():
        raise SourceError(f"{n.where} takes the root of {width.min()}: variance + epsilon must be positive")
    factor = scale / np.sqrt(width)
    n.notes.append(f"{n.where}: read as an affine map, its coefficients rounded to float64")
    aligned = (*units, *(1,) * (len(x.shape) - 1 - len(units)))
    found = n.tracer.mul(x, factor.reshape(aligned), n.where)
    return n.tracer.add(found, (shift - mean * factor).reshape(aligned), n.where)


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
