"""ONNX operators that are activations made of several operations. Their attributes are numbers of float32."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.onnx.node import OnnxNode
from integraph.frontends.tensor_builder import Operand
from integraph.targets import composites
from integraph.targets.graph_builder import Builder

SIXTH = float(np.float32(1 / 6))
HARD = float(np.float32(0.2))  # HardSigmoid's default slope
SELU = 1.67326319217681884765625, 1.05070102214813232421875  # as the standard writes them, numbers of float32


def elu(n: OnnxNode) -> Operand:
    alpha = n.number("alpha", 1.0)
    return _drawn(n, lambda b, x: composites.elu(b, x, alpha, n.text))


def celu(n: OnnxNode) -> Operand:
    alpha = n.number("alpha", 1.0)
    if not alpha:
        raise SourceError(f"{n.where} has the attribute alpha 0, by which it divides")
    return _drawn(n, lambda b, x: composites.celu(b, x, alpha, n.text))


def selu(n: OnnxNode) -> Operand:
    alpha, factor = (n.number(name, default) for name, default in zip(("alpha", "gamma"), SELU, strict=True))
    return _drawn(n, lambda b, x: composites.selu(b, x, alpha, factor, n.text))


def mish(n: OnnxNode) -> Operand:
    return _drawn(n, lambda b, x: composites.mish(b, x, n.text))


def softsign(n: OnnxNode) -> Operand:
    return _drawn(n, lambda b, x: composites.softsign(b, x, n.text))


def hard_sigmoid(n: OnnxNode) -> Operand:
    slope, shift = n.number("alpha", HARD), n.number("beta", 0.5)
    return _drawn(n, lambda b, x: composites.hard_sigmoid(b, x, slope, shift, n.text))


def hard_swish(n: OnnxNode) -> Operand:
    """x·HardSigmoid(x) with slope 1/6, a number of float32."""
    return _drawn(n, lambda b, x: b.apply("mul", x, composites.hard_sigmoid(b, x, SIXTH, 0.5, n.text), text=n.text))


def _drawn(n: OnnxNode, draw: Callable[[Builder, int], int]) -> Operand:
    return n.builder.value(draw(n.builder.composer, n.builder.node(n.operand(0), n.where)), n.where)
