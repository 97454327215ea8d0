"""Multi-indices α ∈ ℕ^d in graded order: by degree |α|, within a degree by falling α_1, then α_2, …"""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

Alphas = NDArray[np.int64]


def count(d: int, n: int) -> int:
    """M = C(d+n−1, d): how many monomials of degree < n there are in d variables."""
    return comb(d + n - 1, d)


@lru_cache(maxsize=256)
def below(d: int, n: int) -> Alphas:
    """All α with |α| < n, as rows (M, d). The first count(d, m) rows are those of degree < m."""
    rows = np.concatenate([np.zeros((0, d), np.int64), *(of_degree(d, degree) for degree in range(n))])
    rows.flags.writeable = False
    return rows


@lru_cache(maxsize=256)
def of_degree(d: int, degree: int) -> Alphas:
    """All α with |α| = degree, as rows."""
    if d == 1:
        rows = np.full((1, 1), degree, np.int64)
    else:
        parts = []
        for first in range(degree, -1, -1):
            rest = of_degree(d - 1, degree - first)
            parts.append(np.concatenate([np.full((len(rest), 1), first, np.int64), rest], 1))
        rows = np.concatenate(parts)
    rows.flags.writeable = False
    return rows


@lru_cache(maxsize=256)
def factorials(d: int, n: int) -> NDArray[np.float64]:
    """α! of `below(d, n)`."""
    one = np.cumprod([1.0, *range(1, max(n, 1))])
    result: NDArray[np.float64] = one[below(d, n)].prod(1)
    result.flags.writeable = False
    return result


def rank(alphas: Alphas) -> Alphas:
    """The place of each row in the graded order: Σ_i of how many in the last d − i variables have less degree."""
    d = alphas.shape[1]
    ranks = np.zeros(len(alphas), np.int64)
    for i in range(d):
        rest = alphas[:, i:].sum(1)
        ranks += np.array([count(d - i, n) for n in range(int(rest.max(initial=0)) + 1)], np.int64)[rest]
    return ranks
