"""ONNX operators that are activations made of several operations. Their attributes are numbers of float32."""

from __future__ import annotations

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.onnx.node import OnnxNode
from integraph.frontends.tensor_builder import Operand
from integraph.frontends.tensor_operations import composite
from integraph.targets import composites

SIXTH = float(np.float32(1 / 6))
HARD = float(np.float32(0.2))  # HardSigmoid's default slope
SELU = 1.67326319217681884765625, 1.05070102214813232421875  # as the standard writes them, numbers of float32


def elu(n: OnnxNode) -> Operand:
    alpha = n.number("alpha", 1.0)
    return composite(n, n.operand(0), lambda b, x, text: composites.elu(b, x, alpha, text))


def celu(n: OnnxNode) -> Operand:
    alpha = n.number("alpha", 1.0)
    if not alpha:
        raise SourceError(f"{n.where} has the attribute alpha 0, by which it divides")
    return composite(n, n.operand(0), lambda b, x, text: composites.celu(b, x, alpha, text))


def selu(n: OnnxNode) -> Operand:
    alpha, factor = (n.number(name, default) for name, default in zip(("alpha", "gamma"), SELU, strict=True))
    return composite(n, n.operand(0), lambda b, x, text: composites.selu(b, x, alpha, factor, text))


def mish(n: OnnxNode) -> Operand:
    return composite(n, n.operand(0), composites.mish)


def softsign(n: OnnxNode) -> Operand:
    return composite(n, n.operand(0), composites.softsign)


def hard_sigmoid(n: OnnxNode) -> Operand:
    slope, shift = n.number("alpha", HARD), n.number("beta", 0.5)
    return composite(n, n.operand(0), lambda b, x, text: composites.hard_sigmoid(b, x, slope, shift, text))


def hard_swish(n: OnnxNode) -> Operand:
    """x·HardSigmoid(x) with slope 1/6, a number of float32."""
    gate = composite(n, n.operand(0), lambda b, x, text: composites.hard_sigmoid(b, x, SIXTH, 0.5, text))
    return n.builder.apply("mul", n.operand(0), gate, where=n.where)
