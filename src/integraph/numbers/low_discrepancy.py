"""Points that fill the unit cube evenly, always the same: Kronecker's sequence with the generalised golden ratio."""

from __future__ import annotations

import numpy as np

from integraph.numbers.arrays import Floats

ITERATIONS = 64  # of g ← (1 + g)^(1/(d+1)), far more than float64 can tell apart


def kronecker(count: int, d: int) -> Floats:
    """k·(1/g, 1/g², …) modulo 1 for k = 1 … count, with g^(d+1) = g + 1: (count, d)."""
    g = 2.0
    for _ in range(ITERATIONS):
        g = (1.0 + g) ** (1.0 / (d + 1))
    result: Floats = np.arange(1, count + 1)[:, None] * g ** -np.arange(1.0, d + 1) % 1.0
    return result
