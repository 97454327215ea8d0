"""Elementary functions, activations and softmax of intervals: from the values at the ends and at the turning points
inside, rounded outward as in `numbers.intervals`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy  # its submodules load when they are first used

from integraph.numbers.arrays import Floats
from integraph.numbers.ball_functions import FAR, holds
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import (
    LOST,
    TINY,
    Interval,
    Real,
    absolute,
    intersection,
    interval,
    mul,
    neg,
    outward,
    sub,
)
from integraph.numbers.roundoff import U
from integraph.targets.activations import ACTIVATIONS

HALF_PI, PI = np.nextafter(0.5 * math.pi, 2.0), np.nextafter(math.pi, 4.0)  # rounded up
EXPONENT = 4096 * U  # e^x with x off by a few ulp, where it is in float64
LARGE, UNBOUNDED = 1e300, 1e140  # a function that is larger there than √LARGE has no bound

Function = Callable[[Interval], Interval]
Ends = tuple[float, float]
EVERYWHERE: Ends = (-math.inf, math.inf)


def rising(
    f: Real, domain: Ends = EVERYWHERE, least: float = -math.inf, most: float = math.inf, lost: float = LOST
) -> Function:
    """The range of a function that never falls and has its values in [least, most], good to `lost` relatively."""

    @quiet
    def of(x: Interval) -> Interval:
        ends = np.clip(x.low, *domain), np.clip(x.high, *domain)
        first, last = f(ends[0]), f(ends[1])
        pole = (ends[0] == ends[1]) & ((ends[0] == domain[0]) | (ends[0] == domain[1])) & np.isinf(first)
        hull = outward(first, last, lost)
        low, high = np.where(_exact(ends[0], first), 0.0, hull.low), np.where(_exact(ends[1], last), 0.0, hull.high)
        known = (x.high >= domain[0]) & (x.low <= domain[1]) & ~pole
        return interval(np.clip(low, least, most), np.clip(high, least, most), known)

    return of


def _exact(x: Floats, value: Floats) -> Any:
    """A zero of a function at 0 or 1 is exact; elsewhere a value may have underflowed."""
    return (value == 0) & ((x == 0) | (x == 1))


def falling(
    f: Real, domain: Ends = EVERYWHERE, least: float = -math.inf, most: float = math.inf, lost: float = LOST
) -> Function:
    mirrored = rising(lambda x: -f(x), domain, -most, -least, lost)
    return lambda x: neg(mirrored(x))


def even(f: Function) -> Function:
    """The range of f(|x|)."""
    return lambda x: f(absolute(x))


@quiet
def _wave(f: Real, top: float, x: Interval) -> Interval:
    """f is 1 at `top` + k periods, −1 half a period later, and monotone between."""
    far = x.size > FAR
    low, high = np.where(far, 0.0, x.low), np.where(far, 0.0, x.high)
    hull = outward(np.minimum(f(low), f(high)), np.maximum(f(low), f(high)))
    has_top, has_bottom = far | holds(low, high, 2 * math.pi, top), far | holds(low, high, 2 * math.pi, top + 0.5)
    return Interval(
        np.where(has_bottom, -1.0, np.maximum(hull.low, -1.0)), np.where(has_top, 1.0, np.minimum(hull.high, 1.0))
    )


@quiet
def tan(x: Interval) -> Interval:
    far = x.size > FAR
    low, high = np.where(far, 0.0, x.low), np.where(far, 0.0, x.high)
    hull = outward(np.tan(low), np.tan(high))
    return interval(hull.low, hull.high, ~(far | holds(low, high, math.pi, 0.5)))


def turning(f: Real, turns: tuple[float, ...]) -> Function:
    """The range of a function that is monotone between its turning points, and at ±1e300 near what it tends to."""

    @quiet
    def of(x: Interval) -> Interval:
        low, high = np.clip(x.low, -LARGE, LARGE), np.clip(x.high, -LARGE, LARGE)
        samples = [f(low), f(high), *(f(np.clip(t, low, high)) for t in turns)]
        hull = outward(np.minimum.reduce(samples), np.maximum.reduce(samples), EXPONENT)
        return Interval(
            np.where(hull.low < -UNBOUNDED, -np.inf, hull.low), np.where(hull.high > UNBOUNDED, np.inf, hull.high)
        )

    return of


def _gated(name: str) -> Function:
    """x times something between 0 and 1: it falls from 0 to its turning point, and grows like x."""
    inside = turning(ACTIVATIONS[name].value, ACTIVATIONS[name].turns)

    def of(x: Interval) -> Interval:
        hull = inside(x)
        return Interval(np.where(x.low >= 0, np.maximum(hull.low, 0.0), hull.low), hull.high)

    return of


@quiet
def relu(x: Interval) -> Interval:
    return Interval(np.maximum(x.low, 0.0), np.maximum(x.high, 0.0))


@quiet
def leaky_relu(x: Interval, slope: float) -> Interval:
    """The hull of both branches, as far as x reaches into them."""
    c = np.full_like(x.low, slope)
    below, above = mul(Interval(c, c), neg(relu(neg(x)))), relu(x)
    return Interval(
        np.where(x.low >= 0, above.low, np.where(x.high < 0, below.low, np.minimum(above.low, below.low))),
        np.where(x.low >= 0, above.high, np.where(x.high < 0, below.high, np.maximum(above.high, below.high))),
    )


@quiet
def softmax(x: Interval, mask: Any) -> Interval:
    """Over the last axis: an entry is largest where it is, and all others are smallest. What is masked is 0."""
    taking = _taking(x, mask)
    lost = EXPONENT + x.low.shape[-1] * U
    least = 1.0 / (1.0 + others(x.high, x.low, taking, lost) * (1 + 4 * lost))
    most = 1.0 / (1.0 + others(x.low, x.high, taking, -lost) * (1 - 4 * lost))
    low = np.clip(np.where(np.isnan(least), 0.0, least * (1 - 4 * lost) - TINY), 0.0, 1.0)
    high = np.clip(np.where(np.isnan(most), 1.0, most * (1 + 4 * lost) + TINY), 0.0, 1.0)
    return Interval(np.where(taking, low, 0.0), np.where(taking, high, 0.0))


@quiet
def logsumexp(x: Interval, mask: Any) -> Interval:
    """ln Σ exp over the last axis, of what takes part: it rises with every entry."""
    taking = _taking(x, mask)
    low, high = (_log_sum(np.where(taking, end, -np.inf)) for end in (x.low, x.high))
    lost = [8 * U * (x.low.shape[-1] + 8 + np.abs(end)) for end in (low, high)]
    return interval(low - lost[0], high + lost[1])


@quiet
def log_softmax(x: Interval, mask: Any) -> Interval:
    """−ln(1 + Σ_{j≠i} e^(x_j − x_i)) over the last axis, of those that take part; of others what their row has."""
    taking, lost = _taking(x, mask), EXPONENT + x.low.shape[-1] * U
    least = -np.log1p(others(x.high, x.low, taking, lost) * (1 + 4 * lost)) * (1 + 4 * lost) - TINY
    most = -np.log1p(others(x.low, x.high, taking, -lost) * (1 - 4 * lost)) * (1 - 4 * lost)
    most = np.where(np.isfinite(most), np.minimum(most, 0.0), 0.0)
    total = logsumexp(x, mask)
    own = intersection(interval(least, most), sub(x, Interval(total.low[..., None], total.high[..., None])))
    low = own.low.min(-1, where=taking, initial=np.inf, keepdims=True)
    high = own.high.max(-1, where=taking, initial=-np.inf, keepdims=True)
    return Interval(np.where(taking, own.low, low), np.where(taking, own.high, high))


def _taking(x: Interval, mask: Any) -> Any:
    """Which entries are not masked."""
    return np.broadcast_to(True if mask is None else mask, x.low.shape)


def _log_sum(x: Floats) -> Floats:
    top = x.max(-1)
    result: Floats = top + np.log(np.exp(x - top[..., None]).sum(-1))
    return np.where(np.isfinite(top), result, top)


def others(y: Floats, own: Floats, taking: Any, lost: float) -> Floats:
    """Σ_{j≠i} e^(y_j − own_i), above for lost > 0 and below for lost < 0; NaN where nothing is known. The largest y is
    taken out of the sum for its own entry, so that the difference of the others is no smaller than 1."""
    y = np.where(taking, y, -np.inf)
    largest = np.arange(y.shape[-1]) == y.argmax(-1)[..., None]
    rest = np.where(largest, -np.inf, y)
    top, second = y.max(-1, keepdims=True), rest.max(-1, keepdims=True)
    each = np.exp(y - top)
    total = each.sum(-1, keepdims=True)
    left: Floats = np.maximum(total - each + lost * total, 0.0) * np.exp(top - own)
    alone = np.exp(rest - second).sum(-1, keepdims=True) * np.exp(second - own)
    return np.where(largest, np.where(second > -np.inf, alone, 0.0), left)


def _erf(x: Floats) -> Floats:
    result: Floats = scipy.special.erf(x)
    return result


FUNCTIONS: dict[str, Function] = {
    **{name: turning(f.value, f.turns) for name, f in ACTIVATIONS.items() if not f.periodic},  # or sharper, below
    "neg": neg,
    "abs": absolute,
    "relu": relu,
    "tan": tan,
    "sin": lambda x: _wave(np.sin, 0.25, x),
    "cos": lambda x: _wave(np.cos, 0.0, x),
    "exp": rising(np.exp, least=0.0),
    "expm1": rising(np.expm1, least=-1.0),
    "ln": rising(np.log, (0.0, math.inf)),
    "log1p": rising(np.log1p, (-1.0, math.inf)),
    "log2": rising(np.log2, (0.0, math.inf)),
    "log10": rising(np.log10, (0.0, math.inf)),
    "sqrt": rising(np.sqrt, (0.0, math.inf), 0.0),
    "cbrt": rising(np.cbrt),
    "sinh": rising(np.sinh),
    "cosh": even(rising(np.cosh, least=1.0)),
    "tanh": rising(np.tanh, least=-1.0, most=1.0),
    "asin": rising(np.arcsin, (-1.0, 1.0), -HALF_PI, HALF_PI),
    "acos": falling(np.arccos, (-1.0, 1.0), 0.0, PI),
    "atan": rising(np.arctan, least=-HALF_PI, most=HALF_PI),
    "asinh": rising(np.arcsinh),
    "acosh": rising(np.arccosh, (1.0, math.inf), 0.0),
    "atanh": rising(np.arctanh, (-1.0, 1.0)),
    "erf": rising(_erf, least=-1.0, most=1.0),
    "sigmoid": rising(ACTIVATIONS["sigmoid"].value, least=0.0, most=1.0),
    "softplus": rising(ACTIVATIONS["softplus"].value, least=0.0),
    "gelu": _gated("gelu"),
    "gelu_tanh": _gated("gelu_tanh"),
    "silu": _gated("silu"),
    "log_cosh": even(rising(ACTIVATIONS["log_cosh"].value, least=0.0)),
    "gaussian": even(falling(ACTIVATIONS["gaussian"].value, least=0.0, most=1.0, lost=EXPONENT)),
}

ROWS: dict[str, Callable[[Interval, Any], Interval]] = {
    "softmax": softmax,
    "log_softmax": log_softmax,
    "logsumexp": logsumexp,
}
