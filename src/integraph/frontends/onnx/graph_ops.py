"""What each ONNX operator means to a graph. An operator that is not in the tables is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce as folded

import numpy as np

from integraph.errors import IntegraphError, SourceError
from integraph.frontends.onnx import graph_constants, graph_moves, graph_sums, pointwise, shapes
from integraph.frontends.onnx.drawing import Drawn, GraphNode, Operand
from integraph.frontends.trace import broadcast

Rule = Callable[[GraphNode], Operand | tuple[Operand, ...]]

FUNCTIONS = {
    **{name.capitalize(): name for name in ("abs", "cos", "cosh", "erf", "exp", "relu", "sigmoid", "sin", "sinh")},
    **{name.capitalize(): name for name in ("softplus", "sqrt", "tan", "tanh", "asin", "acos", "atan", "asinh")},
    "Acosh": "acosh",
    "Atanh": "atanh",
    "Log": "ln",
}


def function(n: GraphNode) -> Operand:
    return n.tracer.apply(FUNCTIONS[n.operator], n.operand(0), where=n.where)


def reciprocal(n: GraphNode) -> Operand:
    return n.tracer.apply("power", n.operand(0), where=n.where, data=(Fraction(-1),))


def power(n: GraphNode) -> Operand:
    """A constant exponent is exactly the number that the file has."""
    x, exponent = n.operand(0), pointwise.aligned(n)
    if not isinstance(exponent, np.ndarray):
        return n.tracer.apply("variable_power", x, exponent, where=n.where)
    values = exponent.astype(np.float64)
    if not np.isfinite(values).all():
        raise SourceError(f"{n.where} has an exponent that is not finite")
    if not values.size or (values != values.flat[0]).any():
        return n.tracer.apply("variable_power", x, values, where=n.where)
    found = n.tracer.apply("power", x, where=n.where, data=(Fraction(float(values.flat[0])),))
    return graph_moves.spread(n, found, broadcast(x.shape, values.shape, n.where))


def extreme(n: GraphNode) -> Operand:
    return folded(lambda a, b: _extreme(n, n.operator.lower(), a, b), [n.operand(k) for k in range(len(n.inputs))])


def _extreme(n: GraphNode, op: str, a: Operand, b: Operand) -> Operand:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        n.room(*broadcast(a.shape, b.shape, n.where))
        return np.asarray(np.maximum(a, b) if op == "max" else np.minimum(a, b))
    x, c = (b, a) if isinstance(a, np.ndarray) else (a, b)
    if op == "max" and isinstance(x, Drawn) and isinstance(c, np.ndarray) and not c.any():
        return n.tracer.unary("relu", n.tracer.spread(x, broadcast(x.shape, c.shape, n.where), n.where), n.where)
    return n.tracer.apply(op, a, b, where=n.where)


def clip(n: GraphNode) -> Operand:
    """Between two bounds; the lowest number of float32 and less is no minimum, the largest and more no maximum."""
    found = n.operand(0)
    for k, op, name, side in ((1, "max", "min", -1.0), (2, "min", "max", 1.0)):
        given = n.attributes.get(name)
        bound = n.given(k) if given is None else np.array(given)
        if bound is not None and not (
            isinstance(bound, np.ndarray) and (side * bound >= np.finfo(np.float32).max).all()
        ):
            found = _extreme(n, op, found, bound)
    return found


def _rule(rule: Rule) -> Rule:
    """With the name of the node for the graph, and one kind of error whatever operands do not fit."""

    def run(n: GraphNode) -> Operand | tuple[Operand, ...]:
        n.tracer.text = n.text
        try:
            with np.errstate(all="ignore"):
                return rule(n)
        except IntegraphError:
            raise
        except (ValueError, IndexError, OverflowError) as reason:
            raise SourceError(f"{n.where}: {reason}") from None

    return run


OPS: dict[str, Rule] = {
    **dict.fromkeys(pointwise.FOLD, pointwise.arithmetic),
    **dict.fromkeys(FUNCTIONS, function),
    **dict.fromkeys(graph_constants.COMPARE, graph_constants.compare),
    **dict.fromkeys(graph_sums.SUMS, graph_sums.reduce),
    "BatchNormalization": pointwise.batch_normalisation,
    "Cast": shapes.cast,
    "Clip": clip,
    "Concat": graph_moves.concat,
    "Constant": shapes.constant,
    "ConstantOfShape": shapes.constant_of_shape,
    "CumSum": graph_constants.running_sum,
    "Dropout": shapes.dropout,
    "Expand": graph_moves.expand,
    "Flatten": shapes.flatten,
    "Gather": graph_moves.gather,
    "Gelu": pointwise.gelu,
    "Gemm": graph_sums.gemm,
    "Identity": shapes.identity,
    "IsNaN": graph_constants.is_nan,
    "LayerNormalization": graph_sums.layer_normalisation,
    "LeakyRelu": pointwise.leaky_relu,
    "LogSoftmax": graph_sums.softmax,
    "MatMul": graph_sums.matmul,
    "Max": extreme,
    "Min": extreme,
    "Mod": graph_constants.remainder,
    "Neg": pointwise.negative,
    "Not": graph_constants.negation,
    "PRelu": pointwise.prelu,
    "Pow": power,
    "Range": graph_constants.arange,
    "Reciprocal": reciprocal,
    "Reshape": shapes.reshape,
    "Shape": graph_constants.shape,
    "Slice": graph_moves.slices,
    "Softmax": graph_sums.softmax,
    "Split": graph_moves.split,
    "Squeeze": shapes.squeeze,
    "Swish": pointwise.swish,
    "Transpose": shapes.transpose,
    "Trilu": graph_constants.triangle,
    "Unsqueeze": shapes.unsqueeze,
    "Where": graph_moves.where,
}
MICROSOFT: dict[str, Rule] = {"FastGelu": pointwise.fast_gelu, "Gelu": pointwise.gelu}
DOMAINS = {
    domain: {operator: _rule(rule) for operator, rule in rules.items()}
    for domain, rules in (("", OPS), ("ai.onnx", OPS), ("com.microsoft", MICROSOFT))
}
