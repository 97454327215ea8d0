"""Constants of every sort, and tensors that are constant although they depend on the input."""

from __future__ import annotations

import numpy as np

from fuzz.onnx.drawing import Drawing, Unfit, Value


def array(d: Drawing, shape: tuple[int, ...]) -> np.ndarray:
    """Random, all equal, all 0, small whole numbers, or with zeros among them."""
    sort = d.integer(0, 9)
    if sort < 4:
        return np.round(d.rng.normal(size=shape), 3)
    if sort < 6:
        return np.full(shape, d.one((5.0, 0.5, -1.0, 2.0, 1.0)))
    if sort == 6:
        return np.zeros(shape)
    if sort == 7:
        return d.rng.integers(-2, 3, shape).astype(np.float64)
    if sort == 8:
        return np.where(d.rng.random(shape) < 0.5, 0.0, np.round(d.rng.normal(size=shape), 3))
    return np.round(d.rng.normal(size=shape), 3) * 10.0 ** d.integer(-3, 2)


def like(d: Drawing, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that can be broadcast with another: axes of size 1, fewer axes, or more."""
    sizes = [1 if d.chance(0.3) else n for n in shape]
    sizes = [d.integer(2, 3) if n == 1 and d.chance(0.15) else n for n in sizes]
    if d.chance(0.3):
        sizes = sizes[d.integer(0, len(sizes)) :]
    if d.chance(0.15) and len(sizes) < 4:
        sizes = [d.integer(1, 2), *sizes]
    return tuple(sizes)


def partner(d: Drawing, x: Value) -> Value:
    """A second operand: a constant, or another tensor whose shape fits, or the same one."""
    if d.chance(0.45):
        return d.constant(array(d, like(d, x.shape)))
    return d.pick(lambda other: _fits(other.shape, x.shape))


def _fits(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1], strict=False))


def inside(d: Drawing, x: Value, low: float, high: float) -> Value:
    """A tensor with values in an interval: x itself, or x after an affine map or a function that is bounded. Sometimes
    x whatever it is, so that what has no value is tried too."""
    if (low <= x.low and x.high <= high) or d.chance(0.07):
        return x
    if not np.isfinite([x.low, x.high]).all():
        raise Unfit
    if d.chance(0.5):
        squashed = d.emit(d.one(("Tanh", "Sin")) if d.chance(0.7) else "Sigmoid", x)
        return d.emit("Add", d.emit("Mul", squashed, d.constant(0.49 * (high - low))), d.constant(0.5 * (high + low)))
    spread = x.high - x.low
    factor = 0.7 * (high - low) / spread if spread > 0 else 1.0
    shift = 0.5 * (low + high) - factor * 0.5 * (x.low + x.high)
    scaled = d.emit("Mul", x, d.constant(float(f"{factor:.4g}")))
    return d.emit("Add", scaled, d.constant(float(f"{shift:.4g}")))


def stretched(d: Drawing, x: Value) -> Value:
    """Ten or a hundred times as large, now and then: functions saturate, scores are far apart."""
    return d.emit("Mul", x, d.constant(d.one((10.0, 30.0, 100.0)))) if d.chance(0.15) else x


def dead(d: Drawing) -> Value:
    """A tensor that is the same on the whole box, and that no reader can tell from its operators alone."""
    x = inside(d, d.pick(lambda value: not value.constant), -50.0, 50.0)
    sort = d.integer(0, 9)
    if sort == 0:
        return d.emit("Relu", d.emit("Sub", x, d.constant(np.ceil(x.high + 60.0))))
    if sort == 1:
        return d.emit("Sub", x, x)
    if sort == 2:
        return d.emit("Mul", x, d.constant(np.zeros(like(d, x.shape))))
    if sort == 3:
        return d.emit("Tanh", d.emit("Add", x, d.constant(np.ceil(50.0 - x.low))))
    if sort == 4:
        return d.emit("Min", d.emit("Abs", x), d.constant(np.full(like(d, x.shape), -1.0 - d.integer(0, 2))))
    if sort == 5:
        return d.emit("Pow", x, d.constant(0.0))
    if sort == 6:
        return d.emit("Sub", d.emit("Exp", d.emit("Tanh", x)), d.emit("Exp", d.emit("Tanh", x)))
    if sort == 7:
        high = d.constant(np.floor(x.low - 60.0))
        return d.emit("Max", d.emit("Min", x, high), high)
    if sort == 8:
        column = d.emit("Reshape", x, d.integers(*x.shape, 1))
        return d.emit("Softmax", column, axis=column.rank - 1)
    if d.opset < 17:
        raise Unfit
    column = d.emit("Reshape", x, d.integers(*x.shape, 1))
    scale, bias = (d.constant(array(d, (1,))) for _ in range(2))
    return d.emit("LayerNormalization", column, scale, bias)
