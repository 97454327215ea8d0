"""softmax and logsumexp as people and jax.nn write them, with the largest entry subtracted so that nothing overflows.

exp(x − c) / Σ exp(x − c) is softmax(x), and c + ln Σ exp(x − c) is ln Σ exp(x), for every c that is the same in all of
a sum. So it never matters what c was the largest of, only where the same c is: `cells` numbers the entries of c, and
two of them are equal where their numbers are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.jax.values import Known, MaskedValue, PartialValue, PrimitiveCall, Value


@dataclass(frozen=True, slots=True, eq=False)
class RowMaximum(PartialValue):
    cells: Known
    where: str

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.cells.shape)

    def plain(self, at: PrimitiveCall) -> int:
        raise SourceError(
            f"{self.where}: the largest of several numbers is not analytic. It is known where it cancels: in "
            "jax.nn.softmax, log_softmax and logsumexp; jnp.maximum of two can be smoothed"
        )

    def moved(self, move: Callable[[Any], Any]) -> PartialValue:
        return replace(self, cells=move(self.cells))


@dataclass(frozen=True, slots=True, eq=False)
class ShiftedRows(RowMaximum):
    """x − c, or exp of it if `grown`; `soft` is softmax(x) over the rows that c is the largest of."""

    x: int | MaskedValue
    grown: bool = False
    soft: int | None = None

    def moved(self, move: Callable[[Any], Any]) -> PartialValue:
        soft = None if self.soft is None else move(self.soft)
        return replace(self, cells=move(self.cells), x=move(self.x), soft=soft)


@dataclass(frozen=True, slots=True, eq=False)
class ExponentialSum(RowMaximum):
    """Σ exp(x − c) over `axes`, or ln of it if `log`; entry by entry, `rows` says which sum it is."""

    rows: Known
    x: int | MaskedValue
    axes: tuple[int, ...]
    log: bool = False

    def moved(self, move: Callable[[Any], Any]) -> PartialValue:
        return replace(self, cells=move(self.cells), rows=move(self.rows))


def largest(at: PrimitiveCall, x: Value) -> Value:
    gone = tuple(sorted(map(int, at.params["axes"])))
    shape = tuple(n for axis, n in enumerate(at.shape(x)) if axis not in gone)
    first = at.largest.setdefault((x, gone), len(at.largest)) << 32  # of the same numbers it is the same
    return RowMaximum(np.arange(first, first + math.prod(shape)).reshape(shape), at.where)


def shifted(at: PrimitiveCall, x: int | MaskedValue, c: RowMaximum) -> Value:
    """x − c."""
    if at.joint(x, c) != at.shape(x):
        c.plain(at)
    return ShiftedRows(np.broadcast_to(c.cells, at.shape(x)), c.where, x)


def total(at: PrimitiveCall, grown: ShiftedRows) -> Value:
    """Σ exp(x − c)."""
    axes = tuple(map(int, at.params["axes"]))
    first = np.asarray(np.min(grown.cells, axes))
    if not grown.grown or (first != np.max(grown.cells, axes)).any():
        grown.plain(at)
    rows = np.arange(first.size).reshape(first.shape)
    return ExponentialSum(first, grown.where, rows, grown.x, axes)


def softmax(at: PrimitiveCall, grown: ShiftedRows, sums: ExponentialSum) -> int:
    """exp(x − c) / Σ exp(x − c)."""
    if not (grown.grown and not sums.log and _its(at, grown, sums)):
        grown.plain(at)
    return rows_of(at, sums)


def rows_of(at: PrimitiveCall, sums: ExponentialSum) -> int:
    """The softmax of the rows of a sum, in their places."""
    return _returned(at, at.build.softmax(_rows(at, sums), at.where), sums)


def log_total(at: PrimitiveCall, sums: ExponentialSum, other: RowMaximum) -> int:
    """c + ln Σ exp(x − c) = ln Σ exp(x)."""
    if not sums.log or type(other) is not RowMaximum or not np.array_equal(sums.cells, other.cells):
        other.plain(at)
    if not np.array_equal(sums.rows, np.arange(sums.rows.size).reshape(sums.rows.shape)):
        other.plain(at)
    return at.reshape(at.build.logsumexp(_rows(at, sums), at.where), sums.shape)


def log_softmax(at: PrimitiveCall, x: ShiftedRows, sums: ExponentialSum) -> int:
    """(x − c) − ln Σ exp(x − c)."""
    if x.grown or not sums.log or not _its(at, x, sums):
        x.plain(at)
    return _returned(at, at.build.log_softmax(_rows(at, sums), at.where), sums)


def _its(at: PrimitiveCall, x: ShiftedRows, sums: ExponentialSum) -> bool:
    """Whether each entry of x meets the sum that it is part of."""
    same = x.x is sums.x or (isinstance(x.x, int) and x.x == sums.x)
    if not same or np.broadcast_shapes(sums.shape, x.shape) != x.shape:
        return False
    own = [1 if axis in sums.axes else n for axis, n in enumerate(x.shape)]
    rows = np.arange(math.prod(own)).reshape(own)
    cells = np.array_equal(np.broadcast_to(sums.cells, x.shape), x.cells)
    return cells and np.array_equal(np.broadcast_to(rows, x.shape), np.broadcast_to(sums.rows, x.shape))


def _returned(at: PrimitiveCall, rows: int, sums: ExponentialSum) -> int:
    """Rows that were turned to the last axis, where they came from."""
    shape, order = at.shape(sums.x), _order(at, sums)
    return at.transpose(at.reshape(rows, tuple(shape[axis] for axis in order)), tuple(map(int, np.argsort(order))))


def _order(at: PrimitiveCall, sums: ExponentialSum) -> tuple[int, ...]:
    """The axes, with those of a sum last."""
    return (*(axis for axis in range(len(at.shape(sums.x))) if axis not in sums.axes), *sums.axes)


def _rows(at: PrimitiveCall, sums: ExponentialSum) -> int:
    """The scores of a sum as rows: its axes are one, the last. What is masked is −∞."""
    x, order = sums.x, _order(at, sums)
    shape = tuple(at.shape(x)[axis] for axis in order)
    rest = len(order) - len(sums.axes)
    flat = (*shape[:rest], math.prod(shape[rest:]))
    if not isinstance(x, MaskedValue):
        return at.reshape(at.transpose(x, order), flat)
    scores = at.reshape(at.transpose(x.x, order), flat)
    return at.apply("add", scores, np.where(x.mask.transpose(order).reshape(flat), 0.0, -np.inf))
