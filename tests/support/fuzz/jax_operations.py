"""What a random jax function is made of: every primitive that the reader of jax knows, as people write it."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from fuzz import jax_draws as draws
from fuzz.jax_draws import LARGEST
from fuzz.straight import Operation, nothing


def _unary(f: Any, text: str) -> Operation:
    return Operation(1, nothing, f, text)


def _pair(f: Any, text: str) -> Operation:
    return Operation(2, draws.matching, f, text)


UNARY = {
    **{
        name: _unary(getattr(jnp, name), f"jnp.{name}({{0}})")
        for name in (
            "negative",
            "exp",
            "expm1",
            "tanh",
            "sin",
            "cos",
            "arctan",
            "sinh",
            "cosh",
            "arcsinh",
            "abs",
            "square",
            "exp2",
            "cbrt",
            "log",
            "sqrt",
            "log1p",
            "arcsin",
            "arccos",
            "arctanh",
            "arccosh",
            "tan",
            "reciprocal",
        )
    },
    **{
        name: _unary(getattr(jax.nn, name), f"jax.nn.{name}({{0}})")
        for name in (
            "relu",
            "sigmoid",
            "silu",
            "softplus",
            "leaky_relu",
            "gelu",
            "log_sigmoid",
            "elu",
            "soft_sign",
            "selu",
            "celu",
            "mish",
            "relu6",
            "hard_tanh",
            "hard_sigmoid",
            "hard_silu",
            "sparse_plus",
            "squareplus",
        )
    },
    "erf": _unary(jax.scipy.special.erf, "jax.scipy.special.erf({0})"),
    "erfc": _unary(jax.scipy.special.erfc, "jax.scipy.special.erfc({0})"),
    "gelu_exact": _unary(lambda x: jax.nn.gelu(x, approximate=False), "jax.nn.gelu({0}, approximate=False)"),
    "rsqrt_near": _unary(lambda x: lax.rsqrt(x * x + 0.5), "jax.lax.rsqrt({0} * {0} + 0.5)"),
    "ln_near": _unary(lambda x: jnp.log(2.5 + jnp.sin(x)), "jnp.log(2.5 + jnp.sin({0}))"),  # never near ln 1
    "root_near": _unary(lambda x: jnp.sqrt(1.5 + jnp.tanh(x)), "jnp.sqrt(1.5 + jnp.tanh({0}))"),
    "asin_near": _unary(lambda x: jnp.arcsin(0.9 * jnp.tanh(x)), "jnp.arcsin(0.9 * jnp.tanh({0}))"),
    "jitted": _unary(jax.jit(lambda x: jnp.sin(x) * x), "jax.jit(lambda x: jnp.sin(x) * x)({0})"),
}

ARITHMETIC: dict[str, Operation] = {
    "add": _pair(jnp.add, "{0} + {1}"),
    "subtract": _pair(jnp.subtract, "{0} - {1}"),
    "multiply": _pair(jnp.multiply, "{0} * {1}"),
    "divide": _pair(jnp.divide, "{0} / {1}"),
    "divide_near": _pair(lambda x, y: x / (y * y + 1.0), "{0} / ({1} * {1} + 1.0)"),
    "maximum": _pair(jnp.maximum, "jnp.maximum({0}, {1})"),
    "minimum": _pair(jnp.minimum, "jnp.minimum({0}, {1})"),
    "logaddexp": _pair(jnp.logaddexp, "jnp.logaddexp({0}, {1})"),
    "power_of": _pair(lambda x, y: (x * x + 0.5) ** y, "({0} * {0} + 0.5) ** {1}"),
    "power": Operation(1, draws.one(-2, -1, 0, 1, 2, 3, 4, 5), lambda x, n: x**n, "{0} ** {d[0]}"),
    "real_power": Operation(
        1, draws.one(0.5, 1.5, -0.5, 2.0, 0.0, 1.0), lambda x, p: (x * x + 0.3) ** p, "({0} * {0} + 0.3) ** {d[0]}"
    ),
    "base": Operation(1, draws.one(0.5, 2.0, 1.0), lambda x, a: a**x, "{d[0]} ** {0}"),
    "plus": Operation(1, draws.addend, lambda x, c: x + jnp.array(c), "{0} + jnp.array({d[0]})"),
    "times": Operation(1, draws.addend, lambda x, c: jnp.array(c) * x, "jnp.array({d[0]}) * {0}"),
    "over": Operation(1, draws.divisor, lambda x, c: x / jnp.array(c), "{0} / jnp.array({d[0]})"),
    "under": Operation(
        1, draws.divisor, lambda x, c: jnp.array(c) / (x * x + 1), "jnp.array({d[0]}) / ({0} * {0} + 1)"
    ),
    "clip": Operation(
        1, draws.one((-0.5, 0.5), (0.0, None), (-3.0, 9.0)), lambda x, c: jnp.clip(x, *c), "jnp.clip({0}, *{d[0]})"
    ),
    "sum": Operation(1, draws.axes, lambda x, a, k: jnp.sum(x, a, keepdims=k), "jnp.sum({0}, {d[0]}, keepdims={d[1]})"),
    "mean": Operation(
        1, draws.axes, lambda x, a, k: jnp.mean(x, a, keepdims=k), "jnp.mean({0}, {d[0]}, keepdims={d[1]})"
    ),
    "var": Operation(1, draws.axes, lambda x, a, k: jnp.var(x, a, keepdims=k), "jnp.var({0}, {d[0]}, keepdims={d[1]})"),
    "softmax": Operation(1, draws.axis, lambda x, a: jax.nn.softmax(x, a), "jax.nn.softmax({0}, {d[0]})"),
    "log_softmax": Operation(1, draws.axis, lambda x, a: jax.nn.log_softmax(x, a), "jax.nn.log_softmax({0}, {d[0]})"),
    "logsumexp": Operation(
        1,
        draws.axes,
        lambda x, a, k: jax.nn.logsumexp(x, a, keepdims=k),
        "jax.nn.logsumexp({0}, {d[0]}, keepdims={d[1]})",
    ),
    "standardize": Operation(1, draws.axis, lambda x, a: jax.nn.standardize(x, a), "jax.nn.standardize({0}, {d[0]})"),
    "attention": Operation(
        1,
        draws.masked,
        lambda x, m: jax.nn.softmax(jnp.where(jnp.array(m), x, -jnp.inf), -1),
        "jax.nn.softmax(jnp.where(jnp.array({d[0]}), {0}, -jnp.inf), -1)",
    ),
}
MOVES: dict[str, Operation] = {
    "reshape": Operation(1, draws.new_shape, lambda x, s: jnp.reshape(x, s), "jnp.reshape({0}, {d[0]})"),
    "transpose": Operation(1, draws.order, lambda x, o: jnp.transpose(x, o), "jnp.transpose({0}, {d[0]})"),
    "squeeze": _unary(jnp.squeeze, "jnp.squeeze({0})"),
    "expand": Operation(1, draws.new_axis, lambda x, a: jnp.expand_dims(x, a), "jnp.expand_dims({0}, {d[0]})"),
    "broadcast": Operation(1, draws.spread, lambda x, s: jnp.broadcast_to(x, s), "jnp.broadcast_to({0}, {d[0]})"),
    "slice": Operation(
        1, draws.slices, lambda x, s: x[tuple(slice(*part) for part in s)], "{0}[tuple(slice(*s) for s in {d[0]})]"
    ),
    "take": Operation(
        1, draws.indices, lambda x, i, a: jnp.take(x, jnp.array(i), a), "jnp.take({0}, jnp.array({d[0]}), {d[1]})"
    ),
    "roll": Operation(1, draws.axis, lambda x, a: jnp.roll(x, 1, a), "jnp.roll({0}, 1, {d[0]})"),
    "flip": Operation(1, draws.axis, lambda x, a: jnp.flip(x, a), "jnp.flip({0}, {d[0]})"),
    "tile": Operation(1, draws.one(1, 2, (2, 1)), lambda x, r: jnp.tile(x, r), "jnp.tile({0}, {d[0]})"),
    "repeat": Operation(1, draws.axis, lambda x, a: jnp.repeat(x, 2, a), "jnp.repeat({0}, 2, {d[0]})"),
    "swap": Operation(1, draws.axis, lambda x, a: jnp.moveaxis(x, a, 0), "jnp.moveaxis({0}, {d[0]}, 0)"),
    "halves": Operation(1, draws.axis, lambda x, a: jnp.array_split(x, 2, a)[0], "jnp.array_split({0}, 2, {d[0]})[0]"),
    "tril": Operation(1, draws.band, lambda x, k: jnp.tril(x, k), "jnp.tril({0}, {d[0]})"),
    "diagonal": Operation(1, draws.where(lambda s: len(s) >= 2), jnp.diagonal, "jnp.diagonal({0})"),
    "where": Operation(
        2, draws.mask, lambda x, y, m: jnp.where(jnp.array(m), x, y), "jnp.where(jnp.array({d[0]}), {0}, {1})"
    ),
    "concatenate": Operation(
        2, draws.joined, lambda x, y, a: jnp.concatenate([x, y], a), "jnp.concatenate([{0}, {1}], {d[0]})"
    ),
    "stack": Operation(2, draws.alike, lambda x, y, a: jnp.stack([x, y], a), "jnp.stack([{0}, {1}], {d[0]})"),
    "matmul": Operation(2, draws.multiplied, jnp.matmul, "{0} @ {1}"),
    "dense": Operation(1, draws.weights, lambda x, w: x @ jnp.array(w), "{0} @ jnp.array({d[0]})"),
    "outer": Operation(2, draws.where(lambda s, t: math.prod(s + t) <= LARGEST), jnp.outer, "jnp.outer({0}, {1})"),
    "gram": Operation(
        1,
        lambda rng, s: () if len(s[0]) > 0 and math.prod(s[0]) <= 12 else None,
        lambda x: jnp.einsum("...i,...j->...ij", x, x),
        "jnp.einsum('...i,...j->...ij', {0}, {0})",
    ),
    "tensordot": Operation(
        2,
        draws.where(lambda s, t: s[-1:] == t[:1] != ()),
        lambda x, y: jnp.tensordot(x, y, 1),
        "jnp.tensordot({0}, {1}, 1)",
    ),
    "trace": Operation(1, draws.where(lambda s: len(s) == 2), jnp.trace, "jnp.trace({0})"),
    "cut": Operation(
        1, draws.corner, lambda x, i, s: lax.dynamic_slice(x, i, s), "jax.lax.dynamic_slice({0}, {d[0]}, {d[1]})"
    ),
}


def _slope(f: Any, text: str) -> Operation:
    """The gradient of the sum of a function of one array."""
    return _unary(jax.grad(lambda x: jnp.sum(f(x))), f"jax.grad(lambda x: jnp.sum({text}))({{0}})")


def _steps(x: Any, c: Any) -> Any:
    return lax.scan(lambda carry, row: (jnp.tanh(carry + row), carry * row), x[0], x)[c]


DERIVATIVES: dict[str, Operation] = {
    "slope_of_tanh": _slope(lambda x: jnp.tanh(x) * x[::-1] if x.ndim else jnp.tanh(x), "jnp.tanh(x) * x[::-1]"),
    "slope_of_softplus": _slope(jax.nn.softplus, "jax.nn.softplus(x)"),
    "slope_of_silu": _slope(jax.nn.silu, "jax.nn.silu(x)"),
    "slope_of_square": _slope(lambda x: jax.nn.relu(x) ** 2, "jax.nn.relu(x) ** 2"),
    "slope_of_power": _slope(lambda x: (x * x + 0.5) ** x, "(x * x + 0.5) ** x"),
    "slope_of_softmax": Operation(
        1,
        draws.axis,
        lambda x, a: jax.grad(lambda x: jnp.sum(jnp.sin(jax.nn.softmax(x, a))))(x),
        "jax.grad(lambda x: jnp.sum(jnp.sin(jax.nn.softmax(x, {d[0]}))))({0})",
    ),
    "slope_of_logsumexp": Operation(
        1,
        draws.axis,
        lambda x, a: jax.grad(lambda x: jnp.sum(jax.nn.logsumexp(x, a) ** 2))(x),
        "jax.grad(lambda x: jnp.sum(jax.nn.logsumexp(x, {d[0]}) ** 2))({0})",
    ),
    "tangent": Operation(
        2,
        draws.where(lambda s, t: s == t),
        lambda x, v: jax.jvp(lambda x: jnp.sin(x) * x, (x,), (v,))[1],
        "jax.jvp(lambda x: jnp.sin(x) * x, ({0},), ({1},))[1]",
    ),
}
WINDOWS: dict[str, Operation] = {
    "pad": Operation(1, draws.sides, lambda x, s: lax.pad(x, 0.5, s), "jax.lax.pad({0}, 0.5, {d[0]})"),
    "cumsum": Operation(1, draws.axis, lambda x, a: jnp.cumsum(x, a), "jnp.cumsum({0}, {d[0]})"),
    "prod": Operation(1, draws.axis, lambda x, a: jnp.prod(x, a), "jnp.prod({0}, {d[0]})"),
    "scan": Operation(
        1,
        lambda rng, s: (int(rng.integers(2)),) if s[0] else None,
        _steps,
        "jax.lax.scan(lambda c, row: (jnp.tanh(c + row), c * row), {0}[0], {0})[{d[0]}]",
    ),
    "set": Operation(
        1,
        draws.indices,
        lambda x, i, a: x.at[jnp.array(i)].set(x[0] ** 2),
        "{0}.at[jnp.array({d[0]})].set({0}[0] ** 2)",
    ),
    "add_to": Operation(
        1,
        draws.indices,
        lambda x, i, a: x.at[jnp.array(i)].add(x[0] ** 2),
        "{0}.at[jnp.array({d[0]})].add({0}[0] ** 2)",
    ),
    "pool": Operation(
        1,
        draws.pooling,
        lambda x, w, t, p: lax.reduce_window(x, 0.0, lax.add, w, t, p),
        "jax.lax.reduce_window({0}, 0.0, jax.lax.add, {d[0]}, {d[1]}, {d[2]!r})",
    ),
    "convolution": Operation(
        1,
        draws.kernel,
        lambda x, k, t, p: lax.conv(x, jnp.array(k), t, p),
        "jax.lax.conv({0}, jnp.array({d[0]}), {d[1]}, {d[2]!r})",
    ),
    "choice": Operation(
        1,
        draws.one(0.0, 0.3, -1.0),
        lambda x, c: jnp.where(x > c, jnp.sin(x), 2 * x - 2 * c + jnp.sin(c)),
        "jnp.where({0} > {d[0]}, jnp.sin({0}), 2 * {0} - 2 * {d[0]} + jnp.sin({d[0]}))",
    ),
}
OPERATIONS = {**UNARY, **ARITHMETIC, **MOVES, **DERIVATIVES, **WINDOWS}
