"""Local polynomials of f, one for each cell, in the monomials (t − centre)^m of the whole unit cube.

Newton's coefficients on the nodes of a cell (Taylor's, where the nodes coincide), then expanded about `centre`. Both
are matrices along one axis after the other: D takes values to divided differences, E takes ω_i(N t − k) to powers of
t − centre. Beside every number runs a bound of how far rounding took it. What is wrong with a Newton coefficient is
small where the cell matters; what is wrong with a power of t − centre counts in the whole cube.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from integraph.bounds.intervals import UP, U
from integraph.bounds.nodes import all_nodes, nodes, side
from integraph.bounds.partition_of_unity import Partition
from integraph.constructions.samples import Pair, Samples
from integraph.program.views import Floats
from integraph.targets.multi_index import below

SLAB = 1 << 21  # numbers that are worked on at a time


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """P_k = Σ_m coefficients[k, m] (t − centre)^m: (N+1, …, N+1, M, outputs), and what rounding did, from above."""

    coefficients: Floats
    newton: Floats  # the largest error of a Newton coefficient over all cells, (M, outputs), in units of a cell
    powers: Floats  # the largest Σ_m |error of a coefficient| reach^|m| over all cells, (outputs,)
    size: Floats  # the largest Σ_m |coefficient| reach^|m|, (outputs,)


def local(samples: Samples, d: int, N: int, n: int, spread: float, centre: float, reach: float) -> Local:
    """All cells, for |t − centre| ≤ reach; in slabs of the first axis, so that what is padded stays small."""
    E = _expansion(N, n, spread, centre)
    powers = reach ** below(d, n).sum(1)
    found, worst = [], []
    for cells in _slabs(d, N, n, samples.outputs):
        x, e = newton(samples, d, cells, N, n, spread)
        newton_error = e.max(tuple(range(d)))
        x, e = _along(d, n, E, cells, x, np.zeros_like(e))
        sums = [np.einsum("...mo,m->...o", part, powers).max(tuple(range(d))) for part in (e, np.abs(x))]
        found.append(x)
        worst.append((newton_error, *sums))
    parts = (UP * np.max(part, axis=0) for part in zip(*worst, strict=True))
    return Local(np.concatenate(found), *parts)


def newton(samples: Samples, d: int, cells: slice, N: int, n: int, spread: float, more: int = 0) -> Pair:
    """Newton's coefficients for |α| < n + more, in units of a cell, and how far each may be off."""
    x, e = samples.newton(cells, N, n, spread, more)
    return _along(d, n + more, _differences(N, n, spread, more), cells, x, e) if spread else (x, e)


def _slabs(d: int, N: int, n: int, outputs: int) -> Iterator[slice]:
    step = max(1, SLAB // ((N + 1) ** (d - 1) * n**d * outputs))
    for first in range(0, N + 1, step):
        yield slice(first, min(first + step, N + 1))


Matrix = tuple[Floats, Floats]  # (N+1, n, n): one for each k, and how far its entries may be off


def _differences(N: int, n: int, spread: float, more: int) -> Matrix:
    """D_il = Π_{m≤i, m≠l} 1/(τ_l − τ_m): divided differences from values."""
    D = np.zeros((N + 1, n + more, n + more))
    for k in {0, min(1, N), N}:
        tau = nodes(n, side(k, N), spread, more)
        for i in range(n + more):
            gaps = tau[: i + 1, None] - tau[None, : i + 1]
            np.fill_diagonal(gaps, 1.0)
            D[k, i, : i + 1] = 1.0 / gaps.prod(1)
    D[2:N] = D[1:2]
    return D, 4 * (n + more) * U * np.abs(D)


def _expansion(N: int, n: int, spread: float, centre: float) -> Matrix:
    """Columns i: the coefficients of ω_i(N t − k) in powers of y = t − centre; a factor is N y + b."""
    scale = float(max(N, 1))
    b = scale * centre - np.arange(N + 1)[:, None] - all_nodes(n, N, spread)
    off = 4 * U * (np.abs(b) + scale)
    E, plain, moved = (_multiplied(scale, factors) for factors in (b, np.abs(b), np.abs(b) + off))
    return E, (moved - plain) + 8 * n * U * moved


def _multiplied(scale: float, b: Floats) -> Floats:
    """Columns i: Π_{l<i} (scale·y + b_l) in powers of y, for every row of b."""
    cells, n = b.shape
    found = np.zeros((cells, n, n))
    found[:, 0, 0] = 1.0
    for i in range(1, n):
        found[:, :, i] = b[:, i - 1, None] * found[:, :, i - 1]
        found[:, 1:, i] += scale * found[:, :-1, i - 1]
    return found


def _along(d: int, n: int, matrix: Matrix, cells: slice, x: Floats, e: Floats) -> tuple[Floats, Floats]:
    """The matrix of its k along every axis; exponents are padded to a cube, in which those of degree ≥ n stay 0."""
    values, off = matrix
    alphas = below(d, n)
    flat = np.ravel_multi_index(tuple(alphas.T), (n,) * d)
    lead, outputs = x.shape[:d], x.shape[-1]
    padded = [np.zeros((*lead, n**d, outputs)) for _ in range(2)]
    for array, given in zip(padded, (x, e), strict=True):
        array[..., flat, :] = given
    x, e = (array.reshape(*lead, *(n,) * d, outputs) for array in padded)
    for axis in range(d):
        chosen = cells if axis == 0 else slice(None)
        v, o = values[chosen], off[chosen]
        size = np.abs(v)
        x, e = (
            _apply(v, x, d, axis),
            _apply(size + o, e, d, axis) + _apply(o + 2 * (n + 2) * U * size, np.abs(x), d, axis),
        )
    x, e = (array.reshape(*lead, n**d, outputs)[..., flat, :] for array in (x, e))
    return x, UP * e


def _apply(matrix: Floats, array: Floats, d: int, axis: int) -> Floats:
    """matrix[k] along the exponent axis, for every k of the cell axis of the same number."""
    moved = np.moveaxis(array, (axis, d + axis), (0, 1))
    found = matrix @ moved.reshape(*moved.shape[:2], -1)
    return np.moveaxis(found.reshape(moved.shape), (0, 1), (axis, d + axis))


def values(coefficients: Floats, partition: Partition, n: int, t: Floats, centre: float) -> Floats:
    """Σ_k φ_k(t) P_k(t) at points (B, d) of the cube, plainly: what the flow computes. Cells that do not matter at a
    point are left out."""
    d, (M, outputs) = t.shape[1], coefficients.shape[-2:]
    near = partition.near(t)  # (B, d, cells in one direction)
    found = np.empty((len(t), outputs))
    chunk = max(1, SLAB // (near.shape[2] ** d * M * outputs))
    for first in range(0, len(t), chunk):
        part, cells = t[first : first + chunk], near[first : first + chunk]
        powers = np.prod((part[:, None, :] - centre) ** below(d, n), axis=2)
        places = tuple(cells[:, j].reshape(len(part), *(1,) * j, -1, *(1,) * (d - 1 - j)) for j in range(d))
        total = np.einsum("b...mo,bm->b...o", coefficients[places], powers)
        for j in range(d):
            total = np.einsum("bk,bk...->b...", partition.some(part[:, j, None], cells[:, j]), total)
        found[first : first + chunk] = total
    return found
