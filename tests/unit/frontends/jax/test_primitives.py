"""Loops, padding, scatter, convolutions, pooling and continuous choices in jax, against jax itself in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import SourceError
from integraph.frontends import jax as reader
from jax_graphs import check, ops, truth
from lazy import Lazy, needs
from slow import mostly_slow

pytestmark = needs("jax")
jax, jnp, nn, lax = Lazy("jax"), Lazy("jax.numpy"), Lazy("jax.nn"), Lazy("jax.lax")

RNG = np.random.default_rng(5)
X = RNG.standard_normal((4, 3))
WEIGHTS = RNG.standard_normal((5, 3, 3))
IMAGE = RNG.standard_normal((2, 3, 6, 5))
KERNEL, SINGLE = RNG.standard_normal((4, 3, 3, 2)), RNG.standard_normal((6, 1, 2, 2))
NHWC = ("NHWC", "HWIO", "NHWC")

LOOPS: dict[str, Callable[[Any], Any]] = {
    "scan": lambda x: lax.scan(lambda c, row: (jnp.tanh(c + row), c * row), x[0], x),
    "scan backwards": lambda x: lax.scan(lambda c, row: (jnp.tanh(c + row), c * row), x[0], x, reverse=True),
    "scan of weights": lambda x: lax.scan(lambda c, w: (jnp.tanh(w @ c), None), x[0], WEIGHTS)[0],
    "scan by index": lambda x: lax.scan(lambda c, k: (c + k * x[k], k), x[0], jnp.arange(4)),
    "scan without rows": lambda x: lax.scan(lambda c, _: (jnp.sin(c), None), x, length=3)[0],
    "scan of no step": lambda x: lax.scan(lambda c, row: (c + row, c), x[0], x[:0])[0],
    "scan of some outputs": lambda x: lax.scan(lambda c, row: (c + row, (c, jnp.sort(row))), x[0], x)[1][0],
    "scan in scan": lambda x: lax.scan(
        lambda c, row: (lax.scan(lambda d, one: (d * one, None), c, row)[0], None), 1.0, x
    )[0],
    "map": lambda x: lax.map(jnp.sin, x),
    "fori_loop": lambda x: lax.fori_loop(0, 4, lambda k, c: jnp.sin(c) + k * x[k], x[0]),
    "while_loop": lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, jnp.sin(s[1])), (0, x))[1],
    "cond": lambda x: lax.cond(True, jnp.sin, jnp.cos, x) + lax.switch(1, [jnp.sin, jnp.tanh], x),
    "polyval": lambda x: jnp.polyval(np.arange(5.0), x),
    "barrier": lambda x: sum(lax.optimization_barrier((x, 2 * x))),
}
PLACES: dict[str, Callable[[Any], Any]] = {
    "pad": lambda x: jnp.pad(x, ((1, 2), (0, 1)), constant_values=1.5),
    "pad between and cut": lambda x: lax.pad(x, 0.5, ((1, -1, 2), (-1, 0, 1))),
    "pad by an input": lambda x: lax.pad(x, x[0, 0], ((1, 0, 0), (0, 2, 0))),
    "pad away": lambda x: jnp.concatenate([lax.pad(x, 0.0, ((-2, -2, 0), (0, 0, 0))), x]),
    "cut more than there is": lambda x: lax.pad(x, 2.0, ((-5, 3, 0), (0, 0, 0))),
    "set": lambda x: x.at[1].set(2.0).at[0, 2].set(x[3, 0]),
    "set beyond": lambda x: x.at[np.array([0, 9])].set(x[:2] ** 2),
    "add": lambda x: x.at[np.array([0, 0, 2, 9])].add(jnp.sin(x)),
    "multiply": lambda x: x.at[:, np.array([1, 1])].multiply(x[:, :2] + 1),
    "update a slice": lambda x: lax.dynamic_update_slice(x, 2 * x[:2, :2], (3, 1)),
    "cumsum": lambda x: jnp.cumsum(x, 0) + lax.cumsum(x, 1, reverse=True) + jnp.cumsum(x)[0],
    "products": lambda x: jnp.prod(x) + jnp.prod(x, 0).sum() + jnp.prod(x[:, :2], 1),
    "unstack": lambda x: jnp.unstack(x, axis=1)[1] + jnp.stack(list(x[:, 0])),
}
WINDOWS: dict[str, Callable[[Any], Any]] = {
    "same": lambda x: lax.conv(x, KERNEL, (1, 1), "SAME"),
    "strides, dilation": lambda x: lax.conv_general_dilated(x, KERNEL, (2, 1), ((1, 2), (0, 1)), rhs_dilation=(1, 2)),
    "cut": lambda x: lax.conv_general_dilated(x, KERNEL, (1, 1), ((-1, 2), (1, -1))),
    "channels last": lambda x: lax.conv_general_dilated(
        x.transpose(0, 2, 3, 1), KERNEL.transpose(2, 3, 1, 0), (1, 1), "VALID", dimension_numbers=NHWC
    ),
    "groups": lambda x: lax.conv_general_dilated(x, SINGLE, (1, 2), "VALID", feature_group_count=3),
    "transposed": lambda x: lax.conv_transpose(
        x, KERNEL.transpose(2, 3, 0, 1), (2, 3), "SAME", dimension_numbers=("NCHW", "HWOI", "NCHW")
    ),
    "of two": lambda x: lax.conv_general_dilated(x, jnp.sin(x[:, :, :3, :2]), (2, 1), "SAME", rhs_dilation=(1, 2)),
    "of two, groups": lambda x: lax.conv_general_dilated(
        x, x.reshape(6, 1, 6, 5)[:, :, :2, :3], (1, 1), "VALID", feature_group_count=3
    ),
    "of two, one known": lambda x: lax.conv(IMAGE, x[:, :, :2, :2], (1, 1), "VALID"),
    "one axis": lambda x: jnp.convolve(x[0, 0, :, 0], KERNEL[0, 0, :, 0]),
    "gradient": lambda x: jax.grad(lambda x: jnp.sum(jnp.tanh(lax.conv(x, KERNEL, (2, 2), "SAME"))))(x),
    "max": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 2), (1, 1, 2, 1), "SAME"),
    "min": lambda x: lax.reduce_window(x, jnp.inf, lax.min, (1, 2, 2, 2), (1, 1, 2, 2), "VALID"),
    "sum": lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 1, 2, 3), (1, 1, 2, 1), "SAME"),
    "sum of all": lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 3, 6, 5), (1, 1, 1, 1), "VALID"),
    "gradient of a sum": lambda x: jax.grad(
        lambda x: jnp.sum(lax.reduce_window(x, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "SAME") ** 2)
    )(x),
}
CHOICES: dict[str, Callable[[Any], Any]] = {
    **{
        name: (lambda x, name=name: getattr(nn, name)(x))
        for name in ("elu", "selu", "celu", "mish", "soft_sign", "relu6", "hard_tanh", "hard_sigmoid", "hard_silu")
    },
    **{name: (lambda x, name=name: getattr(nn, name)(x)) for name in ("sparse_plus", "sparse_sigmoid")},
    "squared relu": lambda x: nn.relu(x) ** 2,
    "elu, by hand": lambda x: jnp.where(x > 0, x, jnp.exp(x) - 1),
    "the other way round": lambda x: jnp.where(x < 0, jnp.expm1(x), x),
    "slopes": lambda x: jnp.where(x >= 0, x, np.array([0.1, 0.2, -0.3]) * x),
    "a Huber loss": lambda x: jnp.where((r := jnp.abs(x)) < 0.5, 0.5 * r**2, 0.5 * (r - 0.25)),
    "variance": lambda x: jnp.maximum(0.0, jnp.mean(x * x, 1) - jnp.mean(x, 1) ** 2),
}


@mostly_slow("name", LOOPS, quick=2)
def test_loops(name: str) -> None:
    check(LOOPS[name], X)


@mostly_slow("name", PLACES, quick=3)
def test_places(name: str) -> None:
    check(PLACES[name], X)


@mostly_slow("name", WINDOWS, quick=2)
def test_windows(name: str) -> None:
    check(WINDOWS[name], IMAGE)


@mostly_slow("name", CHOICES, quick=2)
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_choices(name: str, scale: float) -> None:
    check(CHOICES[name], scale * X)
    check(CHOICES[name], np.array([[0.0, -0.0, 1.0], [-1.0, 0.5, -0.5]]))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: jnp.where(x > 0, x, x + 1e-9),
        lambda x: jnp.where(x > 0, x, x[::-1] * x),
        lambda x: jnp.where(x > 0, jnp.sin(x), nn.softmax(x)),
        lambda x: jnp.where(x > 0, 1 / x, 0.0),
        lambda x: jnp.where(x > 0, nn.relu(x[::-1]) + nn.relu(x), 0.0),
        lambda x: jnp.where(x > 0, nn.relu(x) * jnp.sin(x[::-1]) / nn.relu(x) ** 2, 0.0),
    ],
)
def test_choices_that_jump_or_mix_entries(f: Callable[[Any], Any]) -> None:
    with pytest.raises(SourceError, match="a choice that depends on the inputs"):
        reader.read(f, ((4, 3),))


@pytest.mark.slow
def test_a_variance_has_no_kink() -> None:
    assert "relu" not in ops(check(CHOICES["variance"], X))
    square = 3 * X[:3]
    assert "relu" in ops(check(lambda x: jnp.maximum(0.0, jnp.mean(x * x, 1) - jnp.mean(x, 0) ** 2), square))
    assert "relu" in ops(check(lambda x: jnp.maximum(0.0, jnp.mean(x * x, 1) - jnp.mean(x + 1, 1) ** 2), square))
    assert "relu" in ops(check(lambda x: jnp.maximum(0.0, jnp.mean(x * x, 1) - jnp.sum(x, 1) ** 2), square))


def test_many_windows_and_a_loop_compile() -> None:
    def f(x: Any) -> Any:
        y = lax.reduce_window(
            jnp.tanh(lax.conv(x, KERNEL, (1, 1), "SAME")), 0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "SAME"
        )
        return lax.scan(lambda c, row: (jnp.sin(c + row), None), y[0, 0, 0], y[0, 1])[0]

    x = IMAGE[:1]
    program = integraph.compile(f, method="exact", inputs=[x.shape], box=(-3, 3))
    np.testing.assert_allclose(program(x.ravel()), truth(f, x), rtol=0, atol=1e-12)
