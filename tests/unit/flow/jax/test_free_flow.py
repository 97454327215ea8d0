"""Blocks without a closed form as functions of jax: values against the engine `taylor` and mpmath, derivatives against
differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import integraph
from free_programs import learned, two_segments
from integraph import Program, gadgets
from integraph.errors import UsageError
from lazy import Lazy, needs
from taylor_programs import free

jax = Lazy("jax")
jnp = Lazy("jax.numpy")
pytestmark = needs("jax")


@pytest.fixture(autouse=True)
def double() -> Any:
    with jax.enable_x64(True):
        yield


def variables(params: dict[str, Any]) -> dict[str, Any]:
    return {name: jnp.asarray(value) for name, value in params.items()}


def inputs(count: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(-0.5, 0.5, (count, 2))


@pytest.mark.slow
@pytest.mark.parametrize("block", ["low_rank", "raw"])
def test_values_are_those_of_taylor(block: str) -> None:
    program = two_segments(block)
    function, params = program.to_jax()
    for count in (0, 1, 7):
        x = inputs(count)
        wanted = program(x, engine="taylor")
        for given in (params, variables(params)):
            assert np.abs(np.asarray(function(given, x)) - wanted).max(initial=0.0) <= 1e-13
        assert np.abs(program(x, engine="jax") - wanted).max(initial=0.0) <= 1e-13
    assert function(params, inputs(1)[0]).shape == (program.outputs,)


@pytest.mark.slow
def test_vmap_jit_and_float32() -> None:
    program, x = two_segments("low_rank"), inputs(5)
    function, params = program.to_jax()
    wanted = program(x, engine="taylor")
    assert np.abs(jax.jit(jax.vmap(lambda row: function(params, row)))(x) - wanted).max() <= 1e-13
    stacked = {name: jnp.stack([value, 0.5 * value]) for name, value in variables(params).items()}
    both = jax.vmap(function, (0, None))(stacked, x)
    assert np.abs(both[0] - wanted).max() <= 1e-13
    half = {name: 0.5 * value for name, value in variables(params).items()}
    assert np.abs(both[1] - function(half, x)).max() <= 1e-13
    single = function(params, x.astype(np.float32))
    assert single.dtype == jnp.float32
    assert 0 < np.abs(single - wanted).max() <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("block", ["low_rank", "raw"])
def test_derivatives_are_those_of_differences(block: str) -> None:
    """First ones by numbers of every parameter and by x."""
    program, x = two_segments(block), inputs(3)
    function, params = program.to_jax()
    run = jax.jit(lambda params, x: jnp.sum(jnp.sin(function(params, x))))
    slopes, by_x = jax.grad(run, (0, 1))(variables(params), jnp.asarray(x))
    step = 1e-5
    for name, value in params.items():
        for place in list(np.ndindex(value.shape))[::3]:
            move = np.zeros(value.shape)
            move[place] = step
            low, high = (run({**params, name: value + sign * move}, x) for sign in (-1, 1))
            assert abs(slopes[name][place] - (high - low) / (2 * step)) <= 1e-8
    for k in range(2):
        low, high = (run(params, x + sign * step * np.eye(2)[k]) for sign in (-1, 1))
        assert abs(by_x[:, k].sum() - (high - low) / (2 * step)) <= 1e-8


@pytest.mark.slow
def test_many_steps_and_the_end_of_a_solution() -> None:
    """y' = y² is y/(1 − y) after unit time; near its end it takes many steps, and beyond it there is NaN."""
    program = free(1.0, Q=[[[1.0]]])
    starts = [0.0, 1e-300, 0.5, 0.999, 0.999999, 1.0, 1.5, np.nan]
    function, params = program.to_jax()
    found = np.asarray(function(params, np.array(starts)[:, None]))[:, 0]
    for start, value in zip(starts[:5], found, strict=False):
        with mpmath.workdps(40):
            truth = mpmath.mpf(start) / (1 - mpmath.mpf(start))
        assert abs(value - truth) <= 1e-13 * abs(truth) / (1 - start)
    assert np.isnan(found[5:]).all()
    slope, reached = jax.grad(lambda x: function(params, x[None])[0]), np.array(starts[:4])
    assert np.abs(jax.vmap(slope)(reached) * (1 - reached) ** 2 - 1).max() <= 1e-9
    for bend in (jax.grad(slope), jax.jacfwd(slope)):
        assert np.abs(jax.vmap(bend)(reached) * (1 - reached) ** 3 - 2).max() <= 1e-8
    flow = program.flow(np.array(starts[:-1])[:, None], "jax")
    assert [failure.input for failure in flow.failures] == [5, 6]
    assert "t ≈ 0.66" in str(flow.failures[1])


