"""Models with a shape: what closed forms compute with where balls of Arb are too wide.

The last axis is that of inputs, and has length 1: a model stands for all inputs of a cell. The other operand of a sum
or a product is an array, a number, or a constant: floats, or balls that hold one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from integraph.gadgets.functions.arb import BALLS
from integraph.numbers import intervals
from integraph.numbers.arb import conversion
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.models.functions import reciprocal
from integraph.numbers.models.models import Models, of_interval, row_norms, settled, together
from integraph.numbers.roundoff import UP

LARGEST = 4_000_000  # entries of the matrix of a sum
_below, _above = np.frompyfunc(conversion.below, 1, 1), np.frompyfunc(conversion.above, 1, 1)


class ModelArray:
    """Rows of models in an array of this shape."""

    __array_ufunc__ = None  # numpy leaves operations with arrays to this class
    __slots__ = ("rows", "shape")

    def __init__(self, rows: Models, shape: tuple[int, ...]) -> None:
        self.rows, self.shape = rows, shape

    def __getitem__(self, key: Any) -> ModelArray:
        numbers = self._numbers()[key]
        return ModelArray(self.rows.take(np.ravel(numbers)), numbers.shape)

    def __neg__(self) -> ModelArray:
        return ModelArray(-self.rows, self.shape)

    def __add__(self, other: Any) -> ModelArray:
        if isinstance(other, ModelArray):
            shape = np.broadcast_shapes(self.shape, other.shape)
            return ModelArray(self.placed(shape).rows + other.placed(shape).rows, shape)
        low, high = constant(other)
        if not (low.any() or high.any()):
            return self.placed(np.broadcast_shapes(self.shape, low.shape))
        shape = np.broadcast_shapes(self.shape, low.shape)
        return ModelArray(plus(self.placed(shape).rows, _column(low, high, shape)), shape)

    def __mul__(self, other: Any) -> ModelArray:
        if isinstance(other, ModelArray):
            shape = np.broadcast_shapes(self.shape, other.shape)
            return ModelArray(self.placed(shape).rows * other.placed(shape).rows, shape)
        low, high = constant(other)
        shape = np.broadcast_shapes(self.shape, low.shape)
        if (low == 1).all() and (high == 1).all():
            return self.placed(shape)
        return ModelArray(times(self.placed(shape).rows, _column(low, high, shape)), shape)

    def __sub__(self, other: Any) -> ModelArray:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> ModelArray:
        return (-self).__add__(other)

    def __truediv__(self, other: Any) -> ModelArray:
        if isinstance(other, ModelArray):
            return self.__mul__(ModelArray(reciprocal(other.rows), other.shape))
        return self.__mul__(1 / BALLS.exactly(other))

    def __rtruediv__(self, other: Any) -> ModelArray:
        return ModelArray(reciprocal(self.rows), self.shape).__mul__(other)

    __radd__, __rmul__ = __add__, __mul__

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def known(self) -> Interval:
        """Intervals of (rows, cells)."""
        return self.rows.known

    @property
    def zero(self) -> bool:
        """Whether every row is 0 and nothing else."""
        return not (self.known.low.any() or self.known.high.any())

    def placed(self, shape: tuple[int, ...]) -> ModelArray:
        """The same, broadcast."""
        return self if shape == self.shape else ModelArray(self.rows.take(self._placed(shape)), shape)

    def between(self, factor: Interval) -> ModelArray:
        """Each row times a number between two others, (rows, cells)."""
        return ModelArray(times(self.rows, factor), self.shape)

    def known_where(self, sure: NDArray[np.bool_]) -> ModelArray:
        """The same where `sure`, (rows, cells); elsewhere nothing is known."""
        if sure.all():
            return self
        x = self.rows
        known = Interval(np.where(sure, x.known.low, -np.inf), np.where(sure, x.known.high, np.inf))
        return ModelArray(settled(x.space, x.p, x.g, x.names, np.where(sure, x.r, np.inf), known), self.shape)

    def sum(self, axis: int) -> ModelArray:
        """The sum over one axis."""
        numbers = np.moveaxis(self._numbers(), axis, 0)
        count, shape = len(numbers), numbers.shape[1:]
        size = math.prod(shape)
        if not count:
            nothing = np.zeros((size, self.rows.space.cells))
            return ModelArray(of_interval(self.rows.space, Interval(nothing, nothing)), shape)
        if count == 1 or count * size * size > LARGEST:
            total = self.rows.take(np.ravel(numbers[0]))
            for part in numbers[1:]:
                total = total + self.rows.take(np.ravel(part))
            return ModelArray(total, shape)
        ones = np.zeros((size, len(self.rows)))
        ones[np.arange(size), numbers.reshape(count, size)] = 1.0
        return ModelArray(self.rows.affine(ones, np.zeros(size), fresh=False), shape)

    def _numbers(self) -> Indices:
        return np.arange(len(self.rows)).reshape(self.shape)

    def _placed(self, shape: tuple[int, ...]) -> Indices:
        return np.ravel(np.broadcast_to(self._numbers(), shape))


def narrower(a: ModelArray, b: ModelArray) -> ModelArray:
    """Of two arrays of the same values the rows that have smaller errors."""
    x, y = together(a.rows, b.rows)
    first = x.errors <= y.errors
    p, g = (np.where(first[..., None], one, other) for one, other in ((x.p, y.p), (x.g, y.g)))
    known = intervals.intersection(x.known, y.known)
    return ModelArray(settled(x.space, p, g, x.names, np.where(first, x.r, y.r), known), a.shape)


def constant(value: Any) -> tuple[Floats, Floats]:
    """Floats around a constant."""
    array = np.asarray(value)
    if array.dtype != object:
        exact = array.astype(np.float64)
        return exact, exact
    return np.asarray(_below(array), np.float64), np.asarray(_above(array), np.float64)


def _column(low: Floats, high: Floats, shape: tuple[int, ...]) -> Interval:
    """A constant for each row, (rows, 1)."""
    return Interval(*(np.broadcast_to(end, shape).reshape(-1, 1) for end in (low, high)))


def _split(x: Interval) -> tuple[Floats, Floats]:
    """The middle, and how far the ends are from it."""
    middle = 0.5 * x.low + 0.5 * x.high
    return middle, np.where(x.low == x.high, 0.0, np.maximum(x.high - middle, middle - x.low) * UP)


@quiet
def times(x: Models, factor: Interval) -> Models:
    """The rows times a number of an interval that broadcasts to (rows, cells)."""
    middle, off = _split(factor)
    size = (row_norms(x.p) + row_norms(x.g) + x.r) * UP
    return _moved(
        x, middle, np.zeros((1, 1)), np.where(off > 0, off * size * UP, 0.0), intervals.mul(x.known, _whole(factor, x))
    )


@quiet
def plus(x: Models, term: Interval) -> Models:
    """The rows plus a number of such an interval."""
    middle, off = _split(term)
    return _moved(x, np.ones((1, 1)), middle, off, intervals.add(x.known, _whole(term, x)))


def _moved(x: Models, factor: Floats, shift: Floats, off: Floats, known: Interval) -> Models:
    """factor·x + shift up to `off`, of which an interval is known."""
    if not off.any():
        return x.scale(factor, shift, known)
    anything = np.full(x.r.shape, np.inf)
    near = x.scale(factor, shift, Interval(-anything, anything))
    return settled(x.space, near.p, near.g, near.names, near.r + off, known)


def _whole(x: Interval, like: Models) -> Interval:
    return Interval(*(np.broadcast_to(end, like.r.shape) for end in (x.low, x.high)))
