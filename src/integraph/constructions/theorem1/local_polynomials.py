"""Local polynomials of f, one for each cell, in the monomials (t − centre)^m of the whole unit cube.

Newton's coefficients on the nodes of a cell (Taylor's, where the nodes coincide), then expanded about `centre`. Both
are matrices along one axis after the other: D takes values to divided differences, E takes ω_i(N t − k) to powers of
t − centre. Every number comes with a bound of its rounding error. The error of a Newton coefficient is small where
the cell matters; the error of a coefficient of t − centre counts in the whole cube.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from integraph.bounds.interpolation_nodes import all_nodes, nodes, side
from integraph.bounds.paper.partition_of_unity import Partition
from integraph.constructions.theorem1.samples import Cells, Pair, Samples
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import below, count
from integraph.numbers.roundoff import UP, U

BLOCK = 1 << 21  # numbers that are worked on at a time


@dataclass(frozen=True, slots=True, eq=False)
class LocalPolynomials:
    """P_k = Σ_m coefficients[k, m] (t − centre)^m: (N+1, …, N+1, M, outputs), and what rounding did, from above."""

    coefficients: Floats
    newton: Floats  # the largest error of a Newton coefficient over all cells, (M, outputs), in units of a cell
    powers: Floats  # the largest Σ_m |error of a coefficient| reach^|m| over all cells, (outputs,)
    size: Floats  # the largest Σ_m |coefficient| reach^|m|, (outputs,)


def local(samples: Samples, d: int, N: int, n: int, spread: float, centre: float, reach: float) -> LocalPolynomials:
    """All cells, for |t − centre| ≤ reach; block by block."""
    powers = reach ** below(d, n).sum(1)
    coefficients, worst = np.empty((*(N + 1,) * d, len(powers), samples.outputs)), []
    for cells in _blocks(d, N, n, samples.outputs):
        x, e = newton(samples, d, cells, N, n, spread)
        newton_error = e.max(tuple(range(d)))
        x, e = _along(d, n, lambda part: _expansion(N, n, spread, centre, part), cells, x, np.zeros_like(e))
        sums = [np.einsum("...mo,m->...o", part, powers).max(tuple(range(d))) for part in (e, np.abs(x))]
        coefficients[cells] = x
        worst.append((newton_error, *sums))
    parts = (UP * np.max(part, axis=0) for part in zip(*worst, strict=True))
    return LocalPolynomials(coefficients, *parts)


def newton(samples: Samples, d: int, cells: Cells, N: int, n: int, spread: float, more: int = 0) -> Pair:
    """Newton's coefficients for |α| < n + more, in units of a cell, and how far each may be off."""
    x, e = samples.newton(cells, N, n, spread, more)
    if not spread:
        return x, e
    return _along(d, n + more, lambda part: _differences(N, n, spread, more, part), cells, x, e)


