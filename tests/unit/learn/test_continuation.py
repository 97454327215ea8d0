"""Training of a model that is given: of a compiled net, back to a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from integraph import Network
from integraph.errors import UsageError
from lazy import Lazy, needs

jax = Lazy("jax")
pytestmark = [needs("jax"), needs("equinox"), needs("optax")]
X = np.random.default_rng(1).uniform(-1, 1, (200, 2))
Y = np.tanh(2 * X[:, 0]) * X[:, 1]


def net(activation: str = "tanh") -> Network:
    rng = np.random.default_rng(0)
    return integraph.network(
        [(rng.normal(size=(4, 2)), rng.normal(size=4), activation), (rng.normal(size=(1, 4)), rng.normal(size=1))]
    )


def of(program: Any) -> Any:
    return integraph.learn.QuadraticODE.from_program(program)


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean((values[:, 0] - Y) ** 2)))


@pytest.mark.slow
@pytest.mark.parametrize(("method", "eps"), [("wide", 1e-6), ("narrow", 1e-2)])
def test_a_compiled_net_is_trained_as_it_stands(method: str, eps: float, tmp_path: Path) -> None:
    program = integraph.compile(net(), eps, method=method, box=(-1, 1))
    with jax.enable_x64(True):
        model = of(program)
        np.testing.assert_allclose(model(X), program(X), rtol=0, atol=1e-8)  # by its own steps
        assert model.steps > 1
    result = integraph.learn.train(model, X, Y, max_steps=150, progress=False)
    assert result.best.held_out_flow < 0.05 * result.history[0].held_out_flow
    trained = result.model.program()
    assert rms(trained(X)) < 0.2 * rms(program(X))
    assert (trained.width, trained.depth) == (program.width, program.depth)
    trained.save(tmp_path / "trained.integraph")
    np.testing.assert_array_equal(integraph.load(tmp_path / "trained.integraph")(X), trained(X))
    assert result.best.gap < 1e-3


@pytest.mark.slow
def test_a_stiff_program_is_refused() -> None:
    program = integraph.compile(net("relu"), 1e-4, box=(-1, 1))
    with pytest.raises(UsageError, match=r"the program is stiff: 256 Taylor steps .* learn.fine_tune"):
        of(program)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "net.integraph"}, "train takes a QuadraticODE, got 'net.integraph'"),
        ({"X": X[:, :1]}, r"inputs have shape \(200, 1\): the model takes \(2,\)"),
        ({"y": Y[:3]}, r"y has shape \(3,\): 200 rows of X and 1 output need \(200, 1\)"),
        ({"y": np.where(Y > 0.5, np.nan, Y)}, r"of y is \[nan\]: leave out rows"),
        ({"X": X[:1], "y": Y[:1]}, "training needs two rows at least"),
        ({"loss": "absolute"}, "loss = 'absolute': a loss is square or cross_entropy"),
        ({"learning_rate": -1.0}, "learning_rate = -1.0: needs a finite number"),
        ({"learning_rate": "fast"}, "learning_rate must be numbers"),
        ({"validation_fraction": 1.0}, "validation_fraction = 1.0: .* below 1"),
        ({"max_steps": 0}, "max_steps = 0: needs an integer ≥ 1"),
        ({"seed": "a"}, "seed = 'a': needs an integer ≥ 0"),
        ({"y": 1e200 * Y}, r"y has a number of size .*e\+199, whose square"),
        ({"loss": "cross_entropy"}, "the model needs two outputs or more"),
        ({"model": "nan"}, "controls of the model are not all finite"),
        ({"model": "two", "y": np.stack([Y, 1 - Y], 1), "loss": "cross_entropy"}, "row .* takes probabilities"),
    ],
)
def test_misuse_is_refused(change: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"model": "one", "X": X, "y": Y} | change
    small = integraph.learn.QuadraticODE(2, 2 if given["model"] == "two" else 1, 3, 1, 1)
    if given["model"] == "nan":
        small = jax.tree.map(lambda leaf: leaf * np.nan, small)
    given["model"] = small if given["model"] in ("one", "two", "nan") else given["model"]
    with pytest.raises(UsageError, match=said):
        integraph.learn.train(given.pop("model"), given.pop("X"), given.pop("y"), **given)
