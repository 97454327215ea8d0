"""Arrays as JSON that a browser reads quickly: as many points and as many digits as an eye can see."""

from __future__ import annotations

import math

import numpy as np

from integraph.numbers.arrays import Floats

POINTS = 1500  # of a curve: more than a screen has columns
SIDE = 160  # of a heat map
DIGITS = 6


def digits(array: Floats) -> list[float | None]:
    """Six digits of the numbers, more where they differ in later ones; what is not finite is a gap."""
    finite = array[np.isfinite(array)]
    if not finite.size:
        return [None] * array.size
    largest, spread = float(np.abs(finite).max()), float(finite.max() / 2 - finite.min() / 2)
    more = math.ceil(math.log10(largest / spread)) if spread > 0 and largest / spread < 1e12 else 0
    form = f".{min(DIGITS + max(more, 0), 17)}g"
    return [_short(float(format(x, form))) if math.isfinite(x) else None for x in array.tolist()]


def _short(x: float) -> float | int:
    return int(x) if x.is_integer() and abs(x) < 1e6 else x


def subsampled(y: Floats) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Which points of a curve are drawn: all, or of every stretch its lowest, its highest and one gap."""
    if len(y) <= POINTS:
        return np.arange(len(y))
    kept = {0, len(y) - 1}
    for stretch in np.array_split(np.arange(len(y)), POINTS // 3):
        values = y[stretch]
        gap = ~np.isfinite(values)
        if gap.any():
            kept.add(int(stretch[np.argmax(gap)]))
        if not gap.all():
            kept.add(int(stretch[np.argmin(np.where(gap, np.inf, values))]))
            kept.add(int(stretch[np.argmax(np.where(gap, -np.inf, values))]))
    return np.array(sorted(kept))


def stride(size: int) -> slice:
    """Which rows or columns of a heat map are drawn."""
    return slice(None, None, max(1, math.ceil(size / SIDE)))