def _blocks(d: int, N: int, n: int, outputs: int) -> Iterator[Cells]:
    """Blocks of cells, thin in the first directions, so that neither they nor their matrices take much memory."""
    M = count(d, n)
    room, most = BLOCK // (M * outputs), max(1, BLOCK // M**2)
    steps = [max(1, min(N + 1, most, room // (N + 1) ** (d - 1 - axis))) for axis in range(d)]
    return product(*([slice(k, min(k + step, N + 1)) for k in range(0, N + 1, step)] for step in steps))


Matrix = tuple[Floats, Floats]  # (cells, n, n): one for each k, and how far its entries may be off


def _differences(N: int, n: int, spread: float, more: int, part: slice) -> Matrix:
    """D_il = Π_{m≤i, m≠l} 1/(τ_l − τ_m): divided differences from values."""
    kinds = {k: np.zeros((n + more, n + more)) for k in (0, min(1, N), N)}  # the ends, and all between
    for k, D in kinds.items():
        tau = nodes(n, side(k, N), spread, more)
        for i in range(n + more):
            gaps = tau[: i + 1, None] - tau[None, : i + 1]
            np.fill_diagonal(gaps, 1.0)
            D[i, : i + 1] = 1.0 / gaps.prod(1)
    matrices = np.tile(kinds[min(1, N)], (part.stop - part.start, 1, 1))
    for k in (0, N):
        if part.start <= k < part.stop:
            matrices[k - part.start] = kinds[k]
    return matrices, 4 * (n + more) * U * np.abs(matrices)


def _expansion(N: int, n: int, spread: float, centre: float, part: slice) -> Matrix:
    """Columns i: the coefficients of ω_i(N t − k) in powers of y = t − centre; a factor is N y + b."""
    scale = float(max(N, 1))
    b = (scale * centre - np.arange(N + 1)[:, None] - all_nodes(n, N, spread))[part]
    off = 4 * U * (np.abs(b) + scale)
    E, plain, moved = (multiplied(scale, factors) for factors in (b, np.abs(b), np.abs(b) + off))
    return E, (moved - plain) + 8 * n * U * moved


def multiplied(scale: float | Floats, b: Floats) -> Floats:
    """Columns i: Π_{l<i} (scale·y + b_l) in powers of y, for every row of b; `scale` is one number, or (rows, 1)."""
    cells, n = b.shape
    expansion = np.zeros((cells, n, n))
    expansion[:, 0, 0] = 1.0
    for i in range(1, n):
        expansion[:, :, i] = b[:, i - 1, None] * expansion[:, :, i - 1]
        expansion[:, 1:, i] += scale * expansion[:, :-1, i - 1]
    return expansion


def _along(d: int, n: int, matrices: Callable[[slice], Matrix], cells: Cells, x: Floats, e: Floats) -> Pair:
    """The matrix of its k along every axis, one axis after the other. Exponents of degree < n stay among themselves,
    because D is lower and E upper triangular."""
    for axis in range(d):
        v, o = (on_exponents(d, n, axis, part) for part in matrices(cells[axis]))
        size = np.abs(v)
        x, e = (
            apply(v, x, axis),
            apply(size + o, e, axis) + apply(o + 2 * (n + 2) * U * size, np.abs(x), axis),
        )
    return x, UP * e


def on_exponents(d: int, n: int, axis: int, matrices: Floats) -> Floats:
    """Matrices (cells, n, n) between powers of one variable, as (cells, M, M) between monomials that differ in it
    alone."""
    alphas = below(d, n)
    others = np.delete(alphas, axis, 1)
    alike = (others[:, None] == others).all(2)
    at = alphas[:, axis]
    result: Floats = np.where(alike, matrices[:, at[:, None], at], 0.0)
    return result


def apply(matrix: Floats, array: Floats, axis: int) -> Floats:
    """matrix[k] to the exponents, for every k of a cell axis."""
    moved = np.moveaxis(np.moveaxis(array, axis, 0), -2, -1)  # exponents last, for one matrix product
    product = moved.reshape(len(matrix), -1, moved.shape[-1]) @ matrix.transpose(0, 2, 1)
    return np.moveaxis(np.moveaxis(product.reshape(moved.shape), -1, -2), 0, axis)


def values(coefficients: Floats, partition: Partition, n: int, t: Floats, centre: float) -> Floats:
    """Σ_k φ_k(t) P_k(t) at points (B, d) of the cube, directly, as the flow computes it. Cells that do not matter at
    a point are left out."""
    d, (M, outputs) = t.shape[1], coefficients.shape[-2:]
    near = partition.near(t)  # (B, d, cells in one direction)
    totals = np.empty((len(t), outputs))
    chunk = max(1, BLOCK // (near.shape[2] ** d * M * outputs))
    for first in range(0, len(t), chunk):
        part, cells = t[first : first + chunk], near[first : first + chunk]
        powers = np.prod((part[:, None, :] - centre) ** below(d, n), axis=2)
        places = tuple(cells[:, j].reshape(len(part), *(1,) * j, -1, *(1,) * (d - 1 - j)) for j in range(d))
        total = np.einsum("b...mo,bm->b...o", coefficients[places], powers)
        for j in range(d):
            total = np.einsum("bk,bk...->b...", partition.some(part[:, j, None], cells[:, j]), total)
        totals[first : first + chunk] = total
    return totals
