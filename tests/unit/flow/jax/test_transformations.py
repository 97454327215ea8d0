"""What jax does with the function of a program: chunks, gradients of gradients, forward mode, precision, pytrees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import export_programs
import integraph
from lazy import Lazy, needs
from networks import random_network
from slow import mostly_slow

jax = Lazy("jax")
jnp = Lazy("jax.numpy")
pytestmark = needs("jax")


@pytest.fixture(autouse=True)
def double() -> Any:
    with jax.enable_x64(True):
        yield


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wide", "narrow"])
def test_long_batches_run_in_chunks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values, gradients in x and in the controls, and second derivatives are those of short batches."""
    program = export_programs.PROGRAMS[name]()
    function, params = program.to_jax()
    x = export_programs.inputs(program, 50)
    free = {key: jnp.asarray(value) for key, value in params.items()}

    def loss(params: Any, x: Any) -> Any:
        return (function(params, x) ** 2).sum()

    def everything() -> list[Any]:
        value, slopes = jax.value_and_grad(loss, (0, 1))(free, x)
        curvature = jax.jvp(jax.grad(lambda x: loss(params, x)), (x,), (np.ones_like(x),))[1]
        return [value, function(params, x), curvature, slopes[1], *slopes[0].values()]

    wanted = everything()
    monkeypatch.setattr("integraph.flow.jax.function.CHUNK", 7)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0}, raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    text = str(jax.make_jaxpr(lambda x: function(params, x))(x))
    assert "scan" in text
    for ours, one in zip(everything(), wanted, strict=True):
        assert np.abs(ours - one).max() <= 1e-12 * max(1.0, np.abs(one).max())
    assert (
        np.abs(jax.vmap(lambda x: function(params, x))(x.reshape(2, 25, -1)).reshape(50, -1) - wanted[1]).max() <= 1e-13
    )


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"method": "wide"}], ids=["narrow", "wide"])
@pytest.mark.parametrize("activation", ["tanh", "gelu"])
def test_a_net_differentiated_three_ways(options: dict[str, str], activation: str) -> None:
    """Reverse and forward mode agree, and with differences of the exact engine; also at x = 0."""
    network = random_network((2, 5, 5, 1), activation=activation)
    program = integraph.compile(network, 1e-6, box=(-1, 1), **options)
    function, params = program.to_jax()
    value = lambda x: function(params, x)[0]  # noqa: E731
    for x in (np.zeros(2), np.array([0.3, -0.7])):
        reverse, forward = jax.grad(value)(x), jax.jacfwd(value)(x)
        steps = 1e-4 * np.eye(2)
        central = np.array(
            [
                (8 * (program(x + h) - program(x - h)) - program(x + 2 * h) + program(x - 2 * h))[0] / 12e-4
                for h in steps
            ]
        )
        assert np.abs(reverse - forward).max() <= 1e-12
        assert np.abs(reverse - central).max() <= 1e-10
        hessian = jax.hessian(value)(x)
        assert np.isfinite(hessian).all()
        assert np.abs(hessian - jax.jacrev(jax.jacrev(value))(x)).max() <= 1e-11


TEXTS = ("atan(x) + tanh(x)*expm1(x)", "log(cosh(x)) + asinh(x)", "softplus(x)*erf(x)")


@mostly_slow("text", TEXTS, quick=1)
def test_gradients_at_0_are_finite(text: str) -> None:
    """|x|, quotients and roots on the way have no derivative there, the flow has."""
    function, params = integraph.compile(text, box=(-1, 1)).to_jax()
    for times in (jax.grad, lambda f: jax.grad(jax.grad(f))):
        assert np.isfinite(times(lambda x: function(params, jnp.array([x]))[0])(0.0))


def test_matrix_products_ask_for_full_precision() -> None:
    program = export_programs.wide()
    x = np.zeros((2, program.inputs), np.float32)
    for precision, wanted in (("highest", "HIGHEST"), ("default", "DEFAULT")):
        function, params = program.to_jax(precision)
        text = jax.jit(lambda x, f=function, p=params: f(p, x)).lower(x).as_text()
        products = [line for line in text.splitlines() if "dot_general" in line]
        assert products
        assert all(("HIGHEST" in line) == (wanted == "HIGHEST") for line in products)


@pytest.mark.slow
def test_parameters_travel_as_a_pytree() -> None:
    """Through optax-like updates, `jax.tree` and a copy on the device: names, order and shapes stay."""
    program = export_programs.narrow()
    function, params = program.to_jax()
    x = export_programs.inputs(program, 5)
    device = jax.device_put(params)
    leaves, tree = jax.tree.flatten(device)
    assert np.abs(function(jax.tree.unflatten(tree, leaves), x) - program(x)).max() <= 1e-13
    slopes = jax.grad(lambda p: (function(p, x) ** 2).mean())(device)
    moved = jax.tree.map(lambda value, slope: value - 1e-3 * slope, device, slopes)
    before, after = ((function(p, x) ** 2).mean() for p in (device, moved))
    assert after < before
