"""The data of random steps of a jax function: axes, shapes, indices, masks and constants that fit the operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fuzz.straight import Shape, nested, numbers

Rng = np.random.Generator
Data = tuple[Any, ...]
LARGEST = 48  # entries of an array


def constant(rng: Rng, shape: Shape, positive: bool = False) -> Any:
    array = numbers(rng, *shape)
    return nested(np.abs(array) + 0.5 if positive else array)


def partner(shape: Shape, rng: Rng) -> Shape:
    """A shape that broadcasts with another."""
    kept = shape[int(rng.integers(len(shape) + 1)) :] if rng.random() < 0.4 else shape
    return tuple(1 if rng.random() < 0.25 else n for n in kept)


def axis(rng: Rng, shapes: Sequence[Shape]) -> Data | None:
    rank = len(shapes[0])
    return (int(rng.integers(-rank, rank)),) if rank else None


def axes(rng: Rng, shapes: Sequence[Shape]) -> Data:
    rank = len(shapes[0])
    chosen = tuple(int(n) for n in np.flatnonzero(rng.random(rank) < 0.5))
    return None if rng.random() < 0.3 else chosen, bool(rng.random() < 0.5)  # type: ignore[return-value]


def new_shape(rng: Rng, shapes: Sequence[Shape]) -> Data:
    left, found = math.prod(shapes[0]), []
    while left > 1 and len(found) < 3:
        divisors = [n for n in range(1, left + 1) if left % n == 0]
        found.append(int(rng.choice(divisors)))
        left //= found[-1]
    found.append(left)
    if len(found) < 4 and rng.random() < 0.3:
        found.insert(int(rng.integers(len(found) + 1)), 1)
    return (tuple(found),)


def order(rng: Rng, shapes: Sequence[Shape]) -> Data:
    return (tuple(int(n) for n in rng.permutation(len(shapes[0]))),)


def spread(rng: Rng, shapes: Sequence[Shape]) -> Data | None:
    shape = tuple(int(rng.integers(1, 4)) if n == 1 else n for n in shapes[0])
    shape = (*rng.integers(1, 3, max(0, int(rng.integers(0, 5 - len(shape))))).tolist(), *shape)
    return (shape,) if math.prod(shape) <= LARGEST else None


def slices(rng: Rng, shapes: Sequence[Shape]) -> Data:
    found = []
    for n in shapes[0]:
        start, stop = sorted(rng.choice(n + 1, 2, replace=False).tolist())
        found.append((start, stop, int(rng.integers(1, 3))) if rng.random() < 0.7 else (None, None, -1))
    return (tuple(found),)


def indices(rng: Rng, shapes: Sequence[Shape]) -> Data | None:
    found = axis(rng, shapes)
    if found is None:
        return None
    n = shapes[0][found[0]]
    return (tuple(rng.integers(-n, n, int(rng.integers(1, 5))).tolist()), *found)


def mask(rng: Rng, shapes: Sequence[Shape]) -> Data | None:
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        return None
    return (_bools(rng.random(shape) < 0.5),)


def _bools(array: Any) -> Any:
    return tuple(map(_bools, array)) if np.ndim(array) else bool(array)


def matching(rng: Rng, shapes: Sequence[Shape]) -> Data | None:
    try:
        found = np.broadcast_shapes(*shapes)
    except ValueError:
        return None
    return () if math.prod(found) <= LARGEST and len(found) <= 4 else None


def joined(rng: Rng, shapes: Sequence[Shape]) -> Data | None:
    """An axis along which two may be put side by side."""
    a, b = shapes
    fits = [k for k in range(len(a)) if len(a) == len(b) and a[:k] + a[k + 1 :] == b[:k] + b[k + 1 :]]
    return (int(rng.choice(fits)),) if fits else None


def alike(rng: Rng, shapes: Sequence[Shape]) -> Data | None:
    a, b = shapes
    return (int(rng.integers(-len(a) - 1, len(a) + 1)),) if a == b and len(a) < 4 else None


def multiplied(rng: Rng, shapes: Sequence[Shape]) -> Data | None:
    a, b = shapes
    try:
        found = np.matmul(np.zeros(a), np.zeros(b)).shape
    except ValueError:
        return None
    return () if math.prod(found) <= LARGEST else None


def weights(rng: Rng, shapes: Sequence[Shape]) -> Data | None:
    return (constant(rng, (shapes[0][-1], int(rng.integers(1, 4)))),) if shapes[0] else None


def addend(rng: Rng, shapes: Sequence[Shape]) -> Data:
    return (constant(rng, partner(shapes[0], rng)),)


def divisor(rng: Rng, shapes: Sequence[Shape]) -> Data:
    return (constant(rng, partner(shapes[0], rng), positive=True),)


def masked(rng: Rng, shapes: Sequence[Shape]) -> Data | None:
    """Scores without some entries of the last axis, never all of a row."""
    if not shapes[0]:
        return None
    mask = rng.random(shapes[0]) < 0.7
    mask[..., int(rng.integers(shapes[0][-1]))] = True
    return (_bools(mask),)


def one(*choices: Any) -> Callable[[Rng, Sequence[Shape]], Data]:
    return lambda rng, shapes: (choices[int(rng.integers(len(choices)))],)


def new_axis(rng: Rng, shapes: Sequence[Shape]) -> Data | None:
    rank = len(shapes[0])
    return (int(rng.integers(-rank - 1, rank + 1)),) if rank < 4 else None


def band(rng: Rng, shapes: Sequence[Shape]) -> Data | None:
    return (int(rng.integers(-1, 2)),) if len(shapes[0]) >= 2 else None


def corner(rng: Rng, shapes: Sequence[Shape]) -> Data:
    return (0,) * len(shapes[0]), tuple(max(1, n - 1) for n in shapes[0])


def sides(rng: Rng, shapes: Sequence[Shape]) -> Data:
    """What is put before, behind and between the entries of each axis; below 0 it is cut off."""
    return (tuple((int(a), int(b), int(c)) for a, b, c in rng.integers((-1, -1, 0), (3, 2, 2), (len(shapes[0]), 3))),)


def pooling(rng: Rng, shapes: Sequence[Shape]) -> Data | None:
    """A window, its strides and its padding."""
    rank = len(shapes[0])
    window, strides = (tuple(rng.integers(1, 4, rank).tolist()) for _ in range(2))
    return (window, strides, str(rng.choice(["SAME", "VALID"]))) if rank else None


def kernel(rng: Rng, shapes: Sequence[Shape]) -> Data | None:
    """A kernel for (N, C, …space), strides and padding."""
    rank = len(shapes[0]) - 2
    if rank < 1:
        return None
    sizes = tuple(rng.integers(1, 3, rank).tolist())
    weights = constant(rng, (int(rng.integers(1, 3)), shapes[0][1], *sizes))
    return weights, tuple(rng.integers(1, 3, rank).tolist()), str(rng.choice(["SAME", "VALID"]))


def where(fits: Callable[..., bool]) -> Callable[[Rng, Sequence[Shape]], Data | None]:
    """No data, for operands whose shapes fit."""
    return lambda rng, shapes: () if fits(*shapes) else None
