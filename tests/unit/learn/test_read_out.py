"""The read-out by regression, against scikit-learn and against leaving each row out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import integraph
from lazy import Lazy, needs

jax = Lazy("jax")
eqx = Lazy("equinox")
objective = Lazy("integraph.learn.objective")
read_out = Lazy("integraph.learn.read_out")
linear = Lazy("sklearn.linear_model")
pytestmark = [pytest.mark.slow, needs("jax"), needs("equinox"), needs("optax"), needs("sklearn")]


@pytest.fixture(autouse=True)
def double() -> Any:
    with jax.enable_x64(True):
        yield


def drawn(count: int, noise: float) -> Any:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, 2))
    return objective.Rows(np.pad(x, ((0, 0), (0, 2))), x @ [[2.0], [-1.0]] + 0.5 + noise * rng.normal(size=(count, 1)))


def model(**more: Any) -> Any:
    return integraph.learn.QuadraticODE(2, 1, 4, 2, 4, **more)


def test_a_linear_start_is_linear_regression() -> None:
    data = drawn(300, 0.0)
    still = eqx.tree_at(lambda one: (*one.linear, *one.quadratic), model(), replace_fn=lambda leaf: 0.0 * leaf)
    start = read_out.with_linear_start(still, data, data)
    np.testing.assert_allclose(objective.flow_outputs(start, data.start[:, :2]), data.target, rtol=0, atol=1e-5)


def test_the_last_fit_is_the_best_where_each_row_is_left_out() -> None:
    data = drawn(40, 1.0)
    last = read_out.with_last_fit(model(), data)
    ends = objective.flow_ends(model(), data.start, 1e-8)
    ridges = len(ends) * read_out.ENDS
    errors = [left_out(ends, data.target, ridge) for ridge in ridges[::8]]
    best = linear.RidgeCV(ridges, fit_intercept=False).fit(ends, data.target[:, 0])
    np.testing.assert_allclose(last.C[0], best.coef_, rtol=1e-6, atol=1e-9)
    assert left_out(ends, data.target, best.alpha_) <= min(errors) * (1 + 1e-9)
    for part in ("b", "linear", "quadratic"):
        assert eqx.tree_equal(getattr(last, part), getattr(model(), part))


def left_out(ends: np.ndarray, target: np.ndarray, ridge: float) -> float:
    """Mean square error of each row by the fit of all others."""
    squares = []
    for row in range(len(ends)):
        others = np.delete(ends, row, 0)
        C = np.linalg.solve(others.T @ others + ridge * np.eye(ends.shape[1]), others.T @ np.delete(target, row, 0))
        squares.append(((ends[row] @ C - target[row]) ** 2).item())
    return float(np.mean(squares))


def test_rows_that_blow_up_do_not_count() -> None:
    free = jax.tree.map(lambda leaf: 2.0 * leaf, model(kind="free", seed=1))
    data = drawn(60, 0.1)
    far = objective.Rows(np.concatenate([data.start, 1e3 * data.start]), np.concatenate([data.target, data.target]))
    assert np.isnan(objective.flow_ends(free, far.start, 1e-8)).any()
    kept = np.isfinite(objective.flow_ends(free, far.start, 1e-8)).all(1)
    np.testing.assert_allclose(
        read_out.with_last_fit(free, far).C, read_out.with_last_fit(free, far.taken(np.flatnonzero(kept))).C, rtol=1e-9
    )
    nothing = objective.Rows(1e200 * data.start, data.target)
    np.testing.assert_array_equal(read_out.with_last_fit(free, nothing).C, free.C)