@pytest.mark.slow
def test_fast_decay_and_more_steps_than_there_are() -> None:
    """y' = −ry + 1: right for r = 300, and NaN, not a wrong number, where no number of steps would do."""
    for rate, fine in ((300.0, True), (1e6, False)):
        function, params = free(1.0, A=[[-rate]], Q=[[[0.0]]], b=[1.0]).to_jax()
        (value,) = np.asarray(function(params, np.array([2.0])))
        assert abs(value - 1 / rate) <= 1e-12 if fine else np.isnan(value)


@pytest.mark.slow
def test_beside_closed_forms_in_rescaled_units() -> None:
    """A raw block beside a tanh, which reads what the first segment wrote, with states and time in other units."""
    r = integraph.Registers()
    x, alpha, lam, y = r.inputs("x", 2), r.new("alpha", 2), r.new("lam", 2), r.new("y", 2)
    A, Q = np.array([[0.3, -0.2, 1.0, 0.0], [0.1, 0.0, 0.5, -1.0]]), np.zeros((2, 4, 4))
    Q[0, 0, 2], Q[0, 2, 0], Q[1, 1, 1] = 0.5, 0.25, -0.5
    steps = [
        integraph.segment("both", gadgets.tanh(alpha, lam, x), gadgets.raw(y, x, A=A, Q=Q, b=[0.1, 0.2])),
        integraph.segment("again", gadgets.raw(y, alpha, A=A, Q=Q)),
    ]
    program = integraph.build(r, steps, y).rescale_time(3.0).rescale_states(np.linspace(0.5, 2.0, r.width))
    function, params = program.to_jax()
    points = inputs(4)
    for given in (params, variables(params)):
        assert np.abs(function(given, points) - program(points, engine="taylor")).max() <= 1e-12


@pytest.mark.slow
def test_triples_of_one_place_are_added() -> None:
    r = integraph.Registers()
    y = r.inputs("y", 2)
    index = np.array([[0, -1, -1], [0, -1, -1], [0, 0, 1], [0, 1, 0], [1, -1, 0], [1, -1, 0]])
    block = gadgets.raw(y, integraph.View(0, (0,), (1,)), index=index, value=np.linspace(0.1, 0.6, 6))
    program = integraph.build(r, [integraph.segment("s", block)], y)
    function, params = program.to_jax()
    wanted = program(inputs(2), engine="taylor")
    for given in (params, variables(params)):
        assert np.abs(function(given, inputs(2)) - wanted).max() <= 1e-14


@pytest.mark.slow
def test_a_file(tmp_path: Path) -> None:
    program: Program = two_segments("low_rank")
    path = program.export(tmp_path / "model.jaxexport")
    loaded = jax.export.deserialize(bytearray(path.read_bytes()))
    for count in (1, 6):
        x = inputs(count)
        assert np.abs(np.asarray(loaded.call(x)) - program(x, engine="taylor")).max() <= 1e-13
    (slopes,) = loaded.vjp().call(x, np.ones((6, 2)))
    function, params = program.to_jax()
    assert np.abs(slopes - jax.grad(lambda x: function(params, x).sum())(x)).max() <= 1e-13


@pytest.mark.slow
def test_a_learned_program() -> None:
    program = learned()
    x = np.random.default_rng(2).uniform(-3, 3, (9, program.inputs))
    function, params = program.to_jax()
    assert np.abs(function(params, x) - program(x, engine="taylor")).max() <= 1e-12


def test_a_block_that_is_too_large() -> None:
    n = 3000
    index = np.stack([np.arange(n), np.arange(n), np.arange(n)], 1)
    r = integraph.Registers()
    y = r.inputs("y", n)
    block = gadgets.raw(y, integraph.View(0, (0,), (1,)), index=index, value=-np.ones(n))
    function, params = integraph.build(r, [integraph.segment("s", block)], y).to_jax()
    with pytest.raises(UsageError, match=r"the raw block has 3,000 registers .* the engine taylor"):
        function(params, np.zeros(n))
