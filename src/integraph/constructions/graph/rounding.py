"""Numbers of a form and what rounding has done to them: each is off by at most ops·U·size from what it should be."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from integraph.errors import SourceError
from integraph.numbers.arrays import Floats
from integraph.numbers.roundoff import sum_error

CONSTANT = 4  # roundings behind a constant such as √(2/π) or 1/ln 2
LOOK = 1 << 16  # numbers that are looked at one by one
GRID = 2.0**20
TINY = 2.0**-1020


class RoundedNumber(NamedTuple):
    """Arrays of one shape, or `size` is None, which means |value|."""

    value: Floats
    size: Floats | None
    ops: int

    @property
    def large(self) -> Floats:
        return np.abs(self.value) if self.size is None else self.size


def roundings(x: Floats) -> int:
    """How many are behind a number of the constructions' own: none if it is a short binary fraction."""
    if powers_of_two(x):
        return 0
    if x.size > LOOK:
        return CONSTANT
    grid = x * GRID
    return 0 if bool(((grid == np.rint(grid)) & (np.abs(grid) < 2.0**50)).all()) else CONSTANT


def added(a: RoundedNumber, b: RoundedNumber) -> RoundedNumber:
    value = np.asarray(a.value + b.value)
    exact = not np.any(sum_error(a.value, b.value, value))
    ops = max(a.ops, b.ops) + (not exact)
    if not ops or (a.size is None and b.size is None and bool((a.value * b.value >= 0).all())):
        return RoundedNumber(value, None, ops)
    return RoundedNumber(value, np.asarray(a.large + b.large), ops)


def multiplied(a: RoundedNumber, b: RoundedNumber) -> RoundedNumber:
    with np.errstate(over="ignore", invalid="ignore"):
        value = np.asarray(a.value * b.value)
    if not np.isfinite(value).all():
        raise SourceError("its numbers multiply to more than float64 holds, 1.8e308: rescale it")
    exact = powers_of_two(a.value) or powers_of_two(b.value) or _exact(a.value, b.value)
    lost = _underflows(a.value, b.value, value)
    ops = a.ops + b.ops + (not exact or lost)
    if lost:  # by up to 2^−1075, whatever is left
        return RoundedNumber(value, np.maximum(a.large * b.large, TINY), ops)
    if not ops or (a.size is None and b.size is None):
        return RoundedNumber(value, None, ops)
    return RoundedNumber(value, np.asarray(a.large * b.large), ops)


def total(x: RoundedNumber, shape: tuple[int, ...]) -> RoundedNumber:
    """The sum over the last axis of lanes; along others that repeat, so does the sum."""
    if x.value.ndim == 0 or x.value.shape[-1] == 1:
        rest = x.value.shape[:-1]
        one = RoundedNumber(x.value.reshape(rest), None if x.size is None else x.size.reshape(rest), x.ops)
        return multiplied(one, RoundedNumber(np.asarray(float(shape[-1])), None, 0))
    value, ops = x.value.sum(-1), x.ops + shape[-1]
    if x.size is None and bool((x.value >= 0).all() | (x.value <= 0).all()):
        return RoundedNumber(value, None, ops)
    return RoundedNumber(value, x.large.sum(-1), ops)


def powers_of_two(x: Floats) -> bool:
    """Whether all are powers of two, or 0."""
    return x.size <= LOOK and bool(((np.abs(np.frexp(x)[0]) == 0.5) | (x == 0)).all())


def _underflows(a: Floats, b: Floats, product: Floats) -> bool:
    small = np.abs(product) < 2.0**-1022
    return bool(small.any()) and bool((small & (a != 0) & (b != 0)).any())


def _exact(a: Floats, b: Floats) -> bool:
    """Whether a product of two numbers is one."""
    if a.size > 1 or b.size > 1:
        return False
    x, y = a.item(), b.item()
    return math.isfinite(x * y) and Fraction(x) * Fraction(y) == Fraction(x * y)
