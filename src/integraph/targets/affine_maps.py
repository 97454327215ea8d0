"""Two affine maps as one, if that is exact in float64: normalisation before a layer, a bias after a product."""

from __future__ import annotations

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.numbers.roundoff import product_error, sum_error

SAFE = 2.0**480  # above, or below its inverse, the pieces could leave float64

Map = tuple[Floats, Floats]  # A, b


def merge(second: Map, first: Map) -> Map | None:
    """A₂(A₁x + b₁) + b₂ as one map, or None if a product or a sum would be rounded."""
    (A2, b2), (A1, b1) = second, first
    joint = np.concatenate([A1, b1[:, None]], 1)
    start = np.concatenate([np.zeros((len(A2), A1.shape[1])), b2[:, None]], 1)
    product = _exact_product(A2, joint, start)
    return None if product is None else (product[:, :-1], product[:, -1])


def _exact_product(A: Floats, B: Floats, start: Floats) -> Floats | None:
    """start + A @ B, if every step of the sum is exact. Stops at the first that is not."""
    total = start
    for k in np.flatnonzero((A != 0).any(0) & (B != 0).any(1)).tolist():
        left, right = A[:, k, None], B[None, k]
        if not (_safe(left) and _safe(right)):
            return None
        product = left * right
        if (product_error(left, right, product) != 0).any():
            return None
        added = total + product
        if (sum_error(total, product, added) != 0).any():
            return None
        total = added
    return total if np.isfinite(total).all() else None


def _safe(x: Floats) -> bool:
    size = np.abs(x[x != 0])
    return bool(((size < SAFE) & (size > 1 / SAFE)).all())
