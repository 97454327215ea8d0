"""Estimators: the checks of scikit-learn, pipelines and grid search, programs, and refusals."""

from __future__ import annotations

import ctypes
import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import UsageError
from lazy import Lazy, needs, needs_command

jax = Lazy("jax")
checks = Lazy("sklearn.utils.estimator_checks")
selection = Lazy("sklearn.model_selection")
pipeline = Lazy("sklearn.pipeline")
preprocessing = Lazy("sklearn.preprocessing")
pytestmark = [needs("jax"), needs("equinox"), needs("optax"), needs("sklearn")]
X = np.random.default_rng(0).uniform(-1, 3, (150, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1]
QUICK: dict[str, Any] = {"width": 4, "depth": 2, "max_steps": 300, "random_state": 0, "progress": False}


def regressor(**more: Any) -> Any:
    return integraph.learn.QuadraticODERegressor(**(QUICK | more))


def classifier(**more: Any) -> Any:
    return integraph.learn.QuadraticODEClassifier(**(QUICK | more))


@pytest.mark.slow
def test_predictions_are_those_of_the_program(tmp_path: Path) -> None:
    model = regressor().fit(X, Y)
    assert model.score(X, Y) > 0.9
    predicted = model.predict(X)
    np.testing.assert_allclose(model.program_(X)[:, 0], predicted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.program_(X, "oracle")[:, 0], predicted, rtol=0, atol=1e-10)
    model.program_.save(tmp_path / "learned.integraph")
    np.testing.assert_array_equal(integraph.load(tmp_path / "learned.integraph")(X)[:, 0], model.program_(X)[:, 0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), predicted)
    assert model.errors_["taylor from jax"] < 1e-12
    assert model.errors_["steps from flow"] < np.sqrt(model.errors_["held out, true flow"])
    assert model.history_[-1].step == model.n_steps_ <= 300
    model.plot(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 1000


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model() -> None:
    first, second, other = (regressor(random_state=seed, max_steps=50).fit(X, Y) for seed in (3, 3, 4))
    assert first.program_.digest == second.program_.digest != other.program_.digest


@pytest.mark.slow
def test_classes_are_found() -> None:
    inside = np.where(np.hypot(*(X - 1).T) < 0.8, "in", np.where(X[:, 0] > 1, "right", "left"))
    model = classifier(width=6, depth=3, max_steps=600).fit(X, inside)
    assert model.score(X, inside) > 0.9
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), model.program_(X), rtol=0, atol=1e-10)
    assert set(model.classes_) == {"in", "left", "right"}


@pytest.mark.slow
def test_two_outputs_in_a_pipeline_and_a_grid_search() -> None:
    both = np.stack([Y, X[:, 0] * X[:, 1]], 1)
    whole = pipeline.make_pipeline(preprocessing.MinMaxScaler(), regressor())
    grid = {"quadraticoderegressor__depth": [1, 2]}
    search = selection.GridSearchCV(whole, grid, cv=2).fit(X, both)
    assert search.best_score_ > 0.8
    assert search.predict(X).shape == (150, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["QuadraticODERegressor", "QuadraticODEClassifier"])
def test_scikit_learn_accepts_it(name: str) -> None:
    made = getattr(integraph.learn, name)()
    outcomes = checks.check_estimator(made, on_skip=None, on_fail=None)
    assert [(one["check_name"], one["exception"]) for one in outcomes if one["status"] == "failed"] == []
    assert len(outcomes) > 40


@pytest.mark.slow
def test_fits_of_one_shape_compile_once() -> None:
    regressor(max_steps=50).fit(X, Y).predict(X)
    compiled: list[str] = []

    def listen(event: str, seconds: float, **more: Any) -> None:
        if "backend_compile" in event:
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        regressor(max_steps=100, random_state=1, alpha=0.1, learning_rate=0.01).fit(X[:140], Y[:140] + 1).predict(X)
        assert compiled == []
        regressor(max_steps=50, depth=3).fit(X, Y)
        assert compiled
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


