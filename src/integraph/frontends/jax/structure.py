"""Primitives that only move entries about, and products of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.jax.values import Known, MaskComparison, PartialValue, PrimitiveCall, Value

Rule = Callable[..., Value | list[Value]]


def move(at: PrimitiveCall, x: Value, *indices: Value) -> Value:
    """A primitive of `MOVES`, on whatever x is. Indices must be known."""
    known_indices(at, indices)
    if isinstance(x, PartialValue) and _has_fills(at, x, *indices):
        x = at.node(x)  # a fill is a number, and belongs to no part
    if isinstance(x, PartialValue):
        return x.moved(lambda part: move(at, part, *indices))
    if isinstance(x, np.ndarray):
        return at.compute(x, *indices)[0]
    rule = MOVES[at.name]
    return _gather(at, x, *indices) if rule is None else rule(at, x)


def known_indices(at: PrimitiveCall, indices: Sequence[Value]) -> None:
    if not all(isinstance(index, np.ndarray) for index in indices):
        raise SourceError(f"{at.where}: indices that depend on the inputs are not analytic; index with numbers")


def _reshape(at: PrimitiveCall, x: int) -> int:
    return at.reshape(x, tuple(at.params["new_sizes"]))


def _transpose(at: PrimitiveCall, x: int) -> int:
    return at.transpose(x, tuple(map(int, at.params["permutation"])))


def _squeeze(at: PrimitiveCall, x: int) -> int:
    gone = at.params["dimensions"]
    return at.reshape(x, tuple(n for axis, n in enumerate(at.shape(x)) if axis not in gone))


def _broadcast(at: PrimitiveCall, x: int) -> int:
    shape, axes = tuple(at.params["shape"]), tuple(map(int, at.params["broadcast_dimensions"]))
    placed = [1] * len(shape)
    for axis, n in zip(axes, at.shape(x), strict=True):
        placed[axis] = n
    return at.broadcast(at.reshape(x, tuple(placed)), shape)


def _slice(at: PrimitiveCall, x: int) -> Value:
    starts, stops = at.params["start_indices"], at.params["limit_indices"]
    steps = at.params["strides"] or (1,) * len(starts)
    return cut(at, x, [range(*map(int, ends)) for ends in zip(starts, stops, steps, strict=True)])


def _reversed(at: PrimitiveCall, x: int) -> Value:
    turned = at.params["dimensions"]
    kept = [range(n) for n in at.shape(x)]
    return cut(at, x, [entries[::-1] if axis in turned else entries for axis, entries in enumerate(kept)])


def cut(at: PrimitiveCall, x: int, entries: list[range]) -> Value:
    """An array without entries is known."""
    if not all(entries):
        return np.zeros([len(kept) for kept in entries])
    data = tuple((kept.start, kept.step, len(kept)) for kept in entries)
    return at.apply("slice", x, data=data)


def split(at: PrimitiveCall, x: Value) -> list[Value]:
    number = at.node(x)
    borders = np.cumsum([0, *at.params["sizes"]]).tolist()
    kept = [range(n) for n in at.shape(number)]
    axis = int(at.params["axis"])
    return [cut(at, number, [*kept[:axis], range(*ends), *kept[axis + 1 :]]) for ends in pairwise(borders)]


def _gather(at: PrimitiveCall, x: int, *indices: Any) -> int:
    """By the numbers of the entries. Beyond the end is what jax fills in, which `mode` and `fill_value` say."""
    shape = at.shape(x)
    numbers = np.arange(math.prod(shape)).reshape(shape)
    entries, filled = _entries(at, shape, *indices)
    if filled.any():
        return _with_fills(at, x, entries, filled)
    for axis in range(len(shape) if entries.ndim == len(shape) else 0):  # along one axis, if it is so
        if entries.shape[:axis] == shape[:axis] and entries.shape[axis + 1 :] == shape[axis + 1 :]:
            first = np.moveaxis(entries, axis, 0).reshape(entries.shape[axis], -1)[:, 0]
            along = np.unravel_index(first, shape)[axis]
            if np.array_equal(np.take(numbers, along, axis), entries):
                return at.apply("take", x, data=(axis, tuple(along.tolist())))
    return taken(at, at.reshape(x, (numbers.size,)), entries)


def _entries(at: PrimitiveCall, shape: tuple[int, ...], *indices: Any) -> tuple[Known, Known]:
    """The numbers of the chosen entries, and which are fills: those that stay the same if every entry is another."""
    numbers = np.arange(float(math.prod(shape))).reshape(shape)
    chosen, other = (at.compute(entries, *indices)[0] for entries in (numbers, -1.0 - numbers))
    filled = (other != -1.0 - chosen) | ~(chosen >= 0)
    return np.where(filled, 0.0, chosen).astype(np.int64), filled


def _has_fills(at: PrimitiveCall, x: PartialValue, *indices: Any) -> bool:
    if at.name != "gather":
        return False
    shape = at.joint(x.left, x.right) if isinstance(x, MaskComparison) else x.shape
    return bool(_entries(at, shape, *indices)[1].any())


def _with_fills(at: PrimitiveCall, x: int, entries: Known, filled: Known) -> int:
    fill = float(at.params["fill_value"] if at.params["fill_value"] is not None else math.nan)
    if not math.isfinite(fill):
        raise SourceError(f"{at.where}: an index is outside of an array of shape {at.shape(x)}, and is given {fill:g}")
    size = math.prod(at.shape(x))
    parts = at.reshape(x, (size,)), np.array([fill])
    return taken(at, at.apply("concat", *parts, data=(0,)), np.where(filled, size, entries))


def taken(at: PrimitiveCall, flat: int, entries: Known) -> int:
    return at.reshape(at.apply("take", flat, data=(0, tuple(entries.ravel().tolist()))), entries.shape)


def unstack(at: PrimitiveCall, x: Value) -> list[Value]:
    number, axis = at.node(x), int(at.params["axis"])
    shape = at.shape(number)
    kept = [range(n) for n in shape]
    left = shape[:axis] + shape[axis + 1 :]
    return [
        at.reshape(at.node(cut(at, number, [*kept[:axis], range(k, k + 1), *kept[axis + 1 :]])), left)
        for k in range(shape[axis])
    ]


def concatenate(at: PrimitiveCall, *parts: Value) -> Value:
    """Of what has entries."""
    filled = [part for part in parts if math.prod(at.shape(part))]
    return at.apply("concat", *filled, data=(int(at.params["dimension"]),)) if len(filled) > 1 else (*filled, *parts)[0]


def stack(at: PrimitiveCall, *parts: Value) -> int:
    axis = int(at.params["axis"])
    shape = list(at.shape(parts[0]))
    shape.insert(axis, 1)
    return at.apply("concat", *(at.reshape(at.node(part), tuple(shape)) for part in parts), data=(axis,))


def product(at: PrimitiveCall, x: Value, y: Value) -> int:
    """dot_general: x as batch × rows × summed, y as batch × summed × columns."""
    (sum_x, sum_y), (batch_x, batch_y) = at.params["dimension_numbers"]
    left, batch, rows, _ = _arranged(at, at.node(x), batch_x, sum_x, False)
    right, _, columns, _ = _arranged(at, at.node(y), batch_y, sum_y, True)
    return at.reshape(at.apply("matmul", left, right), (*batch, *rows, *columns))


def _arranged(
    at: PrimitiveCall, x: int, batch: tuple[int, ...], summed: tuple[int, ...], sum_first: bool
) -> tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    batch, summed = tuple(map(int, batch)), tuple(map(int, summed))
    shape = at.shape(x)
    free = tuple(axis for axis in range(len(shape)) if axis not in batch and axis not in summed)
    last = (summed, free) if sum_first else (free, summed)
    sizes = [tuple(shape[axis] for axis in axes) for axes in (batch, *last)]
    x = at.transpose(x, (*batch, *last[0], *last[1]))
    x = at.reshape(x, (*sizes[0], math.prod(sizes[1]), math.prod(sizes[2])))
    return x, sizes[0], sizes[1 + sum_first], sizes[2 - sum_first]


MOVES: dict[str, Callable[[PrimitiveCall, int], Value] | None] = {  # None: by the numbers of the entries
    "reshape": _reshape,
    "transpose": _transpose,
    "squeeze": _squeeze,
    "broadcast_in_dim": _broadcast,
    "slice": _slice,
    "rev": _reversed,
    "tile": None,
    "gather": None,
    "dynamic_slice": None,
}
