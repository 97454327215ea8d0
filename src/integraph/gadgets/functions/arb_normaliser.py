"""What softmax divides by, on balls: N(τ) = 1 + τm + Σ_j τu_j [(e^{σ_jτ} − 1)/(σ_jτ) − 1]; whether it stays positive.

N may dip below 0 and come back. It does not where it is convex and rises, or where what it loses is less than 1.
Elsewhere all of [0, t] is covered by intervals, on each of which N is bounded as it stands and by its mean-value form
with N' = m + Σ u_j (e^{σ_jτ} − 1). Intervals where neither decides are halved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import ONE, ZERO, Balls, hull
from integraph.numbers.arb.ranges import HALF, UNKNOWN

Array = Any
INTERVALS = 256
FAR = 2.0**40  # beyond this, e^top is no number to compute with


def value(t: arb, u: Array, m: Array, sigma: Array, top: Array) -> Array:
    """N(t) e^{−top}; u, sigma and top have the lanes on the last axis but one, top a single one."""
    bent: Array = np.frompyfunc(lambda a, s: _bent(t, a, s), 2, 1)(u, sigma)
    n = (1 + t * m + np.sum(bent, -2)) * np.frompyfunc(lambda y: (-y).exp(), 1, 1)(top)[..., 0, :]
    far: Array = top[..., 0, :] > FAR
    if far.any():
        parts: Array = np.frompyfunc(lambda a, s, y: _part(t, a, s, y), 3, 1)(u, sigma, top)
        line: Array = np.frompyfunc(lambda a, y: (1 + t * a) * (-y).exp(), 2, 1)(m - np.sum(u, -2), top[..., 0, :])
        n = np.where(far, line + np.sum(parts, -2), n)
    return n


def while_positive(t: arb, u: Array, m: Array, sigma: Array) -> Array:
    """1 where N > 0 on all of [0, t], for every choice from the balls; −1 where N is not, for none; else unknown."""
    lanes, slopes = np.moveaxis(u, -2, 0), np.moveaxis(sigma, -2, 0)
    signs = np.empty(m.shape, object)
    for where in np.ndindex(m.shape):
        at = (slice(None), *where)
        row = lanes[at].tolist(), m[where], slopes[at].tolist()
        signs[where] = ONE if _convex(t, *row) or _loses_little(t, *row) else _sign(t, *row)
    return signs


def _convex(t: arb, u: Balls, m: arb, sigma: Balls) -> bool:
    """N lies above its tangent at 0, 1 + τm."""
    return 1 + t * m > 0 and all(a * s >= 0 for a, s in zip(u, sigma, strict=True))


def _loses_little(t: arb, u: Balls, m: arb, sigma: Balls) -> bool:
    """1 + τ(m − Σu) + Σ τu_j (e^{σ_jτ} − 1)/(σ_jτ), whose summands are monotone; the negative ones are bounded."""
    if not all(t * a >= 0 or t * s <= 0 for a, s in zip(u, sigma, strict=True)):
        return False
    parts = (t * a * ranges.expm1c(-ranges.abs_(t * s)) for a, s in zip(u, sigma, strict=True))
    return sum((part.min(ZERO) for part in parts), 1 + (t * (m - sum(u, ZERO))).min(ZERO)) > 0


def _sign(t: arb, u: Balls, m: arb, sigma: Balls) -> arb:
    todo = [(ZERO, ONE)]
    for _ in range(INTERVALS):
        if not todo:
            return ONE
        low, high = todo.pop()
        span, middle = t * hull(low, high), (low + high) * HALF
        top = _top(t * high, u, sigma)
        centre = _value(t * middle, u, m, sigma, top)
        if not centre > 0:
            return -ONE if centre <= 0 else UNKNOWN
        slope = _slope(span, u, m, sigma, top)
        if not (centre + slope * (span - t * middle) > 0 or _value(span, u, m, sigma, top) > 0):
            todo += [(middle, high), (low, middle)]
    return UNKNOWN if todo else ONE


def _top(tau: arb, u: Balls, sigma: Balls) -> arb:
    """An exponent to divide by, 0 unless it is large."""
    top = max(((tau * s).mid() for a, s in zip(u, sigma, strict=True) if not a.is_zero()), default=ZERO)
    return top if top > FAR else ZERO


def _value(tau: arb, u: Balls, m: arb, sigma: Balls, top: arb) -> arb:
    """N(τ) e^{−top}."""
    if top == 0:
        return sum((_bent(tau, a, s) for a, s in zip(u, sigma, strict=True)), 1 + tau * m)
    line = (1 + tau * (m - sum(u, ZERO))) * (-top).exp()
    return sum((_part(tau, a, s, top) for a, s in zip(u, sigma, strict=True)), line)


def _slope(tau: arb, u: Balls, m: arb, sigma: Balls, top: arb) -> arb:
    """N'(τ) e^{−top}."""
    if top == 0:
        return sum((a * ranges.expm1(s * tau) for a, s in zip(u, sigma, strict=True)), m)
    scale = (-top).exp()
    return sum((a * (ranges.exp(s * tau - top) - scale) for a, s in zip(u, sigma, strict=True)), m * scale)


def _bent(tau: arb, u: arb, sigma: arb) -> arb:
    """The summand of one lane: what it adds to the straight line 1 + τm."""
    return tau * u * (ranges.expm1c(tau * sigma) - 1)


def _part(tau: arb, u: arb, sigma: arb, top: arb) -> arb:
    """u (e^{στ} − 1)/σ, times e^{−top}."""
    v, scale = tau * sigma, (-top).exp()
    if u.is_zero():
        return ZERO
    return tau * u * ((ranges.exp(v - top) - scale) / v if v > 1 else ranges.expm1c(v) * scale)
