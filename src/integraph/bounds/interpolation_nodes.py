"""Where a cell is fitted: nodes τ_0 … τ_{n−1}, in units of a cell, counted from the centre k of the cell.

A fit of degree < n is Newton's interpolation on the points (τ_{α_1}, …, τ_{α_d}), |α| < n, with the polynomials
ω_i(s) = Π_{l<i} (s − τ_l). Its remainder has the form of Taylor's: expanding in one variable after the other,

    f − P = Σ_{|α|=n} f[…] Π_j ω_{α_j},   |f[…]| ≤ sup |f^(α)|/α!,

and it is Taylor's when all nodes coincide. Chebyshev's points make ω_n small on the cell, and need values only. They
are taken in Leja's order, so that the ω_i before the last are small too.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from integraph.numbers.arrays import Floats

FINE = 257  # places a point between may have


def side(k: int, N: int) -> str:
    """Which end of [0, 1] a cell is at, if any; with N = 0 there is one cell."""
    return "only" if N == 0 else "left" if k == 0 else "right" if k == N else "inner"


@lru_cache(maxsize=1024)
def nodes(n: int, which: str, spread: float, more: int = 0) -> Floats:
    """τ of a cell that reaches as far as `spread`, 0 for Taylor's. No node leaves the unit cube."""
    points = chebyshev(n, more)
    if which == "only":  # one cell for all of [0, 1], whatever the spread
        grid = 0.5 + (0.5 * points if spread else 0.0 * points)
    elif which == "inner":
        grid = spread * points
    else:
        grid = 0.5 * spread * (1.0 + points) * (1.0 if which == "left" else -1.0)
    grid.flags.writeable = False
    return grid


def all_nodes(n: int, N: int, spread: float, more: int = 0) -> Floats:
    """τ of all cells, (N + 1, n + more)."""
    table = np.tile(nodes(n, side(min(1, N), N), spread, more), (N + 1, 1))
    table[0], table[N] = (nodes(n, side(k, N), spread, more) for k in (0, N))
    return table


@lru_cache(maxsize=256)
def chebyshev(n: int, more: int = 0) -> Floats:
    """The zeros of T_n in Leja's order, each as far from those before it as possible; then `more` points between."""
    points = np.cos((2.0 * np.arange(n) + 1.0) * np.pi / (2.0 * max(n, 1)))
    ordered: list[float] = [points[np.argmin(np.abs(points))]] if n else []
    for candidates, count in ((points, n), (np.linspace(-1.0, 1.0, FINE), n + more)):
        while len(ordered) < count:
            distance = np.abs(candidates[:, None] - ordered).prod(1)
            ordered.append(candidates[np.argmax(np.round(distance / distance.max(), 9))])  # ties: not by the last bit
    return np.array(ordered)
