"""The ends of a tanh whose registers start at small rests, with derivatives that accelerators compute quickly.

Memory is what takes time there. Values share nothing, or the shared numbers would be stored for every input: α comes
from tanh(v/2), λ from tanh(v). Slopes come from e^{−|v|}, which values do not compute, so that the way back reads v, α₀
and λ₀ and stores none of the steps; the barrier makes it add up what each of them gets, once.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from integraph.flow.closed_forms.smooth_functions import TANHC, series

Array = Any
NEAR = 0.25  # |w| below which tanh(w)/w is a series
SLOPE = [2 * n * c for n, c in enumerate(TANHC)][1:]  # of (tanh(w)/w)'/w in w²


@jax.custom_jvp  # type: ignore[untyped-decorator]
def decayed_tanh(v: Array, alpha: Array, lam: Array | None) -> tuple[Array, Array]:
    """α(1) and λ(1) of Lemma 1 with x = v from α₀, λ₀ (None: 0), NaN where U is not sure to be positive. With
    h = tanh(w), w = v/2, U = 1 + h² + λ₀h/w: α·U = α₀(1 − h²) + h(2 + λ₀h/w), and λ·(v + λ₀ tanh v) = v(v tanh v + λ₀).
    """
    if lam is None:
        half = jnp.tanh(0.5 * v)
        square = half * half
        return (alpha * (1.0 - square) + 2.0 * half) / (1.0 + square), v * jnp.tanh(v)
    moved = _away_from_zero(v)
    w, whole = 0.5 * moved, jnp.tanh(moved)
    half = jnp.tanh(w)
    square = half * half
    share = 1.0 / (w * (1.0 + square) + lam * half)
    alpha_end = (w * (alpha * (1.0 - square) + 2.0 * half) + lam * square) * _sure(share, w)
    other = 1.0 / (moved + lam * whole)
    return alpha_end, (v * whole + lam) * (moved * _sure(other, moved))


@decayed_tanh.defjvp  # type: ignore[untyped-decorator]
def _slopes(start: tuple[Any, ...], moves: tuple[Any, ...]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    v, alpha, lam = start
    dv, dalpha, dlam = (jax.lax.optimization_barrier(move) for move in moves)  # at once, some releases cannot transpose
    e = jnp.exp(-jnp.where(v < 0, -v, v))
    below = 1.0 / (1.0 + e)
    half = jnp.where(v < 0, e - 1.0, 1.0 - e) * below
    slope, square = 4.0 * e * below * below, half * half
    if lam is None:
        share = 1.0 / (1.0 + square)
        alpha_end, lam_end = (alpha * slope + 2.0 * half) * share, 2.0 * v * half * share
        rise = half * slope
        by_v = slope - alpha * rise - alpha_end * rise, 2.0 * half + v * slope - lam_end * rise
        return decayed_tanh(*start), (share * (by_v[0] * dv + slope * dalpha), share * by_v[1] * dv)
    mean, steepness = _mean(0.5 * v, half, slope)
    share = 1.0 / (1.0 + square + lam * mean)
    lift, rise = 0.5 * lam * steepness, half * slope
    alpha_end = (alpha * slope + half * (2.0 + lam * mean)) * share
    lam_end = (2.0 * v * half + lam * (1.0 + square)) * share
    alpha_by_v = slope * (1.0 + 0.5 * lam * mean - alpha * half) + half * lift - alpha_end * (rise + lift)
    lam_by_v = 2.0 * half + v * slope + lam * rise - lam_end * (rise + lift)
    dalpha_end = share * (alpha_by_v * dv + slope * dalpha + mean * (half - alpha_end) * dlam)
    dlam_end = share * (lam_by_v * dv + (1.0 + square - lam_end * mean) * dlam)
    return decayed_tanh(*start), (dalpha_end, dlam_end)


def _away_from_zero(v: Array) -> Array:
    """v, but a tiny number in place of one that is smaller: what is divided by it must not underflow."""
    tiny = float(np.finfo(v.dtype).tiny) ** 0.4
    return jnp.where(jnp.abs(v) < tiny, tiny, v)


def _sure(share: Array, v: Array) -> Array:
    """A share 1/(vu), or NaN unless u > ½: then digits may have cancelled, since u ≥ 1 for λ₀ ≥ 0."""
    return jnp.where(jnp.abs(v * share - 1.0) < 1.0, share, jnp.nan)


def _mean(w: Array, tanh: Array, slope: Array) -> tuple[Array, Array]:
    """tanh(w)/w and its derivative."""
    inside = (w < NEAR) & (w > -NEAR)
    near = jnp.where(inside, w, 0.0)
    square, inverse = near * near, 1.0 / jnp.where(inside, 1.0, w)
    mean = jnp.where(inside, series(TANHC, square), tanh * inverse)
    return mean, jnp.where(inside, near * series(SLOPE, square), (slope - mean) * inverse)
