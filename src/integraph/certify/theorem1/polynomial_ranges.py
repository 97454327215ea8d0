"""Ranges of polynomials on equal pieces of [−1, 1]^d: in floats, with everything that is lost on the way.

A polynomial comes with balls for coefficients. On the piece c + r[−1, 1]^d its coefficients are others, by one matrix
for each piece, the same for all polynomials; the range is the first of them ± the sizes of the rest. Since |c| + r ≤ 1
in every variable, no row of these matrices sums up to more than 1, and neither do roundings to more than so many U
times the sum of the sizes.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np
from flint import arb_mat

from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import ONE, above, matrix, symmetric
from integraph.numbers.arb.matrices import product
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import below, count
from integraph.numbers.roundoff import U

TABLE = 1 << 22  # numbers in all matrices together
FINEST, PIECES = 16, 256  # pieces of a side, and of the box
HUGE = 1e280
CHUNK = 1 << 19  # numbers that are worked on at a time


def pieces(d: int, n: int) -> int:
    """How many there are of a side, for polynomials of degree < n in d variables."""
    return max(1, min(FINEST, int(min(PIECES, TABLE / count(d, n) ** 2) ** (1.0 / d) + 1e-9)))


@lru_cache(maxsize=8)
def _moves(d: int, n: int) -> Floats:
    """(M, pieces^d, M): from exponent, piece in row-major order, to exponent."""
    p, alphas = pieces(d, n), below(d, n)
    c, r = (2.0 * np.arange(p)[:, None] + 1.0) / p - 1.0, np.full((1, 1), 1.0 / p)
    m, a = np.arange(n)[:, None], np.arange(n)
    binomial = np.array([[float(comb(i, j)) for j in range(n)] for i in range(n)])
    power_c, power_r = (np.cumprod(np.append(np.ones((len(x), 1)), x.repeat(n - 1, 1), 1), 1) for x in (c, r))
    one = binomial * power_c[:, np.maximum(m - a, 0)] * power_r[0, a]  # (p, n, n)
    matrices = np.ones((1, len(alphas), len(alphas)))
    for j in range(d):
        part = one[:, alphas[:, None, j], alphas[:, j]]
        matrices = (matrices[:, None] * part).reshape(-1, len(alphas), len(alphas))
    matrices = np.ascontiguousarray(matrices.transpose(1, 0, 2))
    matrices.flags.writeable = False
    return matrices


def ranges(polynomials: arb_mat, d: int, n: int) -> tuple[Floats, Floats]:
    """The least and the largest value of each row's polynomial on each piece, (pieces^d, rows); ∞ if unknown."""
    rows, M = polynomials.nrows(), polynomials.ncols()
    entries, middles = polynomials.entries(), np.empty((rows, M))
    for row in range(rows):
        check_deadline()
        middles[row] = [float(ball.mid()) for ball in entries[row * M : (row + 1) * M]]
    middles[~(np.abs(middles) < HUGE)] = 0.0  # and all of the ball is lost
    lost = product(polynomials - matrix(middles), arb_mat(M, 1, [symmetric(ONE)] * M)).entries()
    size = np.abs(middles).sum(1)
    error = np.array([above(abs(ball)) for ball in lost]) + 8 * (M + 4 * n * d) * U * size
    moves = _moves(d, n)
    many = moves.shape[1]
    low, high = np.empty((2, many, rows))
    step = max(1, CHUNK // (many * M))
    for first in range(0, rows, step):
        check_deadline()
        some = slice(first, first + step)
        local = (middles[some] @ moves.reshape(M, -1)).reshape(-1, many, M)
        around = np.abs(local[..., 1:]).sum(-1).T + error[some]
        low[:, some], high[:, some] = local[..., 0].T - around, local[..., 0].T + around
    return low, high
