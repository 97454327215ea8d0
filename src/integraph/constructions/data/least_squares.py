"""Local polynomials by least squares: one for each cell, in Legendre's basis of its window.

The window of a cell reaches to the centres of its neighbours, and rows weigh less towards its edge. A cell starts from
the polynomial of a grid with half as many cells, and corrects it where its own rows tell how: an empty cell keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.polynomial import legendre

from integraph.constructions.theorem1.local_polynomials import apply, multiplied, on_exponents
from integraph.constructions.theorem1.monomials import CENTRE
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.multi_index import below, count

TINY, REPEATS = 1e-6, 4  # of the weight of a cell: directions that its rows do not determine; refinements
BLOCK = 1 << 22  # numbers that are worked on at a time


@dataclass(frozen=True, slots=True, eq=False)
class LeastSquares:
    """Fits of order n to y (B, m) at t (B, d) in the unit cube. With `ridge`, what a grid of half as many cells says
    counts as much as so many rows; 0 gives it no say where the rows of a cell suffice."""

    t: Floats
    y: Floats
    n: int
    ridge: float
    _grids: dict[int, Floats] = field(default_factory=dict)

    def coefficients(self, N: int) -> Floats:
        """(N+1, …, N+1, M, outputs), of powers of t − ½."""
        d = self.t.shape[1]
        scale, shift = windows(N)
        b = np.repeat((scale * CENTRE + shift)[:, None], self.n, axis=1)
        matrices = multiplied(scale[:, None], b) @ _powers(self.n)
        result = self.local(N)
        for axis in range(d):
            result = apply(on_exponents(d, self.n, axis, matrices), result, axis)
        return np.ascontiguousarray(result)

    def local(self, N: int) -> Floats:
        """The same in the basis of each window."""
        if N not in self._grids:
            d, M = self.t.shape[1], count(self.t.shape[1], self.n)
            start = np.zeros((*(N + 1,) * d, M, self.y.shape[1])) if N == 0 else self._finer(N // 2, N)
            flat = start.reshape(-1, M, self.y.shape[1])
            for cells, rows in _batches(self.t, N, M):
                flat[cells] += self._correction(N, cells, rows, flat[cells])
            self._grids[N] = start
        return self._grids[N]

    def _correction(self, N: int, cells: Indices, rows: Indices, start: Floats) -> Floats:
        """For some cells, rows (cells, P) each, −1 where there are fewer: (cells, M, outputs)."""
        d = self.t.shape[1]
        scale, shift = windows(N)
        k = np.stack(np.unravel_index(cells, (N + 1,) * d), -1)
        t = self.t[rows]
        weights = np.where(rows >= 0, _weight(N * t - k[:, None]), 0.0)
        u = np.clip(scale[k][:, None] * t + shift[k][:, None], -1.0, 1.0)
        basis = _basis(u, self.n)
        root = np.sqrt(weights)[..., None]
        left = (self.y[rows] - basis @ start) * root
        A = basis * root
        turned = A.swapaxes(1, 2)
        total = weights.sum(1)[:, None, None]
        ridge = self.ridge if N else 0.0
        gram = turned @ A + (ridge + TINY * total + 1e-300) * np.eye(A.shape[2])
        change = np.linalg.solve(gram, turned @ left)
        for _ in range(0 if ridge else REPEATS):
            change += np.linalg.solve(gram, turned @ (left - A @ change))
        return change

    def _finer(self, coarse: int, N: int) -> Floats:
        """The polynomials of a coarse grid, each in the windows of the finer cells about it."""
        d = self.t.shape[1]
        parent = np.floor(np.arange(N + 1) * (coarse / N) + 0.5).astype(np.int64)
        (scale, shift), (wide, moved) = windows(N), windows(coarse)
        a = wide[parent] / scale
        b = moved[parent] - a * shift
        node, weight = legendre.leggauss(self.n)
        inner = 0.5 * weight[:, None] * _legendre(node, self.n)
        matrices = inner.T @ _legendre(a[:, None] * node + b[:, None], self.n)
        result = self.local(coarse)[np.ix_(*[parent] * d)]
        for axis in range(d):
            result = apply(on_exponents(d, self.n, axis, matrices), result, axis)
        return np.ascontiguousarray(result)


def windows(N: int) -> tuple[Floats, Floats]:
    """scale, shift of u = scale·t + shift, which takes the window of each cell to [−1, 1]."""
    if N == 0:
        return np.array([2.0]), np.array([-1.0])
    scale, shift = np.full(N + 1, float(N)), -np.arange(N + 1.0)
    scale[[0, N]], shift[0], shift[N] = 2.0 * N, -1.0, 1.0 - 2.0 * N
    return scale, shift


def _weight(distance: Floats) -> Floats:
    """Tricube, in cells; (…, d) → (…)."""
    result: Floats = ((1.0 - np.minimum(np.abs(distance), 1.0) ** 3) ** 3).prod(-1)
    return result


def _batches(t: Floats, N: int, M: int) -> Iterator[tuple[Indices, Indices]]:
    """Cells with about as many rows as each other, and their rows (cells, P), filled up with −1."""
    d = t.shape[1]
    if N == 0:
        yield np.zeros(1, np.int64), np.arange(len(t))[None]
        return
    base = np.clip(np.floor(N * t).astype(np.int64), 0, N - 1)
    corners = np.array(list(product((0, 1), repeat=d)))
    cell = np.ravel_multi_index(tuple(np.moveaxis(base + corners[:, None], -1, 0)), (N + 1,) * d).ravel()
    row = np.tile(np.arange(len(t)), len(corners))
    row = row[np.argsort(cell, kind="stable")]
    counts = np.bincount(cell, minlength=(N + 1) ** d)
    first = np.cumsum(counts) - counts
    size = np.where(counts > 0, np.ceil(np.log2(np.maximum(counts, 1))), -1)
    for exponent in np.unique(size[size >= 0]).astype(int).tolist():
        alike, most = np.flatnonzero(size == exponent), 1 << exponent
        step = max(1, BLOCK // (most * M))
        for part in (alike[start : start + step] for start in range(0, len(alike), step)):
            within = np.arange(int(counts[part].max()))
            places = np.minimum(first[part, None] + within, len(row) - 1)
            yield part, np.where(within < counts[part, None], row[places], -1)


def _basis(u: Floats, n: int) -> Floats:
    """Products of Legendre's polynomials of degree < n: (…, d) → (…, M)."""
    alphas = below(u.shape[-1], n)
    result = _legendre(u[..., 0], n)[..., alphas[:, 0]]
    for axis in range(1, u.shape[-1]):
        result = result * _legendre(u[..., axis], n)[..., alphas[:, axis]]
    return result


def _legendre(u: Floats, n: int) -> Floats:
    """L_0 … L_{n−1}, orthonormal for the mean over [−1, 1]."""
    result: Floats = legendre.legvander(u, n - 1) * np.sqrt(2.0 * np.arange(n) + 1.0)
    return result


@lru_cache(maxsize=64)
def _powers(n: int) -> Floats:
    """Columns i: L_i in powers of u."""
    result = np.zeros((n, n))
    for i in range(n):
        result[: i + 1, i] = legendre.leg2poly(np.eye(n)[i] * np.sqrt(2.0 * i + 1.0))[: i + 1]
    return result
