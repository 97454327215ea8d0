"""Fine-tuning: the tensors follow the weights, the training is that of the net itself, and what is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import integraph
from integraph import Network, Program
from integraph.errors import UsageError
from lazy import Lazy, needs

jax, optax = Lazy("jax"), Lazy("optax")
pytestmark = [needs("jax"), needs("optax")]
SMOOTH = ("tanh", "gelu", "sigmoid", "softplus", "silu", "gelu_tanh", "sin", "arctan")


def net(activation: str, units: int = 5, seed: int = 0) -> Network:
    rng = np.random.default_rng(seed)
    return integraph.network(
        [
            (rng.normal(size=(units, 2)), rng.normal(size=units), activation),
            (rng.normal(size=(units, units)) / 2, rng.normal(size=units), activation),
            (rng.normal(size=(1, units)) / 2, rng.normal(size=1)),
        ]
    )


def rows(count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(1).uniform(-1, 1, (count, 2))
    return X, np.sin(3 * X[:, 0]) * X[:, 1]


def compiled(network: Network, method: str = "wide", eps: float = 1e-4) -> Program:
    return integraph.compile(network, eps, method=method, box=(-1, 1))


def tune(program: Program, source: Any, steps: int = 5, **options: Any) -> Any:
    return integraph.learn.fine_tune(program, *rows(), source, steps=steps, progress=False, **options)


@pytest.mark.slow
@pytest.mark.parametrize("activation", SMOOTH)
def test_tensors_are_those_of_the_trained_net(activation: str) -> None:
    """Compiling the trained net again gives the same controls, number by number."""
    network = net(activation)
    program = compiled(network)
    result = tune(program, network)
    assert (result.program.width, result.program.depth, result.program.terms) == (
        program.width, program.depth, program.terms,
    )  # fmt: skip
    again = compiled(result.network).controls()
    found = result.program.controls()
    for part in ("segment", "i", "j", "k"):
        assert np.array_equal(getattr(found, part), getattr(again, part))
    assert np.allclose(found.value, again.value, rtol=1e-12, atol=1e-15)
    assert result.history[-1] < result.history[0]
    X, _ = rows()
    assert np.abs(result.program(X) - result.network(X)).max() < 1e-11


@pytest.mark.slow
def test_training_is_that_of_the_net() -> None:
    """A tanh net in jax, trained by Adam on its own: the same losses, and the same weights."""
    network = net("tanh")
    X, y = rows()
    result = tune(compiled(network), network, steps=40)
    with jax.enable_x64(True):
        numpy = jax.numpy
        weights = [(numpy.asarray(layer.A), numpy.asarray(layer.b)) for layer in network.layers]

        def loss(weights: Any) -> Any:
            z = X
            for A, b in weights[:-1]:
                z = numpy.tanh(z @ A.T + b)
            return ((z @ weights[-1][0].T + weights[-1][1] - y[:, None]) ** 2).mean()

        optimiser = optax.adam(0.01)
        state, losses, visited = optimiser.init(weights), [], []
        for _ in range(40):
            value, gradient = jax.value_and_grad(loss)(weights)
            losses.append(float(value))
            visited.append(weights)
            moved, state = optimiser.update(gradient, state)
            weights = optax.apply_updates(weights, moved)
        best = min([*visited, weights], key=loss)  # which need not be the last
    assert np.allclose(result.history[:-1], np.sqrt(losses), rtol=1e-8)
    for layer, (A, b) in zip(result.network.layers, best, strict=True):
        assert np.allclose(layer.A, A, rtol=1e-6, atol=1e-8)
        assert np.allclose(layer.b, b, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("activation", "method"), [("tanh", "narrow"), ("relu", "wide"), ("gelu", "wide")])
def test_what_comes_out_is_proved(activation: str, method: str) -> None:
    network = net(activation)
    result = tune(compiled(network, method, 1e-3), network, steps=10, learning_rate=1e-3)
    proof = integraph.certify(result.program, result.network, box=(-1, 1), progress=False)
    assert proof.status == "proved"
    X, _ = rows(500)
    assert np.abs(result.program(X) - result.network(X)).max() <= proof.upper + 1e-13  # rounding
    assert (result.program.budget, result.program.proven, result.program.origin) == (None, None, None)
    assert result.program.box.low.tolist() == [-1.0, -1.0]


def rates(program: Program) -> list[np.ndarray]:
    blocks = [block for segment in program.segments for block in segment.blocks]
    return [block.tensors["r"] for block in blocks if "r" in block.tensors]


@pytest.mark.slow
def test_untied_and_frozen() -> None:
    network = net("gelu")
    program = compiled(network)
    free = tune(program, None, untied=True)
    assert free.network is None
    assert free.history[-1] < free.history[0]
    assert free.program.terms == program.terms
    held = tune(program, network, frozen=("A1", "b1"))
    assert np.array_equal(held.network.layers[0].A, network.layers[0].A)
    assert not np.array_equal(held.network.layers[1].A, network.layers[1].A)
    narrow = compiled(network, "narrow", 1e-3)
    before, after = rates(narrow), rates(tune(narrow, None, untied=True).program)
    assert before
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    formula = integraph.compile("sin(3*x)*exp(-y)", box=(-1, 1))
    learned = tune(formula, None, untied=True)
    assert learned.history[-1] < learned.history[0]


@pytest.mark.slow
def test_batches_and_seeds() -> None:
    network = net("tanh")
    program = compiled(network)
    one, same, other = (tune(program, network, batch=16, seed=seed, steps=12) for seed in (3, 3, 4))
    assert np.array_equal(one.history, same.history)
    assert not np.array_equal(one.history, other.history)
    assert len(one.history) == 13


@pytest.mark.slow
def test_a_blow_up_is_skipped() -> None:
    """Of exp with a learning rate of 500: steps that lead to infinity do not count, and the best weights come back."""
    network = net("exp")
    program = compiled(network)
    result = tune(program, network, steps=20, learning_rate=500.0)
    assert result.skipped > 0
    assert "skipped" in repr(result)
    assert np.isfinite(result.history).all()
    assert result.history[-1] <= result.history[0]
    assert np.isfinite(result.program(rows()[0])).all()


@pytest.mark.slow
def test_a_rate_that_is_too_large_is_named() -> None:
    network = net("tanh")
    program = compiled(network)
    lost = tune(program, network, steps=20, learning_rate=100.0)
    assert lost.ending.endswith("so the program is as it was: choose a smaller learning_rate")
    assert lost.ending in repr(lost)
    assert np.array_equal(lost.program(rows()[0]), program(rows()[0]))
    assert tune(program, network, steps=20).ending == "all 20 steps taken"


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def bar(wanted: bool, what: str) -> Iterator[Any]:
        def update(share: float, text: str) -> None:
            if share >= 0.5:
                raise KeyboardInterrupt

        yield update

    monkeypatch.setattr("integraph.learn.fine_tuning.training.late_bar", bar)
    network = net("tanh")
    result = tune(compiled(network), network, steps=20)
    assert result.ending == "interrupted after 10 steps: the best weights are kept"
    assert result.history[-1] < result.history[0]


@pytest.mark.slow
def test_zero_weights_stay_zero() -> None:
    layers = list(net("tanh").layers)
    A = np.array(layers[0].A)
    A[0, 0] = 0.0
    layers[0] = dataclasses.replace(layers[0], A=A)
    layers[2] = dataclasses.replace(layers[2], b=0.0)
    network = Network(tuple(layers))
    result = tune(compiled(network), network, steps=2)
    assert result.network.layers[0].A[0, 0] == 0.0
    assert result.network.layers[2].b[0] == 0.0
    assert result.network.layers[0].A[0, 1] != A[0, 1]
    X, _ = rows()
    assert np.abs(result.program(X) - result.network(X)).max() < 1e-12


def changed(name: str, program: Program) -> Program:
    return {
        "rescaled": lambda: program.rescale_time(1.0),
        "formula": lambda: integraph.compile("x + y"),
        "file": lambda: "net.integraph",
    }[name]()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"X": [[0.1, np.nan]], "y": [1.0]}, "input 0 is not finite: component 1 is nan"),
        ({"X": [[0.1, 0.2]], "y": [np.inf]}, r"row 0 of y is \[inf\]: leave out rows"),
        ({"X": [[0.1, 0.2]], "y": [1e200]}, r"y has a number of size 1e\+200, whose square"),
        ({"X": [[0.1, 0.2]], "y": [1.0, 2.0]}, r"y has shape \(2,\): 1 row of X and 1 output need \(1, 1\)"),
        ({"X": [[0.1, 0.2, 0.3]], "y": [1.0]}, r"inputs have shape \(1, 3\)"),
        ({"X": [[0.1, 1.5]], "y": [1.0]}, r"row 0 is outside the box .* component 1 is 1.5, and the box has \[-1, 1\]"),
        ({"X": np.zeros((0, 2)), "y": np.zeros((0, 1))}, "no rows to learn from"),
        ({"source": None}, "stores its tensors, not the weights .*: give the network too"),
        ({"source": net("tanh", seed=5)}, "was not compiled from this network"),
        ({"program": "rescaled"}, "was changed since, as by rescale_time"),
        ({"program": "formula", "X": [[0.1, 0.2]], "y": [1.0]}, "not compiled from a network .* untied=True"),
        ({"frozen": ("A1", "b1", "A2", "b2", "A3", "b3")}, "all weights are frozen"),
        ({"frozen": "A9"}, "there is no 'A9': the weights are A1, b1, A2"),
        ({"learning_rate": 0.0}, "learning_rate.* must be finite and > 0"),
        ({"learning_rate": float("nan")}, "must be finite and > 0"),
        ({"steps": 0}, "steps.* needs an integer ≥ 1"),
        ({"batch": 0}, "batch.* needs an integer ≥ 1"),
        ({"seed": "a"}, "seed = 'a': needs an integer ≥ 0"),
        ({"frozen": 3}, "frozen = 3: needs names of weights"),
        ({"program": "file"}, "fine_tune takes a program, .* got 'net.integraph' first"),
        ({"X": net("tanh")}, "the network comes after y"),
    ],
)
def test_misuse_is_refused(change: dict[str, Any], says: str) -> None:
    (X, y), network = rows(4), net("tanh")
    program = compiled(network)
    given: dict[str, Any] = {"program": "", "X": X, "y": y, "source": network, "progress": False} | change
    name = given.pop("program")
    program = changed(name, program) if name else program
    with pytest.raises(UsageError, match=says):
        integraph.learn.fine_tune(program, given.pop("X"), given.pop("y"), given.pop("source"), **given)
