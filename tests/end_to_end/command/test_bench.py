"""`integraph bench`: who ran, what is compared with what, and that differences are real. No time is judged."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import integraph
from command import call
from integraph.cli.timing import clock, race
from integraph.plot.subject import COST
from lazy import needs
from networks import random_network

WAVE = "sin(3*x)*exp(-y)"
QUICK = ("--seconds", "0")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches that cost nothing, and not the engines that do."""
    monkeypatch.setattr("integraph.cli.commands.bench.BATCHES", (1, 10, 200))
    for engine in ("oracle", "precise", "jax"):
        monkeypatch.setitem(COST, engine, math.inf)


def test_a_program(path: Path) -> None:
    program = integraph.compile(WAVE, 1e-2, method="lean")
    program.save(path)
    (found,) = call("bench", path, *QUICK, "--json").data["programs"]
    rivals = {row["name"]: row for row in found["rivals"]}
    assert [name for name in rivals if name != "jax"] == ["exact", "taylor", "oracle", "precise", "source"]
    source = rivals["source"]
    assert rivals["oracle"]["seconds"] == rivals["precise"]["seconds"] == {}
    for row in (rivals["exact"], rivals["taylor"], source):
        assert row["against"] == "source"
        assert row["from"] == "exact"
        assert row["seconds"]["1"] > 0
        for batch, ratio in row["ratio"].items():
            assert ratio == pytest.approx(row["seconds"][batch] / source["seconds"][batch])
    assert set(rivals["exact"]["seconds"]) == {"1", "10", "200"}
    assert rivals["exact"]["difference"] == 0.0
    assert 0 < rivals["taylor"]["difference"] < 1e-12
    x = np.random.default_rng(0).uniform(size=(200, 2))
    wanted = np.sin(3 * x[:, :1]) * np.exp(-x[:, 1:])
    assert source["difference"] == pytest.approx(np.abs(program(x) - wanted).max(), rel=1e-9)
    assert source["at"] == 200


@pytest.mark.slow
def test_as_text(path: Path) -> None:
    integraph.compile(random_network((1, 3, 1), "tanh")).save(path)  # it names no formula
    said = call("bench", path, *QUICK)
    assert said.code == 0
    assert "÷ exact" in said.out
    assert re.search("1 input .* 10 .* 200 ", said.out)
    assert "÷ source" not in said.out


def test_what_would_take_too_long_is_not_run() -> None:
    (found,) = call("bench", WAVE, *QUICK, "--json").data["programs"]
    rivals = {row["name"]: row for row in found["rivals"]}
    assert rivals["oracle"]["seconds"] == {}
    assert (rivals["oracle"]["difference"], rivals["oracle"]["at"]) == ("nan", 0)
    said = call("bench", WAVE, *QUICK)
    assert said.code == 0  # what did not run is no failure
    assert "not run" in said.out


def test_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "benched.py").write_text("net = [([[1.0, 2.0]], [0.5], 'tanh'), ([[3.0]], None)]\n")
    (found,) = call("bench", "benched:net", *QUICK, "--eps", "1e-3", "--json").data["programs"]
    assert found["rivals"][-1]["name"] == "source"
    assert 0 < found["rivals"][-1]["difference"] <= 1e-3
    (found,) = call("bench", "x - y", "--variables", "y,x", "--method", "lean", *QUICK, "--json").data["programs"]
    assert found["rivals"][-1]["difference"] < 1e-6


def test_slow_engines_run_where_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("integraph.cli.commands.bench.BATCHES", (1,))
    (found,) = call("bench", "x*y", *QUICK, "--json").data["programs"]
    for row in found["rivals"]:
        assert row["seconds"]["1"] > 0
        assert row["difference"] < 1e-12


@pytest.mark.slow
def test_the_built_in_set() -> None:
    found = call("bench", *QUICK, "--json").data["programs"]
    assert [one["program"].split(",")[0].split(" ")[0] for one in found] == [WAVE, "2-32-32-1", WAVE]
    assert found[0]["rivals"][-1]["difference"] < 1e-14
    assert found[1]["rivals"][-1]["difference"] < 1e-6
    assert found[2]["rivals"][-1]["difference"] < 1e-4
    assert "Theorem 1" in found[2]["program"]


def test_other_units_have_no_source(path: Path) -> None:
    integraph.compile(WAVE).rescale_states(2.0).save(path)
    (found,) = call("bench", path, *QUICK, "--json").data["programs"]
    assert "source" not in {rival["name"] for rival in found["rivals"]}


@pytest.mark.parametrize(
    ("words", "code", "wanted"),
    [
        (["sin(x"], 2, "parenthesis"),
        (["none.onnx"], 2, "none.onnx"),
        ([WAVE, "--threads", "0"], 2, "--threads"),
        ([WAVE, "--seconds", "-1"], 2, "--seconds"),
        ([WAVE, "--box", "0"], 2, "is not a pair of numbers"),
        (["1/x", "--box", "1,2"], 0, "exact"),
    ],
)
def test_good_and_bad_input(words: list[str], code: int, wanted: str) -> None:
    said = call("bench", *words, *([] if "--seconds" in words else QUICK))
    assert said.code == code
    assert wanted in said.out + said.err


def test_turns() -> None:
    """Everyone is called as often as everyone else, in turns, after a call that does not count."""
    calls: list[str] = []
    best = race({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 0.0, rounds=3)
    assert calls == ["a", "b"] * 4
    assert set(best) == {"a", "b"}
    assert all(0 <= time < 1 for time in best.values())
    assert 0 <= clock(lambda: None) < 1


@needs("jax")
@needs("equinox")
@needs("optax")
@needs("sklearn")
@pytest.mark.slow
def test_depth(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    study = integraph.learn.depth_study

    def small(f: str, parameters: int) -> object:
        assert parameters > 0
        return study(f, depths=(1, 2), width=3, tolerances=(0.1,), seeds=1, max_steps=50, progress=False)

    monkeypatch.setattr("integraph.learn.depth_study", small, raising=False)
    picture = tmp_path / "depth.png"
    found = call("bench", "depth", "--figure", picture, "--json").data
    assert found["figure"] == str(picture)
    assert picture.stat().st_size > 1000
    assert "only the word depth has a picture" in call("bench", WAVE, "--figure", picture).err
    assert [(one["made"], one["depth"]) for one in found["points"][:2]] == [("trained", 1), ("trained", 2)]
    assert found["points"][2]["made"] == "constructed"
    assert 0 < found["points"][2]["error"] < 0.1
    assert "the depth study is always the same" in call("bench", "depth", "--eps", "1e-3").err
