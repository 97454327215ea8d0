"""What each ONNX operator means to the tracer. An operator that is not in the tables is refused by name."""

from __future__ import annotations

from collections.abc import Callable

from integraph.errors import SourceError
from integraph.frontends.onnx.arithmetic import (
    FOLD,
    arithmetic,
    batch_normalisation,
    fast_gelu,
    gelu,
    leaky_relu,
    negative,
    prelu,
    swish,
)
from integraph.frontends.onnx.linear_operators import NetworkNode, conv, gemm, matmul
from integraph.frontends.onnx.shape_operators import (
    cast,
    concat,
    constant,
    constant_of_shape,
    dropout,
    flatten,
    identity,
    reshape,
    squeeze,
    transpose,
    unsqueeze,
)
from integraph.frontends.tracer import Operand

Rule = Callable[[NetworkNode], Operand]

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


def activation(n: NetworkNode) -> Operand:
    return n.tracer.unary(UNARY[n.operator], n.traced(), n.where)


def greater(n: NetworkNode) -> Operand:
    return n.tracer.greater(n.traced(), n.weights(1, "thresholds"), n.where)


def choose(n: NetworkNode) -> Operand:
    return n.tracer.choose(n.traced(0), n.traced(1), n.traced(2), n.where)


def power(n: NetworkNode) -> Operand:
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
