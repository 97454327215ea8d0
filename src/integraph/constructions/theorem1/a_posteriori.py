"""An a posteriori bound of a fit: the moment bound with the coefficients of the next orders in each cell.

    f − P_k = Σ_{n≤|α|<n+more} c_{k,α} ω_α + R,   |R| ≤ Σ_{|α|=n+more} sup |f^(α)|/α! |ω_α|

The c are computed, cell by cell, so a derivative that is large in one corner counts there and not everywhere. The sup
over x of Σ_k φ_k Σ_α |c_{k,α}| |ω_α| is taken over parts of the cells, where every factor is at its worst.
"""

from __future__ import annotations

import numpy as np

from integraph.bounds import moments
from integraph.constructions.theorem1.local_polynomials import newton
from integraph.constructions.theorem1.samples import Samples
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import below, count, of_degree

ROUNDED = 1 + 1e-9  # more than a contraction of this size can lose
WORK = 1_000_000  # coefficients, padded to a cube of exponents
MOST = 64  # cells in one direction
PARTS, REGIONS = 32, 200_000  # of a cell; of the whole cube


def affordable(d: int, n: int, more: int, outputs: int) -> int:
    """The largest N for which this bound is affordable."""
    N = int((WORK / outputs) ** (1 / d) / (n + more)) - 1
    return min(N, int(REGIONS ** (1 / d) / 2), MOST)


def sizes(samples: Samples, n: int, more: int, N: int, spread: float) -> Floats:
    """|c_{k,α}| for n ≤ |α| < n + more, from above, (cells, …, exponents, …, outputs): exponents padded to a cube."""
    d = samples.function.inputs
    c, off = newton(samples, d, (slice(0, N + 1),) * d, N, n, spread, more)
    flat = np.ravel_multi_index(tuple(below(d, n + more).T), (n + more,) * d)
    total = np.zeros((*(N + 1,) * d, (n + more) ** d, samples.outputs))
    total[..., flat[count(d, n) :], :] = (np.abs(c) + off)[..., count(d, n) :, :]
    return total.reshape(*(N + 1,) * d, *(n + more,) * d, samples.outputs)


def a_posteriori_bound(total: Floats, n: int, more: int, N: int, kappa: float, spread: float, worst: Floats) -> float:
    """A bound of sup |f − f̂| on the cube, the largest over the outputs, from `sizes`; `worst` is for |α| = n + more."""
    outputs = total.shape[-1]
    d = (total.ndim - 1) // 2
    parts = int(max(2, min(PARTS, REGIONS ** (1 / d) // max(N, 1))))
    every = slice(0, max(N, 1))
    shares = [moments.share(n, more, k, N, kappa, spread, every, parts)[: n + more] for k in range(N + 1)]
    rows = np.concatenate(shares).T  # (parts, cells × exponents)
    for j in range(d):  # the next cell axis and its exponents go, the parts come last
        total = np.moveaxis(total, (0, d - j), (0, 1))
        total = np.moveaxis(np.tensordot(rows, total.reshape(rows.shape[1], *total.shape[2:]), 1), 0, -1)
    inside = ROUNDED * np.max(total.reshape(outputs, -1), axis=1)
    M = moments.moments(n, N, kappa, spread, more)
    rest = worst * float(max(N, 1)) ** -(n + more)
    return float(np.max(inside + moments.bound(rest, of_degree(d, n + more), M)))
