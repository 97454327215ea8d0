"""The depth study: sizes, errors, table and picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    wide = depth.width_of(1000, deep, 2, 1)
    made = integraph.learn.QuadraticODE(2, 1, wide, deep, wide)
    assert 700 < made.parameters < 1400


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"seeds": 0}, "seeds = 0: needs an integer ≥ 1"),
        ({"seeds": "a"}, "seeds = 'a': needs an integer ≥ 1"),
        ({"width": 1.5}, "width = 1.5: needs"),
        ({"depths": ()}, r"depths = \(\): needs a list"),
        ({"depths": (1, 0)}, "depths = 0: needs an integer ≥ 1"),
        ({"tolerances": (-1,)}, r"tolerances = \(-1,\): needs a list of finite numbers > 0"),
        ({"tolerances": ("a",)}, "tolerances must be numbers"),
        ({"size": 0}, "size = 0: needs"),
        ({"size": 24, "parameters": 300}, "give one of the two"),
    ],
)
def test_studies_that_cannot_be(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        integraph.learn.depth_study("sin(x)", **wrong)


class Model:
    """In place of an estimator, so that only the study itself is tested."""

    def __init__(self, **settings: Any) -> None:
        self.width, self.depth, self.interrupted_ = settings["width"], settings["depth"], settings["depth"] == 3
        self.model_ = self
        self.parameters = 7

    def fit(self, x: Any, y: Any) -> Model:
        return self

    def predict(self, x: Any) -> Any:
        return 0.0 * x[:, 0]


def test_a_fixed_size_and_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("integraph.learn.expressivity.QuadraticODERegressor", Model)
    study = integraph.learn.depth_study("sin(3*x)", depths=(1, 2, 4), size=12, tolerances=(1e-30,), progress=False)
    assert [(one.width, one.depth) for one in study.points] == [(12, 1), (6, 2), (3, 4)]
    assert study.fixed == "W·D = 12"
    assert study.missing[0].startswith("eps = 1e-30: ")
    assert study.missing[0] in repr(study)
    study = integraph.learn.depth_study("sin(3*x)", depths=(1, 3, 4), tolerances=(0.1,), progress=False)
    assert [one.depth for one in study.points] == [1]
    assert study.missing == ("interrupted: these are the points so far",)
