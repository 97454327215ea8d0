"""What softmax divides by: N(τ) = 1 + τ(m − Σu) + Σ_j u_j (e^{σ_j τ} − 1)/σ_j, and whether it is positive from 0 to t.

N may dip below 0 and come back, so its value at t is not enough. A summand has the sign of τu_j, is monotone, and is
convex or concave with the sign of σ_j u_j. That gives two lower bounds on any interval: each summand's smaller end
value, and, better on short intervals, chords for the concave and middle tangents for the convex ones. Intervals where
neither decides are halved. What stays undecided (N within rounding of 0) counts as not positive.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from integraph.gadgets.functions.elementary import expm1c, grow

Array = Any
NOISE = 1e-15  # relative to what is summed
INTERVALS, HALVINGS = 1024, 60  # for one N, before it counts as undecided
SHARE = 4.0  # Σ|u/σ| up to which the summands may be taken apart: no more than two bits are lost


def gaps(t: float, s: Array, c: Array, u: Array) -> tuple[Array, Array]:
    """σt − M for σ = s + c, and M: the largest σt of the lanes with u ≠ 0, or 0 if that is less than 1.

    Computed from differences of scores: σ is rounded where c is large, as beside a score of −1e9, differences are not.
    """
    high = np.max(s, axis=-2, keepdims=True, initial=-np.inf, where=u != 0)
    peak = t * (high + c)
    far = peak >= 1.0
    return np.where(far, t * (s - np.where(far, high, 0.0)), t * (s + c)), np.where(far, peak, 0.0)


def normaliser(t: float, u: Array, m: Array, sigma: Array, top: Array, grown: Array) -> tuple[Array, Array]:
    """N(t) e^{−top}, and the same where N is positive all the way, else a number ≤ 0; `grown` is u e^{σt − top}.

    Near the lemma's start N is taken apart into 1 − Σu/σ + t(m − Σu) + Σ(u/σ) e^{σt}, and one summand with σt ≥ 0
    outweighs all that can be negative; elsewhere it is summed as it stands.
    """
    share, part = u / sigma, grown / sigma
    none = np.isnan(share)
    if none.any():  # 0/0: a lane with u = 0 has no share
        none &= u == 0
        share[none] = part[none] = 0.0
    rest = t * (m - np.sum(u, -2))
    lead = 1.0 - np.sum(share, -2)
    scale = np.exp(-top)[..., 0, :]
    apart = np.sum(np.abs(share), -2) <= SHARE
    n = (lead + rest) * scale + np.sum(part, -2)
    if not apart.all():
        n = np.where(apart, n, (1.0 + rest) * scale + np.sum(_summands(t, u, sigma, top), -2))
    least = np.min(share, -2)
    if np.all(apart & (np.max(t * sigma, -2) >= 0) & (least > NOISE - np.minimum(lead, 0.0) - np.minimum(rest, 0.0))):
        return n, n
    return n, while_positive(n, t, u, m, sigma)


def log_normaliser(t: float, u: Array, m: Array, sigma: Array, top: Array, n: Array) -> Array:
    """ln n for n = N(t) e^{−top}; where no summand grows much, computed from N − 1."""
    near = top[..., 0, :] == 0
    far = np.log(np.where(near, 1.0, n))
    if not near.any():
        return far
    above = t * (m - np.sum(u, -2)) + np.sum(_summands(t, u, sigma, top), -2)
    return np.where(near, np.log1p(np.where(near, above, 0.0)), far)


def while_positive(n: Array, t: float, u: Array, m: Array, sigma: Array) -> Array:
    """n (a positive multiple of N(t)) where N is positive all the way, else a number ≤ 0."""
    v = t * sigma
    gain = t * u * expm1c(-np.abs(v))  # the summands at t, where v ≤ 0
    loss = np.minimum(t * (m - np.sum(u, -2)), 0.0) + np.sum(np.minimum(gain, 0.0), -2)
    plain = np.all((gain >= 0) | (v <= 0), -2)
    convex = np.all(sigma * u >= 0, -2)  # N lies above its tangent at 0
    sure = (plain & (1.0 + loss > -NOISE * loss)) | (convex & (1.0 + t * m > 0))
    doubtful = ~sure & (n > 0)
    if doubtful.any():
        sure[doubtful] = _decide(t, _pick(u, doubtful), m[doubtful], _pick(sigma, doubtful))
    return np.where(sure, n, np.minimum(n, -1.0))


def _pick(x: Array, where: Array) -> Array:
    """rows + (n, inputs) → (n, chosen)."""
    return np.moveaxis(x, -2, 0)[:, where]


def _decide(t: float, u: Array, m: Array, sigma: Array) -> NDArray[np.bool_]:
    """The general case for columns of (n, K): bisection of all intervals at once."""
    count = len(m)
    alive = np.ones(count, np.bool_)
    which, low, high = np.arange(count), np.zeros(count), np.full(count, t)
    for _ in range(HALVINGS):
        if not len(which):
            return alive
        here = u[:, which], m[which], sigma[:, which]
        undecided = ~_bounded_away(low, high, *here)
        middle = 0.5 * (low + high)
        value, noise = _value(middle, *here)
        hopeless = ~(value > noise) | (np.bincount(which[undecided], minlength=count) > INTERVALS)[which]
        alive[which[undecided & hopeless]] = False
        undecided &= alive[which]
        low, high = (
            np.concatenate([low[undecided], middle[undecided]]),
            np.concatenate([middle[undecided], high[undecided]]),
        )
        which = np.tile(which[undecided], 2)
    alive[which] = False
    return alive


def _summands(tau: Array, u: Array, sigma: Array, top: Array) -> Array:
    """u_j (e^{σ_j τ} − 1)/σ_j, all times e^{−top}."""
    v = tau * sigma
    return grow(tau * u * expm1c(-np.abs(v)), np.maximum(v, 0.0) - top)


def _value(tau: Array, u: Array, m: Array, sigma: Array) -> tuple[Array, Array]:
    """A positive multiple of N(τ), and the noise in it."""
    top = np.max(tau * sigma, 0, initial=0.0, where=u != 0)
    parts = _summands(tau, u, sigma, top)
    line = (1.0 + tau * (m - np.sum(u, 0))) * np.exp(-top)
    return line + np.sum(parts, 0), NOISE * (np.abs(line) + np.sum(np.abs(parts), 0))


def _bounded_away(low: Array, high: Array, u: Array, m: Array, sigma: Array) -> NDArray[np.bool_]:
    """Whether N is surely positive between `low` and `high`."""
    top = np.max(np.maximum(low * sigma, high * sigma), 0, initial=0.0, where=u != 0)
    at_low, at_high = _summands(low, u, sigma, top), _summands(high, u, sigma, top)
    scale, rest = np.exp(-top), m - np.sum(u, 0)
    line_low, line_high = (1.0 + low * rest) * scale, (1.0 + high * rest) * scale
    noise = NOISE * (np.abs(line_low) + np.abs(line_high) + np.sum(np.abs(at_low) + np.abs(at_high), 0))
    monotone = np.minimum(line_low, line_high) + np.sum(np.minimum(at_low, at_high), 0)
    middle = 0.5 * (low + high)
    tangent, slope = _summands(middle, u, sigma, top), grow(u, middle * sigma - top)
    bend = sigma * u > 0
    bent_low = line_low + np.sum(np.where(bend, tangent + slope * (low - middle), at_low), 0)
    bent_high = line_high + np.sum(np.where(bend, tangent + slope * (high - middle), at_high), 0)
    good: NDArray[np.bool_] = np.maximum(monotone, np.minimum(bent_low, bent_high)) > noise
    return good
