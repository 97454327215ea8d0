"""The functions of closed forms on symbolic arrays: see `gadgets/functions/namespace.py`.

Each is written by recorded operations, as accurate as that of floats, and without overflow on the way. Where a case
distinction is needed, both cases are computed and one is chosen. What is not sure to be right fails its guard.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from integraph.flow.closed_forms import gauss_functions, softmax_functions
from integraph.flow.closed_forms.contraction import contract, reduce, total
from integraph.flow.closed_forms.recorder import Array, Recorder, Symbol, constant
from integraph.gadgets.functions.namespace import FLOAT

SAFE = 700.0  # e^±700 is a normal number
SHORT = 4  # integer exponents that are products
PLAIN = 1.0  # exponents up to which the rounding of 1 + x costs less than half an ulp
MILD = 1.0  # Σ|a| up to which no product of powers leaves the range
REACH = 1e280
NEAR = 0.1  # |a + ib|² below which the nodes give the mean of 1/|1 + (a + ib)s| to the last bit
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
NODES, WEIGHTS = (NODES + 1) / 2, WEIGHTS / 2


def of_symbols(method: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is called where an argument is a symbol; that of floats is `FLOAT`'s."""

    @functools.wraps(method)
    def function(self: SymbolFunctions, *given: Any) -> Any:
        if any(isinstance(x, Symbol) for x in given):
            return method(self, *given)
        with np.errstate(all="ignore"):
            return getattr(FLOAT, method.__name__)(*given)

    return function


def _plain(op: str) -> Callable[..., Array]:
    return lambda self, *given: self.recorder.push(op, *given)


