"""What each ONNX operator means to a graph. An operator that is not in the tables is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce as folded

import numpy as np

from integraph.errors import IntegraphError, SourceError
from integraph.frontends import tensor_operations
from integraph.frontends.onnx import (
    activations,
    arithmetic,
    constant_operators,
    reductions,
    resize,
    shape_operators,
    structure_operators,
    window_operators,
)
from integraph.frontends.onnx.node import OnnxNode
from integraph.frontends.tensor_builder import Operand

Rule = Callable[[OnnxNode], Operand | tuple[Operand, ...]]

FUNCTIONS = {
    **{name.capitalize(): name for name in ("abs", "cos", "cosh", "erf", "exp", "relu", "sigmoid", "sin", "sinh")},
    **{name.capitalize(): name for name in ("softplus", "sqrt", "tan", "tanh", "asin", "acos", "atan", "asinh")},
    "Acosh": "acosh",
    "Atanh": "atanh",
    "Log": "ln",
}


def function(n: OnnxNode) -> Operand:
    return n.builder.apply(FUNCTIONS[n.operator], n.operand(0), where=n.where)


def reciprocal(n: OnnxNode) -> Operand:
    return n.builder.apply("power", n.operand(0), where=n.where, data=(Fraction(-1),))


def power(n: OnnxNode) -> Operand:
    return tensor_operations.power(n, n.operand(0), arithmetic.aligned(n))


def extreme(n: OnnxNode) -> Operand:
    return folded(
        lambda a, b: tensor_operations.extreme(n, n.operator.lower(), a, b),
        [n.operand(k) for k in range(len(n.inputs))],
    )


def clip(n: OnnxNode) -> Operand:
    """Between two bounds; the lowest number of float32 and less is no minimum, the largest and more no maximum."""
    value = n.operand(0)
    for k, op, name, side in ((1, "max", "min", -1.0), (2, "min", "max", 1.0)):
        given = n.attributes.get(name)
        bound = n.given(k) if given is None else np.array(given)
        if bound is not None and not (
            isinstance(bound, np.ndarray) and (side * bound >= np.finfo(np.float32).max).all()
        ):
            value = tensor_operations.extreme(n, op, value, bound)
    return value


def _rule(rule: Rule) -> Rule:
    """With the name of the node for the graph, and one kind of error whatever operands do not fit."""

    def run(n: OnnxNode) -> Operand | tuple[Operand, ...]:
        n.builder.text = n.text
        try:
            with np.errstate(all="ignore"):
                return rule(n)
        except IntegraphError:
            raise
        except (ValueError, IndexError, OverflowError) as reason:
            raise SourceError(f"{n.where}: {reason}") from None
        finally:
            n.builder.mark(n.where)

    return run


OPS: dict[str, Rule] = {
    **dict.fromkeys(arithmetic.FOLD, arithmetic.arithmetic),
    **dict.fromkeys(FUNCTIONS, function),
    **dict.fromkeys(constant_operators.COMPARE, constant_operators.compare),
    **dict.fromkeys(reductions.SUMS, reductions.reduce),
    "AveragePool": window_operators.average_pool,
    "BatchNormalization": arithmetic.batch_normalisation,
    "Cast": shape_operators.cast,
    "Celu": activations.celu,
    "Clip": clip,
    "Concat": structure_operators.concat,
    "Constant": shape_operators.constant,
    "ConstantOfShape": shape_operators.constant_of_shape,
    "Conv": window_operators.convolution,
    "ConvTranspose": window_operators.transposed_convolution,
    "CumSum": constant_operators.running_sum,
    "Dropout": shape_operators.dropout,
    "Elu": activations.elu,
    "Expand": structure_operators.expand,
    "Flatten": shape_operators.flatten,
    "Gather": structure_operators.gather,
    "Gelu": arithmetic.gelu,
    "Gemm": reductions.gemm,
    "GlobalAveragePool": window_operators.global_pool,
    "GlobalMaxPool": window_operators.global_pool,
    "HardSigmoid": activations.hard_sigmoid,
    "HardSwish": activations.hard_swish,
    "Identity": shape_operators.identity,
    "IsNaN": constant_operators.is_nan,
    "LayerNormalization": reductions.layer_normalisation,
    "LeakyRelu": arithmetic.leaky_relu,
    "LogSoftmax": reductions.softmax,
    "LpPool": window_operators.norm_pool,
    "MatMul": reductions.matmul,
    "Max": extreme,
    "MaxPool": window_operators.max_pool,
    "Min": extreme,
    "Mish": activations.mish,
    "Mod": constant_operators.remainder,
    "Neg": arithmetic.negative,
    "Not": constant_operators.negation,
    "PRelu": arithmetic.prelu,
    "Pad": window_operators.pad,
    "Pow": power,
    "Range": constant_operators.arange,
    "Reciprocal": reciprocal,
    "Resize": resize.resize,
    "Reshape": shape_operators.reshape,
    "Selu": activations.selu,
    "Shape": constant_operators.shape,
    "Slice": structure_operators.slices,
    "Softmax": reductions.softmax,
    "Softsign": activations.softsign,
    "Split": structure_operators.split,
    "Squeeze": shape_operators.squeeze,
    "Swish": arithmetic.swish,
    "Transpose": shape_operators.transpose,
    "Trilu": constant_operators.triangle,
    "Unsqueeze": shape_operators.unsqueeze,
    "Upsample": resize.upsample,
    "Where": structure_operators.where,
}
MICROSOFT: dict[str, Rule] = {"FastGelu": arithmetic.fast_gelu, "Gelu": arithmetic.gelu}
DOMAINS = {
    domain: {operator: _rule(rule) for operator, rule in rules.items()}
    for domain, rules in (("", OPS), ("ai.onnx", OPS), ("com.microsoft", MICROSOFT))
}
