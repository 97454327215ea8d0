"""How operators are drawn that only constants have: comparisons, counting, shapes, triangles."""

from __future__ import annotations

import math

import numpy as np

from fuzz.onnx.case import tensor
from fuzz.onnx.constants import array, like, partner
from fuzz.onnx.drawing import Drawing, Unfit, Value

SINCE = {"GreaterOrEqual": 12, "LessOrEqual": 12, "Equal": 11, "Greater": 9, "Less": 9}


def where(d: Drawing, op: str) -> None:
    x = d.pick()
    _choose(d, d.constant(d.rng.random(like(d, x.shape)) < d.one((0.5, 0.5, 0.0, 1.0))), x)


def _choose(d: Drawing, condition: Value, x: Value) -> None:
    _since(d, 9)
    other = partner(d, x)
    d.emit("Where", condition, *((x, other) if d.chance(0.5) else (other, x)))


def compare(d: Drawing, op: str) -> None:
    _since(d, SINCE.get(op, 9))
    x = d.pick()
    shape = like(d, x.shape)
    if op in ("And", "Or"):
        a, b = (d.constant(d.rng.random(shape) < 0.5) for _ in range(2))
    else:
        a, b = d.constant(array(d, shape)), d.constant(d.one((0.0, 0.5, -1.0)))
    _choose(d, d.emit(op, a, b), x)


def negation(d: Drawing, op: str) -> None:
    x = d.pick()
    _choose(d, d.emit(op, d.constant(d.rng.random(like(d, x.shape)) < 0.5)), x)


def is_nan(d: Drawing, op: str) -> None:
    _since(d, 9)
    x = d.pick()
    d.emit("Where", d.emit(op, x), d.constant(0.0), x)


def remainder(d: Drawing, op: str) -> None:
    _since(d, 10)
    x = d.pick(lambda value: value.rank > 0)
    numbers = d.constant(d.rng.integers(0, 9, d.integer(1, 3)).astype(np.int64))
    d.emit("Gather", x, d.emit(op, numbers, d.integers(x.shape[0])))


def arange(d: Drawing, op: str) -> None:
    _since(d, 11)
    x = d.pick(lambda value: value.rank > 0)
    n = x.shape[0]
    ends = d.one(((0, n, 1), (n - 1, -1, -1), (0, n, 2)))
    d.emit("Gather", x, d.emit(op, *(d.constant(np.array(end, np.int64)) for end in ends)))


def shape(d: Drawing, op: str) -> None:
    x = d.pick(lambda value: value.rank > 0)
    part = {"start": d.integer(-x.rank, x.rank - 1)} if d.opset >= 15 and d.chance(0.5) else {}
    sizes = d.emit(op, x, **part)
    rest = math.prod(sizes.samples[0].tolist())
    d.emit("Reshape", x, d.emit("Concat", d.integers(math.prod(x.shape) // rest), sizes, axis=0))


def constant(d: Drawing, op: str) -> None:
    x = d.pick()
    if d.opset >= 12 and d.chance(0.5):
        number = float(np.float32(d.rng.normal()))
        single = d.emit(op, **({"value_float": number} if d.chance(0.5) else {"value_floats": (number,)}))
        d.emit("Add", x, d.emit("Cast", single, to=11))
    else:
        d.emit("Mul", x, d.constant(array(d, like(d, x.shape)), spoken=True))


def constant_of_shape(d: Drawing, op: str) -> None:
    _since(d, 9)
    x = d.pick()
    sizes = d.emit("Shape", x) if d.chance(0.4) and x.rank else d.integers(*like(d, x.shape))
    d.emit(d.one(("Add", "Mul")), x, d.emit(op, sizes, value=tensor(np.array([d.one((0.0, 1.0, 2.5))]))))


def triangle(d: Drawing, op: str) -> None:
    _since(d, 14)
    x = d.pick(lambda value: value.rank > 1)
    more = [d.constant(np.array(d.integer(-1, 1), np.int64))] if d.chance(0.5) else []
    d.emit("Mul", x, d.emit(op, d.constant(array(d, x.shape[-2:])), *more, upper=d.integer(0, 1)))


def running_sum(d: Drawing, op: str) -> None:
    _since(d, 11)
    x = d.pick(lambda value: value.rank > 0)
    axis = d.constant(np.array(d.axis(x.rank), np.int64))
    d.emit("Add", x, d.emit(op, d.constant(array(d, x.shape)), axis, **({"reverse": 1} if d.chance(0.4) else {})))


def _since(d: Drawing, opset: int) -> None:
    if d.opset < opset:
        raise Unfit
