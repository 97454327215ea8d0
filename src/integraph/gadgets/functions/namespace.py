"""The functions a closed form may use, accurate everywhere and with nothing that overflows on the way.

A closed form is written once over this namespace; `FLOAT` serves numpy arrays. Another implementation with the same
names (balls, JAX) serves the same closed forms, so there is no `if` or `where` in a gadget: what needs a case
distinction is a function here. Suffix `c`: divided by its argument, with the limit at 0. A function that multiplies by
something that may leave float64 takes the other factor too, so that 0·e^1000 is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from integraph.gadgets.functions import elementary, gauss, normaliser

Array = Any  # a numpy array here; whatever the namespace computes with elsewhere
Arrays = tuple[Array, ...]
Tensors = Mapping[str, Array]


class Functions(Protocol):
    def abs(self, x: Array) -> Array: ...
    def sign(self, x: Array) -> Array: ...  # sign(0) = 1
    def relu(self, x: Array) -> Array: ...  # max(x, 0)
    def exp(self, x: Array) -> Array: ...
    def grow(self, z: Array, x: Array) -> Array: ...  # z e^x
    def expm1(self, x: Array) -> Array: ...
    def expm1c(self, x: Array) -> Array: ...  # (e^x − 1)/x
    def log1p(self, x: Array) -> Array: ...
    def log1pc(self, x: Array) -> Array: ...  # ln(1 + x)/x
    def sin(self, x: Array) -> Array: ...
    def cos(self, x: Array) -> Array: ...
    def hypot(self, x: Array, y: Array) -> Array: ...
    def atan2(self, y: Array, x: Array) -> Array: ...
    def power(self, z: Array, x: Array, a: Array) -> Array: ...  # z (1 + x)^a
    def grow_powers(self, z: Array, e: Array, x: Array, a: Array) -> Array: ...  # z e^e Π_k (1 + x_k)^a_k, k: axis −2
    def log_cosh(self, x: Array, k: Array) -> Array: ...  # ln(cosh x + k sinh(x)/x)
    def log_logistic(self, x: Array, k: Array) -> Array: ...  # ln N, N = 1 + k (e^x − 1)/x
    def logistic(self, x: Array, k: Array, *z: Array) -> tuple[Array, ...]: ...  # > 0 if N is; z e^x/N for each z
    def inverse_distance(self, a: Array, b: Array) -> Array: ...  # ∫_0^1 ds/|1 + (a + ib)s|
    def fall(self, z: Array, a: Array, b: Array, c: float) -> Array: ...  # z exp(−c(a + b²/2)), c = 1 or 2
    def gauss(self, z: Array, a: Array, b: Array, c: float) -> Array: ...  # z ∫_0^1 exp(−c(as + b²s²/2)) ds
    def sum(self, x: Array, axis: int) -> Array: ...
    def dot(self, w: Array, x: Array) -> Array: ...  # Σ_r w_r x_r: w is lanes + (R, 1), x is (R, inputs)
    def gaps(self, t: float, s: Array, c: Array, u: Array) -> tuple[Array, Array]: ...  # see normaliser.py
    def normaliser(
        self, t: float, u: Array, m: Array, sigma: Array, top: Array, grown: Array
    ) -> tuple[Array, Array]: ...  # see normaliser.py
    def log_normaliser(self, t: float, u: Array, m: Array, sigma: Array, top: Array, n: Array) -> Array: ...


class Float:
    """numpy, float64."""

    abs = staticmethod(np.abs)
    exp = staticmethod(np.exp)
    expm1 = staticmethod(np.expm1)
    log1p = staticmethod(np.log1p)
    sin = staticmethod(np.sin)
    cos = staticmethod(np.cos)
    hypot = staticmethod(np.hypot)
    atan2 = staticmethod(np.arctan2)
    grow = staticmethod(elementary.grow)
    expm1c = staticmethod(elementary.expm1c)
    log1pc = staticmethod(elementary.log1pc)
    power = staticmethod(elementary.power)
    grow_powers = staticmethod(elementary.grow_powers)
    log_cosh = staticmethod(elementary.log_cosh)
    log_logistic = staticmethod(elementary.log_logistic)
    logistic = staticmethod(elementary.logistic)
    inverse_distance = staticmethod(elementary.inverse_distance)
    fall = staticmethod(gauss.fall)
    gauss = staticmethod(gauss.gauss)
    gaps = staticmethod(normaliser.gaps)
    log_normaliser = staticmethod(normaliser.log_normaliser)
    normaliser = staticmethod(normaliser.normaliser)

    def sign(self, x: Array) -> Array:
        return np.copysign(1.0, x)

    def relu(self, x: Array) -> Array:
        return np.maximum(x, 0.0)

    def sum(self, x: Array, axis: int) -> Array:
        return np.sum(x, axis=axis)

    def dot(self, w: Array, x: Array) -> Array:
        return np.matmul(w[..., 0], x)


FLOAT = Float()
