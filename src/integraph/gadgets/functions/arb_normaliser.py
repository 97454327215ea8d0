"""What softmax divides by, on balls: N(τ) = 1 + τm + Σ_j τu_j [(e^{σ_jτ} − 1)/(σ_jτ) − 1]; whether it stays positive.

N may dip below 0 and come back, so all of [0, t] is covered by intervals, on each of which N is bounded as it stands
and by its mean-value form with N' = m + Σ u_j (e^{σ_jτ} − 1). Intervals where neither decides are halved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import ONE, ZERO, Balls, hull
from integraph.numbers.arb.ranges import HALF

Array = Any
INTERVALS = 256


def value(t: arb, u: Array, m: Array, sigma: Array) -> Array:
    """N(t); u and sigma have the lanes on the last axis but one."""
    bent: Array = np.frompyfunc(lambda a, s: _bent(t, a, s), 2, 1)(u, sigma)
    return 1 + t * m + np.sum(bent, -2)


def while_positive(t: arb, u: Array, m: Array, sigma: Array) -> Array:
    """1 where N > 0 on all of [0, t], for every choice from the balls; 0 where that is not certain."""
    lanes, slopes = np.moveaxis(u, -2, 0), np.moveaxis(sigma, -2, 0)
    signs = np.empty(m.shape, object)
    for where in np.ndindex(m.shape):
        at = (slice(None), *where)
        signs[where] = ONE if _positive(t, lanes[at].tolist(), m[where], slopes[at].tolist()) else ZERO
    return signs


def _positive(t: arb, u: Balls, m: arb, sigma: Balls) -> bool:
    todo = [(ZERO, ONE)]
    for _ in range(INTERVALS):
        if not todo:
            return True
        low, high = todo.pop()
        span, middle = t * hull(low, high), (low + high) * HALF
        centre = _value(t * middle, u, m, sigma)
        if not centre > 0:
            return False
        slope = sum((a * ranges.expm1(s * span) for a, s in zip(u, sigma, strict=True)), m)
        if not (centre + slope * (span - t * middle) > 0 or _value(span, u, m, sigma) > 0):
            todo += [(middle, high), (low, middle)]
    return not todo


def _value(tau: arb, u: Balls, m: arb, sigma: Balls) -> arb:
    return sum((_bent(tau, a, s) for a, s in zip(u, sigma, strict=True)), 1 + tau * m)


def _bent(tau: arb, u: arb, sigma: arb) -> arb:
    """What u adds to the straight line."""
    return tau * u * (ranges.expm1c(tau * sigma) - 1)
