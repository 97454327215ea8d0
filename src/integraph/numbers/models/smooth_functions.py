"""Smooth functions of one variable with the ranges of all their derivatives.

For most of them the derivatives are polynomials in x and one y(x) that obeys y' = a polynomial in x and y: tanh has
y' = 1 − y², silu is x·y with y' = y − y². So a function is data: y, y', and the function, or its derivative, as such a
polynomial. Between the zeros of f^(m+1) the derivative f^(m) is monotone: its range over an interval is the hull of its
values at the ends and at the zeros inside. The zeros are computed once, to all digits; what is lost there is of second
order. A sign change that is only rounding adds a point to the hull, which does no harm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy  # its submodules load when they are first used

from integraph.numbers.arrays import Floats
from integraph.numbers.balls import TINY
from integraph.numbers.models.elementary_functions import (
    EVERYWHERE,
    TRUST,
    Hyperbolic,
    Logarithm,
    Power,
    Real,
    Smooth,
    Tangent,
    Wave,
)

Polynomial = tuple[tuple[int, int, float], ...]  # terms c·x^i·y^j as (i, j, c)

WINDOW, STEP = 24.0, 1 / 512  # where zeros of derivatives are looked for, and how closely
HALVINGS = 60
CUBIC, ROOT_2_PI = 0.044715, math.sqrt(2.0 / math.pi)  # of GELU's tanh form
NORMAL = 1.0 / math.sqrt(2.0 * math.pi)
WITHIN_ONE = (-1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Algebraic:
    """f^(n) as a polynomial in x and y, and f … f^(n−1) as the n `functions`."""

    y: Real
    dy: Polynomial
    polynomial: Polynomial
    functions: tuple[Real, ...] = ()
    domain: tuple[float, float] = EVERYWHERE
    turns: bool = True  # whether any derivative has a zero
    slack: float = 0.0

    def value(self, x: Floats) -> Floats:
        return self.functions[0](x) if self.functions else _at(self.polynomial, x, self.y(x))[0]

    def derivative(self, order: int, x: Floats) -> tuple[Floats, Floats]:
        """f^(order), and a bound of its rounding error, underflow included."""
        if order < max(len(self.functions), 1):
            value = self.functions[order](x) if self.functions else self.value(x)
            return value, TRUST * np.abs(value) + (self.slack + TINY)
        value, size = _at(_derived(self, order), x, self.y(x))
        return value, TRUST * size + (self.slack + TINY)

    def extremes(self, order: int, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        values, off = self.derivative(order, np.stack([low, high]))
        least, most = (values - off).min(0), (values + off).max(0)
        if self.turns:
            at, below, above = _turning_points(self, order)
            first, last = np.searchsorted(at, low, "left"), np.searchsorted(at, high, "right")
            inside = first < last
            level = np.log2(np.maximum(last - first, 1)).astype(np.int64)
            ends = np.where(inside, first, 0), np.where(inside, last - 2**level, 0)  # two stretches that cover all
            least = np.minimum(least, np.where(inside, np.minimum(*(below[level, end] for end in ends)), np.inf))
            most = np.maximum(most, np.where(inside, np.maximum(*(above[level, end] for end in ends)), -np.inf))
        return least, most


def _at(polynomial: Polynomial, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The value, and the sum of the sizes of its terms."""
    value, size = np.zeros_like(x), np.zeros_like(x)
    xs, ys = _powers(x, max(i for i, _, _ in polynomial)), _powers(y, max(j for _, j, _ in polynomial))
    for i, j, c in polynomial:
        term = ys[j] * c if i == 0 else xs[i] * ys[j] * c
        value += term
        size += np.abs(term)
    return value, size


def _powers(z: Floats, most: int) -> list[Floats]:
    """1, z, z², …, by products: numpy's powers are slow."""
    powers = [np.ones_like(z)]
    for _ in range(most):
        powers.append(powers[-1] * z if len(powers) > 1 else z)
    return powers


@cache
def _derived(f: Algebraic, order: int) -> Polynomial:
    """The polynomial of f^(order)."""
    if order == len(f.functions):
        return f.polynomial
    terms: dict[tuple[int, int], float] = {}
    for i, j, c in _derived(f, order - 1):
        parts = [(i - 1, j, c * i)] if i else []
        parts += [(i + k, j - 1 + n, c * j * w) for k, n, w in f.dy] if j else []
        for k, n, w in parts:
            terms[k, n] = terms.get((k, n), 0.0) + w
    return tuple((i, j, c) for (i, j), c in terms.items() if c)


@cache
def _turning_points(f: Algebraic, order: int) -> tuple[Floats, Floats, Floats]:
    """Where f^(order + 1) changes its sign, in order, and the least and the largest value of f^(order) at the 2^n of
    these points from each on, errors included: row n, and ∞ where there are not so many. Where a derivative is rounding
    alone there are thousands."""
    x = np.arange(-WINDOW, WINDOW + STEP, STEP)
    x = x[(f.domain[0] < x) & (x < f.domain[1])]
    slopes = f.derivative(order + 1, x)[0]
    at = np.flatnonzero(np.sign(slopes[:-1]) * np.sign(slopes[1:]) <= 0)
    at = at[(slopes[at] != 0) | (slopes[at + 1] != 0)]
    low, high, sign = x[at], x[at + 1], np.sign(slopes[at])
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        left = np.sign(f.derivative(order + 1, middle)[0]) == sign
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    value, error = f.derivative(order, high)
    return high, -_largest_of_stretches(error - value), _largest_of_stretches(value + error)


