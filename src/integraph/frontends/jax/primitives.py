"""The primitives of jax that compile, one rule each, and what to write instead of some that do not."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.jax import convolution, placement, row_scale, selection, stable_softmax, structure
from integraph.frontends.jax.row_scale import ScaledRows
from integraph.frontends.jax.stable_softmax import ExponentialSum, RowMaximum, ShiftedRows
from integraph.frontends.jax.values import MaskComparison, MaskedValue, PartialValue, PrimitiveCall, Value, uniform

UNARY = {  # primitive → operation
    **{name: name for name in ("neg", "exp", "expm1", "log1p", "tanh", "sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: name for name in ("sinh", "cosh", "asinh", "acosh", "atanh", "erf", "sqrt", "cbrt", "abs")},
    "log": "ln",
    "logistic": "sigmoid",
}
BINARY = {"add": "add", "add_any": "add", "sub": "sub", "mul": "mul", "div": "div", "max": "max", "min": "min"}
COMPARES = ("lt", "le", "gt", "ge", "eq", "ne")
SAME = ("stop_gradient", "copy", "reduce_precision")
REAL = "numbers are real"
JUMPS = "it jumps, and no flow does"
REFUSED = {  # primitive → why, or what to write
    "cumprod": "write out the products",
    "reduce_min": "the smallest of several numbers is not analytic; jnp.minimum of two can be smoothed",
    "sort": "the order depends on the inputs, which is not analytic",
    **dict.fromkeys(("argmax", "argmin", "sign", "floor", "ceil", "round", "rem"), JUMPS),
    "atan2": "write jnp.arctan(y / x), where x > 0",
    **dict.fromkeys(("select_and_scatter_add", "select_and_gather_add"), "the gradient of max pooling jumps"),
    **dict.fromkeys(("and", "or", "not"), "a choice that depends on the inputs is not analytic"),
    "lu": "a linear system is not read; write out its solution",
    "fft": "write it as a product with a matrix",
}


def _unary(at: PrimitiveCall, x: Value) -> Value:
    name = at.name
    if isinstance(x, ShiftedRows) and name == "exp" and not x.grown:
        return row_scale.grown(at, x)
    if name == "neg" and (value := row_scale.scaled(at, x)) is not None:
        return row_scale.negative(at, value)
    if isinstance(x, ExponentialSum) and name in ("log", "abs") and not x.log:  # it is positive
        return replace(x, log=name == "log")
    if isinstance(x, selection.NonzeroValue) and name == "log":  # it is refused at 0
        return at.apply("ln", x.x)
    return at.apply(UNARY[name], x)


def _binary(at: PrimitiveCall, x: Value, y: Value) -> Value:
    op = BINARY[at.name]
    if isinstance(x, PartialValue) or isinstance(y, PartialValue):
        part = _parts(at, op, x, y)
        if part is not None:
            return part
    if op in ("max", "min"):
        return selection.extreme(at, op, x, y)
    if op == "add":
        for one, other in ((x, y), (y, x)):
            if isinstance(other, np.ndarray) and np.isneginf(other).any():
                return selection.masked(at, one, other)
    if op == "div" and isinstance(y, np.ndarray) and not y.all():
        raise SourceError(f"{at.where} divides by a constant that is 0")
    return at.apply(op, x, y)


def _parts(at: PrimitiveCall, op: str, x: Value, y: Value) -> Value | None:
    """Steps of softmax and logsumexp."""
    if op == "sub" and isinstance(x, int | MaskedValue) and type(y) is RowMaximum:
        return stable_softmax.shifted(at, x, y)
    if op == "sub" and isinstance(x, ShiftedRows) and isinstance(y, ExponentialSum):
        return stable_softmax.log_softmax(at, x, y)
    if op == "div" and isinstance(x, ShiftedRows) and isinstance(y, ExponentialSum):
        return stable_softmax.softmax(at, x, y)
    for one, other in ((x, y), (y, x)):
        if op == "add" and isinstance(one, ExponentialSum) and type(other) is RowMaximum:
            return stable_softmax.log_total(at, one, other)
        if op == "max" and uniform(one) == -math.inf:
            return at.spread(other, at.joint(x, y))
    return row_scale.combined(at, op, x, y)


def _power(at: PrimitiveCall, x: Value, y: Value) -> Value:
    exponent = uniform(y)
    if exponent is not None:
        return _fixed(at, at.spread(x, at.joint(x, y)), Fraction(exponent))
    if isinstance(x, np.ndarray):
        if not (x > 0).all():
            raise SourceError(f"{at.where}: the base {x.min():g} of a variable exponent is not positive")
        return at.apply("exp", at.apply("mul", np.asarray(np.log(x)), y))
    return at.apply("variable_power", x, y)


def _integer_power(at: PrimitiveCall, x: Value) -> Value:
    exponent = int(at.params["y"])
    value = row_scale.scaled(at, x)
    return _fixed(at, x, Fraction(exponent)) if value is None else row_scale.raised(at, value, exponent)


def _fixed(at: PrimitiveCall, x: Value, exponent: Fraction) -> int:
    if exponent == 0:
        return at.node(np.ones(at.shape(x)))
    if exponent in (1, 2):
        return at.node(x) if exponent == 1 else at.apply("mul", x, x)
    return at.build.power(at.node(x), exponent, at.where)


def _sum(at: PrimitiveCall, x: Value) -> Value:
    axes = tuple(map(int, at.params["axes"]))
    if isinstance(x, ShiftedRows):
        return stable_softmax.total(at, x)
    if isinstance(x, ScaledRows):
        return row_scale.total(at, x, axes)
    return at.apply("sum", x, data=(axes,)) if axes else x


def _convert(at: PrimitiveCall, x: Value) -> Value:
    """Between kinds of floats a number stays what it is."""
    if isinstance(x, MaskComparison):
        return x.plain(at)
    kind = np.dtype(at.params["new_dtype"])
    if kind.kind not in "fV":  # V are those that numpy does not know, as bfloat16
        reason = REAL if kind.kind == "c" else JUMPS
        raise SourceError(f"{at.where}: a number that depends on the inputs cannot become {kind}: {reason}")
    return x


RULES: dict[str, structure.Rule] = {
    **dict.fromkeys(UNARY, _unary),
    **dict.fromkeys(BINARY, _binary),
    **dict.fromkeys(COMPARES, selection.compare),
    **dict.fromkeys(SAME, lambda at, x: x),
    **dict.fromkeys(structure.MOVES, structure.move),
    "exp2": lambda at, x: at.apply("exp", at.apply("mul", np.array(math.log(2.0)), x)),
    "erfc": lambda at, x: at.apply("add", np.ones(()), at.apply("erf", at.apply("neg", x))),
    "square": lambda at, x: at.apply("mul", x, x),
    "rsqrt": lambda at, x: _fixed(at, x, Fraction(-1, 2)),
    "integer_pow": _integer_power,
    "pow": _power,
    "clamp": lambda at, low, x, high: selection.extreme(at, "min", selection.extreme(at, "max", x, low), high),
    "reduce_sum": _sum,
    "reduce_max": stable_softmax.largest,
    "is_finite": selection.finite,
    "select_n": selection.select,
    "convert_element_type": _convert,
    "dot_general": structure.product,
    "concatenate": structure.concatenate,
    "optimization_barrier": lambda at, *operands: list(operands),
    "split": structure.split,
    "unstack": structure.unstack,
    "scatter": placement.place,
    "dynamic_update_slice": placement.place,
    "scatter-add": placement.accumulate,
    "scatter-mul": placement.accumulate,
    "reduce_prod": placement.multiply_up,
    "pad": convolution.pad,
    "conv_general_dilated": convolution.convolve,
    "cumsum": convolution.cumulative_sum,
    **dict.fromkeys(("reduce_window_sum", "reduce_window_max", "reduce_window_min"), convolution.pool),
    "stack": structure.stack,
}
