"""Models of equinox as their users write them, against themselves in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import integraph
from jax_graphs import truth
from lazy import Lazy, framework

jax, jnp, nn = Lazy("jax"), Lazy("jax.numpy"), Lazy("jax.nn")
POINTS = np.random.default_rng(0).uniform(size=(3, 2))


def agrees(model: Any, x: np.ndarray, shape: tuple[int, ...], **options: Any) -> integraph.Program:
    program = integraph.compile(model, **options)
    wanted = np.array([truth(model, row.reshape(shape)) for row in x])
    np.testing.assert_allclose(program(x), wanted, rtol=0, atol=1e-12)
    return program


@pytest.mark.slow
def test_equinox() -> None:
    """How many inputs there are, the model says."""
    eqx = framework("equinox")
    key = jax.random.key(0)
    program = agrees(eqx.nn.MLP(2, 1, 8, 2, activation=jnp.tanh, key=key), POINTS, (2,))
    assert program.origin.method == "exact"  # type: ignore[union-attr]
    gru = eqx.nn.GRUCell(2, 3, key=key)
    agrees(
        lambda xs: jax.lax.scan(lambda h, x: (gru(x, h), None), jnp.zeros(3), xs)[0], POINTS, (1, 2), inputs=[(1, 2)]
    )


@pytest.mark.slow
def test_a_trained_equinox_model() -> None:
    eqx = framework("equinox")
    x = np.linspace(0, 1, 64)[:, None]
    y = np.sin(6 * x[:, 0])
    model = eqx.nn.MLP(1, "scalar", 16, 2, activation=nn.softplus, key=jax.random.key(1))

    @eqx.filter_jit
    def step(model: Any) -> tuple[Any, Any]:
        loss, slope = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(x) - y) ** 2))(model)
        return jax.tree.map(lambda w, g: w if g is None else w - 0.1 * g, model, slope), loss

    for _ in range(200):
        model, loss = step(model)
    assert loss < 0.5
    agrees(model, x[::16], (1,))


@pytest.mark.slow
def test_a_convolutional_net_of_equinox_is_traced_in_float32() -> None:
    eqx = framework("equinox")
    one, two = jax.random.split(jax.random.key(0))
    layers = [eqx.nn.Conv2d(1, 3, 3, key=one), eqx.nn.Lambda(jnp.tanh), eqx.nn.AvgPool2d(2, 2)]
    model = eqx.nn.Sequential([*layers, eqx.nn.Lambda(jnp.ravel), eqx.nn.Linear(27, 2, key=two)])
    graph = integraph.graph(model, inputs=[(1, 8, 8)])
    assert any("float32" in note for note in graph.notes)
    x = np.random.default_rng(0).uniform(size=64)
    wanted = np.asarray(model(jnp.asarray(x.reshape(1, 8, 8), jnp.float32)))
    np.testing.assert_allclose(integraph.compile(graph)(x), wanted, atol=1e-6)
