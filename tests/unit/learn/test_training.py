"""Training: two errors always, never NaN, and a sentence at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import integraph
from lazy import Lazy, needs

jax = Lazy("jax")
training = Lazy("integraph.learn.training")
objective = Lazy("integraph.learn.objective")
eqx = Lazy("equinox")
pytestmark = [pytest.mark.slow, needs("jax"), needs("equinox"), needs("optax")]


@pytest.fixture(autouse=True)
def double() -> Any:
    with jax.enable_x64(True):
        yield


def rows(count: int, seed: int = 0) -> Any:
    x = np.random.default_rng(seed).uniform(-1.5, 1.5, (count, 2))
    return objective.Rows(np.pad(x, ((0, 0), (0, 2))), np.sin(2 * x[:, :1]) * x[:, 1:])


def trained(kind: str = "lossless", **settings: Any) -> Any:
    order = settings.pop("order", 8)
    model = integraph.learn.QuadraticODE(2, 1, 4, 2, 4, kind=kind, order=order, seed=1)
    shown: list[str] = []
    made = training.Settings(**({"most": 200, "batch": 64} | settings))
    result = training.train(model, rows(200), rows(50, 1), made, lambda share, text: shown.append(text))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(result.model))
    return result, shown


def test_the_best_model_on_held_out_rows_is_kept() -> None:
    result, shown = trained()
    flows = [look.held_out_flow for look in result.history]
    assert result.best.held_out_flow == min(flows) < 0.5 * flows[0]
    assert [look.step for look in result.history] == [0, 50, 100, 150, 200]
    assert result.ending == "all 200 steps taken"
    outputs = objective.flow_outputs(result.model, rows(50, 1).start[:, :2])
    assert np.mean((outputs - rows(50, 1).target) ** 2) == pytest.approx(result.best.held_out_flow, rel=1e-6)
    assert "Taylor steps" in shown[0]


def test_a_penalty_keeps_steps_and_flow_together(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"order": 3, "most": 1000}
    near, _ = trained(**settings)
    monkeypatch.setattr("integraph.learn.training.STRICTER", 1.0)
    far, _ = trained(**settings, penalty=0.0)
    assert near.best.gap < np.sqrt(near.best.held_out_flow)
    assert far.history[-1].gap > 2 * near.history[-1].gap


def test_a_rate_that_is_far_too_large_ends_with_a_sentence() -> None:
    result, _ = trained("free", learning_rate=1e4, most=2000)
    assert "the loss diverged" in result.ending or "skipped" in result.ending
    assert result.best.held_out_flow <= result.history[0].held_out_flow


def test_steps_that_blow_up_are_skipped_and_counted() -> None:
    model = integraph.learn.QuadraticODE(2, 1, 4, 2, 4, kind="free", seed=1)
    far = objective.Rows(1e200 * rows(64).start, rows(64).target)
    result = training.train(model, far, rows(50, 1), training.Settings(most=100), lambda share, text: None)
    assert result.history[-1].skipped == 100
    assert "100 steps were skipped" in result.ending
    for leaf, kept in zip(jax.tree.leaves(model), jax.tree.leaves(result.model), strict=True):
        np.testing.assert_array_equal(leaf, kept)


def test_a_step_that_blows_up_changes_neither_model_nor_momenta() -> None:
    model = integraph.learn.QuadraticODE(2, 1, 4, 2, 4, kind="free", seed=1)
    near, rates = rows(64), np.array([0.01, 1.0, 0.0])
    far = objective.Rows(1e200 * near.start, near.target)
    before = objective.adam_step(model, objective.OPTIMISER.init(model), near, rates, loss="square")
    lost = objective.adam_step(*before[:2], far, rates, loss="square")
    assert (bool(before[3]), bool(lost[3])) == (True, False)
    for leaf, kept in zip(jax.tree.leaves(before[:2]), jax.tree.leaves(lost[:2]), strict=True):
        np.testing.assert_array_equal(leaf, kept)


def test_rows_beyond_every_number_count_as_lost() -> None:
    one = np.ones((64, 4))
    model = jax.tree.map(lambda leaf: 0 * leaf + 1.0, integraph.learn.QuadraticODE(2, 1, 4, 1, 1, kind="free", order=4))
    found = objective.errors(model, objective.Rows(one, np.zeros((64, 1))), loss="square")
    assert found.blow_ups == 64
    assert found.by_flow == objective.LOST


def test_ctrl_c_keeps_the_best_model() -> None:
    model = integraph.learn.QuadraticODE(2, 1, 4, 2, 4, seed=1)

    def show(share: float, text: str) -> None:
        if share >= 0.5:
            raise KeyboardInterrupt

    result = training.train(model, rows(200), rows(50, 1), training.Settings(most=200, batch=64), show)
    assert result.interrupted
    assert result.ending == "interrupted after 100 steps: the best model is kept"
    assert result.best.step == 100
    assert "interrupted" in repr(result)
