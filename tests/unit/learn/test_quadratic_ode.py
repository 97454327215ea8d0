"""The model: laws of its kinds, and what becomes of it as a program."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import integraph
from integraph.errors import UsageError
from law import examples
from lazy import Lazy, needs, needs_command

jax = Lazy("jax")
jnp = Lazy("jax.numpy")
eqx = Lazy("equinox")
learned_program = Lazy("integraph.learn.learned_program")
pytestmark = [needs("jax"), needs("equinox"), needs("optax")]
X = np.random.default_rng(0).uniform(-1, 1, (20, 2))


@pytest.fixture(autouse=True)
def double() -> Any:
    with jax.enable_x64(True):
        yield


def model(kind: str = "lossless", **more: int) -> Any:
    sizes = {"inputs": 2, "outputs": 3, "width": 5, "depth": 2, "rank": 3, "seed": 1} | more
    made = integraph.learn.QuadraticODE(**sizes, kind=kind)
    return jax.tree.map(lambda leaf: 2.0 * leaf, made)  # further from the identity than at the start


def quadratic(controls: Any, y: np.ndarray) -> np.ndarray:
    """Q(y, y) (D, W)."""
    return np.einsum("dir,dr->di", controls.U, (controls.V1 @ y) * (controls.V2 @ y))


@examples(50)
@given(st.integers(0, 10_000), st.lists(st.floats(-10, 10), min_size=5, max_size=5))
def test_lossless_controls_do_no_work(seed: int, y: list[float]) -> None:
    state = np.array(y)
    with jax.enable_x64(True):
        for kind in ("lossless", "damped"):
            Q = quadratic(model(kind, seed=seed).controls(), state)
            np.testing.assert_allclose(Q @ state, 0.0, atol=1e-11 * (1.0 + np.abs(state).sum()) ** 3)


def test_free_controls_do_work() -> None:
    state = np.arange(1.0, 6.0)
    assert np.abs(quadratic(model("free").controls(), state) @ state).max() > 0.1


def test_damping_does_not_increase_the_norm() -> None:
    A = np.asarray(model("damped").controls().A)
    assert np.linalg.eigvalsh(A + A.swapaxes(1, 2)).max() <= 1e-12


@pytest.mark.slow
def test_nothing_lossless_blows_up_where_free_models_do() -> None:
    far = 30.0 * X
    with np.errstate(all="ignore"):
        assert np.isfinite(np.asarray(model("lossless").solution(far, tolerance=1e-6))).all()
        assert np.isnan(np.asarray(model("free").solution(far, tolerance=1e-6))).any()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lossless", "free", "damped"])
def test_its_program_has_its_values_in_every_engine(kind: str, tmp_path: Path) -> None:
    made = model(kind)
    program, truth = made.program(), np.asarray(made.solution(X))
    program.save(tmp_path / "learned.integraph")
    loaded = integraph.load(tmp_path / "learned.integraph")
    assert loaded.digest == program.digest
    for engine in ("taylor", "oracle"):
        np.testing.assert_allclose(loaded(X, engine), truth, rtol=0, atol=1e-10)
    np.testing.assert_allclose(made(X, order=16, steps=16), truth, rtol=0, atol=1e-10)
    np.testing.assert_allclose(made(X[0]), made(X)[0], rtol=0, atol=1e-14)


@pytest.mark.slow
@needs_command("gcc", "gcc")
def test_its_program_in_c(tmp_path: Path) -> None:
    made = model()
    made.program().export(tmp_path / "learned.c")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "learned.c", "-o", "learned.so"], cwd=tmp_path, check=True)
    run = ctypes.CDLL(str(tmp_path / "learned.so")).learned
    numbers = ctypes.POINTER(ctypes.c_double)
    for x, truth in zip(X, np.asarray(made.solution(X)), strict=True):
        y = np.zeros(3)
        assert run(x.ctypes.data_as(numbers), y.ctypes.data_as(numbers)) == 0
        np.testing.assert_allclose(y, truth, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_its_program_is_bounded() -> None:
    made = model(width=3, outputs=1, depth=1, rank=1)
    bounds = integraph.bound(made.program(), [[-0.3, 0.3], [-0.3, 0.3]], progress=False)
    values = np.asarray(made.solution(0.3 * np.random.default_rng(1).uniform(-1, 1, (500, 2))))
    assert (bounds.low <= values.min(0)).all()
    assert (values.max(0) <= bounds.high).all()
    assert (bounds.high - bounds.low < 2 * np.ptp(values, axis=0)).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lossless", "free"])
def test_training_goes_on_from_a_program(kind: str) -> None:
    made = model(kind)
    back = integraph.learn.QuadraticODE.from_program(made.program())
    assert (back.kind, back.inputs, back.width, back.depth) == ("free", 2, 5, 2)
    np.testing.assert_allclose(back.solution(X), made.solution(X), rtol=0, atol=1e-12)


def test_controls_of_a_program_in_other_units_of_time() -> None:
    made = model()
    found, readout = learned_program.controls(made.program().rescale_time(3.0))
    for name, ours, own in zip(found._fields, found, made.controls(), strict=True):
        np.testing.assert_allclose(ours, own, rtol=1e-14, err_msg=name)
    np.testing.assert_array_equal(readout, made.C)


@pytest.mark.slow
def test_training_goes_on_from_a_compiled_formula() -> None:
    program = integraph.compile("sin(3*x)*exp(-y)").rescale_time(0.7)
    back = integraph.learn.QuadraticODE.from_program(program)
    np.testing.assert_allclose(back.solution(X), program(X), rtol=0, atol=1e-12)
    with pytest.raises(UsageError, match="takes a program"):
        integraph.learn.QuadraticODE.from_program("sin(x)")


@pytest.mark.slow
def test_models_are_pytrees() -> None:
    made = model()
    leaves, structure = jax.tree.flatten(made)
    again = jax.tree.unflatten(structure, leaves)
    assert (again.kind, again.inputs, again.parameters) == (made.kind, made.inputs, made.parameters)
    np.testing.assert_array_equal(again(X), made(X))
    np.testing.assert_allclose(jax.vmap(made)(X), made(X), rtol=0, atol=1e-13)
    slopes = eqx.filter_grad(lambda one: jnp.sum(one(X) ** 2))(made)
    up, down = (eqx.tree_at(lambda one: one.b, made, made.b + change) for change in (1e-6, -1e-6))
    change = float(jnp.sum(up(X) ** 2) - jnp.sum(down(X) ** 2)) / 2e-6
    assert change == pytest.approx(float(jnp.sum(slopes.b)), rel=1e-6)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"width": 1}, "width = 1: the registers hold the 2 inputs: needs an integer ≥ 2"),
        ({"depth": 0}, "depth = 0: needs an integer ≥ 1"),
        ({"rank": 0}, "rank = 0: needs an integer ≥ 1"),
        ({"kind": "loose"}, "kind = 'loose': a kind is one of lossless, free, damped"),
        ({"seed": -1}, "seed = -1: needs an integer ≥ 0"),
        ({"steps": 0}, "steps = 0: needs an integer ≥ 1"),
        ({"order": 1.5}, "order = 1.5: needs an integer ≥ 1"),
    ],
)
def test_what_is_no_model(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        integraph.learn.QuadraticODE(**({"inputs": 2, "outputs": 1, "width": 4, "depth": 2, "rank": 2} | wrong))
    assert said in str(caught.value)


def test_inputs_of_another_number() -> None:
    with pytest.raises(UsageError, match="takes \\(2,\\) or \\(batch, 2\\)"):
        model()(np.ones((4, 3)))


def test_a_model_that_is_no_number_is_no_program() -> None:
    with pytest.raises(UsageError, match="not all finite"):
        jax.tree.map(lambda leaf: leaf * np.nan, model()).program()


@pytest.mark.parametrize(("asked", "said"), [({"steps": 0}, "steps = 0: needs"), ({"order": 0}, "order = 0: needs")])
def test_steps_that_cannot_be(asked: dict[str, int], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        model()(X, **asked)


def test_digits_are_not_lost_without_a_word() -> None:
    made = model()
    with jax.enable_x64(False), pytest.raises(UsageError, match="x is float64, which jax would round"):
        made(X)
    with pytest.raises(UsageError, match="x must be an array of numbers"):
        made("x")
    with pytest.raises(UsageError, match="x = 'complex64': the model needs the digits"):
        made(np.ones(2, np.complex64))


def test_all_products_are_in_full_precision() -> None:
    """On a processor float32 is float32; what an accelerator is told stands in the program for XLA."""
    made = model("damped")
    text = str(jax.make_jaxpr(lambda one, x: one(x))(made, X))
    products = [line for line in text.splitlines() if "dot_general" in line]
    assert len(products) > 3
    assert text.count("precision=Precision.HIGHEST") + text.count("precision=(Precision.HIGHEST") == len(products)


@pytest.mark.slow
def test_slopes_of_the_true_flow() -> None:
    made = model()
    wanted = jax.jacrev(lambda x: made(x, order=16, steps=8))(X[0])
    for differentiate in (jax.jacfwd, jax.jacrev):
        np.testing.assert_allclose(differentiate(made.solution)(X[0]), wanted, rtol=0, atol=1e-10)
