"""Primitives that set entries, add to them or multiply them up: scatter, dynamic_update_slice, reduce_prod."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from integraph.frontends.extras import need
from integraph.frontends.jax.structure import cut, known_indices, taken
from integraph.frontends.jax.values import Known, PrimitiveCall, Value


def chosen(at: PrimitiveCall, *operands: Value) -> Value:
    """A primitive that places entries of its operands, which are nodes or numbers: scatter, dynamic_update_slice, pad.

    jax computes it of the numbers of the entries. Operands of integers are indices, and known."""
    placed = [at.node(x) for x in operands if not _is_index(x)]
    borders = np.cumsum([0, *(math.prod(at.shape(x)) for x in placed)]).tolist()
    tags = iter(
        [np.arange(low, high).reshape(at.shape(x)) for x, (low, high) in zip(placed, pairwise(borders), strict=True)]
    )
    entries = at.compute(*(x if _is_index(x) else next(tags).astype(np.float64) for x in operands))[0]
    if not entries.size:
        return entries
    flat = [at.reshape(x, (math.prod(at.shape(x)),)) for x in placed if math.prod(at.shape(x))]
    return taken(at, at.apply("concat", *flat, data=(0,)) if len(flat) > 1 else flat[0], entries.astype(np.int64))


def place(at: PrimitiveCall, x: Value, *rest: Value) -> Value:
    """scatter (x, indices, updates) and dynamic_update_slice (x, updates, indices), which set entries."""
    indices = rest[:1] if at.name == "scatter" else rest[1:]
    known_indices(at, indices)
    return chosen(at, x, *rest)


def _is_index(x: Value) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "iu"


def accumulate(at: PrimitiveCall, x: Value, indices: Value, updates: Value) -> int:
    """scatter-add and scatter-mul: x with updates added to entries, or multiplied."""
    known_indices(at, [indices])
    op, neutral = {"scatter-add": ("add", 0.0), "scatter-mul": ("mul", 1.0)}[at.name]
    x, updates = at.node(x), at.node(updates)
    shape, size = at.shape(x), math.prod(at.shape(updates))
    goals = _goals(at, shape, indices, at.shape(updates))
    kept = np.flatnonzero(goals >= 0)
    order = kept[np.argsort(goals[kept], kind="stable")]
    own = goals[order]
    turn = np.arange(len(own)) - np.searchsorted(own, own)  # which update of its entry it is
    padded = at.apply("concat", at.reshape(updates, (size,)), np.array([neutral]), data=(0,))
    for number in range(int(turn.max(initial=-1)) + 1):
        source = np.full(math.prod(shape), size)
        source[own[turn == number]] = order[turn == number]
        x = at.apply(op, x, taken(at, padded, source.reshape(shape)))
    return x


def _goals(at: PrimitiveCall, shape: tuple[int, ...], indices: Any, updates: tuple[int, ...]) -> Known:
    """The number of the entry that each update goes to, −1 where jax drops it: the transposed map takes them back."""
    lax = need("jax", "jax").lax
    p = at.params

    def spread(values: Any) -> Any:
        return lax.scatter_add(np.zeros(shape), indices, values, p["dimension_numbers"], mode=p["mode"])

    numbers = 1.0 + np.arange(math.prod(shape)).reshape(shape)
    (back,) = need("jax", "jax").linear_transpose(spread, np.zeros(updates))(numbers)
    return np.asarray(back).ravel().astype(np.int64) - 1


def multiply_up(at: PrimitiveCall, x: Value) -> Value:
    """reduce_prod, by halves."""
    number, axes = at.node(x), tuple(map(int, at.params["axes"]))
    shape = at.shape(number)
    rest = tuple(axis for axis in range(len(shape)) if axis not in axes)
    kept = tuple(shape[axis] for axis in rest)
    n = math.prod(shape[axis] for axis in axes)
    number = at.reshape(at.transpose(number, (*axes, *rest)), (n, *kept))
    while n > 1:
        half = n // 2
        whole = [range(m) for m in kept]
        low, high, odd = (
            cut(at, number, [part, *whole]) for part in (range(half), range(half, 2 * half), range(2 * half, n))
        )
        product = at.apply("mul", low, high)
        number = product if n % 2 == 0 else at.apply("concat", product, odd, data=(0,))
        n -= half
    return at.reshape(number, kept)
