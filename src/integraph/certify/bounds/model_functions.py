"""The functions of closed forms on arrays of models: those that lose little, which is not all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from flint import arb

from integraph.certify.bounds.model_arrays import ModelArray, constant
from integraph.gadgets.functions.arb import BALLS
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.models.elementary_functions import EVERYWHERE, TRUST, Power, Smooth
from integraph.numbers.models.functions import apply, interval_of, kink
from integraph.numbers.models.models import joined
from integraph.numbers.models.smooth_functions import SMOOTH
from integraph.numbers.roundoff import UP

Array = Any


@dataclass(frozen=True, slots=True)
class MeanGaussian:
    """∫_0^1 exp(−x²s²) ds. Its m-th derivative is that of the Gaussian at xs, times s^m, on average over s."""

    domain: tuple[float, float] = EVERYWHERE
    slack: float = 0.0

    def value(self, x: Floats) -> Floats:
        size = np.maximum(np.abs(x), 1e-200)
        result: Floats = (math.sqrt(math.pi) / 2) * (scipy.special.erf(size) / size)
        return result

    def extremes(self, order: int, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        if order == 0:  # it falls with |x|
            ends = self.value(np.stack([low, high]))
            most = np.where((low < 0) & (high > 0), 1.0, ends.max(0))
            return ends.min(0) * (1 - TRUST), most * (1 + TRUST)
        least, most = SMOOTH["gaussian"].extremes(order, np.minimum(low, 0.0), np.maximum(high, 0.0))
        share = np.array([1 - TRUST, 1 + TRUST]) / (order + 1)
        parts = np.stack([end * part for end in (np.minimum(least, 0.0), np.maximum(most, 0.0)) for part in share])
        return parts.min(0), parts.max(0)


MEAN_GAUSSIAN = MeanGaussian()


def of(f: Smooth, x: ModelArray) -> ModelArray:
    return ModelArray(apply(f, x.rows), x.shape)


def smooth(name: str) -> Callable[[Array, Array], Array]:
    """A function of this name, of models or of balls."""

    def function(self: ModelFunctions, x: Array) -> Array:
        return of(SMOOTH[name], x) if isinstance(x, ModelArray) else getattr(BALLS, name)(x)

    return function


class ModelFunctions:
    """Some of `Functions`, of arrays of models; constants are floats and balls."""

    exp, expm1, sin, cos = (smooth(name) for name in ("exp", "expm1", "sin", "cos"))

    def exactly(self, x: Array) -> Array:
        return BALLS.exactly(x)

    def abs(self, x: Array) -> Array:
        return ModelArray(kink(x.rows, np.full((1, 1), -1.0)), x.shape) if isinstance(x, ModelArray) else BALLS.abs(x)

    def relu(self, x: Array) -> Array:
        return ModelArray(kink(x.rows, np.zeros((1, 1))), x.shape) if isinstance(x, ModelArray) else BALLS.relu(x)

    def grow(self, z: Array, x: Array) -> Array:
        return z * self.exp(x)

    def log1p(self, x: ModelArray) -> ModelArray:
        return of(SMOOTH["ln"], x + 1.0)

    def hypot(self, x: ModelArray, y: ModelArray) -> ModelArray:
        return of(SMOOTH["sqrt"], of(Power(2.0), x) + of(Power(2.0), y))

    def atan2(self, y: ModelArray, x: ModelArray) -> ModelArray:
        """Right of 0; left of it nothing is known."""
        return of(SMOOTH["atan"], y / x).known_where(x.known.low > 0)

    def power(self, z: Array, x: ModelArray, a: Array) -> Array:
        exponents = np.broadcast_to(constant(a)[0], x.shape).ravel()  # they are floats
        base, parts, numbers = x + 1.0, [], []
        for exponent in np.unique(exponents):
            rows = np.flatnonzero(exponents == exponent)
            parts.append(apply(Power(float(exponent)), base.rows.take(rows)))
            numbers.append(rows)
        order = np.argsort(np.concatenate(numbers), kind="stable")
        return z * ModelArray(joined(parts).take(order), x.shape)

    def grow_powers(self, z: Array, e: Array, x: ModelArray, a: Array) -> Array:
        shape = np.broadcast_shapes(x.shape, np.shape(a))
        factors = self.power(1.0, x.placed(shape), a)
        for k in range(shape[-2]):
            z = z * factors[..., k, :]
        return self.grow(z, e)

    def fall(self, z: Array, a: ModelArray, b: ModelArray, c: float) -> Array:
        bell = of(SMOOTH["gaussian"], b * _root(c))
        return z * bell if a.zero else self.grow(z * bell, -c * a)

    def gauss(self, z: Array, a: ModelArray, b: ModelArray, c: float) -> Array:
        """exp(−cas) is between 1 and e^{−ca}, and so is its average with positive weights."""
        mean = z * of(MEAN_GAUSSIAN, b * _root(c))
        if a.zero:
            return mean
        end = interval_of(SMOOTH["exp"], (-c * a).known)
        return mean.between(Interval(np.minimum(end.low, 1.0), np.maximum(end.high, 1.0)))

    def sum(self, x: ModelArray, axis: int) -> ModelArray:
        return x.sum(axis)


def _root(c: float) -> arb:
    return (arb(c) / 2).sqrt()


@quiet
def decreasing(f: Callable[[Floats], Floats], x: Interval) -> Interval:
    """The range of an even function ≥ 0 that falls with |x|."""
    least = np.where((x.low <= 0) & (x.high >= 0), 0.0, np.minimum(np.abs(x.low), np.abs(x.high)))
    return Interval(f(np.maximum(np.abs(x.low), np.abs(x.high))) * (1 - TRUST), f(least) * (1 + TRUST))


def tanhc(x: Floats) -> Floats:
    size = np.maximum(np.abs(x), 1e-200)
    return np.tanh(size) / size


def sech(x: Floats) -> Floats:
    return 1.0 / np.cosh(x)


@quiet
def kappa(x: Interval) -> Interval:
    """The range of κ(x) = sech x (1 − sech x)/x: |κ'| ≤ 1.5 and |κ| ≤ min(|x|/2, 1)."""
    middle = np.clip(0.5 * x.low + 0.5 * x.high, -300.0, 300.0)
    size = np.maximum(np.abs(middle), 1e-200)
    value = np.copysign(2.0 * np.square(np.sinh(0.5 * size) * sech(size)) / size, middle)
    off = 1.5 * np.maximum(x.high - middle, middle - x.low) * UP + TRUST * np.abs(value)
    most = np.minimum(0.5 * np.maximum(np.abs(x.low), np.abs(x.high)), 1.0)
    return Interval(np.fmax(value - off, -most), np.fmin(value + off, most))


MODELS = ModelFunctions()
