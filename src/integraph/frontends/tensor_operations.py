"""Operations on tensors that frameworks share, drawn on a `TensorBuilder`: an operand is a constant array, or depends
on the input. What ONNX nodes and calls of torch have of their own is in their folders."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.tensor_builder import Array, Operand, TensorBuilder, TensorValue
from integraph.frontends.tracer import broadcast
from integraph.targets.graph_builder import Builder
from integraph.targets.graph_evaluation import STRUCTURE

Cut = tuple[int, int, int]  # start, step, count


class Site(Protocol):
    """An operation of a source: what it is drawn on, and how an error names it."""

    @property
    def builder(self) -> TensorBuilder: ...

    @property
    def where(self) -> str: ...


def reshaped(n: Site, x: Operand, shape: Sequence[int]) -> Operand:
    if not isinstance(x, np.ndarray):
        return n.builder.reshape(x, shape, n.where)
    try:
        return x.reshape(shape)
    except (ValueError, OverflowError):
        raise SourceError(f"{n.where} gives shape {tuple(shape)} to a constant of shape {x.shape}") from None


def transposed(n: Site, x: Operand, perm: Sequence[int]) -> Operand:
    if not isinstance(x, np.ndarray):
        return n.builder.transpose(x, perm, n.where)
    if sorted(perm) != list(range(x.ndim)):
        raise SourceError(f"{n.where} permutes axes by {list(perm)}, the constant has shape {x.shape}")
    return x.transpose(perm)


def moved(n: Site, op: str, x: Operand, data: tuple[Any, ...]) -> Operand:
    """An operation that moves entries, of constants of any type too."""
    if isinstance(x, TensorValue):
        return n.builder.move(op, x, data, n.where)
    value = np.asarray(STRUCTURE[op](x, data))
    n.builder.spend(value.size, n.where)
    return value


def spread(n: Site, x: Operand, shape: tuple[int, ...]) -> Operand:
    """Broadcast to a shape."""
    return x if x.shape == shape else moved(n, "broadcast", x, (shape,))


def cut(n: Site, x: Operand, cuts: Mapping[int, Cut]) -> Operand:
    """(start, step, count) of some axes; all of the others."""
    data = tuple(cuts.get(axis, (0, 1, size)) for axis, size in enumerate(x.shape))
    if all(part == (0, 1, size) for part, size in zip(data, x.shape, strict=True)):
        return x
    return moved(n, "slice", x, data)


def choice(n: Site, condition: Array, a: Operand, b: Operand) -> Operand:
    """a in the places of the condition, a constant, else b; one of them depends on the input."""
    if condition.dtype.kind != "b":
        raise SourceError(f"{n.where} chooses by constants of type {condition.dtype}: they must be truth values")
    shape = broadcast(condition.shape, broadcast(a.shape, b.shape, n.where), n.where)
    n.builder.spend(math.prod(shape), n.where)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.where(condition, a, b)
    first = np.broadcast_to(condition, shape)
    a, b = spread(n, a, shape), spread(n, b, shape)
    if first.all() or not first.any():
        return a if first.all() else b
    for x in (a, b):
        if isinstance(x, np.ndarray) and x.dtype.kind != "f":
            raise SourceError(f"{n.where} chooses constants of type {x.dtype}: they must be floats")
    if isinstance(a, TensorValue):
        return n.builder.choose(first, a, b, n.where)
    assert isinstance(b, TensorValue)
    return n.builder.choose(~first, b, a, n.where)


def extreme(n: Site, op: str, a: Operand, b: Operand) -> Operand:
    """The max or the min of two; max(x, 0) is a rectifier."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        n.builder.spend(math.prod(broadcast(a.shape, b.shape, n.where)), n.where)
        return np.asarray(np.maximum(a, b) if op == "max" else np.minimum(a, b))
    x, c = (b, a) if isinstance(a, np.ndarray) else (a, b)
    if op == "max" and isinstance(x, TensorValue) and isinstance(c, np.ndarray) and not c.any():
        return n.builder.unary("relu", n.builder.spread(x, broadcast(x.shape, c.shape, n.where), n.where), n.where)
    return n.builder.apply(op, a, b, where=n.where)


def power(n: Site, x: Operand, exponent: Operand) -> Operand:
    """A constant exponent is exactly the number that is given."""
    if not isinstance(exponent, np.ndarray):
        return n.builder.apply("variable_power", x, exponent, where=n.where)
    values = exponent.astype(np.float64)
    if not np.isfinite(values).all():
        raise SourceError(f"{n.where} has an exponent that is not finite")
    if not values.size or (values != values.flat[0]).any():
        return n.builder.apply("variable_power", x, values, where=n.where)
    result = n.builder.apply("power", x, where=n.where, data=(Fraction(float(values.flat[0])),))
    return spread(n, result, broadcast(x.shape, values.shape, n.where))


