"""Matrices of balls: products in parts of half a second, with a look at the deadline between them, and spectral norms.

An upper bound of the largest singular value: with any invertible Q and x = Q y, the largest eigenvalue of the symmetric
G = AᵀA is max yᵀ(QᵀGQ)y / yᵀ(QᵀQ)y, at most ‖QᵀGQ‖∞ / (1 − ‖I − QᵀQ‖∞). Eigenvectors computed in float64 make it tight
to the last bits; bad ones only make it larger.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb, arb_mat, ctx
from threadpoolctl import threadpool_limits

from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import FIRST, ONE, ZERO, matrix, precision, size
from integraph.numbers.arrays import Floats

PART = 150_000_000  # products of balls of FIRST bits, half a second
GROWTH = 1.5  # of the cost with the bits
DECOMPOSED = 768  # the largest that is worth four products


def product(A: arb_mat, B: arb_mat) -> arb_mat:
    """A·B, by rows of A."""
    rows, inner, columns = A.nrows(), A.ncols(), B.ncols()
    cost = inner * columns * max(ctx.prec / FIRST, 1.0) ** GROWTH
    some = max(1, int(PART / max(cost, 1.0)))
    check_deadline()
    if rows <= some:
        return A * B
    entries, out = A.entries(), []
    for first in range(0, rows, some):
        check_deadline()
        last = min(first + some, rows)
        out += (arb_mat(last - first, inner, entries[first * inner : last * inner]) * B).entries()
    return arb_mat(rows, columns, out)


def scaled_rows(factors: Sequence[arb], A: arb_mat) -> arb_mat:
    """Every row of A times its factor."""
    columns, entries, out = A.ncols(), A.entries(), []
    for row, factor in enumerate(factors):
        check_deadline()
        out += [factor * entry for entry in entries[row * columns : (row + 1) * columns]]
    return arb_mat(A.nrows(), columns, out)


def spectral_norm(A: arb_mat, near: Floats) -> arb:
    """An upper bound of the largest singular value of A. `near` is A in float64, up to a factor: it only guides the
    search. More bits than the first would not make the bound noticeably smaller."""
    with precision(FIRST):
        return _spectral_norm(A, near)


def _spectral_norm(A: arb_mat, near: Floats) -> arb:
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
