"""How noisy values are: the differences of a few values close together (Hamming; Moré and Wild, ECnoise).

The k-th differences of a smooth function vanish with the distance of its points, those of noise of deviation σ have the
deviation σ·√((2k)!)/k!. So the levels that several k give agree where there is noise, and only there.
"""

from __future__ import annotations

import math

import numpy as np

from integraph.numbers.arrays import Floats

VALUES = 9
SPACINGS = (1e-5, 1e-3)  # of the unit interval; the coarse one for values that are rounded to few digits
ORDERS = (4, 5, 6)
ALIKE = 4.0  # ratio of the levels of noise
CALLS = VALUES * len(SPACINGS)


def noise_level(values: Floats) -> float:
    """The deviation σ of the noise in equally spaced values (VALUES, outputs), the largest over the outputs; 0 if there
    is none."""
    size = float(np.abs(values).max()) or 1.0  # so that no square overflows
    levels = []
    for k in ORDERS:
        differences = np.diff(values / size, k, axis=0)
        levels.append(np.sqrt(np.mean(differences**2, axis=0) * math.factorial(k) ** 2 / math.factorial(2 * k)))
    low, high = np.min(levels, axis=0), np.max(levels, axis=0)
    return size * float(np.max(np.where(high <= ALIKE * low, levels[-1], 0.0)))


def around(centre: float, spacing: float) -> Floats:
    """Equally spaced points of [0, 1], one of them near the centre."""
    first = min(max(centre - spacing * (VALUES // 2), 0.0), 1.0 - spacing * (VALUES - 1))
    result: Floats = first + spacing * np.arange(VALUES, dtype=np.float64)
    return result