def product(n: Site, a: Operand, b: Operand) -> Operand:
    """A product of matrices as numpy's: a vector is a row on the left and a column on the right."""
    if not a.shape or not b.shape:
        raise SourceError(f"{n.where} multiplies shapes {a.shape} and {b.shape}: each needs an axis")
    columns, rows = a.shape[-1], b.shape[-2:][0]
    if columns != rows:
        raise SourceError(
            f"{n.where} multiplies shapes {a.shape} and {b.shape}: {columns} columns and {rows} rows must agree"
        )
    row, column = len(a.shape) == 1, len(b.shape) == 1
    x = reshaped(n, a, (1, *a.shape)) if row else a
    y = reshaped(n, b, (*b.shape, 1)) if column else b
    result = n.builder.apply("matmul", x, y, where=n.where)
    lead, (rows, columns) = result.shape[:-2], result.shape[-2:]
    return reshaped(n, result, (*lead, *(() if row else (rows,)), *(() if column else (columns,))))


def matrix_along(n: Site, x: Operand, axis: int, matrix: Array) -> Operand:
    """The product of every line along an axis with a matrix (size of the axis, new size)."""
    rank = len(x.shape)
    order = [*(k for k in range(rank) if k != axis), axis]
    return transposed(n, product(n, transposed(n, x, order), matrix), [order.index(k) for k in range(rank)])


def kept(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
    """The shape of a reduction that keeps its axes, with size 1."""
    return tuple(1 if axis in axes else size for axis, size in enumerate(shape))


def mean(n: Site, x: TensorValue, axes: Sequence[int]) -> TensorValue:
    """Over these axes, which are kept."""
    number = n.builder.composer.mean(n.builder.node(x, n.where), axes, n.builder.text)
    value = n.builder.lift(n.builder.value(number, n.where), n.where)
    return n.builder.reshape(value, kept(x.shape, axes), n.where)


def standardise(n: Site, x: TensorValue, axes: Sequence[int], epsilon: float) -> TensorValue:
    """(x − mean)/√(variance + ε) over these axes."""
    draw = n.builder
    return root_mean_square(n, draw.sub(x, mean(n, x, axes), n.where), axes, epsilon)


def root_mean_square(n: Site, x: TensorValue, axes: Sequence[int], epsilon: float) -> TensorValue:
    """x/√(mean of x² + ε) over these axes."""
    draw = n.builder
    width = draw.add(mean(n, draw.mul(x, x, n.where), axes), np.array(epsilon), n.where)
    return draw.mul(x, draw.draw("power", width, where=n.where, data=(Fraction(-1, 2),)), n.where)


def along(n: Site, op: str, x: TensorValue, axis: int) -> TensorValue:
    """softmax or its logarithm along one axis."""
    rank = len(x.shape)
    if axis == rank - 1:
        return rows(n, op, x)
    order = [k for k in range(rank) if k != axis] + [axis]
    back = [order.index(k) for k in range(rank)]
    return n.builder.transpose(rows(n, op, n.builder.transpose(x, order, n.where)), back, n.where)


def rows(n: Site, op: str, x: TensorValue) -> TensorValue:
    """softmax or its logarithm over the last axis."""
    if op == "log_softmax" and x.part is not None:
        raise SourceError(f"{n.where} takes the logarithm of masked entries, ln 0: it has no value")
    return n.builder.of_rows(op, x, n.where)


def log_sum_exp(n: Site, x: Operand, axes: Sequence[int]) -> Operand:
    """Over these axes as one, the last; over none it is x."""
    if not axes:
        return x
    rest = [axis for axis in range(len(x.shape)) if axis not in axes]
    turned = transposed(n, x, (*rest, *axes))
    flat = reshaped(n, turned, (*turned.shape[: len(rest)], math.prod(turned.shape[len(rest) :])))
    if isinstance(flat, np.ndarray):
        return n.builder.apply("logsumexp", flat, where=n.where)
    return n.builder.of_rows("logsumexp", flat, n.where)


def composite(n: Site, x: Operand, draw: Callable[[Builder, int, str], int]) -> Operand:
    """What is made of several operations: `draw` adds them to the graph, from the node of x."""
    number = n.builder.node(x, n.where)
    try:
        result = draw(n.builder.composer, number, n.builder.text)
    except SourceError as error:
        raise SourceError(f"{n.where}: {error}") from None
    return n.builder.value(result, n.where)


def batch_normalisation(
    n: Site, x: TensorValue, mean: Array, variance: Array, epsilon: float, scale: Array, shift: Array
) -> TensorValue:
    """(x − mean)/√(variance + ε)·scale + shift as an affine map; all but x have a shape that broadcasts to it."""
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + epsilon)
        offset = shift - mean * factor
    for numbers in (factor, offset):
        if not np.isfinite(numbers).all():
            worst = np.asarray(variance + epsilon).min()
            raise SourceError(
                f"{n.where}: its scale or shift is not finite, from variance + epsilon down to {worst}: weights and "
                "running statistics must be finite, variances positive"
            )
    return n.builder.add(n.builder.mul(x, factor, n.where), offset, n.where)
