"""What a random jax function is made of: every primitive that the reader of jax knows, as people write it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from fuzz.straight import Operation, Shape, nothing

Rng = np.random.Generator
LARGEST = 48  # entries of an array
NUMBERS = (0.0, 1.0, -1.0, 0.5, 2.0, -0.3, 1.7, 3.0)


def constant(rng: Rng, shape: Shape, positive: bool = False) -> Any:
    """Nested tuples: random numbers, or all the same, or many zeros."""
    kind = rng.integers(4)
    array = np.round(rng.normal(size=shape), 3)
    if kind == 0:
        array = np.full(shape, float(rng.choice(NUMBERS)))
    elif kind == 1:
        array = array * (rng.random(shape) < 0.5)
    return _tuple(np.abs(array) + 0.5 if positive else array)


def _tuple(array: Any) -> Any:
    return tuple(map(_tuple, array)) if np.ndim(array) else float(array)


def partner(shape: Shape, rng: Rng) -> Shape:
    """A shape that broadcasts with another."""
    kept = shape[int(rng.integers(len(shape) + 1)) :] if rng.random() < 0.4 else shape
    return tuple(1 if rng.random() < 0.25 else n for n in kept)


def axis(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    rank = len(shapes[0])
    return (int(rng.integers(-rank, rank)),) if rank else None


def axes(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    rank = len(shapes[0])
    chosen = tuple(int(n) for n in np.flatnonzero(rng.random(rank) < 0.5))
    return None if rng.random() < 0.3 else chosen, bool(rng.random() < 0.5)  # type: ignore[return-value]


def _reshape(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    left, found = math.prod(shapes[0]), []
    while left > 1 and len(found) < 3:
        divisors = [n for n in range(1, left + 1) if left % n == 0]
        found.append(int(rng.choice(divisors)))
        left //= found[-1]
    found.append(left)
    if len(found) < 4 and rng.random() < 0.3:
        found.insert(int(rng.integers(len(found) + 1)), 1)
    return (tuple(found),)


def _order(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    return (tuple(int(n) for n in rng.permutation(len(shapes[0]))),)


def _spread(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    shape = tuple(int(rng.integers(1, 4)) if n == 1 else n for n in shapes[0])
    shape = (*rng.integers(1, 3, max(0, int(rng.integers(0, 5 - len(shape))))).tolist(), *shape)
    return (shape,) if math.prod(shape) <= LARGEST else None


def _slices(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    found = []
    for n in shapes[0]:
        start, stop = sorted(rng.choice(n + 1, 2, replace=False).tolist())
        found.append((start, stop, int(rng.integers(1, 3))) if rng.random() < 0.7 else (None, None, -1))
    return (tuple(found),)


def _indices(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    found = axis(rng, shapes)
    if found is None:
        return None
    n = shapes[0][found[0]]
    return (tuple(rng.integers(-n, n, int(rng.integers(1, 5))).tolist()), *found)


def _mask(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        return None
    return (_bools(rng.random(shape) < 0.5),)


def _bools(array: Any) -> Any:
    return tuple(map(_bools, array)) if np.ndim(array) else bool(array)


def _matching(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    try:
        found = np.broadcast_shapes(*shapes)
    except ValueError:
        return None
    return () if math.prod(found) <= LARGEST and len(found) <= 4 else None


def _joined(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    """An axis along which two may be put side by side."""
    a, b = shapes
    fits = [k for k in range(len(a)) if len(a) == len(b) and a[:k] + a[k + 1 :] == b[:k] + b[k + 1 :]]
    return (int(rng.choice(fits)),) if fits else None


def _alike(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    a, b = shapes
    return (int(rng.integers(-len(a) - 1, len(a) + 1)),) if a == b and len(a) < 4 else None


def _products(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    a, b = shapes
    try:
        found = np.matmul(np.zeros(a), np.zeros(b)).shape
    except ValueError:
        return None
    return () if math.prod(found) <= LARGEST else None


def _weights(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    return (constant(rng, (shapes[0][-1], int(rng.integers(1, 4)))),) if shapes[0] else None


def _addend(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    return (constant(rng, partner(shapes[0], rng)),)


def _divisor(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    return (constant(rng, partner(shapes[0], rng), positive=True),)


def _masked(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    """Scores without some entries of the last axis, never all of a row."""
    if not shapes[0]:
        return None
    mask = rng.random(shapes[0]) < 0.7
    mask[..., int(rng.integers(shapes[0][-1]))] = True
    return (_bools(mask),)


def _one(*choices: Any) -> Any:
    return lambda rng, shapes: (choices[int(rng.integers(len(choices)))],)


def _unary(f: Any, text: str) -> Operation:
    return Operation(1, nothing, f, text)


def _pair(f: Any, text: str) -> Operation:
    return Operation(2, _matching, f, text)


UNARY = {
    **{name: _unary(getattr(jnp, name), f"jnp.{name}({{0}})") for name in (
        "negative", "exp", "expm1", "tanh", "sin", "cos", "arctan", "sinh", "cosh", "arcsinh", "abs", "square", "exp2",
        "cbrt", "log", "sqrt", "log1p", "arcsin", "arccos", "arctanh", "arccosh", "tan", "reciprocal",
    )},
    **{name: _unary(getattr(jax.nn, name), f"jax.nn.{name}({{0}})") for name in (
        "relu", "sigmoid", "silu", "softplus", "leaky_relu", "gelu", "log_sigmoid", "elu", "soft_sign",
    )},
    "erf": _unary(jax.scipy.special.erf, "jax.scipy.special.erf({0})"),
    "erfc": _unary(jax.scipy.special.erfc, "jax.scipy.special.erfc({0})"),
    "gelu_exact": _unary(lambda x: jax.nn.gelu(x, approximate=False), "jax.nn.gelu({0}, approximate=False)"),
    "rsqrt_near": _unary(lambda x: lax.rsqrt(x * x + 0.5), "jax.lax.rsqrt({0} * {0} + 0.5)"),
    "ln_near": _unary(lambda x: jnp.log(2.0 + jnp.sin(x)), "jnp.log(2.0 + jnp.sin({0}))"),
    "root_near": _unary(lambda x: jnp.sqrt(1.5 + jnp.tanh(x)), "jnp.sqrt(1.5 + jnp.tanh({0}))"),
    "asin_near": _unary(lambda x: jnp.arcsin(0.9 * jnp.tanh(x)), "jnp.arcsin(0.9 * jnp.tanh({0}))"),
    "jitted": _unary(jax.jit(lambda x: jnp.sin(x) * x), "jax.jit(lambda x: jnp.sin(x) * x)({0})"),
}  # fmt: skip

OPERATIONS: dict[str, Operation] = {
    **UNARY,
    "add": _pair(jnp.add, "{0} + {1}"),
    "subtract": _pair(jnp.subtract, "{0} - {1}"),
    "multiply": _pair(jnp.multiply, "{0} * {1}"),
    "divide": _pair(jnp.divide, "{0} / {1}"),
    "divide_near": _pair(lambda x, y: x / (y * y + 1.0), "{0} / ({1} * {1} + 1.0)"),
    "maximum": _pair(jnp.maximum, "jnp.maximum({0}, {1})"),
    "minimum": _pair(jnp.minimum, "jnp.minimum({0}, {1})"),
    "logaddexp": _pair(jnp.logaddexp, "jnp.logaddexp({0}, {1})"),
    "power_of": _pair(lambda x, y: (x * x + 0.5) ** y, "({0} * {0} + 0.5) ** {1}"),
    "power": Operation(1, _one(-2, -1, 0, 1, 2, 3, 4, 5), lambda x, n: x**n, "{0} ** {d[0]}"),
    "real_power": Operation(1, _one(0.5, 1.5, -0.5, 2.0, 0.0, 1.0), lambda x, p: (x * x + 0.3) ** p, "({0} * {0} + 0.3) ** {d[0]}"),
    "base": Operation(1, _one(0.5, 2.0, 1.0), lambda x, a: a**x, "{d[0]} ** {0}"),
    "plus": Operation(1, _addend, lambda x, c: x + jnp.array(c), "{0} + jnp.array({d[0]})"),
    "times": Operation(1, _addend, lambda x, c: jnp.array(c) * x, "jnp.array({d[0]}) * {0}"),
    "over": Operation(1, _divisor, lambda x, c: x / jnp.array(c), "{0} / jnp.array({d[0]})"),
    "under": Operation(1, _divisor, lambda x, c: jnp.array(c) / (x * x + 1), "jnp.array({d[0]}) / ({0} * {0} + 1)"),
    "clip": Operation(1, _one((-0.5, 0.5), (0.0, None), (-3.0, 9.0)), lambda x, c: jnp.clip(x, *c), "jnp.clip({0}, *{d[0]})"),
    "sum": Operation(1, axes, lambda x, a, k: jnp.sum(x, a, keepdims=k), "jnp.sum({0}, {d[0]}, keepdims={d[1]})"),
    "mean": Operation(1, axes, lambda x, a, k: jnp.mean(x, a, keepdims=k), "jnp.mean({0}, {d[0]}, keepdims={d[1]})"),
    "var": Operation(1, axes, lambda x, a, k: jnp.var(x, a, keepdims=k), "jnp.var({0}, {d[0]}, keepdims={d[1]})"),
    "softmax": Operation(1, axis, lambda x, a: jax.nn.softmax(x, a), "jax.nn.softmax({0}, {d[0]})"),
    "log_softmax": Operation(1, axis, lambda x, a: jax.nn.log_softmax(x, a), "jax.nn.log_softmax({0}, {d[0]})"),
    "logsumexp": Operation(1, axes, lambda x, a, k: jax.nn.logsumexp(x, a, keepdims=k), "jax.nn.logsumexp({0}, {d[0]}, keepdims={d[1]})"),
    "standardize": Operation(1, axis, lambda x, a: jax.nn.standardize(x, a), "jax.nn.standardize({0}, {d[0]})"),
    "attention": Operation(1, _masked, lambda x, m: jax.nn.softmax(jnp.where(jnp.array(m), x, -jnp.inf), -1), "jax.nn.softmax(jnp.where(jnp.array({d[0]}), {0}, -jnp.inf), -1)"),
    "reshape": Operation(1, _reshape, lambda x, s: jnp.reshape(x, s), "jnp.reshape({0}, {d[0]})"),
    "transpose": Operation(1, _order, lambda x, o: jnp.transpose(x, o), "jnp.transpose({0}, {d[0]})"),
    "squeeze": _unary(jnp.squeeze, "jnp.squeeze({0})"),
    "expand": Operation(1, lambda rng, s: (int(rng.integers(-len(s[0]) - 1, len(s[0]) + 1)),) if len(s[0]) < 4 else None, lambda x, a: jnp.expand_dims(x, a), "jnp.expand_dims({0}, {d[0]})"),
    "broadcast": Operation(1, _spread, lambda x, s: jnp.broadcast_to(x, s), "jnp.broadcast_to({0}, {d[0]})"),
    "slice": Operation(1, _slices, lambda x, s: x[tuple(slice(*part) for part in s)], "{0}[tuple(slice(*s) for s in {d[0]})]"),
    "take": Operation(1, _indices, lambda x, i, a: jnp.take(x, jnp.array(i), a), "jnp.take({0}, jnp.array({d[0]}), {d[1]})"),
    "roll": Operation(1, axis, lambda x, a: jnp.roll(x, 1, a), "jnp.roll({0}, 1, {d[0]})"),
    "flip": Operation(1, axis, lambda x, a: jnp.flip(x, a), "jnp.flip({0}, {d[0]})"),
    "tile": Operation(1, _one(1, 2, (2, 1)), lambda x, r: jnp.tile(x, r), "jnp.tile({0}, {d[0]})"),
    "repeat": Operation(1, axis, lambda x, a: jnp.repeat(x, 2, a), "jnp.repeat({0}, 2, {d[0]})"),
    "swap": Operation(1, axis, lambda x, a: jnp.moveaxis(x, a, 0), "jnp.moveaxis({0}, {d[0]}, 0)"),
    "halves": Operation(1, axis, lambda x, a: jnp.array_split(x, 2, a)[0], "jnp.array_split({0}, 2, {d[0]})[0]"),
    "tril": Operation(1, lambda rng, s: (int(rng.integers(-1, 2)),) if len(s[0]) >= 2 else None, lambda x, k: jnp.tril(x, k), "jnp.tril({0}, {d[0]})"),
    "diagonal": Operation(1, lambda rng, s: () if len(s[0]) >= 2 else None, jnp.diagonal, "jnp.diagonal({0})"),
    "where": Operation(2, _mask, lambda x, y, m: jnp.where(jnp.array(m), x, y), "jnp.where(jnp.array({d[0]}), {0}, {1})"),
    "concatenate": Operation(2, _joined, lambda x, y, a: jnp.concatenate([x, y], a), "jnp.concatenate([{0}, {1}], {d[0]})"),
    "stack": Operation(2, _alike, lambda x, y, a: jnp.stack([x, y], a), "jnp.stack([{0}, {1}], {d[0]})"),
    "matmul": Operation(2, _products, jnp.matmul, "{0} @ {1}"),
    "dense": Operation(1, _weights, lambda x, w: x @ jnp.array(w), "{0} @ jnp.array({d[0]})"),
    "outer": Operation(2, lambda rng, s: () if math.prod(s[0]) * math.prod(s[1]) <= LARGEST else None, jnp.outer, "jnp.outer({0}, {1})"),
    "gram": Operation(1, lambda rng, s: () if len(s[0]) > 0 and math.prod(s[0]) <= 12 else None, lambda x: jnp.einsum("...i,...j->...ij", x, x), "jnp.einsum('...i,...j->...ij', {0}, {0})"),
    "tensordot": Operation(2, lambda rng, s: () if s[0] and s[1] and s[0][-1] == s[1][0] else None, lambda x, y: jnp.tensordot(x, y, 1), "jnp.tensordot({0}, {1}, 1)"),
    "trace": Operation(1, lambda rng, s: () if len(s[0]) == 2 else None, jnp.trace, "jnp.trace({0})"),
    "cut": Operation(1, lambda rng, s: ((0,) * len(s[0]), tuple(max(1, n - 1) for n in s[0])), lambda x, i, s: lax.dynamic_slice(x, i, s), "jax.lax.dynamic_slice({0}, {d[0]}, {d[1]})"),
}  # fmt: skip
