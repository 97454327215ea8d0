"""Functions written in jax.numpy, compiled: equal to jax."""

from __future__ import annotations

import numpy as np
import pytest

import integraph
from integraph.errors import SourceError, UsageError
from lazy import Lazy, needs
from transformers import to_graph, transformer

pytestmark = needs("jax")
jax, jnp = Lazy("jax"), Lazy("jax.numpy")


def wave(x: jax.Array) -> jax.Array:
    return jnp.sin(3 * x[0]) * jnp.exp(-x[1]) / (1 + x[0] * x[1])


def layer(x: jax.Array) -> jax.Array:
    """A small attention layer with a residual, a norm and silu."""
    n = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return x + jax.nn.softmax(n @ n.T, axis=-1) @ jax.nn.silu(n)


def test_a_formula_in_python() -> None:
    program = integraph.compile(wave, method="exact", inputs=2)
    text = integraph.compile("sin(3*x)*exp(-y)/(1+x*y)")
    assert (program.width, program.depth) == (text.width, text.depth) == (5, 2)
    x = np.random.default_rng(0).uniform(size=(9, 2))
    np.testing.assert_allclose(program(x), text(x), rtol=1e-14)


@pytest.mark.slow
def test_a_layer() -> None:
    program = integraph.compile(layer, method="exact", inputs=[(4, 3)], box=(-2, 2))
    x = np.random.default_rng(0).uniform(-2, 2, (5, 12))
    with jax.enable_x64(True):
        wanted = np.array([np.asarray(layer(jnp.asarray(row.reshape(4, 3)))).ravel() for row in x])
    np.testing.assert_allclose(program(x), wanted, atol=1e-13)
    assert "(test_compile.py:" in program.describe()


def test_several_arguments_are_one_input() -> None:
    program = integraph.compile(lambda x, A: A @ jnp.tanh(x), method="exact", inputs=[(2,), (3, 2)])
    x, A = np.array([0.3, 0.8]), np.arange(6.0).reshape(3, 2) / 6
    np.testing.assert_allclose(program(np.concatenate([x, A.ravel()])), A @ np.tanh(x), rtol=1e-14)


@pytest.mark.slow
def test_the_graph_of_a_transformer_has_the_same_size() -> None:
    net = transformer(tokens=4, width=8, heads=2, hidden=16, layers=1)
    graph = to_graph(net)
    assert integraph.graph(graph) is graph
    x = np.random.default_rng(0).standard_normal((2, 32))
    np.testing.assert_allclose(integraph.compile(graph, box=(-4, 4))(x), net.forward(x), atol=1e-13)


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match="how many inputs"):
        integraph.compile(wave, method="exact")
    with pytest.raises(SourceError, match="while"):
        integraph.compile(
            lambda x: jax.lax.while_loop(lambda y: y.sum() < 9, lambda y: 2 * y, x), method="exact", inputs=2
        )
    with pytest.raises(SourceError, match="not analytic"):
        integraph.compile(lambda x: jnp.abs(x - 0.5), method="exact", inputs=2)
    with pytest.raises(UsageError, match="shapes of arguments"):
        integraph.compile(np.sin, inputs=[(2,)])
