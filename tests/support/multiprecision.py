"""The functions of closed forms in multi-precision: numpy object arrays of mpmath numbers.

Exponents are unbounded here, so nothing overflows on the way and most functions are what they say. What lies outside of
a real function's domain is NaN or infinite, never an exception nor a complex number. Beyond e^±FAR a number counts as
infinite or 0: its exponent alone would be a long number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from integraph.gadgets import Gadget
from integraph.gadgets.functions.normaliser import while_positive
from integraph.gadgets.gadget import arguments
from integraph.numbers.arrays import Floats
from integraph.program import Block
from integraph.program.views import mark

Array = Any
Lifted = Callable[..., Array]
FAR = 2.0**40
FLAT = 4.0  # an exponent that moves by no more is integrated as it stands


class PreciseFunctions:
    """`Functions` of one precision. mpmath keeps the working precision in a context; this one is our own."""

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

    def __init__(self, bits: int) -> None:
        import mpmath

        context = mpmath.MPContext()
        context.prec = bits
        for name in ("__truediv__", "__rtruediv__"):  # a context has a class of numbers of its own
            setattr(context.mpf, name, _divide(context, getattr(context.mpf, name)))
        scalars = _Scalars(context)
        for name, function in vars(_Scalars).items():
            if not name.startswith("_"):
                lifted = np.frompyfunc(getattr(scalars, name), function.__code__.co_argcount - 1, 1)
                setattr(self, name, lifted)
        self.exactly: Lifted = np.frompyfunc(context.mpf, 1, 1)  # floats as they are
        self._isfinite: Lifted = np.frompyfunc(context.isfinite, 1, 1)
        self._float: Lifted = np.frompyfunc(float, 1, 1)

    def finite(self, x: Array) -> NDArray[np.bool_]:
        result: NDArray[np.bool_] = self._isfinite(x).astype(np.bool_)
        return result

    def rounded(self, x: Array) -> Floats:
        """To float64; ±∞ where that does not hold it."""
        with np.errstate(all="ignore"):
            result: Floats = self._float(x).astype(np.float64)
        return result

    def logistic(self, x: Array, k: Array, *z: Array) -> tuple[Array, ...]:
        below = self.exp(-self.relu(x)) + k * self.expm1c(-self.abs(x))
        above = self.exp(-self.relu(-x))
        still = np.equal(k, 0)
        ends = (np.where(still, self.grow(y, x), y * above / below) for y in z)
        return np.where(still, 1.0, below), *ends

    def grow_powers(self, z: Array, e: Array, x: Array, a: Array) -> Array:
        return self.grow(z, e + np.sum(a * self.log1p(x), -2))

    def sum(self, x: Array, axis: int) -> Array:
        return np.sum(x, axis=axis)

    def dot(self, w: Array, x: Array) -> Array:
        return np.matmul(w[..., 0], x)

    def gaps(self, t: Any, s: Array, c: Array, u: Array) -> tuple[Array, Array]:
        v = t * (s + c)
        top = np.max(np.where(np.not_equal(u, 0), self.relu(v), 0.0), axis=-2, keepdims=True)
        return v - top, top

    def normaliser(self, t: Any, u: Array, m: Array, sigma: Array, top: Array, grown: Array) -> tuple[Array, Array]:
        """Whether N stays positive is asked in float64: a bound decides it there, or it counts as not positive."""
        v = t * sigma
        parts = self.grow(t * u * self.expm1c(-self.abs(v)), self.relu(v) - top)
        n = (1.0 + t * (m - np.sum(u, -2))) * self.exp(-top)[..., 0, :] + np.sum(parts, -2)
        side = np.where(np.greater(n, 0), 1.0, -1.0)
        with np.errstate(all="ignore"):
            return n, while_positive(side, float(t), *(self.rounded(y) for y in (u, m, sigma)))

    def log_normaliser(self, t: Any, u: Array, m: Array, sigma: Array, top: Array, n: Array) -> Array:
        return self.log(n)


def _divide(context: Any, operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Division by 0 as floats do it: ±∞ or NaN."""

    def divide(self: Any, other: Any) -> Any:
        try:
            return operator(self, other)
        except ZeroDivisionError:
            return context.sign(other if self == 0 else self) * context.inf  # 0/0 is 0·∞ = NaN

    return divide


def advance(f: PreciseFunctions, block: Block, states: Array, t: Any) -> None:
    """Run the closed form of a block in place."""
    assert isinstance(block.op, Gadget)
    start, operands, tensors = arguments(block, states)
    closed = block.op.closed(f, t, start, operands, {name: f.exactly(tensor) for name, tensor in tensors.items()})
    for ref, end in zip(block.targets, closed.ends, strict=True):
        mark(ref, states, end)


