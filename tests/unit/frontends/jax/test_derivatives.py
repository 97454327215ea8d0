"""jax.grad, jvp and Hessians of traced functions, against jax itself in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import integraph
from jax_graphs import check, ops, truth
from lazy import Lazy, needs
from slow import mostly_slow

pytestmark = needs("jax")
jax, jnp, nn = Lazy("jax"), Lazy("jax.numpy"), Lazy("jax.nn")

RNG = np.random.default_rng(3)
X = RNG.standard_normal(3)
FIRST, LAST = RNG.standard_normal((5, 3)), RNG.standard_normal((1, 5))
TABLE = RNG.standard_normal((4, 3))


def net(activation: str) -> Callable[[Any], Any]:
    return lambda x: (LAST @ getattr(nn, activation)(FIRST @ x))[0]


def burgers(t: Any, x: Any) -> Any:
    """The residual u_t + u·u_x − u_xx/10 of a small net u(t, x)."""

    def u(t: Any, x: Any) -> Any:
        return jnp.tanh(FIRST[:, :2] @ jnp.stack([t, x])) @ LAST[0]

    return jax.grad(u, 0)(t, x) + u(t, x) * jax.grad(u, 1)(t, x) - 0.1 * jax.grad(jax.grad(u, 1), 1)(t, x)


ACTIVATIONS = ("tanh", "softplus", "sigmoid", "silu", "gelu", "mish", "soft_sign", "squareplus", "log_sigmoid")


@mostly_slow("activation", ACTIVATIONS, quick=2)
def test_gradients_of_nets(activation: str) -> None:
    check(lambda x: jax.grad(net(activation))(x), X, accuracy=1e-13)


def test_the_slope_of_softplus_is_a_sigmoid() -> None:
    assert set(ops(check(lambda x: jax.grad(lambda x: nn.softplus(x).sum())(x), 9 * X))) == {"sigmoid", "mul"}


DERIVATIVES: dict[str, Callable[..., Any]] = {
    "hessian": lambda x: jax.hessian(net("tanh"))(x),
    "hessian of softplus": lambda x: jax.hessian(net("softplus"))(x),
    "hessian-vector product": lambda x: jax.jvp(jax.grad(net("tanh")), (x,), (x[::-1],))[1],
    "vjp": lambda x: jax.vjp(jnp.sin, x)[1](x)[0],
    "value and gradient": lambda x: jax.value_and_grad(net("silu"))(x),
    "softmax": lambda x: jax.jacobian(nn.softmax)(x),
    "softmax, forward": lambda x: jax.jacfwd(nn.softmax)(x),
    "softmax, twice": lambda x: jax.hessian(lambda x: nn.softmax(x)[0])(x),
    "logsumexp": lambda x: jax.grad(nn.logsumexp)(x),
    "logsumexp, forward": lambda x: jax.jacfwd(nn.logsumexp)(x),
    "log_softmax": lambda x: jax.grad(lambda x: nn.log_softmax(x)[0])(x),
    "entropy": lambda x: jax.grad(lambda x: -jnp.sum(nn.softmax(x) * nn.log_softmax(x)))(x),
    "attention": lambda x: jax.grad(lambda x: jnp.sum(nn.softmax(TABLE @ jnp.outer(x, x), axis=0) @ x))(x),
    "powers": lambda x: jax.grad(lambda x: jnp.sum((x * x + 1) ** x + jnp.cbrt(x * x + 1) ** 1.3))(x),
    "entries": lambda x: jax.grad(lambda x: jnp.sum(x[np.array([0, 0, 2])] ** 2) + jnp.sum(x[::2] ** 3) + x[1])(x),
    "squared relu": lambda x: jax.grad(lambda x: jnp.sum(nn.relu(x) ** 2 * jnp.sin(x[::-1])))(x),
    "scan": lambda x: jax.grad(lambda x: jax.lax.scan(lambda c, w: (jnp.tanh(w * c), c), x, TABLE)[0].sum())(x),
    "product": lambda x: jax.grad(jnp.prod)(x),
    "custom_jvp": lambda x: _cube(x) + jax.grad(lambda x: _cube(x).sum())(x),
}


def _cube(x: Any) -> Any:
    f = jax.custom_jvp(lambda x: x**3)
    f.defjvp(lambda primals, tangents: (f(primals[0]), 3 * primals[0] ** 2 * tangents[0]))
    return f(x)


@mostly_slow(("name", "scale"), [(name, scale) for scale in (10.0, 1.0) for name in DERIVATIVES], quick=2)
def test_derivatives(name: str, scale: float) -> None:
    check(DERIVATIVES[name], scale * X, accuracy=1e-12)


@pytest.mark.slow
def test_derivatives_of_softmax_do_not_overflow() -> None:
    graph = check(lambda x: jax.grad(lambda x: nn.logsumexp(x) ** 2)(x), 4000 * X)
    assert set(ops(graph)) <= {"softmax", "logsumexp", "mul", "reshape", "broadcast"}


@pytest.mark.slow
def test_a_residual_of_a_differential_equation_compiles() -> None:
    program = integraph.compile(burgers, method="exact", inputs=[(), ()])
    points = RNG.uniform(size=(4, 2))
    wanted = np.array([truth(burgers, *row) for row in points])
    np.testing.assert_allclose(program(points), wanted, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_a_gradient_of_softmax_compiles() -> None:
    def f(x: Any) -> Any:
        return jax.grad(lambda x: jnp.sum(nn.softmax(FIRST @ x) * LAST[0]))(x)

    points = RNG.uniform(size=(4, 3))
    wanted = np.array([truth(f, row) for row in points])
    np.testing.assert_allclose(integraph.compile(f, method="exact", inputs=3)(points), wanted, rtol=0, atol=1e-12)
