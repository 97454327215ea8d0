"""Gathers as slices, reshapes and transposes: what array languages do without an index for every number."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from integraph.numbers.arrays import Indices


class Cut(NamedTuple):
    """The last axis is cut to `length`, folded to rows of `size`, of which `first` … `stop` − 1 remain."""

    length: int
    size: int
    first: int
    stop: int


class Slices(NamedTuple):
    """How to take the numbers: cuts, one after the other, each of the rows of the last; the first number of what then
    is the last axis; a transpose; axes of length 1; a broadcast."""

    cuts: tuple[Cut, ...]
    first: int
    order: tuple[int, ...]
    shape: tuple[int, ...]  # with axes of length 1 where numbers repeat


def slices(indices: Indices, size: int) -> Slices | None:
    """The same as indices into a row of that size, or None if they follow no strides."""
    if not indices.size:
        return None
    steps = [
        int(np.take(indices, 1, axis).flat[0] - indices.flat[0]) if n > 1 else 0 for axis, n in enumerate(indices.shape)
    ]
    offset = int(indices.flat[0])
    if min(steps, default=0) < 0 or not _is_affine(indices, offset, steps):
        return None
    moving = sorted((axis for axis, step in enumerate(steps) if step), key=lambda axis: -steps[axis])
    cuts, length, rest = [], size, offset
    for axis in moving:
        step, count = steps[axis], indices.shape[axis]
        first, rest = divmod(rest, step)
        rows = length // step
        if first + count > rows:
            return None
        cuts.append(Cut(rows * step, step, first, first + count))
        length = step
    shape = tuple(n if step else 1 for n, step in zip(indices.shape, steps, strict=True))
    return Slices(tuple(cuts), rest, tuple(moving.index(axis) for axis in sorted(moving)), shape)


def _is_affine(indices: Indices, offset: int, steps: list[int]) -> bool:
    grid = np.full((1,) * indices.ndim, offset)
    for axis, (n, step) in enumerate(zip(indices.shape, steps, strict=True)):
        grid = grid + step * np.arange(n).reshape([-1 if k == axis else 1 for k in range(indices.ndim)])
    return math.prod(grid.shape) == indices.size and bool((grid == indices).all())
