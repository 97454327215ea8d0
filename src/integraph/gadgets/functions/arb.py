"""The functions of closed forms on balls: numpy object arrays of Arb's numbers.

The result holds the value at every choice of numbers from the arguments' balls. A function of several arguments takes
its range from corners where it is monotone in each, else from ranges of its parts. Nothing overflows on the way, so one
formula serves all cases. Where a result is uncertain, it is a ball of all possible values, or not finite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb

from integraph.gadgets.functions import arb_gauss, arb_normaliser
from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import ONE, ZERO, hull
from integraph.numbers.arb.ranges import HALF, UNKNOWN

Array = Any
Lifted = Callable[..., Array]


class BallFunctions:
    """`Functions` of balls, at the precision of the moment."""

    abs: Lifted
    sign: Lifted
    relu: Lifted
    exp: Lifted
    grow: Lifted
    expm1: Lifted
    expm1c: Lifted
    log: Lifted
    log1p: Lifted
    log1pc: Lifted
    sin: Lifted
    cos: Lifted
    hypot: Lifted
    atan2: Lifted
    power: Lifted
    log_cosh: Lifted
    log_logistic: Lifted
    inverse_distance: Lifted
    fall: Lifted
    gauss: Lifted
    exactly: Lifted  # floats as they are

    def __init__(self) -> None:
        for name, (function, count) in SCALARS.items():
            setattr(self, name, np.frompyfunc(_of_balls(function, count), count, 1))

    def logistic(self, x: Array, k: Array, *z: Array) -> tuple[Array, ...]:
        """N e^{−max(x, 0)} has the sign of N, which is monotone in time."""
        below = self.exp(-self.relu(x)) + k * self.expm1c(-self.abs(x))
        above = self.exp(-self.relu(-x))
        return below, *(y * above / below for y in z)

    def grow_powers(self, z: Array, e: Array, x: Array, a: Array) -> Array:
        return self.grow(z, e + np.sum(a * self.log1p(x), -2))

    def sum(self, x: Array, axis: int) -> Array:
        return np.sum(x, axis=axis)

    def dot(self, w: Array, x: Array) -> Array:
        return np.matmul(w[..., 0], x)

    def gaps(self, t: Any, s: Array, c: Array, u: Array) -> tuple[Array, Array]:
        """M may be any number near the largest σt: numerator and denominator are both divided by e^M."""
        v = t * (s + c)
        top = np.max(np.frompyfunc(_above_zero, 2, 1)(v, u), axis=-2, keepdims=True)
        return v - top, top

    def normaliser(self, t: Any, u: Array, m: Array, sigma: Array, top: Array, grown: Array) -> tuple[Array, Array]:
        return arb_normaliser.value(t, u, m, sigma, top), arb_normaliser.while_positive(t, u, m, sigma)

    def log_normaliser(self, t: Any, u: Array, m: Array, sigma: Array, top: Array, n: Array) -> Array:
        """ln n, whatever `top` is."""
        return self.log(n)


def _of_balls(function: Callable[..., arb], count: int) -> Callable[..., arb]:
    """Plain numbers among the arguments are exact."""
    if count == 1:
        return lambda x: function(x if type(x) is arb else arb(x))
    if count == 2:
        return lambda x, y: function(x if type(x) is arb else arb(x), y if type(y) is arb else arb(y))
    return lambda *values: function(*[v if type(v) is arb else arb(v) for v in values])


def _above_zero(v: arb, u: arb) -> arb:
    """The middle of v if it is positive and the lane counts (u ≠ 0), else 0."""
    return max(v.mid(), ZERO) if v.is_finite() and not u.is_zero() else ZERO


def _sign(x: arb) -> arb:
    if not x.is_finite():
        return UNKNOWN
    return ONE if x >= 0 else -ONE if x < 0 else hull(-ONE, ONE)


_relu = ranges.monotone(lambda x: x if x > 0 else ZERO)


def _grow(z: arb, x: arb) -> arb:
    return ZERO if z == 0 and x.is_finite() else z * ranges.exp(x)


def _hypot(x: arb, y: arb) -> arb:
    if not (x.is_finite() and y.is_finite()):
        return UNKNOWN
    low, high = ((a * a + b * b).sqrt() for a, b in ((x.abs_lower(), y.abs_lower()), (x.abs_upper(), y.abs_upper())))
    return hull(low, high)


def _atan2(y: arb, x: arb) -> arb:
    """The corners of a rectangle that keeps away from 0 and from the numbers below it."""
    if not (x.is_finite() and y.is_finite() and (x > 0 or y > 0 or y < 0)):
        return UNKNOWN
    return hull(*(arb.atan2(b, a) for b in (y.lower(), y.upper()) for a in (x.lower(), x.upper())))


def _log_cosh(x: arb, k: arb) -> arb:
    """It rises with k, and with |x| if k ≥ −3, because |x| coth|x| − 1 ≤ x²/3."""
    if not (x.is_finite() and k >= -3):
        return _log_cosh_of(ranges.abs_(x), k)
    return _log_cosh_of(x.abs_lower(), k.lower()).union(_log_cosh_of(x.abs_upper(), k.upper()))


def _log_cosh_of(size: arb, k: arb) -> arb:
    """Both are right everywhere; near 0 the first loses nothing to cancellation, further out the second."""
    if size < 1:
        return ranges.log1p(2 * ranges.square(ranges.sinh(size * HALF)) + k * ranges.sinhc(size))
    return size + ranges.log(HALF + HALF * ranges.exp(-2 * size) + k * ranges.expm1c(-2 * size))


def _log_logistic(x: arb, k: arb) -> arb:
    """k times something positive that rises with x: the corners."""
    if not (x.is_finite() and k.is_finite()):
        return UNKNOWN
    return hull(*(_log_logistic_at(a, b) for a in (x.lower(), x.upper()) for b in (k.lower(), k.upper())))


def _log_logistic_at(x: arb, k: arb) -> arb:
    if x < 1:
        return (k * ranges.expm1c(x)).log1p()
    return x + ((-x).exp() + k * ranges.expm1c(-x)).log()


def _inverse_distance(a: arb, b: arb) -> arb:
    """ln((1 + R + L)/(1 + R − L))/L, or, where 1 + R − L cancels, the areas before and after the point nearest to 0."""
    r, length, side = _hypot(1 + a, b), _hypot(a, b), ranges.abs_(b)
    below = 1 + (1 + 2 * a) / (r + length)
    if below > 0.125 or not side > 0:
        return (2 / below) * ranges.log1pc(2 * length / below)
    after = a * (1 + a) / side + side
    return (ranges.asinh(after) + ranges.asinh(-a / side)) / length


SCALARS: dict[str, tuple[Callable[..., arb], int]] = {
    "exactly": (lambda x: x, 1),
    "abs": (ranges.abs_, 1),
    "sign": (_sign, 1),
    "relu": (_relu, 1),
    "exp": (ranges.exp, 1),
    "grow": (_grow, 2),
    "expm1": (ranges.expm1, 1),
    "expm1c": (ranges.expm1c, 1),
    "log": (ranges.log, 1),
    "log1p": (ranges.log1p, 1),
    "log1pc": (ranges.log1pc, 1),
    "sin": (ranges.sin, 1),
    "cos": (ranges.cos, 1),
    "hypot": (_hypot, 2),
    "atan2": (_atan2, 2),
    "power": (lambda z, x, a: _grow(z, a * ranges.log1p(x)), 3),
    "log_cosh": (_log_cosh, 2),
    "log_logistic": (_log_logistic, 2),
    "inverse_distance": (_inverse_distance, 2),
    "fall": (lambda z, a, b, c: _grow(z, -c * (a + ranges.square(b) * HALF)), 4),
    "gauss": (arb_gauss.gauss, 4),
}
BALLS = BallFunctions()
