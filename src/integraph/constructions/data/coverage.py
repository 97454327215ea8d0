"""How much of the box the rows cover: outside their own box nothing, inside it the parts of a grid that have a row."""

from __future__ import annotations

import numpy as np

from integraph.numbers.arrays import Floats

ROWS = 12  # for each part of the grid, on average: chance leaves one in 10⁵ empty
WHOLE = 0.995  # a share that is as good as all


def coverage(t: Floats) -> float:
    """The share of the unit cube that rows at t (B, d) cover."""
    low, high = t.min(0), t.max(0)
    d = t.shape[1]
    parts = max(1, int((len(t) / ROWS) ** (1 / d) + 1e-9))
    place = np.minimum(((t - low) / (high - low) * parts).astype(np.int64), parts - 1)
    filled = len(np.unique(np.ravel_multi_index(tuple(place.T), (parts,) * d)))
    return float(np.prod(high - low) * filled / parts**d)
