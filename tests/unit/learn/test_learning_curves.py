"""The picture of a training: roots of mean squares, a mark at the best round, gaps where there is no number."""

from __future__ import annotations

import numpy as np
import pytest

from lazy import Lazy, needs

curves = Lazy("integraph.learn.learning_curves")
training = Lazy("integraph.learn.training")
pytestmark = [needs("jax"), needs("equinox"), needs("optax")]


@pytest.mark.parametrize(("loss", "height"), [("square", 0.3), ("entropy", 0.09)])
def test_the_best_round_is_marked(loss: str, height: float) -> None:
    held_out = [0.25, float("inf"), 0.09, 0.16]
    history = [training.Look(100 * n, 0.1, value, value, 0.0, 0, 0, 0.0) for n, value in enumerate(held_out)]
    (frame,) = curves.learning_curves(history, "the held-out error rose", loss).frames
    flow, *_, mark = frame.panels[0].marks
    assert (mark.x.tolist(), mark.y.tolist()) == ([200.0], [pytest.approx(height)])
    assert np.isnan(flow.y).tolist() == [False, True, False, False]