@pytest.mark.slow
@needs_command("gcc", "gcc")
def test_a_learned_program_in_c_and_its_bounds(tmp_path: Path) -> None:
    model = regressor().fit(X, Y)
    model.program_.export(tmp_path / "fitted.c")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "fitted.c", "-o", "fitted.so"], cwd=tmp_path, check=True)
    run, numbers = ctypes.CDLL(str(tmp_path / "fitted.so")).fitted, ctypes.POINTER(ctypes.c_double)
    for x, predicted in zip(X[:40], model.predict(X[:40]), strict=True):
        y = np.zeros(1)
        assert run(np.ascontiguousarray(x).ctypes.data_as(numbers), y.ctypes.data_as(numbers)) == 0
        assert y[0] == pytest.approx(predicted, rel=0, abs=1e-10)
    bounds = integraph.bound(model.program_, [[0.0, 0.5], [0.0, 0.5]], progress=False)
    values = model.predict(np.random.default_rng(1).uniform(0.0, 0.5, (500, 2)))
    assert bounds.low[0] <= values.min() <= values.max() <= bounds.high[0]
    assert bounds.high[0] - bounds.low[0] < 2 * np.ptp(values)


@pytest.mark.slow
def test_ctrl_c_leaves_a_fitted_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(run: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("integraph.learn.training._Run.round", interrupt)
    with pytest.warns(UserWarning, match="training was interrupted after 0 steps"):
        model = regressor().fit(X, Y)
    assert model.interrupted_
    np.testing.assert_allclose(model.program_(X)[:, 0], model.predict(X), rtol=0, atol=1e-12)


@pytest.mark.slow
def test_a_column_that_is_nearly_constant_is_not_blown_up() -> None:
    rare = np.zeros(150)
    rare[:2] = 1.0
    model = regressor(max_steps=50).fit(np.column_stack([X, rare]), Y)
    scaled = (np.column_stack([X, rare]) - model._scaling.centre) / model._scaling.spread
    assert np.abs(scaled).max() <= 2.0 + 1e-12


@pytest.mark.slow
def test_a_constant_target_is_learned_exactly() -> None:
    model = regressor().fit(X, np.full(150, 7.0))
    np.testing.assert_array_equal(model.predict(X), 7.0)
    assert model.ending_ == "the held-out error is 0"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"width": 1}, "width = 1: the registers hold the 2 inputs"),
        ({"rank": 0}, "rank = 0: needs an integer ≥ 1"),
        ({"depth": 0}, "depth = 0: needs an integer ≥ 1"),
        ({"kind": "loose"}, "kind = 'loose'"),
        ({"device": "abacus"}, "device = 'abacus': jax finds no such device, but cpu"),
        ({"max_steps": 0}, "max_steps = 0"),
        ({"alpha": -1.0}, "alpha = -1.0: needs a finite number, 0 or more"),
        ({"validation_fraction": 1.5}, "validation_fraction = 1.5: needs a share"),
        ({"device": 3}, "device = 3: needs the name of a platform"),
        ({"steps": 0}, "steps = 0: needs an integer ≥ 1"),
        ({"width": "a"}, "width = 'a': the registers hold the 2 inputs"),
        ({"width": 6.0}, "width = 6.0: the registers hold the 2 inputs: needs an integer ≥ 2"),
    ],
)
def test_settings_that_cannot_be(change: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        regressor(**change).fit(X, Y)
    assert said in str(caught.value)


def test_data_that_cannot_be() -> None:
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        regressor().fit(broken, Y)
    with pytest.raises(ValueError, match="y contains NaN"):
        regressor().fit(X, np.where(Y > 1, np.nan, Y))
    with pytest.raises(ValueError, match="1 sample"):
        regressor().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="1 class"):
        classifier().fit(X, np.zeros(150))
    with pytest.raises(UsageError, match=r"column 0 of X has numbers of size .*e\+200, whose squares"):
        regressor().fit(1e200 * X, Y)
    with pytest.raises(UsageError, match=r"column 0 of y has numbers of size .*below 1e"):
        regressor().fit(X, 1e200 * Y)
    with pytest.raises(UsageError, match=r"column 0 of y has numbers of size .*above 1e-100"):  # not constant
        regressor().fit(X, 1e-200 * Y)
