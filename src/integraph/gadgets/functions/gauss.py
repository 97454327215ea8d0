"""The Gaussian gadgets' integrals: exp(−c(a + b²/2)) and ∫_0^1 exp(−c(as + b²s²/2)) ds with c = 1 or 2.

They come from w' = x², h' = −c w h with a = tw₀, b = tx. In the Gauss–Legendre rule, 8 nodes are exact to 1e-17 for an
exponent that moves by at most 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy  # loads scipy.special on first use, which takes a while

from integraph.gadgets.functions.elementary import TINY, expm1c, grow

Array = Any
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
NODES, WEIGHTS = (NODES + 1) / 2, WEIGHTS / 2
SMALL = 4.0  # b below which the rounding of b²/2 costs less than 8 ulp
THIN = 1e-9  # b/a below which b² does not matter to the last bit
SPLIT = 134217729.0  # 2^27 + 1: cuts a double into two halves whose products are exact


def fall(z: Array, a: Array, b: Array, c: float) -> Array:
    """z exp(−c(a + b²/2)); for large b its rounding is put back, or it would cost a relative error of b²·ε."""
    short = grow(z, -c * (a + 0.5 * b * b))
    small = np.abs(b) < SMALL
    if small.all():
        return short
    large = np.broadcast_to(~small, short.shape)
    z, a, b = (np.broadcast_to(x, short.shape)[large] for x in (z, a, b))
    total, lost = _exponent(a, b)
    short[large] = grow(z * (1.0 - c * lost), -c * total)
    return short


def _exponent(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b²/2 as its rounded value and what the rounding lost."""
    head = SPLIT * b
    head = np.where(np.abs(b) < 1e150, head - (head - b), b)
    first, lost_first = _two_sum(a, 0.5 * head * head)
    total, lost = _two_sum(first, 0.5 * (b - head) * (b + head))
    lost = lost + lost_first
    return total, np.where(np.abs(lost) < 1.0, lost, 0.0)


def _two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """x + y = sum + lost exactly."""
    total = x + y
    other = total - x
    return total, (x - (total - other)) + (y - other)


def gauss(z: Array, a: Array, b: Array, c: float) -> Array:
    """z ∫_0^1 exp(−c(as + b²s²/2)) ds."""
    scale = math.sqrt(0.5 * c)
    z, a, b = np.broadcast_arrays(z, a, np.abs(b))
    if not a.any():  # the lemma's start
        return z * _centred(scale * b)
    half, width = 0.5 * c * a, scale * b
    value, exponent, lost = np.empty(a.shape), np.zeros(a.shape), np.zeros(a.shape)
    square = width * width
    inside = (half <= 0) & (half >= -square)  # the largest value is inside the interval
    value[inside], exponent[inside] = _inside(half[inside], width[inside])
    falling = half > 0
    value[falling] = _falling(half[falling], width[falling])
    rising = ~(inside | falling)  # read the interval from its other end
    value[rising] = _falling(-half[rising] - square[rising], width[rising])
    exponent[rising], lost[rising] = _exponent(a[rising], b[rising])
    exponent[rising] *= -c
    return grow(z * value * (1.0 - c * lost), exponent)


def _centred(b: Array) -> Array:
    """∫_0^1 exp(−b²s²) ds."""
    moved = b + TINY
    return (math.sqrt(math.pi) / 2) * (scipy.special.erf(moved) / moved)


def _inside(a: Array, b: Array) -> tuple[Array, Array]:
    """∫_0^1 exp(−2as − b²s²) ds for −b² ≤ a ≤ 0, as (value, exponent): two error functions that add."""
    moved = b + TINY
    z = a / moved
    return (math.sqrt(math.pi) / 2) * ((scipy.special.erf(moved + z) + scipy.special.erf(-z)) / moved), z * z


def _falling(a: Array, b: Array) -> Array:
    """The same for a ≥ 0: (√π/2b)[erfcx(a/b) − e^{−2a − b²} erfcx(b + a/b)], unless that cancels or b ≪ a."""
    flat = 2.0 * a + b * b <= 1.0
    thin = b < THIN * a
    side, rate = np.where(flat | thin, 1.0, b), np.where(thin, a, 1.0)
    z = np.where(flat, 1.0, a) / side
    near, far = scipy.special.erfcx(z), np.exp(-2.0 * a - b * b) * scipy.special.erfcx(side + z)
    full = (math.sqrt(math.pi) / 2 / side) * (near - far)
    full = np.where(thin, expm1c(-2.0 * rate), full)
    full[flat] = np.exp(-NODES * (2.0 * a[flat, None] + b[flat, None] ** 2 * NODES)) @ WEIGHTS
    return full