class SymbolFunctions:
    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    abs, sqrt, maximum, minimum = _plain("abs"), _plain("sqrt"), _plain("maximum"), _plain("minimum")
    exp, expm1, log, log1p = _plain("exp"), _plain("expm1"), _plain("log"), _plain("log1p")
    sin, cos, tanh, erf = _plain("sin"), _plain("cos"), _plain("tanh"), _plain("erf")
    hypot, atan2, asinh = _plain("hypot"), _plain("arctan2"), _plain("arcsinh")
    expm1c, log1pc = _plain("expm1c"), _plain("log1pc")
    less, equal, both, either, where = (_plain(op) for op in ("less", "equal", "both", "either", "where"))
    fall, gauss = gauss_functions.fall, gauss_functions.gauss
    gaps, normaliser = softmax_functions.gaps, softmax_functions.normaliser
    log_normaliser = softmax_functions.log_normaliser

    def sign(self, x: Array) -> Array:
        return self.where(self.less(x, 0.0), -1.0, 1.0)

    def relu(self, x: Array) -> Array:
        """At 0 its slope is 1, and that of relu(−x) is 0: a sum over both signs has the derivative of one of them."""
        mirror = self._mirror(x) if self.recorder.smooth and isinstance(x, Symbol) else None
        return self.maximum(x, 0.0) if mirror is None else self.maximum(mirror, 0.0) - mirror

    def _mirror(self, x: Symbol) -> Array:
        """−x, where x was recorded as a negative multiple."""
        own = self.recorder.operation(x)
        if own.op == "negate":
            return self.recorder.symbol(own.arguments[0])
        if own.op == "multiply":
            for one, other in (own.arguments, own.arguments[::-1]):
                if not isinstance(one, int) and (one < 0).all():
                    return self.recorder.symbol(other) * -one[..., None]
        return None

    def nonzero(self, x: Array) -> Array:
        """x, but a tiny number in place of 0: it changes no quotient f(x)/x but makes 0/0 its limit."""
        return self.where(self.equal(x, 0.0), self.recorder.tiny, x)

    @of_symbols
    def grow(self, z: Array, x: Array) -> Array:
        if not isinstance(x, Symbol) and np.max(np.abs(x), initial=0.0) < SAFE:
            return z * np.exp(x)
        if not isinstance(z, Symbol) and (np.abs(z) == 1.0).all():
            return z * self.exp(x)
        half = self.minimum(self.exp(0.5 * x), self.recorder.huge)  # 0 times it is 0
        return z * half * half

    @of_symbols
    def power(self, z: Array, x: Array, a: Array) -> Array:
        base = 1.0 + x
        simple = self._factors(base, a)
        if simple is not None:
            for factor in simple:
                z = z * factor
        else:
            half = self.minimum(self.recorder.push("power", base, 0.5 * a), self.recorder.huge)
            z = z * half * half
        return z * self.exp(a * self._lost(x, base)) if _reach(a) > PLAIN else z

    def _factors(self, base: Array, a: Array) -> list[Array] | None:
        """base^a as products and roots where all lanes have the same short exponent."""
        if isinstance(a, Symbol):
            return None
        exponents = np.unique(a)
        size = abs(float(exponents[0])) if len(exponents) == 1 else np.inf
        if size > SHORT or size % 0.5:
            return None
        one = 1.0 / base if exponents[0] < 0 else base
        return [one] * int(size) + ([self.sqrt(one)] if size % 1.0 else [])

    def _lost(self, x: Array, base: Array) -> Array:
        """What rounding took from 1 + x, divided by it."""
        return self.where(self.less(1.0, self.abs(x)), 1.0 - (base - x), x - (base - 1.0)) / base

    @of_symbols
    def grow_powers(self, z: Array, e: Array, x: Array, a: Array) -> Array:
        base = 1.0 + x
        factors: Array = 1.0
        for factor in self._factors(base, a) or [self.recorder.push("power", base, a)]:
            factors = factor * factors
        factors = self.recorder.broadcast(factors, np.broadcast_shapes(factors.lanes, x.lanes))
        exponent = e if isinstance(e, Symbol) else np.asarray(e, np.float64)
        half = self.exp(0.5 * exponent)
        value = z * half * reduce(self.recorder, "product", factors) * half
        if _reach(a) > PLAIN:
            value = value * self.exp(self.sum(a * self._lost(x, base), -2))
        if _reach(a) * factors.lanes[-1] <= MILD and not isinstance(e, Symbol):
            return value
        sizes = self.abs(a * self.log1p(x))  # the range of every product of some factors
        together = self.sum(self.recorder.broadcast(sizes, factors.lanes), -2) + 0.5 * self.abs(exponent)
        other = self.grow(z, exponent + self.sum(self.recorder.broadcast(a * self.log1p(x), factors.lanes), -2))
        return self.where(self.less(together, np.log(REACH) if self.recorder.huge > REACH else 80.0), value, other)

    @of_symbols
    def log_cosh(self, x: Array, k: Array) -> Array:
        """Near 0 as ln(1 + (u − 1)), further out as |x| + ln(u e^{−|x|}), u = cosh x + k sinh(x)/x."""
        size = self.abs(x)
        e, near = self.exp(-size), self.minimum(size, 1.0)
        sinhc = 0.5 * (self.expm1c(near) + self.expm1c(-near))
        small = self.log1p(2.0 * self._sinh(0.5 * near) * self._sinh(0.5 * near) + k * sinhc)
        far = size + self.log(e * e + 0.5 * self.expm1c(-size) * (1.0 + e) * (size + k))
        return self.where(self.less(size, 1.0), small, far)

    def _sinh(self, x: Array) -> Array:
        rise = self.expm1(x)
        return 0.5 * (rise + rise / (1.0 + rise))

    @of_symbols
    def log_logistic(self, x: Array, k: Array) -> Array:
        share, up = k * self.expm1c(-self.abs(x)), self.relu(x)
        gain, large = self.grow(share, up), self.recorder.huge / 2.0**26
        mild = self.less(gain, large)
        return self.where(mild, self.log1p(self.minimum(gain, large)), up + self.log(self.where(mild, 1.0, share)))

    def logistic(self, x: Array, k: Array, *z: Array) -> tuple[Array, ...]:
        """One exponential serves both signs. Where k = 0 and e^−x is very small, what must be positive is not."""
        if not isinstance(k, Symbol) and not np.any(k):
            return np.ones(1), *(self.grow(y, x) for y in z)
        size, falls = self.abs(x), self.less(x, 0.0)
        e = self.exp(-size)
        below = self.where(falls, 1.0, e) + k * self.expm1c(-size)
        above = self.where(falls, e, 1.0)
        return below - self.recorder.tiny, *(y * above / below for y in z)

    @of_symbols
    def inverse_distance(self, a: Array, b: Array) -> Array:
        """As for floats; where the line passes its point nearest to 0, the sum of two areas."""
        if not isinstance(a, Symbol) and not np.any(a):  # the lemma's start
            return self.recorder.push("asinhc", b)
        if not self.recorder.smooth:
            return self._inverse_distance(a, b)
        near = self.less(a * a + b * b, NEAR)
        real, side = 1.0 + a[..., None, :] * NODES[:, None], b[..., None, :] * NODES[:, None]
        square = self.where(near[..., None, :], real * real + side * side, 1.0)
        mean = contract(self.recorder, WEIGHTS[:, None], 1.0 / self.sqrt(square))
        return self.where(near, mean, self._inverse_distance(self.where(near, 1.0, a), self.where(near, 1.0, b)))

    def _inverse_distance(self, a: Array, b: Array) -> Array:
        if not isinstance(a, Symbol) and not np.any(a):
            moved = self.nonzero(b)
            return self.asinh(moved) / moved
        r, length, one = self.hypot(1.0 + a, b), self.hypot(a, b), self.abs(b)
        below = 1.0 + (1.0 + 2.0 * a) / (r + length)
        direct = (2.0 / below) * self.log1pc(2.0 * length / below)
        side = self.where(self.equal(one, 0.0), 1.0, one)
        after = (a / side) * (1.0 + a) + one
        passes = self.both(self.less(a, 0.0), self.less(0.0, after))
        areas = (self.asinh(after) + self.asinh(-a / side)) / self.nonzero(length)
        return self.where(passes, areas, direct)

    def sum(self, x: Array, axis: int) -> Array:
        return total(self.recorder, x)

    def dot(self, w: Array, x: Array) -> Array:
        if not isinstance(x, Symbol):
            return FLOAT.dot(w, x)
        return contract(self.recorder, w, x[..., None, :, :])

    def largest(self, x: Array) -> Array:
        """The largest number along the last axis, which goes."""
        return reduce(self.recorder, "largest", x) if isinstance(x, Symbol) else np.max(x, -2)


def _reach(a: Array) -> float:
    return np.inf if isinstance(a, Symbol) else float(np.max(np.abs(constant(a)), initial=0.0))
