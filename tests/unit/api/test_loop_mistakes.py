"""Closed loops and what is wrong with their arguments: one clear sentence each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.certify.loops.spec import Answer
from integraph.errors import SourceError, UsageError

NET = integraph.network([(np.array([[0.3, -0.5], [0.2, 0.1]]), np.zeros(2), "tanh"), (-np.ones((1, 2)), np.zeros(1))])
SETTING = {
    "plant": {"x": "v", "v": "-sin(x) - 0.5*v + u"}, "controller": NET, "period": 0.2, "steps": 3,
    "start": {"x": (0.8, 0.9), "v": (0.5, 0.6)}, "spec": "x <= 4", "progress": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def result():
    return integraph.loop(**SETTING)


def test_results_are_simulated_as_their_loops(result) -> None:
    start = [[0.8, 0.5]]
    assert (integraph.simulate(result, start) == integraph.simulate(result.loop, start)).all()
    with pytest.raises(UsageError, match=r"what integraph\.loop gave, or its loop, not a int"):
        integraph.simulate(3, start)
    with pytest.raises(UsageError, match="seed = 'a'"):
        integraph.simulate(result, start, seed="a")


def test_programs_are_made_of_results(result) -> None:
    with pytest.raises(UsageError, match="not a Loop"):
        integraph.loop_program(result.loop)


@pytest.mark.parametrize("count", ["4", 2.5, -1, 0, True])
def test_numbers_of_cells_and_workers(result, count: Any) -> None:
    with pytest.raises(UsageError, match="cells = "):
        result.refine(count)
    with pytest.raises(UsageError, match="workers = "):
        result.certificate(count)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spec": "x <= 1e400"}, "largest number of float64"),
        ({"spec": "x in [-1e400, 3] always"}, "largest number of float64"),
        ({"outputs": 3}, "outputs = 3: give formulas"),
        ({"outputs": ["x", 3]}, "give formulas"),
        ({"discrete": "yes"}, "discrete = 'yes': it is True or False"),
        ({"start": {"x": (-1e308, 1e308), "v": 0}}, "with a finite difference"),
        ({"plant": {"x": "v", "v": "u + t - x"}, "start": {"x": 0, "v": 0, "t": 0}}, 'outputs="x, v"'),
        ({"plant": {"x": "v", "v": "1e400*u"}}, "1e400 is more than"),
        ({"outputs": "x, 1e400*v"}, "1e400 is more than"),
        ({"spec": "x <= 1 by 1e308"}, "up to 0.6"),
        ({"spec": "x <= 1 by 0.9"}, "up to 0.6"),
        ({"spec": "x <= 1 from 1e308"}, "up to 0.6"),
        ({"spec": "; ".join(["x <= 1"] * 2000)}, "at most 10,000"),
        ({"controller": {"u": "-x"}, "outputs": {"w": "x"}}, "no controller 'w'"),
        ({"controller": {"": "-x"}}, "controller = "),
        ({"inputs": "u, u"}, "inputs = "),
        ({"period": 1e-320}, "at least 1e-290"),
    ],
)
def test_one_sentence_each(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        integraph.loop(**{**SETTING, **change})


def test_lines_of_a_specification(result, tmp_path: Path) -> None:
    """Spaces of any kind are one: what is saved is read again."""
    several = integraph.loop(**{**SETTING, "spec": "x <= 4\n\tand v <= 4\xa0always;\r\n  v <= 5"})
    assert [clause.text for clause in several.spec.clauses] == ["x <= 4 and v <= 4 always", "v <= 5"]
    several.save(tmp_path / "proof.json", workers=1)
    assert integraph.check(tmp_path / "proof.json", several, workers=1)


def test_states_have_no_letter_of_their_own() -> None:
    """y is an output elsewhere, and here a name like any other."""
    with pytest.raises(SourceError, match=r"unknown name 'y', at column 1\n(.*\n)*there are x, v"):
        integraph.loop(**{**SETTING, "spec": "y <= 1"})


def test_a_plant_with_a_clock() -> None:
    clocked = {"plant": {"x": "v", "v": "u + t - x"}, "outputs": "x, v", "start": {"x": 0, "v": 0, "t": 0}}
    assert integraph.loop(**{**SETTING, **clocked}).answer is Answer.PROVED


@pytest.mark.slow
def test_nothing_is_divided_where_every_start_blows_up(result) -> None:
    growing = {"plant": {"x": "x^2", "v": "u"}, "start": {"x": (2, 3), "v": 0}, "steps": 10}
    open_cell = integraph.loop(**{**SETTING, **growing})
    assert open_cell.answer is Answer.UNKNOWN
    assert len(open_cell.open) == 1
    assert "without bound" in open_cell.open[0].reason
    assert integraph.loop(**{**SETTING, **growing, "spec": "x <= 1000 by 0.2"}).answer is Answer.PROVED
    part = integraph.loop(**{**SETTING, **growing, "start": {"x": (-1, 3), "v": 0}, "spec": "v <= 5"})
    assert part.proved  # some starts do not grow: those are divided
