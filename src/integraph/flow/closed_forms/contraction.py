"""Sums over the last axis of the lanes; sums of products with constants become matrix products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from integraph.flow.closed_forms.recorder import Array, Lanes, Recorder, Symbol, constant

PARTS = 3  # of a row, up to which its product with a matrix is the sum of theirs


def total(recorder: Recorder, x: Array) -> Array:
    """Σ over the last axis of the lanes."""
    if not isinstance(x, Symbol):
        return np.sum(x, -2)
    made = recorder.operation(x)
    if x.lanes[-1] > 1 and made.op == "multiply":
        for weights, other in (made.arguments, made.arguments[::-1]):
            if not isinstance(weights, int) and recorder.symbol(other).index not in recorder.fixed:
                return contract(recorder, weights[..., None], recorder.symbol(other))
    return _sum_of_products(recorder, x) if recorder.smooth else reduce(recorder, "sum", x)


def _sum_of_products(recorder: Recorder, x: Symbol) -> Symbol:
    """As one operation where the product itself would be larger than the factors that depend on the inputs."""
    factors = _factors(recorder, x)
    sizes = [math.prod(f.lanes) for f in factors if isinstance(f, Symbol) and f.index not in recorder.fixed]
    if x.lanes[-1] == 1 or max(sizes, default=0) == math.prod(x.lanes):
        return reduce(recorder, "sum", x)
    return recorder.record("contract", *factors, lanes=x.lanes[:-1])


def _factors(recorder: Recorder, x: Array) -> list[Array]:
    """The factors of a product of products, all with as many axes."""
    own = recorder.operation(x) if isinstance(x, Symbol) else None
    if own is None or own.op != "multiply":
        return [x]
    given = (recorder.symbol(a) if isinstance(a, int) else a for a in own.arguments)
    return [factor for one in given for factor in _factors(recorder, one)]


def reduce(recorder: Recorder, op: str, x: Symbol) -> Symbol:
    """One of the reductions over the last axis."""
    if x.lanes[-1] == 1:
        short: Symbol = recorder.reshape(x, x.lanes[:-1])
        return short
    return recorder.record(op, x, lanes=x.lanes[:-1])


def contract(recorder: Recorder, weights: Array, x: Array) -> Array:
    """Σ w x over the last axis of both."""
    if not isinstance(x, Symbol) or isinstance(weights, Symbol):
        return total(recorder, weights * x)
    w = constant(weights)
    axes = max(w.ndim, len(x.lanes))
    w = w.reshape((1,) * (axes - w.ndim) + w.shape)
    seen: Lanes = (1,) * (axes - len(x.lanes)) + x.lanes
    terms = max(w.shape[-1], seen[-1])
    if terms == 1:
        return recorder.reshape(x, seen[:-1]) * w
    if seen[-1] == 1:
        return recorder.reshape(x, seen[:-1]) * w.sum(-1)[..., None]
    if w.shape[-1] == 1:
        return recorder.reshape(reduce(recorder, "sum", x), seen[:-1]) * w
    columns = [k for k in range(axes - 1) if seen[k] == 1 and w.shape[k] > 1]
    alone = [k for k in range(axes - 1) if seen[k] > 1 and w.shape[k] > 1]
    if alone and not columns:
        return reduce(recorder, "sum", recorder.reshape(x, seen) * w[..., None])
    return _product(recorder, w, recorder.reshape(x, seen), alone, columns)


def _product(recorder: Recorder, w: NDArray[Any], x: Symbol, alone: list[int], columns: list[int]) -> Array:
    """One matrix for each place of the axes `alone`; its columns are the axes `columns`, its rows the sum."""
    last = w.ndim - 1
    rows = [k for k in range(last) if k not in alone and k not in columns]  # axes of x only
    sizes = [max(n, m) for n, m in zip(x.lanes, w.shape, strict=True)]
    lead, lanes, width = (math.prod(sizes[k] for k in part) for part in (alone, rows, columns))
    order = [*alone, *rows, *columns, last]
    places = np.arange(math.prod(x.lanes)).reshape(x.lanes).transpose(order)
    matrix = w.transpose([*alone, *rows, last, *columns]).reshape(lead, sizes[last], width)
    if alone:
        moved = recorder.gather(x, places.reshape(lead, lanes, -1))
        product: Array = recorder.record("matmul", moved, matrix, lanes=(lead, lanes, width))
    else:
        head = (lanes,) if rows else ()
        moved = recorder.gather(x, places.reshape(*head, -1))
        product = _in_parts(recorder, moved, matrix[0])
        if product is None:
            product = recorder.record("matmul", moved, matrix[0], lanes=(*head, width))
    sorted_sizes = [sizes[k] for k in (*alone, *rows, *columns)]
    back = np.arange(math.prod(sorted_sizes)).reshape(sorted_sizes).transpose(np.argsort(order[:-1]))
    return recorder.gather(product, back)


def _in_parts(recorder: Recorder, x: Symbol, matrix: NDArray[Any]) -> Array:
    """The product of a row that was put together of few parts, as the sum of theirs: nothing is copied. Else None."""
    own = recorder.operation(x)
    if own.op == "reshape":
        own = recorder.operations[own.arguments[0]]
    if not recorder.smooth or own.op != "concatenate" or x.lanes[-1] != own.size or len(own.arguments) > PARTS:
        return None
    value: Array = 0.0
    ends = np.cumsum([recorder.operations[a].size if isinstance(a, int) else a.size for a in own.arguments])
    for part, rows in zip(own.arguments, np.split(matrix, ends[:-1]), strict=True):
        if not isinstance(part, int):
            value = value + (part @ rows)[:, None]
        elif len(rows) == 1:
            value = value + recorder.symbol(part) * rows[0][:, None]
        else:
            value = value + recorder.record("matmul", recorder.symbol(part), rows, lanes=rows.shape[1:])
    return recorder.reshape(value, (*x.lanes[:-1], matrix.shape[1]))
