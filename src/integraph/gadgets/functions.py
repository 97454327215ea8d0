"""The functions a closed form may use, accurate everywhere and with nothing that overflows on the way.

A closed form is written once over this namespace; `FLOAT` serves numpy arrays. Another implementation with the same
names (balls, JAX) serves the same closed forms, so there is no `if` or `where` in a gadget: what needs a case
distinction is a function here. Suffix `c`: divided by its argument, with the limit at 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from scipy import special

Array = Any  # a numpy array here; whatever the namespace computes with elsewhere
Arrays = tuple[Array, ...]
Tensors = Mapping[str, Array]


class Functions(Protocol):
    def abs(self, x: Array) -> Array: ...
    def sign(self, x: Array) -> Array: ...  # sign(0) = 1
    def relu(self, x: Array) -> Array: ...  # max(x, 0)
    def exp(self, x: Array) -> Array: ...
    def expm1(self, x: Array) -> Array: ...
    def expm1c(self, x: Array) -> Array: ...  # (e^x − 1)/x
    def log1p(self, x: Array) -> Array: ...
    def log1pc(self, x: Array) -> Array: ...  # ln(1 + x)/x
    def sin(self, x: Array) -> Array: ...
    def cos(self, x: Array) -> Array: ...
    def sinh(self, x: Array) -> Array: ...
    def hypot(self, x: Array, y: Array) -> Array: ...
    def atan2(self, y: Array, x: Array) -> Array: ...
    def pow1p(self, x: Array, a: Array) -> Array: ...  # (1 + x)^a
    def log_cosh(self, x: Array, k: Array) -> Array: ...  # ln(cosh x + k sinh(x)/x)
    def log_logistic(self, x: Array, k: Array) -> Array: ...  # ln(1 + k (e^x − 1)/x)
    def gauss_integral(self, a: Array, b: Array) -> Array: ...  # ∫_0^1 exp(−2as − b²s²) ds
    def exp_minus_square(self, a: Array, b: Array) -> Array: ...  # exp(−2a − b²)
    def max(self, x: Array, axis: int) -> Array: ...
    def sum(self, x: Array, axis: int) -> Array: ...


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2
SMOOTH = 16.0  # |2a| + b² up to which 40 Gauss nodes give full precision


class Float:
    """numpy, float64."""

    abs = staticmethod(np.abs)
    exp = staticmethod(np.exp)
    expm1 = staticmethod(np.expm1)
    log1p = staticmethod(np.log1p)
    sin = staticmethod(np.sin)
    cos = staticmethod(np.cos)
    sinh = staticmethod(np.sinh)
    hypot = staticmethod(np.hypot)
    atan2 = staticmethod(np.arctan2)

    def sign(self, x: Array) -> Array:
        return np.copysign(1.0, x)

    def relu(self, x: Array) -> Array:
        return np.maximum(x, 0.0)

    def max(self, x: Array, axis: int) -> Array:
        return np.max(x, axis=axis, keepdims=True)

    def sum(self, x: Array, axis: int) -> Array:
        return np.sum(x, axis=axis)

    def expm1c(self, x: Array) -> Array:
        small = np.abs(x) < 1e-300  # below, x might be 0 or too small to divide by
        safe = np.where(small, 1.0, x)
        return np.where(small, 1.0, np.expm1(safe) / safe)

    def log1pc(self, x: Array) -> Array:
        small = np.abs(x) < 1e-300
        safe = np.where(small, 1.0, x)
        return np.where(small, 1.0, np.log1p(safe) / safe)

    def pow1p(self, x: Array, a: Array) -> Array:
        """(1 + x)^a: the rounding of 1 + x is put back, so the error does not grow with |ln(1 + x)|."""
        base = 1.0 + x
        lost = x - (base - 1.0)
        lost = np.where(np.abs(x) > 1.0, 1.0 - (base - x), lost)
        return np.power(base, a) * (1.0 + a * (lost / base))

    def log_cosh(self, x: Array, k: Array) -> Array:
        size = np.abs(x)
        near = np.minimum(size, 1.0)
        sinhc = np.where(near < 1e-300, 1.0, np.sinh(near) / np.where(near < 1e-300, 1.0, near))
        small = np.log1p(2.0 * np.sinh(near / 2) ** 2 + k * sinhc)
        e = np.exp(-size)
        far = size + np.log(e * e + 0.5 * self.expm1c(-size) * (1.0 + e) * (size + k))
        return np.where(size < 1.0, small, far)

    def log_logistic(self, x: Array, k: Array) -> Array:
        near = np.minimum(x, 1.0)
        far = np.maximum(x, 1.0)
        return np.where(
            x < 1.0,
            np.log1p(k * self.expm1c(near)),
            far + np.log(np.exp(-far) + k * self.expm1c(-far)),
        )

    def exp_minus_square(self, a: Array, b: Array) -> Array:
        """exp(−2a − b²) with the square split in two, so that its rounding does not become a relative error of b²·ε."""
        head = np.float64(b).astype(np.float32).astype(np.float64) if np.all(np.abs(b) < 1e30) else b
        return np.exp(-head * head) * np.exp(-2.0 * a - (b - head) * (b + head))

    def gauss_integral(self, a: Array, b: Array) -> Array:
        a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.abs(np.asarray(b, np.float64)))
        out = np.empty(a.shape)
        smooth = 2.0 * np.abs(a) + b * b <= SMOOTH
        out[smooth] = _quadrature(a[smooth], b[smooth])
        out[~smooth] = _by_erfcx(a[~smooth], b[~smooth], self)
        return out


def _quadrature(a: Array, b: Array) -> Array:
    total = np.zeros_like(a)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        total += weight * np.exp(-node * (2.0 * a + b * b * node))
    return total


def _by_erfcx(a: Array, b: Array, f: Float) -> Array:
    """∫ by completing the square, on the side where nothing cancels; b ≥ 0, 2|a| + b² large."""
    out = np.empty_like(a)
    end = f.exp_minus_square(a, b)
    inside = (a < 0) & (a > -b * b)  # the largest value is inside the interval
    z = a[inside] / b[inside]
    out[inside] = np.exp(z * z) * (np.sqrt(np.pi) / 2 / b[inside]) * (special.erf(b[inside] + z) - special.erf(z))
    rising = a <= -b * b  # read the interval from its other end
    out[rising] = end[rising] * _falling(-a[rising] - b[rising] ** 2, b[rising], 1.0 / end[rising])
    falling = a >= 0
    out[falling] = _falling(a[falling], b[falling], end[falling])
    return out


def _falling(a: Array, b: Array, end: Array) -> Array:
    """a ≥ 0: (√π/2b)[erfcx(a/b) − end·erfcx(b + a/b)]; for b ≪ a its limit (1 − end)/2a with the first correction."""
    thin = b < 1e-5 * a
    z = np.where(thin, 1.0, a) / np.where(thin, 1.0, b)
    full = (np.sqrt(np.pi) / 2 / np.where(thin, 1.0, b)) * (
        special.erfcx(z) - end * special.erfcx(np.where(thin, 0.0, b) + z)
    )
    safe = np.where(thin, a, 1.0)
    ratio = (b / safe) ** 2
    limit = (1.0 - 0.5 * ratio - end * (1.0 - ratio * safe)) / (2.0 * safe)
    return np.where(thin, limit, full)


FLOAT = Float()
