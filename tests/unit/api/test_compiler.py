"""From the framework to the ODE and back: every front end, every activation, all engines, against the framework."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import integraph
from frameworks import FRAMEWORKS
from integraph.errors import IntegraphError
from lazy import framework
from networks import EVERY, points, random_network
from slow import mostly_slow

CASES = [(f, name) for f, (_, names) in FRAMEWORKS.items() for name in EVERY if names is None or name in names]
SIZES = {"sin": (1, 5, 1), "tanh": (20, 3, 6, 2, 4, 3, 5, 2), "gelu": (3, 7, 2, 1), "relu": (2, 6, 3, 1)}


def wanted(values: object, x: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(values(x), np.float64)


@mostly_slow(("framework", "name"), CASES, quick=2)
def test_every_framework(framework: str, name: str, tmp_path: Path) -> None:
    """Wide: to 1e-12 by closed forms and by the terms alone. Narrow: within ε and the promise."""
    sizes = SIZES.get(name, (4, 5, 8, 3, 2))
    source, values = FRAMEWORKS[framework][0](random_network(sizes, name, seed=len(name)), tmp_path)
    x = np.random.default_rng(2).uniform(size=(50, sizes[0]))
    true = wanted(values, x)
    scale = max(1.0, float(np.abs(true).max()))
    wide = integraph.compile(source, method="wide")
    approximate = name in ("relu", "leaky_relu")
    assert np.abs(wide(x) - true).max() <= 1e-12 * scale + wide.budget.approximation
    narrow = integraph.compile(source, eps=1e-5)
    assert np.abs(narrow(x) - true).max() <= narrow.budget.total <= 1e-5
    if not approximate and framework in ("list", "torch", "onnx"):
        assert np.abs(wide(x[:5], "taylor") - true[:5]).max() <= 1e-12 * scale
        assert np.abs(narrow(x[:5], "taylor") - true[:5]).max() <= 1e-5
    if not approximate and framework == "torch":
        assert np.abs(narrow(x[:2], "oracle") - true[:2]).max() <= 1e-5
    assert integraph.compare(wide, source, x).largest <= 1e-11 * scale + 10 * wide.budget.approximation


@mostly_slow("framework", FRAMEWORKS, quick=2)
@pytest.mark.parametrize(("weight", "box"), [(500.0, (0.0, 1.0)), (1.0, (-500.0, 500.0)), (2.0, (0.25, 0.25))])
def test_large_weights_and_odd_boxes(framework: str, weight: float, box: tuple[float, float], tmp_path: Path) -> None:
    """Weights up to 500, sides of width 1000 and 0."""
    source, values = FRAMEWORKS[framework][0](random_network((3, 6, 4, 2), "tanh", seed=5, weight=weight), tmp_path)
    sides = np.array([box, (0.0, 1.0), box])
    x = points(sides, 40)
    true = wanted(values, x)
    scale = max(1.0, float(np.abs(true).max())) * max(1.0, weight)
    assert np.abs(integraph.compile(source, method="wide", box=sides)(x) - true).max() <= 1e-12 * scale
    narrow = integraph.compile(source, eps=1e-4, box=sides)
    assert np.abs(narrow(x) - true).max() <= narrow.budget.total <= 1e-4


def test_a_trained_net_on_real_data() -> None:
    """Diabetes progression: the compiled net predicts what scikit-learn predicts, with the same R²."""
    framework("sklearn")
    from sklearn.datasets import load_diabetes
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import r2_score
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = load_diabetes(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    net = MLPRegressor(
        hidden_layer_sizes=(16, 8), activation="tanh", solver="lbfgs", alpha=30.0, max_iter=200, random_state=0
    )
    model = make_pipeline(StandardScaler(), net)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(train, y_train)
    box = np.stack([X.min(0), X.max(0)], 1)
    predicted = model.predict(test)
    score = r2_score(y_test, predicted)
    assert score > 0.2, "nothing was learnt"
    for options, tolerance in (({"method": "wide"}, 1e-10), ({"eps": 1e-4}, 1e-4)):
        program = integraph.compile(model, box=box, **options)
        found = program(test)[:, 0]
        assert np.abs(found - predicted).max() <= tolerance
        assert r2_score(y_test, found) == pytest.approx(score, abs=1e-6)
    assert program.budget.total <= 1e-4


def test_digits_are_still_classified() -> None:
    """1797 images of 64 pixels: the raw outputs of a compiled classifier choose the same class."""
    framework("sklearn")
    from sklearn.datasets import load_digits
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    X, y = load_digits(return_X_y=True)
    model = MLPClassifier(hidden_layer_sizes=(32,), max_iter=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    program = integraph.compile(model, eps=1e-3, box=(0, 16))
    assert (program.width, program.depth, program.outputs) == (3 * 64, 3, 10)
    chosen = model.classes_[program(X).argmax(1)]
    assert (chosen == model.predict(X)).all()
    assert (chosen == y).mean() > 0.9


@pytest.mark.slow
def test_a_compiled_net_survives_its_file(tmp_path: Path) -> None:
    program = integraph.compile(random_network((3, 5, 5, 2), ["gelu", "relu"]), eps=1e-4)
    program.save(tmp_path / "net.safetensors")
    loaded = integraph.load(tmp_path / "net.safetensors")
    x = np.random.default_rng(0).uniform(size=(9, 3))
    assert np.array_equal(loaded(x), program(x))
    assert loaded.budget.total == program.budget.total
    assert [p.label for p in loaded.probes] == ["layer 1", "layer 2"]
    assert loaded.digest == program.digest


def test_the_example_by_hand_is_the_same_program() -> None:
    """Theorem 2 out of gadgets, in examples/tanh_net.py, and by the construction: the same eq. (1)."""
    from integraph.constructions.theorem2.narrow import construct, error
    from integraph.constructions.theorem2.network_plan import plan
    from integraph.program.box import interval
    from tanh_net import RATE, compile_net, random_net

    layers, readout = random_net((2, 6, 6, 1), seed=3)
    network = integraph.network([*((A, b, "tanh") for A, b in layers), (readout, None)])
    chosen, rates = plan(network, interval(None, 2)), [(RATE, RATE)] * 2
    built = construct(chosen, rates, error(chosen, rates))
    assert built.digest == compile_net(layers, readout).digest


@pytest.mark.parametrize("source", [None, 3, "net.pt", "missing.onnx", [], [1, 2], 1j, {"A": 1}], ids=repr)
def test_what_is_no_network(source: object) -> None:
    for call in (integraph.network, integraph.compile):
        with pytest.raises(IntegraphError):
            call(source)