def _largest_of_stretches(values: Floats) -> Floats:
    """Row n has the largest of the 2^n values from each on, padded with ∞."""
    rows = [values if len(values) else np.full(1, np.inf)]
    while 2 ** len(rows) <= len(values):
        half = 2 ** (len(rows) - 1)
        longer = np.maximum(rows[-1][:-half], rows[-1][half:])
        rows.append(np.concatenate([longer, np.full(half, np.inf)]))
    return np.stack(rows)


def _sigmoid(x: Floats) -> Floats:
    result: Floats = scipy.special.expit(x)
    return result


def _gelu(x: Floats) -> Floats:
    result: Floats = x * scipy.special.ndtr(x)
    return result


def _normal_density(x: Floats) -> Floats:
    return NORMAL * np.exp(-0.5 * np.square(x))


def _gelu_slope(x: Floats) -> Floats:
    result: Floats = scipy.special.ndtr(x) + x * _normal_density(x)
    return result


def _erf(x: Floats) -> Floats:
    result: Floats = scipy.special.erf(x)
    return result


def _gated(x: Floats) -> Floats:
    return _sigmoid(2.0 * ROOT_2_PI * (x + CUBIC * x * x * x))


def _log_cosh(x: Floats) -> Floats:
    size = np.abs(x)
    return size + (np.log1p(np.exp(-2.0 * size)) - math.log(2.0))


def _arc_slope(x: Floats) -> Floats:
    return 1.0 / np.sqrt((1.0 - x) * (1.0 + x))


ARC: Polynomial = ((1, 3, 1.0),)
LOGISTIC: Polynomial = ((0, 1, 1.0), (0, 2, -1.0))
TANH: Polynomial = ((0, 0, 1.0), (0, 2, -1.0))
GAUSS: Polynomial = ((1, 1, -2.0),)
Y: Polynomial = ((0, 1, 1.0),)
XY: Polynomial = ((1, 1, 1.0),)
_2A, _6AC = 2.0 * ROOT_2_PI, 6.0 * ROOT_2_PI * CUBIC

SMOOTH: dict[str, Smooth] = {
    "tanh": Algebraic(np.tanh, TANH, Y),
    "sigmoid": Algebraic(_sigmoid, LOGISTIC, Y),
    "silu": Algebraic(_sigmoid, LOGISTIC, XY),
    "gelu_tanh": Algebraic(_gated, ((0, 1, _2A), (0, 2, -_2A), (2, 1, _6AC), (2, 2, -_6AC)), XY, slack=2.0**-200),
    "softplus": Algebraic(_sigmoid, LOGISTIC, Y, (lambda x: np.logaddexp(x, 0.0),)),
    "log_cosh": Algebraic(np.tanh, TANH, Y, (_log_cosh,), slack=2.0**-50),
    "gaussian": Algebraic(lambda x: np.exp(-np.square(x)), GAUSS, Y),
    "erf": Algebraic(lambda x: np.exp(-np.square(x)), GAUSS, ((0, 1, 2.0 / math.sqrt(math.pi)),), (_erf,)),
    "gelu": Algebraic(
        _normal_density, ((1, 1, -1.0),), ((0, 1, 2.0), (2, 1, -1.0)), (_gelu, _gelu_slope), slack=2.0**-50
    ),
    "atan": Algebraic(lambda x: 1.0 / (1.0 + np.square(x)), ((1, 2, -2.0),), Y, (np.arctan,)),
    "asin": Algebraic(_arc_slope, ARC, Y, (np.arcsin,), WITHIN_ONE),
    "acos": Algebraic(_arc_slope, ARC, ((0, 1, -1.0),), (np.arccos,), WITHIN_ONE),
    "asinh": Algebraic(lambda x: 1.0 / np.hypot(1.0, x), ((1, 3, -1.0),), Y, (np.arcsinh,)),
    "acosh": Algebraic(
        lambda x: 1.0 / np.sqrt((x - 1.0) * (x + 1.0)), ((1, 3, -1.0),), Y, (np.arccosh,), (1.0, math.inf), turns=False
    ),
    "atanh": Algebraic(lambda x: 1.0 / ((1.0 - x) * (1.0 + x)), ((1, 2, 2.0),), Y, (np.arctanh,), WITHIN_ONE),
    "exp": Algebraic(np.exp, Y, Y, turns=False),
    "expm1": Algebraic(np.exp, Y, Y, (np.expm1,), turns=False),
    "ln": Logarithm(),
    "log2": Logarithm(np.log2, 1.0 / math.log(2.0)),
    "log10": Logarithm(np.log10, 1.0 / math.log(10.0)),
    "log1p": Logarithm(np.log1p, shift=1.0),
    "sqrt": Power(0.5),
    "sin": Wave(0),
    "cos": Wave(1),
    "tan": Tangent(),
    "sinh": Hyperbolic(even=False),
    "cosh": Hyperbolic(even=True),
}
