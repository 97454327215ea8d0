"""An upper bound of the spectral norm of a matrix, every rounding counted.

With V nearly orthogonal, ‖W‖ ≤ ‖W V‖·‖V⁻¹‖ and ‖V⁻¹‖² ≤ 1/(1 − ‖VᵀV − I‖). For the right singular vectors V the Gram
matrix of W V is nearly diagonal, so that its largest row sum is nearly its norm. Nothing depends on how good V is.
"""

from __future__ import annotations

import math

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.numbers.roundoff import UP, U

LARGEST = 2048  # columns of a matrix whose singular vectors are computed


def spectral_norm(W: Floats) -> float:
    """‖W‖₂ at most; ∞ where W is not finite or its norm not in float64."""
    largest = float(np.abs(W).max(initial=0.0))
    if not np.isfinite(largest):
        return math.inf
    exponent = math.frexp(largest)[1]
    if not largest:
        return 0.0
    norm = _scaled_norm(np.ldexp(W, -exponent))
    return math.nextafter(math.ldexp(norm, exponent), math.inf) if exponent < 1000 else math.inf


def _scaled_norm(W: Floats) -> float:
    """Of a matrix whose largest entry is about 1."""
    frobenius = UP * float(np.sqrt(np.square(W).sum()))
    W = W if W.shape[0] >= W.shape[1] else W.T
    if W.shape[1] > LARGEST:
        return frobenius
    V = np.linalg.svd(W, full_matrices=False)[2].T
    product, lost = _product(W, V)
    away = _largest_row(V.T @ V - np.eye(len(V)), V)
    if not away < 0.5:
        return frobenius
    largest = UP * (math.sqrt(_largest_row(product.T @ product, product)) + lost)
    return min(frobenius, UP * largest / math.sqrt(1.0 - away))


def _product(A: Floats, B: Floats) -> tuple[Floats, float]:
    """A B, and how far it can be from that at most, in the Frobenius norm."""
    sizes = (float(np.sqrt(np.square(x).sum())) for x in (A, B))
    return A @ B, UP * len(B) * U * math.prod(sizes)


def _largest_row(gram: Floats, A: Floats) -> float:
    """The largest row sum of |AᵀA|, less the identity or not, computed as `gram`."""
    lost = 2 * (len(A) + 2) * U * (np.abs(A).T @ np.abs(A) + 1.0)
    return float(UP * (np.abs(gram) + UP * lost).sum(1).max())
