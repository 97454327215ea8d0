"""The range of polynomials by division of [−1, 1]^d: on each part a polynomial is expanded anew, and ranges are close.

On a part ξ = c + h·η of a dyadic division the coefficients in η are a matrix times those in ξ, the same for all rows.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import comb

import numpy as np

from integraph.numbers import intervals
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import TINY, quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.models.kernels import expansion_kernel, span_kernel
from integraph.numbers.models.models import Models, row_norms
from integraph.numbers.models.monomials import monomials

PARTS = 16  # of the cube, at most


@quiet
def tight_ranges(x: Models) -> Interval:
    """The ranges of rows, (rows, cells), each polynomial divided into up to `PARTS` parts."""
    table = x.space.monomials
    side = _side(table.d, table.k)
    if side == 1:
        return x.known
    matrices = _expansions(table.d, table.k, side)
    flat = x.p.reshape(-1, table.count)
    parts = expansion_kernel(flat, matrices)
    low, high = span_kernel(parts, table.d, table.squares, table.kinds, x.space.gamma)
    shape = (*x.r.shape, len(matrices))
    off = x.errors + 2 * x.space.gamma * row_norms(x.p) + TINY
    own = intervals.interval(low.reshape(shape).min(-1) - off, high.reshape(shape).max(-1) + off)
    return intervals.intersection(x.known, intervals.outward(own.low, own.high))


def _side(d: int, k: int) -> int:
    """Into how many parts a side is divided, a power of two."""
    side = 1
    while d and k > 1 and (2 * side) ** d <= PARTS and side < 16:
        side *= 2
    return side


@lru_cache(maxsize=16)
def _expansions(d: int, k: int, side: int) -> Floats:
    """(parts, M, M): row m of a matrix holds what each monomial in ξ adds to η^m. Entries are exact."""
    table = monomials(d, k)
    h, e = 1.0 / side, table.exponents
    one = np.zeros((side, k + 1, k + 1))  # of one variable: ξ^n = Σ_m one[part, m, n] η^m
    for part, m, n in product(range(side), range(k + 1), range(k + 1)):
        if m <= n:
            one[part, m, n] = comb(n, m) * h**m * ((2 * part + 1) * h - 1.0) ** (n - m)
    return np.stack(
        [
            np.prod([one[part][e[:, None, i], e[None, :, i]] for i, part in enumerate(parts)], 0)
            for parts in product(range(side), repeat=d)
        ]
    )
