"""The moment bound of Theorem 1: how far Σ_k φ_k P_k can be from f, from bounds of the n-th derivatives alone.

With s = N x, M_p = sup_s Σ_k ψ_k(s) |ω_p(s − k)| and B_α = sup |f^(α)| on the unit cube,

    sup |f − f̂| ≤ N^{−n} Σ_{|α|=n} (B_α/α!) Π_j M_{α_j},

because φ_k = Π ψ_{k_j} and the sum over the cells factorises. M_p depends on κ = c/N and on N only near the ends.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from integraph.bounds.interpolation_nodes import nodes, side
from integraph.bounds.paper.partition_of_unity import sigmoid
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import Alphas
from integraph.numbers.roundoff import UP

NEAR = 12  # cells on either side that are looked at one by one
PIECES = 512  # of a cell, where factors are taken at their worst end
FLATTEST = 4.0  # κ below which the cells beyond them would matter


def moments(n: int, N: int, kappa: float, spread: float, more: int = 0) -> Floats:
    """M_0 … M_{n+more}, from above. The ends of [0, 1] and one cell between them stand for all cells."""
    return _moments(n, min(N, 2 * NEAR + 1), kappa, spread, more)


@lru_cache(maxsize=4096)
def _moments(n: int, N: int, kappa: float, spread: float, more: int) -> Floats:
    cells = max(N, 1)
    total = np.zeros((n + more + 1, cells, PIECES))
    for k in range(N + 1):
        near = slice(max(k - 1 - NEAR, 0), min(k + NEAR + 1, cells))
        part = share(n, more, k, N, kappa, spread, near, PIECES)
        total[:, near] += part.reshape(len(part), -1, PIECES)
    bounds: Floats = UP * (np.max(total, axis=(1, 2)) + (_beyond(n + more, kappa) if N > NEAR else 0.0))
    bounds.flags.writeable = False
    return bounds


def share(n: int, more: int, k: int, N: int, kappa: float, spread: float, cells: slice, pieces: int) -> Floats:
    """sup ψ_k |ω_p| on each of `pieces` parts of some cells, (n + more + 1, parts): every factor at its worst end."""
    edges = cells.start + np.arange((cells.stop - cells.start) * pieces + 1) / pieces
    low, high = edges[:-1], edges[1:]
    tau = nodes(n, side(k, N), spread, more)[:, None]
    factors = np.maximum(np.abs(low - k - tau), np.abs(high - k - tau))
    omega = np.concatenate([np.ones((1, len(low))), np.cumprod(factors, 0)])
    result: Floats = UP * _bump(k, N, kappa, low, high) * omega
    return result


def _bump(k: int, N: int, kappa: float, low: Floats, high: Floats) -> Floats:
    """ψ_k, from above: what rises is taken at the right end, what falls at the left."""
    rising = sigmoid(2.0 * kappa * (high - k + 0.5)) if k > 0 else np.ones_like(low)
    falling = sigmoid(-2.0 * kappa * (low - k - 0.5)) if k < N else np.ones_like(low)
    return rising * falling


def _beyond(n: int, kappa: float) -> Floats:
    """All cells farther than NEAR: ψ_k ≤ e^{−2κ(distance − ½)} there, |ω_p| ≤ (distance + 2)^p, both sides."""
    distance = np.arange(NEAR, 40 * NEAR)[:, None]
    logs = -2.0 * kappa * (distance - 0.5) + np.arange(n + 1) * np.log(distance + 2.0)
    tail: Floats = 4.0 * np.exp(logs).sum(0)  # twice for what is farther still
    return tail


def bound(worst: Floats, alphas: Alphas, M: Floats) -> Floats:
    """Σ_α worst_α Π_j M_{α_j}, for every output: worst is (alphas, outputs), in units of a cell."""
    result: Floats = UP * (np.prod(M[alphas], axis=1) @ worst)
    return result
