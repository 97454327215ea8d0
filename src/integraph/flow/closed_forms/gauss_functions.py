"""exp(−c(a + b²/2)) and ∫_0^1 exp(−c(as + b²s²/2)) ds on symbolic arrays, as `gadgets/functions/gauss.py` has them.

From the lemmas' start, a = 0, the integral is one error function. From others it takes e^{z²} erfc z, which no language
has: for z ≥ 0 it is 1/(z + K) times a polynomial in (z − K)/(z + K).
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # loads scipy.special on first use, which takes a while

from integraph.flow.closed_forms.contraction import contract
from integraph.flow.closed_forms.recorder import Array, Symbol
from integraph.gadgets.functions.gauss import NODES, SPLIT, THIN, WEIGHTS
from integraph.gadgets.functions.gauss import fall as float_fall
from integraph.gadgets.functions.gauss import gauss as float_gauss

if TYPE_CHECKING:
    from integraph.flow.closed_forms.functions import SymbolFunctions

HALF_ROOT_PI = math.sqrt(math.pi) / 2
CENTRE, DEGREE = 2.5, 32  # of the polynomial: 2e-16 with these
FAR = 2.0**500  # b beyond which e^{−b²/2} is 0 anyway, and b² a number


def fall(self: SymbolFunctions, z: Array, a: Array, b: Array, c: float) -> Array:
    """z exp(−c(a + b²/2)), with the rounding of the exponent put back."""
    if not any(isinstance(x, Symbol) for x in (z, a, b)):
        with np.errstate(all="ignore"):
            return float_fall(z, a, b, c)
    exponent, lost = _exponent(self, a, b)
    return self.grow(z * (1.0 - c * lost), -c * exponent)


def _exponent(self: SymbolFunctions, a: Array, b: Array) -> tuple[Array, Array]:
    """a + b²/2 as its rounded value and what the rounding lost."""
    double = self.recorder.huge > FAR
    size = self.minimum(self.abs(b), FAR if double else 2.0**50)
    head = (SPLIT if double else 4097.0) * size
    head = head - (head - size)
    first, lost_first = _two_sum(a, 0.5 * head * head)
    exponent, lost = _two_sum(first, 0.5 * (size - head) * (size + head))
    lost = lost + lost_first
    return exponent, self.where(self.less(self.abs(lost), 1.0), lost, 0.0)


def _two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """x + y = sum + lost exactly."""
    whole = x + y
    other = whole - x
    return whole, (x - (whole - other)) + (y - other)


def gauss(self: SymbolFunctions, z: Array, a: Array, b: Array, c: float) -> Array:
    """z ∫_0^1 exp(−c(as + b²s²/2)) ds."""
    if not any(isinstance(x, Symbol) for x in (z, a, b)):
        with np.errstate(all="ignore"):
            return float_gauss(z, a, b, c)
    width = math.sqrt(0.5 * c) * self.abs(b)
    if not isinstance(a, Symbol) and not np.any(a):  # the lemma's start
        return z * self.recorder.push("gaussian_mean", width)
    if not self.recorder.smooth:
        return _gauss(self, z, a, b, c, width)
    rate, square = c * a, width * width
    near = self.less(self.abs(rate) + square, 1.0)
    mean = _nodes(self, self.where(near, rate, 0.0), self.where(near, square, 0.0))
    far = _gauss(self, z, self.where(near, 1.0, a), self.where(near, 1.0, b), c, self.where(near, 1.0, width))
    return self.where(near, z * mean, far)


def _gauss(self: SymbolFunctions, z: Array, a: Array, b: Array, c: float, width: Array) -> Array:
    half, square = 0.5 * c * a, width * width
    inside = self.both(self.less(-self.recorder.tiny - square, half), self.less(half, self.recorder.tiny))
    moved = self.where(inside, width, 1.0) if self.recorder.smooth else self.nonzero(width)
    turn = half / moved
    middle = HALF_ROOT_PI * ((self.erf(moved + turn) + self.erf(-turn)) / moved)
    exponent, lost = _exponent(self, a, b)
    falls = self.less(0.0, half)
    down = _falling(self, self.relu(self.where(falls, half, -half - square)), width)
    value = self.where(inside, middle, down)
    up = self.where(inside, turn * turn, self.where(falls, 0.0, -c * exponent))
    lost = self.where(self.either(inside, falls), 0.0, lost)
    return self.grow(z * value * (1.0 - c * lost), up)


def _falling(self: SymbolFunctions, a: Array, b: Array) -> Array:
    """∫_0^1 exp(−2as − b²s²) ds for a ≥ 0: as for floats."""
    total = 2.0 * a + b * b
    flat, thin = self.less(total, 1.0), self.less(b, THIN * a)
    side = self.where(self.either(flat, thin), 1.0, b)
    far = self.where(flat, 1.0, a) / side
    full = (HALF_ROOT_PI / side) * (erfcx(self, far) - self.exp(-total) * erfcx(self, side + far))
    slim = self.expm1c(-2.0 * a)
    if self.recorder.smooth:  # of b² the value has nothing, but its derivatives −∫ s² e^{−2as} ds
        rate = self.where(self.both(thin, self.less(0.25, a)), 2.0 * a, 1.0)
        slim = slim - b * b * ((2.0 - self.exp(-rate) * (rate * rate + 2.0 * rate + 2.0)) / (rate * rate * rate))
    return self.where(flat, _nodes(self, 2.0 * a, b * b), self.where(thin, slim, full))


def _nodes(self: SymbolFunctions, rate: Array, square: Array) -> Array:
    """∫_0^1 exp(−rate·s − square·s²) ds where the exponent moves by at most 1."""
    rates, squares, nodes = rate[..., None, :], square[..., None, :], NODES[:, None]
    return contract(self.recorder, WEIGHTS[:, None], self.exp(-(rates + squares * nodes) * nodes))


def erfcx(self: SymbolFunctions, x: Array) -> Array:
    """e^{x²} erfc x for x ≥ 0."""
    return polynomial(self, _scaled_tail(), (x - CENTRE) / (x + CENTRE)) / (x + CENTRE)


def polynomial(self: SymbolFunctions, chebyshev: Any, t: Array) -> Array:
    """A polynomial by its Chebyshev coefficients, for −1 ≤ t ≤ 1: Clenshaw's sum."""
    one: Array = 0.0
    two: Array = 0.0
    for c in chebyshev[:0:-1]:
        one, two = (2.0 * t) * one - two + float(c), one
    return t * one - two + float(chebyshev[0])


@cache
def _scaled_tail() -> Any:
    def values(t: Any) -> Any:
        x = CENTRE * (1.0 + t) / (1.0 - t)
        return scipy.special.erfcx(x) * (x + CENTRE)

    return np.polynomial.chebyshev.chebinterpolate(values, DEGREE)
