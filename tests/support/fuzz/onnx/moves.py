"""How operators that take entries to other places are drawn."""

from __future__ import annotations

import math

import numpy as np

from fuzz.onnx.constants import array
from fuzz.onnx.drawing import Drawing, Unfit, Value


def transpose(d: Drawing, op: str) -> None:
    x = d.pick()
    d.emit(op, x, **({} if d.chance(0.3) else {"perm": tuple(d.rng.permutation(x.rank).tolist())}))


def reshape(d: Drawing, op: str) -> None:
    """To constant sizes, with 0 or −1 among them, or to sizes that are computed from the shape."""
    x = d.pick()
    if d.chance(0.2) and x.rank:
        sizes = d.emit("Shape", x)
        d.emit(op, x, d.emit("Concat", sizes, d.integers(1), axis=0) if d.chance(0.5) else sizes)
        return
    shape = list(factors(d, math.prod(x.shape)))
    for k, n in enumerate(x.shape[: len(shape)]):
        if shape[k] == n and d.chance(0.4):
            shape[k] = 0
    if shape and d.chance(0.3):
        shape[d.integer(0, len(shape) - 1)] = -1
    d.emit(op, x, d.integers(*shape))


def factors(d: Drawing, size: int) -> tuple[int, ...]:
    """A shape with so many entries, of up to four axes, some of size 1."""
    shape = []
    while size > 1 and len(shape) < 3:
        divisors = [n for n in range(1, size + 1) if size % n == 0]
        shape.append(d.one(divisors))
        size //= shape[-1]
    return (*shape, size) if size > 1 or d.chance(0.3) else tuple(shape)


def flatten(d: Drawing, op: str) -> None:
    x = d.pick()
    axis = d.integer(-x.rank if d.opset >= 11 else 0, x.rank)
    d.emit(op, x, **({} if d.chance(0.3) and x.rank else {"axis": axis}))


def squeeze(d: Drawing, op: str) -> None:
    x = d.pick()
    ones = [k for k, n in enumerate(x.shape) if n == 1]
    if not ones and d.chance(0.8):
        raise Unfit
    axes = [k - x.rank if d.opset >= 11 and d.chance(0.4) else k for k in ones if d.chance(0.7)]
    _with_axes(d, op, x, axes, since=13, all_of_them=d.chance(0.3) or not axes)


def unsqueeze(d: Drawing, op: str) -> None:
    x = d.pick(lambda value: value.rank < 4)
    rank = d.integer(x.rank + 1, 4)
    axes = d.rng.permutation(rank)[: rank - x.rank].tolist()
    axes = [k - rank if d.opset >= 11 and d.chance(0.4) else k for k in axes]
    _with_axes(d, op, x, axes if d.opset >= 11 else sorted(axes), since=13)


def _with_axes(d: Drawing, op: str, x: Value, axes: list[int], since: int, all_of_them: bool = False) -> None:
    if all_of_them:
        d.emit(op, x)
    elif d.opset >= since:
        d.emit(op, x, d.integers(*axes))
    else:
        d.emit(op, x, axes=tuple(axes))


def concat(d: Drawing, op: str) -> None:
    x = d.pick(lambda value: value.rank > 0)
    axis = d.axis(x.rank)
    place = axis % x.rank

    def fits(other: Value) -> bool:
        return other.rank == x.rank and all(
            m == n for k, (m, n) in enumerate(zip(other.shape, x.shape, strict=True)) if k != place
        )

    parts = [x]
    for _ in range(d.integer(0, 2)):
        shape = (*x.shape[:place], d.integer(1, 2), *x.shape[place + 1 :])
        parts.append(d.constant(array(d, shape)) if d.chance(0.4) else d.pick(fits))
    d.emit(op, *sorted(parts, key=lambda _: d.rng.random()), axis=axis)


def split(d: Drawing, op: str) -> None:
    x = d.pick(lambda value: value.rank > 0)
    axis = d.axis(x.rank)
    size = x.shape[axis]
    count = d.integer(1, min(size, 3))
    cuts = sorted(d.rng.permutation(size - 1)[: count - 1].tolist())
    sizes = tuple(int(n) for n in np.diff([-1, *cuts, size - 1]))
    if size % count == 0 and d.chance(0.3):
        d.several(op, x, count=count, axis=axis, **({"num_outputs": count} if d.opset >= 18 else {}))
    elif d.opset >= 13:
        d.several(op, x, d.integers(*sizes), count=count, axis=axis)
    else:
        d.several(op, x, count=count, axis=axis, split=sizes)


def slices(d: Drawing, op: str) -> None:
    x = d.pick(lambda value: value.rank > 0)
    axes = d.rng.permutation(x.rank)[: d.integer(1, x.rank)].tolist()
    starts, ends, steps = [], [], []
    for axis in axes:
        n = x.shape[axis]
        step = d.one((1, 1, 2, -1, -2)) if d.opset >= 10 else 1
        first = d.integer(0, n - 1)
        starts.append(first - n if d.chance(0.3) else first)
        if step > 0:
            ends.append(d.one((n, first + 1, 2**31 - 1, n + 5)))
        else:
            ends.append(d.one((-n - 1, -(2**31) + 1)) if first == 0 or d.chance(0.6) else first - 1)
        steps.append(step)
    if d.opset < 10:
        d.emit(op, x, starts=tuple(starts), ends=tuple(ends), axes=tuple(axes))
        return
    axes = [axis - x.rank if d.opset >= 11 and d.chance(0.3) else axis for axis in axes]
    more = [d.integers(*axes), d.integers(*steps)]
    if all(step == 1 for step in steps) and d.chance(0.5):
        more = more[:1]
    d.emit(op, x, d.integers(*starts), d.integers(*ends), *more)


def gather(d: Drawing, op: str) -> None:
    x = d.pick(lambda value: value.rank > 0)
    axis = d.axis(x.rank)
    n = x.shape[axis]
    shape = d.one(((), (), (1,), (2,), (3,), (1, 2), (2, 2)))
    indices = d.rng.integers(-n if d.opset >= 11 else 0, n, shape)
    d.emit(op, x, d.constant(np.asarray(indices, np.int64)), **({} if axis == 0 and d.chance(0.5) else {"axis": axis}))


def expand(d: Drawing, op: str) -> None:
    if d.opset < 8:
        raise Unfit
    x = d.pick()
    shape = [d.integer(2, 3) if n == 1 and d.chance(0.7) else n for n in x.shape]
    shape = [1 if d.chance(0.2) else n for n in shape]
    if d.chance(0.4) and len(shape) < 4:
        shape = [d.integer(1, 3), *shape]
    d.emit(op, x, d.integers(*shape))


def identity(d: Drawing, op: str) -> None:
    d.emit(op, d.pick())


def dropout(d: Drawing, op: str) -> None:
    if d.opset < 12:
        d.emit(op, d.pick(), **({"ratio": 0.25} if d.chance(0.5) else {}))
    else:
        d.emit(op, d.pick())


def cast(d: Drawing, op: str) -> None:
    """Of what is computed only to its own type, of whole numbers to floats."""
    if d.chance(0.6):
        d.emit(op, d.pick(), to=11)
    else:
        whole = d.constant(d.rng.integers(-3, 4, d.one(((), (1,), (2,)))).astype(np.int64))
        d.emit("Mul", d.pick(), d.emit(op, whole, to=11))
