"""The largest singular value of a matrix of balls, from above.

With any invertible Q, x = Q y: the largest eigenvalue of the symmetric G = AᵀA is max yᵀ(QᵀGQ)y / yᵀ(QᵀQ)y, at most
‖QᵀGQ‖∞ / (1 − ‖I − QᵀQ‖∞). Eigenvectors found in float64 make that tight to the last bits; if they are bad, the bound
is only larger.
"""

from __future__ import annotations

import numpy as np
from flint import arb, arb_mat
from threadpoolctl import threadpool_limits

from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import FIRST, ONE, ZERO, matrix, precision, size
from integraph.numbers.arb.matrices import product
from integraph.numbers.arrays import Floats

DECOMPOSED = 768  # the largest that is worth four products


def norm(A: arb_mat, near: Floats) -> arb:
    """`near` is A in float64, up to a factor: it only says where to look. More bits than the first would not make it
    noticeably smaller."""
    with precision(FIRST):
        return _norm(A, near)


def _norm(A: arb_mat, near: Floats) -> arb:
    rows, columns = A.nrows(), A.ncols()
    sums = _row_sums(A)
    plain = (_largest(sums) * _largest(_row_sums(A.transpose()))).sqrt().upper()  # ‖A‖₂² ≤ ‖A‖₁‖A‖∞
    if min(rows, columns) > DECOMPOSED or not np.isfinite(near).all():
        return plain
    G = product(A, A.transpose()) if rows <= columns else product(A.transpose(), A)
    scale = float(np.abs(near).max()) or 1.0
    scaled = near / scale
    with threadpool_limits(1):  # threads that wait for each other on a busy machine take fifty times as long
        Q = matrix(np.linalg.eigh(scaled @ scaled.T if rows <= columns else scaled.T @ scaled)[1])
    turned = Q.transpose()
    n = G.nrows()
    skew = _largest(_row_sums(product(turned, Q) - arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])))
    if not skew < ONE:
        return plain
    bound = (_largest(_row_sums(product(product(turned, G), Q))) / (ONE - skew)).sqrt().upper()
    return bound if bound < plain else plain


def _row_sums(A: arb_mat) -> list[arb]:
    columns, entries, sums = A.ncols(), A.entries(), []
    for start in range(0, len(entries), columns):
        check_deadline()
        sums.append(sum((size(ball) for ball in entries[start : start + columns]), ZERO))
    return sums


def _largest(balls: list[arb]) -> arb:
    top = ZERO
    for ball in balls:
        top = top.max(size(ball))
    return top
