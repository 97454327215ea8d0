"""Operations of keras.ops in a Functional model, as x + y and ops.mean(x, axis=1): one table by class."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.keras.activations import ACTIVATION_OPERATIONS, unary
from integraph.frontends.keras.arguments import show
from integraph.frontends.keras.layer_call import LayerCall
from integraph.frontends.keras.structure import binary, concatenate, item, joined
from integraph.frontends.tensor_builder import Operand, TensorValue
from integraph.frontends.tensor_operations import (
    extreme,
    kept,
    log_sum_exp,
    mean,
    power,
    product,
    reshaped,
    transposed,
)

FUNCTIONS = {  # of one value, by their names in a graph
    "Abs": "abs", "Absolute": "abs", "Arccos": "acos", "Arccosh": "acosh", "Arcsin": "asin", "Arcsinh": "asinh",
    "Arctan": "atan", "Arctanh": "atanh", "Cbrt": "cbrt", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp",
    "Expm1": "expm1", "Log": "ln", "Log10": "log10", "Log1p": "log1p", "Log2": "log2", "Negative": "neg", "Sin": "sin",
    "Sinh": "sinh", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh",
}  # fmt: skip
POWERS = {"Reciprocal": Fraction(-1), "Rsqrt": Fraction(-1, 2), "Square": Fraction(2)}
BINARY = {
    "Add": "add", "Divide": "div", "Maximum": "max", "Minimum": "min", "Multiply": "mul", "Subtract": "sub",
    "TrueDivide": "div",
}  # fmt: skip

Rule = Callable[[LayerCall], Operand | list[Operand]]


def _two(op: str) -> Rule:
    return lambda n: binary(n, op, n.operand(0), n.operand(1))


def _power(exponent: Fraction) -> Rule:
    return lambda n: n.builder.apply("power", n.operand(), where=n.where, data=(exponent,))


def _variable_power(n: LayerCall) -> Operand:
    return power(n, n.operand(0), n.operand(1))


def _clip(n: LayerCall) -> Operand:
    low, high = (np.array(n.number(key)) for key in ("x_min", "x_max"))
    return extreme(n, "min", extreme(n, "max", n.operand(), low), high)


def _matmul(n: LayerCall) -> Operand:
    a, b = n.operand(0), n.operand(1)
    both = isinstance(a, TensorValue) and isinstance(b, TensorValue)
    if (both and len(a.shape) != len(b.shape)) or any(isinstance(x, TensorValue) and len(x.shape) < 2 for x in (a, b)):
        raise SourceError(f"{n.where} multiplies shapes {a.shape} and {b.shape}: rows of the batch would meet")
    if both and len(a.shape) == 2:
        raise SourceError(f"{n.where} multiplies two batches as matrices, of which rows meet: use Dot or Multiply")
    return product(n, a, b)


def _reduced(n: LayerCall) -> tuple[TensorValue, list[int]]:
    """The operand, and the axes that go."""
    x = n.tensor()
    if n.part.config.get("axis") is None:
        raise SourceError(f"{n.where} has no axis, and so takes the rows of the batch together: name axes from 1 on")
    return x, n.axes(len(x.shape))


def _shaped(n: LayerCall, x: Operand, shape: tuple[int, ...], axes: list[int]) -> Operand:
    """A reduction of a shape, with its axes or without."""
    rest = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    return reshaped(n, x, kept(shape, axes) if n.flag("keepdims", False) else rest)


def _sum(n: LayerCall) -> Operand:
    x, axes = _reduced(n)
    return _shaped(n, n.builder.apply("sum", x, where=n.where, data=(tuple(axes),)), x.shape, axes)


def _mean(n: LayerCall) -> Operand:
    x, axes = _reduced(n)
    return _shaped(n, mean(n, x, axes), x.shape, axes)


def _variance(n: LayerCall) -> Operand:
    x, axes = _reduced(n)
    centred = n.builder.sub(x, mean(n, x, axes), n.where)
    return _shaped(n, mean(n, n.builder.mul(centred, centred, n.where), axes), x.shape, axes)


def _logsumexp(n: LayerCall) -> Operand:
    x, axes = _reduced(n)
    return _shaped(n, log_sum_exp(n, x, axes), x.shape, axes)


def _extremum(op: str) -> Rule:
    """The largest or smallest along axes, two halves at a time."""

    def rule(n: LayerCall) -> Operand:
        x, axes = _reduced(n)
        rest = [axis for axis in range(len(x.shape)) if axis not in axes]
        flat = reshaped(n, transposed(n, x, (*rest, *axes)), (*(x.shape[k] for k in rest), -1))
        at = len(rest)
        while (size := flat.shape[at]) > 1:
            half = size // 2
            whole = [(0, 1, k) for k in flat.shape[:at]]
            parts = [
                n.builder.apply("slice", flat, where=n.where, data=(*whole, (start, 1, half))) for start in (0, half)
            ]
            joint = extreme(n, op, *parts)
            last = n.builder.apply("slice", flat, where=n.where, data=(*whole, (size - 1, 1, 1))) if size % 2 else None
            flat = joint if last is None else n.builder.apply("concat", joint, last, where=n.where, data=(at,))
        return _shaped(n, flat, x.shape, axes)

    return rule


def _reshape(n: LayerCall) -> Operand:
    x, given = n.operand(), n.part.config.get("newshape")
    if not isinstance(given, list) or not all(k is None or (type(k) is int and -1 <= k < 1 << 31) for k in given):
        raise SourceError(f"{n.where} has newshape {show(given)}: needs sizes, one of them may be -1")
    sizes = [1 if k is None else k for k in given]
    return reshaped(n, x, [1, *sizes[1:]] if sizes[:1] == [-1] and sizes.count(-1) == 1 else sizes)


def _transpose(n: LayerCall) -> Operand:
    x = n.operand()
    order = n.wholes("axes", len(x.shape))
    if order[:1] != [0]:
        raise SourceError(f"{n.where} has axes {order}: the first one is the batch, and has to stay where it is")
    return transposed(n, x, order)


def _expand_dims(n: LayerCall) -> Operand:
    x = n.operand()
    shape = list(x.shape)
    for axis in sorted(n.axes(len(shape) + len(n.get("axis")) if isinstance(n.get("axis"), list) else len(shape) + 1)):
        shape.insert(axis, 1)
    return reshaped(n, x, shape)


def _squeeze(n: LayerCall) -> Operand:
    x = n.operand()
    axes = n.axes(len(x.shape)) if n.get("axis") is not None else [k for k in range(1, len(x.shape)) if x.shape[k] == 1]
    if any(x.shape[axis] != 1 for axis in axes):
        raise SourceError(f"{n.where} drops axes {axes} of shape {x.shape}: they must have the size 1")
    return reshaped(n, x, [size for axis, size in enumerate(x.shape) if axis not in axes])


def _stack(n: LayerCall) -> Operand:
    parts = n.operands()
    (axis,) = n.axes(len(parts[0].shape) + 1, 0)
    return joined(n, [reshaped(n, x, (*x.shape[:axis], 1, *x.shape[axis:])) for x in parts])


def _cast(n: LayerCall) -> Operand:
    kind = n.get("dtype")
    if "float" not in str(kind):
        raise SourceError(f"{n.where} casts to {kind!r}, which rounds what comes in: only floats are read")
    return n.operand()


OPERATIONS: dict[str, Rule] = {
    **{name: unary(op) for name, op in FUNCTIONS.items()},
    **{name: _power(exponent) for name, exponent in POWERS.items()},
    **{name: _two(op) for name, op in BINARY.items()},
    **ACTIVATION_OPERATIONS,
    "Amax": _extremum("max"),
    "Amin": _extremum("min"),
    "Cast": _cast,
    "Clip": _clip,
    "Concatenate": concatenate,
    "ExpandDims": _expand_dims,
    "GetItem": item,
    "Logsumexp": _logsumexp,
    "Matmul": _matmul,
    "Max": _extremum("max"),
    "Mean": _mean,
    "Min": _extremum("min"),
    "Power": _variable_power,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Stack": _stack,
    "StopGradient": lambda n: n.operand(),
    "Sum": _sum,
    "Transpose": _transpose,
    "Var": _variance,
}
