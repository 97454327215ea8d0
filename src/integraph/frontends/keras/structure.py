"""Layers and operations of Keras that take values to other places, and those that take several tensors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from integraph.errors import FileError, SourceError
from integraph.frontends.interpolation import centres, linear
from integraph.frontends.keras.arguments import show
from integraph.frontends.keras.layer_call import LayerCall
from integraph.frontends.keras.normalisations import inverse_length
from integraph.frontends.tensor_builder import Operand, TensorValue
from integraph.frontends.tensor_operations import (
    composite,
    cut,
    extreme,
    matrix_along,
    moved,
    product,
    reshaped,
    spread,
    transposed,
)
from integraph.targets import windows


def flatten(n: LayerCall) -> Operand:
    x = n.operand()
    if len(x.shape) > 2 and n.get("data_format") == "channels_first":
        x = transposed(n, x, (0, *range(2, len(x.shape)), 1))
    return reshaped(n, x, (1, math.prod(x.shape)))


def reshape(n: LayerCall) -> Operand:
    x, given = n.operand(), n.part.config.get("target_shape")
    size = math.prod(x.shape)
    good = isinstance(given, list) and all(type(k) is int and (k > 0 or k == -1) for k in given)
    if not good or not isinstance(given, list) or not given or given.count(-1) > 1:
        raise FileError(f"{n.where} has target_shape {show(given)}: needs sizes, one of them may be -1")
    fixed = math.prod(k for k in given if k > 0)
    shape = tuple(size // fixed if k == -1 else k for k in given)
    if math.prod(shape) != size:
        raise FileError(f"{n.where} reshapes {size} values to {show(given)}: these do not fit")
    return reshaped(n, x, (1, *shape))


def permute(n: LayerCall) -> Operand:
    x = n.operand()
    dims = n.wholes("dims", len(x.shape) - 1)
    return transposed(n, x, (0, *dims))


def repeat_vector(n: LayerCall) -> Operand:
    x, count = n.operand(), n.whole("n")
    if len(x.shape) != 2 or count < 1:
        raise SourceError(f"{n.where} repeats values of shape {x.shape[1:]} {count} times: it takes one axis of values")
    return spread(n, reshaped(n, x, (1, 1, x.shape[1])), (1, count, x.shape[1]))


def zero_padding(n: LayerCall) -> Operand:
    return _padded(n, "padding", 1)


def cropping(n: LayerCall) -> Operand:
    return _padded(n, "cropping", -1)


def _padded(n: LayerCall, key: str, sign: int) -> Operand:
    x, dimensions = n.operand(), int(n.part.kind[-2])
    given = n.get(key, 1)
    sides = [given] * dimensions if type(given) is int else given
    pairs = [sides] if dimensions == 1 and isinstance(sides, list) and all(type(k) is int for k in sides) else sides
    if dimensions == 1 and type(given) is int:
        pairs = [[given, given]]
    if not isinstance(pairs, list) or len(pairs) != dimensions or len(x.shape) != dimensions + 2:
        raise FileError(f"{n.where} has {key} {show(given)} for values of shape {x.shape[1:]}")
    amounts = []
    for pair in pairs:
        both = [pair, pair] if type(pair) is int else pair
        if not isinstance(both, list) or len(both) != 2 or not all(type(k) is int and 0 <= k < 1 << 31 for k in both):
            raise FileError(f"{n.where} has {key} {show(given)}: needs two numbers, not negative, for each axis")
        amounts.append((sign * both[0], sign * both[1]))
    first = n.choice("data_format", "channels_last", "channels_first") == "channels_first" and dimensions > 1
    around = [(0, 0), (0, 0), *amounts] if first else [(0, 0), *amounts, (0, 0)]
    n.room([max(size + low + high, 0) for size, (low, high) in zip(x.shape, around, strict=True)])
    return composite(n, x, lambda b, number, text: windows.padded(b, number, around, 0.0, text))


def up_sampling(n: LayerCall) -> Operand:
    """Every entry several times, or means of neighbours."""
    x, dimensions = n.operand(), int(n.part.kind[-2])
    kind = n.choice("interpolation", "nearest", "bilinear")
    first = n.choice("data_format", "channels_last", "channels_first") == "channels_first" and dimensions > 1
    counts = n.wholes("size", dimensions, 2)
    if len(x.shape) != dimensions + 2 or min(counts) < 1:
        raise SourceError(f"{n.where} repeats entries of shape {x.shape[1:]} {counts} times")
    for axis, count in enumerate(counts, 2 if first else 1):
        n.room([*x.shape, count])
        size = x.shape[axis]
        if kind == "bilinear":
            x = matrix_along(n, x, axis, linear(size, centres(size * count, count)))
        else:
            x = moved(n, "take", x, (axis, tuple(np.repeat(np.arange(size), count).tolist())))
    return x


def merged(op: str) -> Callable[[LayerCall], Operand]:
    """Add, Multiply, Maximum, … of all operands, from the first to the last."""

    def rule(n: LayerCall) -> Operand:
        return functools.reduce(lambda a, b: binary(n, op, a, b), _of_one_rank(n))

    return rule


def subtract(n: LayerCall) -> Operand:
    operands = _of_one_rank(n)
    if len(operands) != 2:
        raise FileError(f"{n.where} subtracts {len(operands)} tensors: it takes two")
    return binary(n, "sub", *operands)


def average(n: LayerCall) -> Operand:
    return binary(n, "div", merged("add")(n), np.array(float(len(n.operands()))))


def binary(n: LayerCall, op: str, a: Operand, b: Operand) -> Operand:
    """Two tensors, or a tensor and a constant, in which no row of the batch meets another."""
    rank = max(len(x.shape) for x in (a, b))
    for x in (a, b):
        short = isinstance(x, TensorValue) and len(x.shape) < rank
        if short or (isinstance(x, np.ndarray) and len(x.shape) == rank and x.shape[:1] not in ((), (1,))):
            raise SourceError(f"{n.where} combines shapes {a.shape} and {b.shape}: rows of the batch would meet")
    if op in ("max", "min"):
        return extreme(n, op, a, b)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return n.builder.apply(op, a, b, where=n.where)
    draw = {"add": n.builder.add, "sub": n.builder.sub, "mul": n.builder.mul, "div": n.builder.div}
    return draw[op](a, b, n.where)


def _of_one_rank(n: LayerCall) -> list[Operand]:
    """The operands; those with fewer axes get axes of size 1 after the batch."""
    operands = n.operands()
    rank = max(len(x.shape) for x in operands)
    return [reshaped(n, x, (*x.shape[:1], *(1,) * (rank - len(x.shape)), *x.shape[1:])) for x in operands]


def concatenate(n: LayerCall) -> Operand:
    return joined(n, n.operands())


def joined(n: LayerCall, parts: Sequence[Operand]) -> Operand:
    (axis,) = n.axes(len(parts[0].shape))
    if len({len(x.shape) for x in parts}) > 1:
        raise SourceError(f"{n.where} joins shapes {[x.shape[1:] for x in parts]}: they must have as many axes")
    return parts[0] if len(parts) == 1 else n.builder.apply("concat", *parts, where=n.where, data=(axis,))


def dot(n: LayerCall) -> Operand:
    """Σ over one axis of each of two tensors, row by row."""
    operands = [n.builder.lift(x, n.where) for x in n.operands()]
    if len(operands) != 2:
        raise FileError(f"{n.where} multiplies {len(operands)} tensors: it takes two")
    axes = [n.inner_axes([k], len(x.shape))[0] for k, x in zip(n.wholes("axes", 2), operands, strict=True)]
    if n.flag("normalize", False):
        operands = [
            n.builder.mul(x, inverse_length(n, x, [axis]), n.where) for x, axis in zip(operands, axes, strict=True)
        ]
    x, y = operands
    left = [k for k in range(1, len(x.shape)) if k != axes[0]]
    right = [k for k in range(1, len(y.shape)) if k != axes[1]]
    shape = (*(x.shape[k] for k in left), *(y.shape[k] for k in right))
    size = x.shape[axes[0]]
    rows = reshaped(n, transposed(n, x, (0, *left, axes[0])), (1, -1, size))
    columns = reshaped(n, transposed(n, y, (0, axes[1], *right)), (1, y.shape[axes[1]], -1))
    return reshaped(n, product(n, rows, columns), (1, *(shape or (1,))))


def item(n: LayerCall) -> Operand:
    """x[…]: slices, whole numbers, … and new axes."""
    x, given = n.operand(), n.args[1] if len(n.args) > 1 else None
    keys = given if isinstance(given, list) else [given]
    count = sum(key is not None and key is not Ellipsis for key in keys)
    if sum(key is Ellipsis for key in keys) > 1 or count > len(x.shape):
        raise SourceError(f"{n.where} takes {show(given)} of shape {x.shape[1:]}")
    if Ellipsis not in keys:
        keys = [*keys, Ellipsis]
    at = keys.index(Ellipsis)
    keys = [*keys[:at], *[slice(None)] * (len(x.shape) - count), *keys[at + 1 :]]
    cuts, shape, axis = {}, [], 0
    for key in keys:
        if key is None and axis:
            shape.append(1)
            continue
        entries = range(x.shape[axis])
        if isinstance(key, slice):
            part = entries[key]
            cuts[axis] = (part.start, part.step, len(part))
            shape.append(len(part))
        elif type(key) is int and -len(entries) <= key < len(entries):
            cuts[axis] = (entries[key], 1, 1)
        else:
            raise SourceError(f"{n.where} takes {show(given)} of shape {x.shape[1:]}: needs slices and whole numbers")
        if axis == 0 and key != slice(None):
            raise SourceError(f"{n.where} takes {show(given)}: the first axis is the batch, of which all is taken")
        axis += 1
    if 0 in shape:
        raise SourceError(f"{n.where} takes {show(given)} of shape {x.shape[1:]}: nothing is left")
    return reshaped(n, cut(n, x, cuts), shape)
