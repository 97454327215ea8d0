"""Activation functions: value, slope, and where both turn, so that their range over an interval is known.

Between neighbouring `turns` the value is monotone, between neighbouring `bends` the slope is. Constants are the roots
of the first and second derivatives, to all digits of float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # its submodules load when they are first used

from integraph.errors import SourceError
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval

Function = Callable[[Floats], Floats]

CUBIC = 0.044715  # of GELU's tanh form: u = √(2/π)(x + CUBIC·x³)
ROOT_2_PI, LN2 = math.sqrt(2.0 / math.pi), math.log(2.0)
SILU_TURN, SILU_BEND = 1.2784645427610738, 2.3993572805154677
GELU_TURN = 0.7517915246935645
GELU_TANH_TURN, GELU_TANH_BEND = 0.7524614220710162, 1.4185040087908284
SLACK = 2.0**-43  # activations are good to a few ulp, Gaussians to x² of them


@dataclass(frozen=True, slots=True)
class Activation:
    """f, f', the extrema of f, the extrema of f'; `periodic` means that any interval may hold an extremum."""

    name: str
    value: Function
    slope: Function
    turns: tuple[float, ...] = ()
    bends: tuple[float, ...] = ()
    periodic: bool = False


def _sigmoid(x: Floats) -> Floats:
    result: Floats = scipy.special.expit(x)
    return result


def _normal(x: Floats) -> Floats:
    result: Floats = scipy.special.ndtr(x)
    return result


def _erf(x: Floats) -> Floats:
    result: Floats = scipy.special.erf(x)
    return result


def _sech2(x: Floats) -> Floats:
    e = np.exp(-2.0 * np.abs(x))
    return 4.0 * e / (1.0 + e) ** 2


def _gauss(x: Floats) -> Floats:
    return np.exp(-np.square(x))


def _silu_slope(x: Floats) -> Floats:
    s = _sigmoid(x)
    return s + s * _sigmoid(-x) * x


def _gelu_slope(x: Floats) -> Floats:
    return _normal(x) + x * np.exp(-0.5 * np.square(x)) / math.sqrt(2.0 * math.pi)


def _inner(x: Floats) -> Floats:
    return ROOT_2_PI * (x + CUBIC * x * np.square(x))


def _gelu_tanh(x: Floats) -> Floats:
    return x * _sigmoid(2.0 * _inner(x))


def _gelu_tanh_slope(x: Floats) -> Floats:
    u = _inner(x)
    return _sigmoid(2.0 * u) + 0.5 * x * _sech2(u) * ROOT_2_PI * (1.0 + 3.0 * CUBIC * np.square(x))


def _log_cosh(x: Floats) -> Floats:
    size = np.abs(x)
    near = np.log1p(2.0 * np.square(np.sinh(0.5 * np.minimum(size, 1.0))))
    return np.where(size < 1, near, size + (np.log1p(np.exp(-2.0 * size)) - LN2))


def _one(x: Floats) -> Floats:
    return np.ones_like(x)


ACTIVATIONS = {
    a.name: a
    for a in (
        Activation("identity", np.positive, _one),
        Activation("tanh", np.tanh, _sech2, (), (0.0,)),
        Activation("sigmoid", _sigmoid, lambda x: 0.25 * _sech2(0.5 * x), (), (0.0,)),
        Activation("arctan", np.arctan, lambda x: 1.0 / (1.0 + np.square(x)), (), (0.0,)),
        Activation("softplus", lambda x: np.logaddexp(x, 0.0), _sigmoid),
        Activation("silu", lambda x: x * _sigmoid(x), _silu_slope, (-SILU_TURN,), (-SILU_BEND, SILU_BEND)),
        Activation("gelu", lambda x: x * _normal(x), _gelu_slope, (-GELU_TURN,), (-math.sqrt(2.0), math.sqrt(2.0))),
        Activation("gelu_tanh", _gelu_tanh, _gelu_tanh_slope, (-GELU_TANH_TURN,), (-GELU_TANH_BEND, GELU_TANH_BEND)),
        Activation("sin", np.sin, np.cos, periodic=True),
        Activation("exp", np.exp, np.exp),
        Activation("gaussian", _gauss, lambda x: -2.0 * x * _gauss(x), (0.0,), (-math.sqrt(0.5), math.sqrt(0.5))),
        Activation("erf", _erf, lambda x: 2.0 / math.sqrt(math.pi) * _gauss(x), (), (0.0,)),
        Activation("log_cosh", _log_cosh, np.tanh, (0.0,)),
        Activation("relu", lambda x: np.maximum(x, 0.0), lambda x: np.heaviside(x, 1.0)),
    )
}

NAMES = (*ACTIVATIONS, "leaky_relu")
ALIASES = {
    "": "identity",
    "atan": "arctan",
    "exponential": "exp",
    "linear": "identity",
    "leakyrelu": "leaky_relu",
    "logcosh": "log_cosh",
    "logistic": "sigmoid",
    "none": "identity",
    "sine": "sin",
    "swish": "silu",
}


def activation_name(name: object) -> str:
    """The canonical name of an activation, or a SourceError that lists them."""
    given = "none" if name is None else name
    if isinstance(given, str):
        plain = given.strip().lower()
        plain = ALIASES.get(plain, plain)
        if plain in NAMES:
            return plain
    raise SourceError(
        f"unknown activation {name!r}: choose one of {', '.join(NAMES)} (also {', '.join(filter(None, ALIASES))})"
    )


def activation(name: str, slope: float | Floats = 0.0) -> Activation:
    """The function of that name; `slope` is that of leaky_relu below 0, a number or one for each unit."""
    if name != "leaky_relu":
        return ACTIVATIONS[name]

    def value(x: Floats) -> Floats:
        return np.where(x >= 0, x, slope * x)

    turns = (0.0,) if np.min(slope) < 0 else ()
    return Activation(name, value, lambda x: np.where(x >= 0, 1.0, slope), turns)


def value_range(f: Activation, x: Interval) -> Interval:
    """The range of f over x."""
    if f.periodic:
        return Interval(np.full_like(x.low, -1.0), np.ones_like(x.low))
    low, high = _extremes(f.value, f.turns, x)
    return Interval(low, high).widened(SLACK * np.maximum(np.abs(low), np.abs(high)))


def steepest_slope(f: Activation, x: Interval) -> Floats:
    """sup |f'| over x."""
    if f.periodic or f.name in ("relu", "leaky_relu"):
        return np.maximum(1.0, np.abs(f.slope(np.full_like(x.low, -1.0))))
    low, high = _extremes(f.slope, f.bends, x)
    slope: Floats = np.maximum(np.abs(low), np.abs(high)) * (1 + SLACK)
    return slope


def _extremes(f: object, turns: tuple[float, ...], x: Interval) -> tuple[Floats, Floats]:
    """Smallest and largest value at the ends and at the turning points inside."""
    assert callable(f)
    with np.errstate(over="ignore"):
        points = [x.low, x.high, *(np.clip(np.full_like(x.low, t), x.low, x.high) for t in turns)]
        extremes = [f(p) for p in points]
    return np.minimum.reduce(extremes), np.maximum.reduce(extremes)
