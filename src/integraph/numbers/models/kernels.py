"""Loops over the coefficients of rows, compiled: norms, ranges, products and compositions of polynomials.

A row of `p` holds the coefficients of one polynomial. `gamma` bounds the relative rounding of the longest sum.
"""

from __future__ import annotations

import numpy as np

from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import TINY
from integraph.numbers.jit import cached_njit


@cached_njit(error_model="numpy")
def norm_kernel(p: Floats) -> Floats:
    """The 1-norm of every row."""
    norms = np.empty(len(p))
    for row in range(len(p)):
        total = 0.0
        for m in range(p.shape[1]):
            total += abs(p[row, m])
        norms[row] = total
    return norms


@cached_njit(error_model="numpy")
def span_kernel(p: Floats, d: int, squares: Indices, kinds: Indices, gamma: float) -> tuple[Floats, Floats]:
    """Ends between which p(ξ) is: aξ + bξ² exactly for each variable, even monomials in [0, 1], others in [−1, 1]."""
    rows, count = p.shape
    low, high = np.empty(rows), np.empty(rows)
    quadratic, linear = d > 0 and squares[0] >= 0, count > d
    for row in range(rows):
        bottom, top, norm = p[row, 0], p[row, 0], abs(p[row, 0])
        for i in range(d if linear else 0):
            a = abs(p[row, 1 + i])
            b = p[row, squares[i]] if quadratic else 0.0
            norm += a + abs(b)
            least, most = b - a, b + a
            if a < 2.0 * abs(b):
                vertex = -a * (a / (4.0 * b))  # a² may underflow
                least, most = min(least, vertex), max(most, vertex)
            bottom += least
            top += most
        for m in range(1, count):
            if kinds[m] == 0:
                norm += abs(p[row, m])
                bottom += min(p[row, m], 0.0)
                top += max(p[row, m], 0.0)
            elif kinds[m] == 1:
                size = abs(p[row, m])
                norm += size
                bottom -= size
                top += size
        lost = gamma * norm + TINY
        low[row], high[row] = bottom - lost, top + lost
    return low, high


@cached_njit(error_model="numpy")
def product_kernel(a: Floats, b: Floats, degrees: Indices, table: Indices, k: int) -> tuple[Floats, Floats]:
    """The truncated products of rows, and bounds of what was truncated."""
    rows, count = a.shape
    out, tails = np.zeros((rows, count)), np.empty(rows)
    left, right = np.empty(k + 1), np.empty(k + 1)
    for row in range(rows):
        left[:], right[:] = 0.0, 0.0
        for m in range(count):
            left[degrees[m]] += abs(a[row, m])
            right[degrees[m]] += abs(b[row, m])
        for t in range(table.shape[1]):
            out[row, table[2, t]] += a[row, table[0, t]] * b[row, table[1, t]]
        tail = 0.0
        for i in range(k + 1):
            for j in range(k + 1 - i, k + 1):
                tail += left[i] * right[j]
        tails[row] = tail
    return out, tails


@cached_njit(error_model="numpy")
def composition_kernel(
    u: Floats, q: Floats, degrees: Indices, table: Indices, k: int, gamma: float
) -> tuple[Floats, Floats]:
    """q(u) by Horner's rule, truncated, and bounds of what was truncated and rounded, for |u(ξ)| ≤ 1.

    A difference of one stage is multiplied by u(ξ) in the next, so it never grows, whatever the 1-norm of u is.
    """
    rows, count = u.shape
    out, tails = np.empty((rows, count)), np.empty(rows)
    stage, last = np.empty(count), np.empty(count)
    own, other = np.empty(k + 1), np.empty(k + 1)
    for row in range(rows):
        own[:] = 0.0
        for m in range(count):
            own[degrees[m]] += abs(u[row, m])
        norm = own.sum()
        last[:] = 0.0
        last[0] = q[row, k]
        tail, reach = 0.0, 0  # the degree of `last`
        for s in range(k - 1, -1, -1):
            other[:], stage[:] = 0.0, 0.0
            for m in range(count):
                other[degrees[m]] += abs(last[m])
            if reach == 0:
                for m in range(count):
                    stage[m] = last[0] * u[row, m]
            else:
                for t in range(table.shape[1]):
                    stage[table[2, t]] += last[table[0, t]] * u[row, table[1, t]]
            reach = k
            for i in range(k + 1):
                for j in range(k + 1 - i, k + 1):
                    tail += other[i] * own[j]
            tail += gamma * (other.sum() * norm + abs(q[row, s]))
            stage[0] += q[row, s]
            stage, last = last, stage
        for m in range(count):
            out[row, m] = last[m]
        tails[row] = tail + TINY
    return out, tails


@cached_njit(error_model="numpy")
def expansion_kernel(p: Floats, matrices: Floats) -> Floats:
    """Every row times every matrix, (rows·matrices, M)."""
    rows, count = p.shape
    out = np.empty((rows * len(matrices), count))
    for row in range(rows):
        for part in range(len(matrices)):
            for m in range(count):
                total = 0.0
                for n in range(m, count):  # a monomial of ξ adds to those of η that come before it
                    total += matrices[part, m, n] * p[row, n]
                out[row * len(matrices) + part, m] = total
    return out
