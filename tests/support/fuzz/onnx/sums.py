"""How operators that add up are drawn: products of matrices, sums along axes, softmax, layer normalisation."""

from __future__ import annotations

import numpy as np

from fuzz.onnx.constants import array, inside, like, stretched
from fuzz.onnx.drawing import Drawing, Unfit, Value


def matmul(d: Drawing, op: str) -> None:
    """Of what is computed with a constant or with another that fits, from either side, vectors and batches too."""
    x = d.pick(lambda value: value.rank > 0)
    if d.chance(0.5):
        d.emit(op, *_with_constant(d, x))
        return

    def fits(other: Value) -> bool:
        return other.rank > 0 and x.shape[-1] == other.shape[-2 if other.rank > 1 else -1]

    d.emit(op, x, d.pick(fits))


def _with_constant(d: Drawing, x: Value) -> tuple[Value, Value]:
    lead = like(d, x.shape[:-2]) if x.rank > 2 else (d.integer(1, 2),) if d.chance(0.15) else ()
    if d.chance(0.6):
        shape = (*lead, x.shape[-1], d.integer(1, 3)) if d.chance(0.8) else x.shape[-1:]
        return x, d.constant(array(d, shape))
    rows = x.shape[-2] if x.rank > 1 else x.shape[-1]
    return d.constant(array(d, (*lead, d.integer(1, 3), rows) if d.chance(0.8) else (rows,))), x


def gemm(d: Drawing, op: str) -> None:
    a = d.pick(lambda value: value.rank == 2)
    trans_a, trans_b = (d.integer(0, 1) for _ in range(2))
    rows, inner = a.shape[::-1] if trans_a else a.shape
    if d.chance(0.6):
        columns = d.integer(1, 3)
        b = d.constant(array(d, (columns, inner) if trans_b else (inner, columns)))
    else:
        b = d.pick(lambda value: value.rank == 2 and value.shape[1 if trans_b else 0] == inner)
        columns = b.shape[0 if trans_b else 1]
    more = []
    if d.opset < 11 or d.chance(0.6):
        shape = d.one(((rows, columns), (1, columns), (columns,), (rows, 1), (1,), ()))
        more = [d.constant(array(d, shape))]
    scales = {name: d.one((0.5, 2.0, 0.0, -1.0)) for name in ("alpha", "beta") if d.chance(0.4)}
    d.emit(op, a, b, *more, transA=trans_a, transB=trans_b, **scales)


def reduce_log_sum(d: Drawing, op: str) -> None:
    """Of what is positive: an exponential, or more than half."""
    x = d.emit("Exp", inside(d, d.pick(), -3.0, 3.0)) if d.chance(0.5) else inside(d, d.pick(), 0.5, 4.0)
    _reduced(d, op, x)


def reduce(d: Drawing, op: str) -> None:
    _reduced(d, op, d.pick())


def _reduced(d: Drawing, op: str, x: Value) -> None:
    attributes = {} if d.chance(0.4) else {"keepdims": d.integer(0, 1)}
    axes = d.rng.permutation(x.rank)[: d.integer(0, x.rank)].tolist()
    axes = [k - x.rank if d.opset >= 11 and d.chance(0.4) else k for k in axes]
    if d.opset >= (13 if op == "ReduceSum" else 18):
        if d.chance(0.3):
            attributes["noop_with_empty_axes"] = d.integer(0, 1)
        d.emit(op, x, *([] if not axes and d.chance(0.5) else [d.integers(*axes)]), **attributes)
    else:
        d.emit(op, x, **({"axes": tuple(axes)} if axes else {}), **attributes)


def softmax(d: Drawing, op: str) -> None:
    """Of some scores, now and then with a mask, which may be moved about before."""
    x = stretched(d, inside(d, d.pick(lambda value: value.rank > 0), -40.0, 40.0))
    if d.chance(0.45):
        count = len(d.values)
        x = _masked(d, x) if d.chance(0.7) else _there_and_back(d, x)
        if d.chance(0.3):
            x = d.emit("Transpose", x, perm=tuple(d.rng.permutation(x.rank).tolist()))
        if d.chance(0.2):
            x = d.emit("Add", x, d.constant(array(d, x.shape[-1:])))
        if d.chance(0.9):
            del d.values[count:]  # only the softmax reads what is masked
    d.emit(op, x, **({} if d.chance(0.4) and (x.rank > 1 or d.opset >= 13) else {"axis": d.axis(x.rank)}))


def _there_and_back(d: Drawing, x: Value) -> Value:
    """Entries that look masked, and are not: what is taken away is given back."""
    far = np.where(d.rng.random(x.shape) < 0.4, 2.0**27, 0.0)
    taken = d.emit("Sub", d.constant(-far), x) if d.chance(0.5) else d.emit("Sub", x, d.constant(far))
    return d.emit("Add", taken, d.constant(far))


def _masked(d: Drawing, x: Value) -> Value:
    """The first entry takes part in every row along the last axis; what is hidden is added, subtracted or chosen."""
    hidden = np.atleast_1d(d.rng.random(like(d, x.shape) if d.chance(0.4) else x.shape) < 0.4)
    hidden[..., :1] = False
    low, sort = d.one((-np.inf, -1e9)), d.integer(0, 2)
    if sort == 0:
        return d.emit("Add", x, d.constant(np.where(hidden, low, d.one((0.0, 0.5)))))
    if sort == 1:
        return d.emit("Sub", x, d.constant(np.where(hidden, 1e9, 0.0)))
    if d.opset < 9:
        raise Unfit
    return d.emit("Where", d.constant(hidden), d.constant(low), x)


def layer_normalisation(d: Drawing, op: str) -> None:
    if d.opset < 17:
        raise Unfit
    x = d.pick(lambda value: value.rank > 0)
    axis = d.axis(x.rank)
    shape = x.shape[axis % x.rank :]
    scale = d.constant(array(d, shape))
    more = [d.constant(array(d, shape))] if d.chance(0.6) else []
    d.emit(op, x, scale, *more, axis=axis, **({"epsilon": d.one((0.125, 1e-3))} if d.chance(0.5) else {}))
