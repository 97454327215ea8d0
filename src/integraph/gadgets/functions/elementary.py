"""Elementary functions for numpy arrays without overflow or cancellation on the way.

A value depends on its own arguments only, not on what else is in the array: a shortcut that is taken when every element
allows it gives each the same bits as the long way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
SAFE = 700.0  # e^±700 is a normal number
LARGE = 1e290
FAR = 10_000  # 2^±FAR times any float64 is 0 or ∞
TINY = 1e-300  # added to an argument away from 0, it changes no quotient f(x)/x but makes 0/0 its limit


def grow(z: Array, x: Array) -> Array:
    """z e^x, also where e^x alone is not a normal number; 0 stays 0."""
    whole = z * np.exp(x)
    if np.max(x, initial=0.0) < SAFE and np.min(x, initial=0.0) > -SAFE:
        return whole
    quarter = np.exp(0.25 * x)
    far = np.where((z == 0) & ~np.isnan(x), 0.0, z * quarter * quarter * quarter * quarter)
    return np.where(np.abs(x) < SAFE, whole, far)


def expm1c(x: Array) -> Array:
    moved = x + np.copysign(TINY, x)
    return np.expm1(moved) / moved


def log1pc(x: Array) -> Array:
    moved = x + np.copysign(TINY, x)
    return np.log1p(moved) / moved


def power(z: Array, x: Array, a: Array) -> Array:
    """z (1 + x)^a: the rounding of 1 + x is put back, so the error does not grow with |a|."""
    base = 1.0 + x
    correction = np.exp(a * (_lost(x, base) / base))
    factor = np.power(base, a)
    whole, safe = z * factor * correction, (factor > 1e-290) & (factor < 1e290)
    if safe.all():
        return whole
    quarter = np.power(base, 0.25 * a)
    far = np.where((z == 0) & (base > 0), 0.0, z * quarter * quarter * quarter * quarter * correction)
    return np.where(safe, whole, far)


def _lost(x: Array, base: Array) -> Array:
    """What rounding took from 1 + x."""
    return np.where(np.abs(x) > 1.0, 1.0 - (base - x), x - (base - 1.0))


def grow_powers(z: Array, e: Array, x: Array, a: Array) -> Array:
    """z e^e Π_k (1 + x_k)^{a_k}, k on the last axis but one of x and a: as accurate as `power`, also where a factor
    alone is not a normal number."""
    base = 1.0 + x
    factors, reach = np.power(base, a), LARGE ** (1.0 / (x.shape[-2] + 1))  # so that no product of some of them leaves
    correction = np.exp(np.sum(a * (_lost(x, base) / base), -2))
    whole = z * (np.prod(factors, -2) * correction * np.exp(e))
    safe = np.all((factors > 1.0 / reach) & (factors < reach), -2) & (np.abs(e) < np.log(reach))
    if safe.all():
        return whole
    return np.where(safe, whole, _by_logarithms(z, e, x, a))


def _by_logarithms(z: Array, e: Array, x: Array, a: Array) -> Array:
    """The same through e + Σ a ln(1 + x), in extended precision where the machine has it: the relative error is that of
    the sum."""
    exponent = e + np.sum(a * np.log1p(np.asarray(x, np.longdouble)), -2)
    ln2 = np.log(np.longdouble(2.0))
    whole = np.clip(np.rint(exponent / ln2), -FAR, FAR)
    mantissa, shift = np.frexp(z)
    rest = np.asarray(mantissa * np.exp(exponent - whole * ln2), np.float64)
    value = np.ldexp(rest, shift + np.nan_to_num(whole).astype(np.int32))
    return np.where((z == 0) & ~np.isnan(exponent), 0.0, value)


def log_cosh(x: Array, k: Array) -> Array:
    """ln u, u = cosh x + k sinh(x)/x: near 0 as ln(1 + (u − 1)), further out as |x| + ln(u e^{−|x|})."""
    size = np.abs(x)
    near, e = np.minimum(size, 1.0), np.exp(-size)
    sinhc = np.sinh(near + TINY) / (near + TINY)
    small = np.log1p(2.0 * np.sinh(0.5 * near) ** 2 + k * sinhc)
    far = size + np.log(e * e + 0.5 * expm1c(-size) * (1.0 + e) * (size + k))
    return np.where(size < 1.0, small, far)


def log_logistic(x: Array, k: Array) -> Array:
    """ln(1 + k (e^x − 1)/x); where that is huge, without its 1."""
    falling = expm1c(-np.abs(x))
    gain = grow(k * falling, np.maximum(x, 0.0))
    if np.all(gain < 1e300):
        return np.log1p(gain)
    return np.where(gain < 1e300, np.log1p(gain), np.maximum(x, 0.0) + np.log(k * falling))


def logistic(x: Array, k: Array, *z: Array) -> tuple[Array, ...]:
    """N e^{−max(x, 0)} with N = 1 + k (e^x − 1)/x, and z e^x/N for each z. k = 0 is apart: e^−x may underflow."""
    below = np.exp(-np.maximum(x, 0.0)) + k * expm1c(-np.abs(x))
    above = np.exp(-np.maximum(-x, 0.0))
    ends = tuple(y * above / below for y in z)
    if np.all(k):
        return below, *ends
    still = k == 0
    return np.where(still, 1.0, below), *(np.where(still, grow(y, x), end) for y, end in zip(z, ends, strict=True))


def inverse_distance(a: Array, b: Array) -> Array:
    """∫_0^1 ds/|1 + (a + ib)s|: the mean of 1/|ζ| on the line from 1 to 1 + a + ib, of length L.

    With R = |1 + a + ib| it is ln((1 + R + L)/(1 + R − L))/L; where the line passes its point nearest to 0 and
    1 + R − L cancels, the sum of the areas before and after that point.
    """
    r, length = np.hypot(1.0 + a, b), np.hypot(a, b)
    below = 1.0 + (1.0 + 2.0 * a) / (r + length)
    direct = (2.0 / below) * log1pc(2.0 * length / below)
    side = np.where(b == 0, 1.0, np.abs(b))
    after = (a / side) * (1.0 + a) + np.abs(b)
    passes = (a < 0) & (after > 0)
    if not np.any(passes):
        return direct
    return np.where(passes, (np.arcsinh(after) + np.arcsinh(-a / side)) / np.where(passes, length, 1.0), direct)
