"""The depth study: sizes, errors, table and picture."""

from __future__ import annotations

from pathlib import Path

import pytest

import integraph
from integraph.errors import UsageError
from lazy import Lazy, needs

depth = Lazy("integraph.learn.expressivity")
pytestmark = [needs("jax"), needs("equinox"), needs("optax"), needs("sklearn")]


@pytest.mark.slow
def test_trained_and_constructed_side_by_side(tmp_path: Path) -> None:
    study = integraph.learn.depth_study(
        "sin(3*x)*exp(-y)", depths=(1, 2), width=4, tolerances=(0.1, 0.01), seeds=1, max_steps=300, progress=False
    )
    assert [(one.made, one.depth) for one in study.points[:2]] == [("trained", 1), ("trained", 2)]
    assert all(one.error < 0.1 for one in study.points[:2])
    assert [one.error < eps for one, eps in zip(study.points[2:], (0.1, 0.01), strict=True)] == [True, True]
    assert "constructed" in repr(study)
    study.plot(tmp_path / "depth.png")
    assert (tmp_path / "depth.png").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize("deep", [1, 2, 4, 8])
def test_widths_of_one_number_of_parameters(deep: int) -> None:
    wide = depth._width(1000, deep, 2, 1)
    made = integraph.learn.QuadraticODE(2, 1, wide, deep, wide)
    assert 700 < made.parameters < 1400


def test_a_study_needs_a_seed() -> None:
    with pytest.raises(UsageError, match="seeds = 0"):
        integraph.learn.depth_study("sin(x)", seeds=0)
