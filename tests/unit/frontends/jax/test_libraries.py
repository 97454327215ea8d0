"""Models of jax, equinox, flax and haiku as their users write and train them, against themselves in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import SourceError, UsageError
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

    losses = []
    for _ in range(200):
        model, loss = step(model)
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]
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


def trained(apply: Any, variables: Any, steps: int = 100) -> Any:
    """Parameters after some steps of gradient descent on the product of two inputs; the loss falls to a half."""
    x = np.random.default_rng(1).uniform(size=(64, 2)).astype(np.float32)
    y = x[:, :1] * x[:, 1:]

    @jax.jit  # type: ignore[untyped-decorator]
    def step(variables: Any) -> tuple[Any, Any]:
        loss, slope = jax.value_and_grad(lambda v: jnp.mean((jax.vmap(lambda row: apply(v, row))(x) - y) ** 2))(
            variables
        )
        return jax.tree.map(lambda w, g: w - 0.1 * g, variables, slope), loss

    losses = []
    for _ in range(steps):
        variables, loss = step(variables)
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]
    return variables


@pytest.mark.slow
def test_a_trained_model_in_plain_jax() -> None:
    """A dictionary of weights and a function, and the function that is left when the weights are fixed."""

    def apply(weights: Any, x: Any) -> Any:
        return weights["out"] @ jnp.tanh(weights["in"] @ x + weights["bias"])

    keys = jax.random.split(jax.random.key(2))
    start = {
        "in": jax.random.normal(keys[0], (8, 2)),
        "bias": jnp.zeros(8),
        "out": jax.random.normal(keys[1], (1, 8)),
    }
    weights = trained(apply, start)
    program = agrees(lambda x: apply(weights, x), POINTS, (2,), inputs=2)
    assert program.origin.method == "exact"  # type: ignore[union-attr]


@pytest.mark.slow
def test_flax_linen() -> None:
    """model.bind(variables), or a function that applies the model."""
    linen = framework("flax.linen")

    class Net(linen.Module):  # type: ignore[misc, name-defined]
        @linen.compact  # type: ignore[untyped-decorator]
        def __call__(self, x: Any) -> Any:
            x = linen.LayerNorm()(linen.tanh(linen.Dense(8)(x)))
            return linen.Dense(1)(linen.Dropout(0.5, deterministic=True)(x))

    model = Net()
    variables = trained(model.apply, model.init(jax.random.key(0), jnp.ones(2)))
    program = agrees(model.bind(variables), POINTS, (2,), inputs=2)
    assert program.digest == agrees(lambda x: model.apply(variables, x), POINTS, (2,), inputs=2).digest
    with pytest.raises(UsageError, match=r"Net of flax.linen has no parameters: pass model.bind\(variables\)"):
        integraph.compile(model)
    with pytest.raises(UsageError, match="Net does not say how many inputs it has: give their number, as inputs=2"):
        integraph.compile(model.bind(variables))


@pytest.mark.slow
def test_flax_nnx() -> None:
    """A module holds its parameters; in training it changes itself, which cannot be traced."""
    nnx = framework("flax.nnx")

    class Net(nnx.Module):  # type: ignore[misc, name-defined]
        def __init__(self, rngs: Any) -> None:
            self.hidden, self.out = nnx.Linear(2, 8, rngs=rngs), nnx.Linear(8, 1, rngs=rngs)
            self.norm = nnx.BatchNorm(8, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.out(nnx.gelu(self.norm(self.hidden(x))))

    model = Net(nnx.Rngs(0))
    x = np.random.default_rng(1).uniform(size=(64, 2)).astype(np.float32)

    @nnx.jit  # type: ignore[untyped-decorator]
    def step(model: Any) -> Any:
        loss, slope = nnx.value_and_grad(lambda m: jnp.mean((m(x) - x[:, :1] * x[:, 1:]) ** 2))(model)
        nnx.update(model, jax.tree.map(lambda w, g: w - 0.1 * g, nnx.state(model, nnx.Param), slope))
        return loss

    losses = [float(step(model)) for _ in range(100)]
    assert losses[-1] < 0.5 * losses[0]
    assert float(jnp.abs(model.norm.mean[...]).max()) > 0.01  # running statistics were learned, too
    with pytest.warns(FutureWarning), pytest.raises(SourceError, match=r"TraceContextError.*Call model.eval\(\) first"):
        integraph.compile(model, inputs=2)
    model.eval()
    agrees(model, POINTS, (2,), inputs=2)


@pytest.mark.slow
def test_haiku() -> None:
    """A transformed function with its parameters; a recurrent one over a fixed number of steps."""
    hk = framework("haiku")
    model = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([8, 8, 1], activation=jnp.tanh)(x)))
    weights = trained(model.apply, model.init(jax.random.key(0), jnp.ones(2)))
    agrees(lambda x: model.apply(weights, x), POINTS, (2,), inputs=2)
    with pytest.raises(UsageError, match=r"haiku Transformed has no parameters: pass lambda x: model.apply"):
        integraph.compile(model)

    def unrolled(steps: Any) -> Any:
        core = hk.GRU(4)
        states, _ = hk.dynamic_unroll(core, steps, core.initial_state(None))
        return hk.Linear(1)(states[-1])

    recurrent = hk.without_apply_rng(hk.transform(unrolled))
    start = recurrent.init(jax.random.key(1), jnp.ones((2, 1)))
    agrees(lambda steps: recurrent.apply(start, steps), POINTS, (2, 1), inputs=[(2, 1)])
