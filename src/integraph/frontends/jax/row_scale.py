"""Derivatives of softmax and logsumexp: what is known up to a power of the sum that it is divided by in the end.

With E = Σ exp(x − c), exp(x − c) is softmax(x)·E and the sum itself is 1·E, for every c that is the same in all of a
sum. jax multiplies and divides such values until the powers of E cancel, and so do we: c never has to be known.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.jax.stable_softmax import ExponentialSum, RowMaximum, ShiftedRows, rows_of
from integraph.frontends.jax.values import Known, PartialValue, PrimitiveCall, Value, uniform

POWERS = {"mul": operator.add, "div": operator.sub}


@dataclass(frozen=True, slots=True, eq=False)
class ScaledRows(RowMaximum):
    """factor·E^power, E the sum of the cell."""

    factor: Known | int
    power: int

    def moved(self, move: Callable[[Any], Any]) -> PartialValue:
        return replace(self, cells=move(self.cells), factor=move(self.factor))


def grown(at: PrimitiveCall, x: ShiftedRows) -> ShiftedRows:
    """exp(x − c), beside softmax(x) where c is of the same rows."""
    sums = _own_sum(at, x)
    try:
        return replace(x, grown=True, soft=None if sums is None else rows_of(at, sums))
    except SourceError:  # nothing is left of a row: it is said where the softmax is asked for
        return replace(x, grown=True)


def scaled(at: PrimitiveCall, value: Value) -> ScaledRows | None:
    if isinstance(value, ShiftedRows) and value.grown and value.soft is not None:
        return ScaledRows(value.cells, value.where, value.soft, 1)
    if isinstance(value, ExponentialSum) and not value.log and _is_of(at, value.cells, value.x, value.axes):
        return ScaledRows(value.cells, value.where, np.ones(value.shape), 1)
    return value if isinstance(value, ScaledRows) else None


def combined(at: PrimitiveCall, op: str, x: Value, y: Value) -> Value | None:
    """The sum, difference, product or quotient of two values, one of them at least scaled; None of others."""
    one, other = scaled(at, x), scaled(at, y)
    first = one or other
    if first is None or any(isinstance(v, PartialValue) and s is None for v, s in ((x, one), (y, other))):
        return None
    shape = at.joint(x, y)
    cells = np.broadcast_to(first.cells, shape)
    factors = [v if s is None else s.factor for v, s in ((x, one), (y, other))]
    powers = [0 if s is None else s.power for s in (one, other)]
    if one is not None and other is not None and not np.array_equal(cells, np.broadcast_to(other.cells, shape)):
        return None
    if op in POWERS:
        power = POWERS[op](*powers)
    else:
        for k in (0, 1):
            if op == "add" and uniform(factors[k]) == 0.0:
                return at.spread((x, y)[1 - k], shape)
        if op not in ("add", "sub") or powers[0] != powers[1]:
            return None
        power = powers[0]
    factor = _factor(at, op, factors[0], factors[1], shape)
    return replace(first, cells=cells, factor=factor, power=power) if power else factor


def _factor(at: PrimitiveCall, op: str, x: Value, y: Value, shape: tuple[int, ...]) -> Any:
    if op in POWERS and uniform(y) == 1.0:
        return at.spread(x, shape)
    if op == "mul" and uniform(x) == 1.0:
        return at.spread(y, shape)
    return at.apply(op, x, y)


def negative(at: PrimitiveCall, x: ScaledRows) -> ScaledRows:
    return replace(x, factor=at.apply("neg", x.factor))


def raised(at: PrimitiveCall, x: ScaledRows, exponent: int) -> ScaledRows:
    if uniform(x.factor) != 1.0:
        return replace(x, factor=at.build.power(at.node(x.factor), exponent, at.where), power=x.power * exponent)
    return replace(x, power=x.power * exponent)


def total(at: PrimitiveCall, x: ScaledRows, axes: tuple[int, ...]) -> ScaledRows:
    """The sum over axes along which E is the same."""
    first = np.asarray(np.min(x.cells, axes))
    if (first != np.max(x.cells, axes)).any():
        x.plain(at)
    return replace(x, cells=first, factor=at.apply("sum", x.factor, data=(axes,)))


def _own_sum(at: PrimitiveCall, x: ShiftedRows) -> ExponentialSum | None:
    """The sum over the rows that c is the largest of, if x is all of them, in their places."""
    maxima = {number: key for key, number in at.largest.items()}
    of, axes = maxima[int(x.cells.flat[0]) >> 32]
    if not _is_of(at, x.cells, x.x, axes) or not isinstance(x.x, type(of)):
        return None
    kept = tuple(1 if axis in axes else n for axis, n in enumerate(x.shape))
    first = np.asarray(np.min(x.cells, axes))
    numbers = np.arange(first.size) + first.flat[0]
    if not np.array_equal(np.broadcast_to(numbers.reshape(kept), x.shape), x.cells):
        return None
    return ExponentialSum(first, x.where, np.arange(first.size).reshape(first.shape), x.x, axes)


def _is_of(at: PrimitiveCall, cells: Known, x: Any, axes: tuple[int, ...]) -> bool:
    """Whether the largest entries with these numbers are those of x along these axes."""
    number = at.largest.get((x, tuple(sorted(axes))))
    return number is not None and bool((cells >> 32 == number).all())