class _Scalars:
    """One number at a time. The namespace of the public names is `Functions`."""

    def __init__(self, context: Any) -> None:
        self._mp = context

    def abs(self, x: Any) -> Any:
        return abs(x)

    def sign(self, x: Any) -> Any:
        return 1.0 if x >= 0 else -1.0

    def relu(self, x: Any) -> Any:
        return x if x > 0 or x != x else x * 0

    def exp(self, x: Any) -> Any:
        if abs(x) > FAR:
            return self._mp.inf if x > 0 else self._mp.zero
        return self._mp.exp(x)

    def grow(self, z: Any, x: Any) -> Any:
        return z if z == 0 and x == x else z * self.exp(x)

    def expm1(self, x: Any) -> Any:
        return self.exp(x) - 1 if abs(x) > FAR else self._mp.expm1(x)

    def expm1c(self, x: Any) -> Any:
        return self.expm1(x) / x if x != 0 else self._mp.one

    def log1p(self, x: Any) -> Any:
        return self._mp.log1p(x) if x > -1 else self.log(1 + x)

    def log(self, x: Any) -> Any:
        return self._mp.ln(x) if x >= 0 else self._mp.nan

    def log1pc(self, x: Any) -> Any:
        return self.log1p(x) / x if x != 0 else self._mp.one

    def sin(self, x: Any) -> Any:
        return self._mp.sin(x) if abs(x) < self._mp.exp(FAR**0.5) else self._mp.nan

    def cos(self, x: Any) -> Any:
        return self._mp.cos(x) if abs(x) < self._mp.exp(FAR**0.5) else self._mp.nan

    def hypot(self, x: Any, y: Any) -> Any:
        return self._mp.hypot(x, y)

    def atan2(self, y: Any, x: Any) -> Any:
        return self._mp.atan2(y, x)

    def power(self, z: Any, x: Any, a: Any) -> Any:
        return self.grow(z, a * self.log1p(x))

    def log_cosh(self, x: Any, k: Any) -> Any:
        size = abs(x)
        if size < self._mp.prec:
            return self.log1p(2 * self._mp.sinh(size / 2) ** 2 + k * (self._mp.sinh(size) / size if size else 1))
        return size - self._mp.ln2 + self.log1p(k / size)  # to e^{−2·size}

    def log_logistic(self, x: Any, k: Any) -> Any:
        if x < self._mp.prec:
            return self.log1p(k * self.expm1c(x))
        return x + self.log(self.exp(-x) - k * self.expm1(-x) / x)

    def inverse_distance(self, a: Any, b: Any) -> Any:
        r, length, side = self._mp.hypot(1 + a, b), self._mp.hypot(a, b), abs(b)
        if a < 0 and side > 0 and a * (1 + a) + b * b > 0:
            return (self._mp.asinh((a * (1 + a) + b * b) / side) + self._mp.asinh(-a / side)) / length
        below = 1 + (1 + 2 * a) / (r + length)
        return (2 / below) * self.log1pc(2 * length / below)

    def fall(self, z: Any, a: Any, b: Any, c: Any) -> Any:
        return self.grow(z, -c * (a + b * b / 2))

    def gauss(self, z: Any, a: Any, b: Any, c: Any) -> Any:
        """∫ exp(−2As − B²s²) ds: its largest value is inside, at the left or at the right end of [0, 1]."""
        A, B = c * self._mp.mpf(a) / 2, abs(b) * self._mp.sqrt(self._mp.mpf(c) / 2)
        if A > 0:
            return z * self._falling(A, B)
        if A < -B * B:
            return self.grow(z * self._falling(-A - B * B, B), -2 * A - B * B)
        if B == 0:
            return z
        turn = A / B
        area = self._mp.erf(B + turn) + self._mp.erf(-turn)
        return self.grow(z * self._mp.sqrt(self._mp.pi) / (2 * B) * area, turn * turn)

    def _falling(self, A: Any, B: Any) -> Any:
        """The integral for A ≥ 0: the difference of two scaled error functions, where it does not cancel."""
        if 2 * A + B * B <= FLAT:
            return self._mp.quad(lambda s: self._mp.exp(-s * (2 * A + B * B * s)), [0, 1])
        if self._mp.eps * A > B * B:
            return self.expm1c(-2 * A)
        left, right = A / B, B + A / B
        scaled = self._scaled_erfc(left) - self.exp(-2 * A - B * B) * self._scaled_erfc(right)
        return self._mp.sqrt(self._mp.pi) / (2 * B) * scaled

    def _scaled_erfc(self, x: Any) -> Any:
        """e^{x²} erfc x for x ≥ 0, in the precision that the square takes."""
        if x > self._mp.prec:  # the asymptotic series, which only then is short
            term = total = 1 / (self._mp.sqrt(self._mp.pi) * x)
            n = 0
            while abs(term) > self._mp.eps * total:
                n += 1
                term *= -(2 * n - 1) / (2 * x * x)
                total += term
            return total
        with self._mp.extraprec(2 * max(int(self._mp.mag(x)), 0) + 10 if x else 0):
            return self._mp.exp(x * x) * self._mp.erfc(x)
