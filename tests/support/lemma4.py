"""Lemma 4 written down from the paper, in mpmath: its matrices, its seven segments as terms, its functions.

Nothing here knows the closed forms or the constructions of the package; step 2 is the corrected one unless asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from mpmath import expm, eye, ln, matrix, mp, mpf, tanh

from integraph.program import ONE, Block
from mp_taylor import Term


class Matrices(NamedTuple):
    A: matrix
    b: matrix
    B: matrix
    kappa: matrix


def matrices(N: int) -> Matrices:
    """A and b as printed, B and κ of the erratum, in the working precision."""
    A = matrix(N + 1, N + 1)
    for k in range(N + 1):
        for m in range(k, N + 1):
            A[k, m] = -ln(2) if m == k else -mpf(1) / (m - k)
    v = matrix(N + 1, 1)
    v[N] = mpf(1) / 2
    inverse = (expm(A) - eye(N + 1)) ** -1
    b = A * inverse * v
    return Matrices(A, b, A * inverse, inverse * (v - b))


def psi(z: list[mpf]) -> list[mpf]:
    """ψ_0 … ψ_N from z_1 … z_N."""
    edges = [mpf(1), *(tanh(value) for value in z), mpf(-1)]
    return [(left - right) / 2 for left, right in pairwise(edges)]


class Registers(NamedTuple):
    """Where α_j, λ_{j,k}, β_j, μ_{j,k} are, j and k from 0."""

    d: int
    N: int

    def alpha(self, j: int) -> int:
        return j

    def lam(self, j: int, k: int) -> int:
        return self.d + k * self.d + j

    def beta(self, j: int) -> int:
        return (self.N + 2) * self.d + j

    def mu(self, j: int, k: int) -> int:
        return (self.N + 3) * self.d + k * self.d + j


def steps(d: int, N: int, a: mpf, b: list[mpf], delta: mpf, *, printed: bool = False) -> list[list[Term]]:
    """The terms of segments 1 … 7, for z_k = a·x + b_k; with `printed`, μ of step 2 as printed."""
    r, found = Registers(d, N), [[] for _ in range(7)]
    fixed = matrices(N)
    for j in range(d):
        alpha = r.alpha(j)
        found[0].append((r.lam(j, 0), ONE, ONE, mpf(1)))
        for k in range(1, N + 1):
            lam, mu, z0 = r.lam(j, k), r.mu(j, k), b[k - 1]
            found[0] += [(lam, ONE, alpha, a), (lam, ONE, ONE, z0), (lam, lam, mu, mpf(-1)), (mu, mu, mu, mpf(-1))]
            found[0] += [(mu, alpha, alpha, a * a), (mu, ONE, alpha, 2 * a * z0), (mu, ONE, ONE, z0 * z0)]
        for k in range(N + 1):
            lam, mu = r.lam(j, k), r.mu(j, k)
            found[1] += [(lam, ONE, r.lam(j, m), fixed.A[k, m]) for m in range(N + 1) if fixed.A[k, m]]
            found[1].append((lam, ONE, ONE, fixed.b[k]))
            if k == 0:
                continue
            row = [fixed.A[k - 1, m] if printed else -fixed.B[k, m] for m in range(N + 1)]
            for m in range(N + 1):
                found[1] += [(mu, alpha, r.lam(j, m), a * row[m]), (mu, ONE, r.lam(j, m), b[k - 1] * row[m])]
            if not printed:
                found[1] += [(mu, ONE, alpha, a * fixed.kappa[k]), (mu, ONE, ONE, b[k - 1] * fixed.kappa[k])]
        pairs = [(alpha, r.beta(j)), *((r.lam(j, k), r.mu(j, k)) for k in range(N + 1))]
        found[2] += [(y, ONE, ONE, delta - 1 if y == alpha else mpf(-1)) for y, _ in pairs]
        for y, log in pairs:
            found[3] += [(y, y, y, mpf(-1)), (log, ONE, y, mpf(1))]
            found[4].append((y, log, y, mpf(1)))
            found[5].append((y, ONE, ONE, mpf(1)))
            found[6].append((y, log, y, mpf(-1)))
    return found


def slow_partition(block: Block) -> Iterator[tuple[int, int, int, float]]:
    """The terms of a partition block, lane after lane, from the paper's matrices."""
    (lam, mu), x = (ref.indices() for ref in block.targets), block.operands[0].indices()
    N = lam.shape[-1] - 1
    a, b = (np.broadcast_to(block.tensors.get(name, default), mu.shape) for name, default in (("a", 1.0), ("b", 0.0)))
    with mp.workdps(40):
        A, rate, B, kappa = (np.array(m.tolist(), float) for m in matrices(N))
    for row in np.ndindex(x.shape):
        for k in range(N + 1):
            target = int(lam[(*row, k)])
            yield target, ONE, ONE, float(rate[k, 0])
            yield from ((target, ONE, int(lam[(*row, m)]), float(A[k, m])) for m in range(k, N + 1))
        for k in range(1, N + 1):
            target, at = int(mu[(*row, k - 1)]), int(x[row])
            slope, shift = float(a[(*row, k - 1)]), float(b[(*row, k - 1)])
            yield target, ONE, at, slope * float(kappa[k, 0])
            yield target, ONE, ONE, shift * float(kappa[k, 0])
            for m in range(k, N + 1):
                yield target, at, int(lam[(*row, m)]), -slope * float(B[k, m])
                yield target, ONE, int(lam[(*row, m)]), -shift * float(B[k, m])
