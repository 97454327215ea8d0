"""Elementary functions of balls: each is the hull of the values at both ends and at the turning points inside.

numpy's and scipy's own functions are good to 4 ulp; ULPS are allowed for. A ball that leaves the domain of a function,
or holds a pole of it, gives a ball that is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy  # its submodules load when they are first used
from numpy.typing import NDArray

from integraph.numbers.arrays import Floats
from integraph.numbers.balls import TINY, Ball, hull, quiet
from integraph.numbers.roundoff import U

ULPS = 8
FAR = 1e15  # beyond, neighbouring float64 are a quarter of a radian apart: nothing is known of a sine
NEAR = 16 * U  # of the number of periods that lie below x

Booleans = NDArray[np.bool_]
Real = Callable[[Floats], Floats]


def widened(low: Floats, high: Floats) -> Ball:
    """The hull, with what the functions at its ends may be off by."""
    return hull(low - (2 * ULPS * U * np.abs(low) + TINY), high + (2 * ULPS * U * np.abs(high) + TINY))


def rising(f: Real, least: float = -math.inf, most: float = math.inf) -> Callable[[Ball], Ball]:
    """The ball of a function that never falls and has its values in [least, most]."""

    @quiet
    def of(x: Ball) -> Ball:
        low, high = x.ends
        ends = widened(f(low), f(high))
        return ends if least == -math.inf else clipped(ends, least, most)

    return of


def clipped(x: Ball, least: float, most: float) -> Ball:
    """x, of which it is known that it lies in [least, most]."""
    low, high = x.ends
    return hull(np.clip(low, least, most), np.clip(high, least, most))


def even(f: Real) -> Callable[[Ball], Ball]:
    """The ball of a function of |x| that never falls with it."""

    @quiet
    def of(x: Ball) -> Ball:
        low, high = x.ends
        return widened(f(np.maximum(np.maximum(low, -high), 0.0)), f(np.maximum(-low, high)))

    return of


def _erf(x: Floats) -> Floats:
    result: Floats = scipy.special.erf(x)
    return result


def _sech2(x: Floats) -> Floats:
    e = np.exp(-2.0 * np.abs(x))
    return 4.0 * e / np.square(1.0 + e)


_minus_sech2 = even(lambda x: -_sech2(x))
_acos_of_minus = rising(lambda x: np.arccos(-x))


def sech2(x: Ball) -> Ball:
    return -_minus_sech2(x)


def acos(x: Ball) -> Ball:
    return _acos_of_minus(-x)


@quiet
def absolute(x: Ball) -> Ball:
    low, high = x.ends
    return hull(np.maximum(np.maximum(low, -high), 0.0), np.maximum(-low, high))


@quiet
def minimum(x: Ball, y: Ball) -> Ball:
    (a, b), (c, d) = x.ends, y.ends
    return hull(np.minimum(a, c), np.minimum(b, d))


@quiet
def maximum(x: Ball, y: Ball) -> Ball:
    (a, b), (c, d) = x.ends, y.ends
    return hull(np.maximum(a, c), np.maximum(b, d))


@quiet
def cos(x: Ball) -> Ball:
    return _wave(np.cos, 0.0, x)


@quiet
def sin(x: Ball) -> Ball:
    return _wave(np.sin, 0.25, x)


def _wave(f: Real, top: float, x: Ball) -> Ball:
    """f is 1 at `top` + k periods, −1 half a period later, and monotone between."""
    low, high = x.ends
    far = np.maximum(np.abs(low), np.abs(high)) > FAR
    near_low, near_high = np.where(far, 0.0, low), np.where(far, 0.0, high)
    first, last = f(near_low), f(near_high)
    has_top = far | holds(near_low, near_high, 2 * math.pi, top)
    has_bottom = far | holds(near_low, near_high, 2 * math.pi, top + 0.5)
    span = widened(np.where(has_bottom, -1.0, np.minimum(first, last)), np.where(has_top, 1.0, np.maximum(first, last)))
    return clipped(span, -1.0, 1.0)


def holds(low: Floats, high: Floats, period: float, at: float) -> Booleans:
    """Whether some (k + at)·period may lie between."""
    first, last = low / period, high / period
    slack = NEAR * (1 + np.maximum(np.abs(first), np.abs(last)))
    contained: Booleans = np.floor(last - at + slack) >= np.ceil(first - at - slack)
    return contained


@quiet
def tan(x: Ball) -> Ball:
    low, high = x.ends
    pole = (np.maximum(np.abs(low), np.abs(high)) > FAR) | holds(low, high, math.pi, 0.5)
    return widened(np.tan(np.where(pole, np.nan, low)), np.tan(np.where(pole, np.nan, high)))


@quiet
def integer_power(x: Ball, k: int) -> Ball:
    """x^k for k ≥ 0; x^0 is 1."""
    if k == 0:
        one = np.where(x.finite, 1.0, np.nan)
        return Ball(one, 0.0 * one)
    return (even if k % 2 == 0 else rising)(lambda t: np.power(t, float(k)))(x)


@quiet
def fractional_power(x: Ball, p: float) -> Ball:
    """x^p for p > 0, unknown where x may be negative."""
    return rising(lambda t: np.power(np.where(t < 0, np.nan, t), p), 0.0)(x)


FUNCTIONS: dict[str, Callable[[Ball], Ball]] = {
    "exp": rising(np.exp, 0.0),
    "expm1": rising(np.expm1, -1.0),
    "ln": rising(np.log),
    "log1p": rising(np.log1p),
    "log2": rising(np.log2),
    "log10": rising(np.log10),
    "sqrt": rising(np.sqrt, 0.0),
    "cbrt": rising(np.cbrt),
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "sinh": rising(np.sinh),
    "cosh": even(np.cosh),
    "tanh": rising(np.tanh, -1.0, 1.0),
    "asin": rising(np.arcsin),
    "acos": acos,
    "atan": rising(np.arctan),
    "asinh": rising(np.arcsinh),
    "acosh": rising(np.arccosh, 0.0),
    "atanh": rising(np.arctanh),
    "erf": rising(_erf, -1.0, 1.0),
    "sigmoid": rising(lambda x: 1.0 / (1.0 + np.exp(-x)), 0.0, 1.0),
    "softplus": rising(lambda x: np.logaddexp(x, 0.0), 0.0),
    "abs": absolute,
}
