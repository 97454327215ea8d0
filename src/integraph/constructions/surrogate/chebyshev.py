"""Polynomials Σ c_ν T_ν1(s_1) … T_νd(s_d) on [−1, 1]^d, from values at nested Chebyshev points.

The points are those of Clenshaw and Curtis in an order (ℜ-Leja) in which the first 2^k + 1 are the Chebyshev points of
that number, and the first n are nearly as good for every other n. So a grid can grow by any amount and keeps its
values, and any downward closed set of multi-indices has one interpolant:

    h_l(s) = Π_{m<l} (s − s_m)/(s_l − s_m),   P = Σ_{ν∈Λ} a_ν h_ν1 … h_νd,   P(s_ν) = f(s_ν) for ν ∈ Λ

The surpluses a solve a triangular system along one axis after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
import scipy  # its submodules load when they are first used
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from integraph.numbers.arrays import Floats

BLOCK = 1 << 22  # numbers that are worked on at a time


@lru_cache(maxsize=64)
def nested_points(n: int) -> Floats:
    """1, −1, 0, then pairs: each angle is half of an earlier one, or that and π. (n,)"""
    angles = np.array([0.0, np.pi, np.pi / 2])
    while len(angles) < n:
        half = angles[len(angles) // 2 + 1 :] / 2
        angles = np.concatenate([angles, np.stack([half, half + np.pi], 1).ravel()])
    points: Floats = np.cos(angles[:n])
    points.flags.writeable = False
    return points


@lru_cache(maxsize=64)
def _hierarchy(n: int) -> tuple[Floats, Floats]:
    """h_l at the first n points, a lower triangle of ones; and the Chebyshev coefficients of h_l as columns."""
    points = nested_points(n)
    if n == 1:
        return np.ones((1, 1)), np.ones((1, 1))
    own = _products(points, points)
    grid = np.cos(np.pi * np.arange(n) / (n - 1))
    at = _products(grid, points) / np.diag(own)
    series = np.fft.rfft(np.concatenate([at, at[-2:0:-1]]), axis=0).real / (n - 1)
    series[[0, -1]] /= 2
    return np.tril(own / np.diag(own)), np.triu(series)


def _products(at: Floats, points: Floats) -> Floats:
    """Columns l: Π_{m<l} 2(s − s_m). The factor keeps them near 1: the interval has capacity ½."""
    factors = np.ones((len(at), len(points)))
    np.multiply(2.0, at[:, None] - points[:-1], out=factors[:, 1:])
    return np.cumprod(factors, axis=1, out=factors)


def interpolant(values: Floats, inside: NDArray[np.bool_]) -> Floats:
    """The coefficients of the P that has these values (n_1, …, n_d, outputs) at the nested points; `inside` is Λ, and
    what is outside does not matter. They are not finite where differences of values overflow."""
    solve = partial(scipy.linalg.solve_triangular, lower=True, check_finite=False)
    array = np.where(inside[..., None], values, 0.0)
    for axis, n in enumerate(inside.shape):
        array = _along(array, axis, partial(solve, _hierarchy(n)[0]))
    array = np.where(inside[..., None], array, 0.0)
    for axis, n in enumerate(inside.shape):
        array = _along(array, axis, _hierarchy(n)[1].__matmul__)
    return array


def _along(array: Floats, axis: int, apply: Callable[[Floats], Floats]) -> Floats:
    """A map of columns, along one axis."""
    moved = np.moveaxis(array, axis, 0)
    return np.moveaxis(apply(moved.reshape(len(moved), -1)).reshape(moved.shape), 0, axis)


def evaluate(coefficients: Floats, s: Floats) -> Floats:
    """Σ c_ν T_ν at points (B, d) of the cube: (B, outputs)."""
    *sizes, outputs = coefficients.shape
    if len(sizes) == 1:
        return np.array(chebyshev.chebval(s[:, 0], coefficients), np.float64).reshape(outputs, -1).T
    result = np.empty((len(s), outputs))
    chunk = max(1, BLOCK * sizes[0] // coefficients.size)
    flat = coefficients.reshape(sizes[0], -1)
    for first in range(0, len(s), chunk):
        part = s[first : first + chunk]
        total = (chebyshev.chebvander(part[:, 0], sizes[0] - 1) @ flat).reshape(len(part), *coefficients.shape[1:])
        for axis, n in enumerate(sizes[1:], 1):
            total = np.einsum("bk,bk...->b...", chebyshev.chebvander(part[:, axis], n - 1), total)
        result[first : first + chunk] = total
    return result


def differentiate(coefficients: Floats, alpha: tuple[int, ...]) -> Floats:
    """The coefficients of the derivative ∂^α by s."""
    for axis, order in enumerate(alpha):
        coefficients = np.asarray(chebyshev.chebder(coefficients, order, axis=axis), np.float64)
    return coefficients


def trim(coefficients: Floats, least: float) -> Floats:
    """Without the highest degrees along every axis, as long as what is left out sums up to at most `least`."""
    axes = tuple(range(coefficients.ndim - 1))
    for axis in axes:
        others = tuple(a for a in axes if a != axis)
        sums = np.abs(coefficients).sum(others).max(-1)
        tails = np.cumsum(sums[::-1])[::-1]
        kept = max(1, int(np.count_nonzero(tails > least / len(axes))))
        coefficients = np.take(coefficients, range(kept), axis)
    return coefficients
