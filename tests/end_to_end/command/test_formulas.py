"""Parameters, files of formulas and names of inputs at the prompt: every command takes them, mistakes name `--set`."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import call
from report_pages import read

FORMULA = "-k*T + H"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "p.integraph"
    assert call("compile", FORMULA, "--set", "k=1/4", "-o", path).code == 0
    return path


def test_boxes_name_the_inputs(saved: Path) -> None:
    assert "for H, T in [0, 1]^2" in call("info", saved).out
    assert "box               H, T in [0, 1]^2" in call("certify", saved).out
    assert call("info", saved, "--json").data["origin"]["source"] == "-(1/4)*T + H"


@pytest.mark.parametrize("command", ["certify", "compare", "report"])
def test_a_source_with_parameters(command: str, saved: Path) -> None:
    assert call(command, saved, FORMULA, "--set", "k=0.25").code == 0
    assert call(command, saved, FORMULA).code != 0  # k is an input then
    refused = call(command, saved, "--set", "k=0.25")
    assert "--set {'k': '0.25'}: it says how to read the source, but there is none" in refused.err


def test_a_report_names_the_inputs(saved: Path) -> None:
    assert call("report", saved).code == 0
    words = read(saved.with_suffix(".html")).words
    assert "guarantees this for all H, T in [0, 1]^2" in words
    assert "x in [0, 1]^2" not in words


@pytest.mark.slow
def test_plan_and_bench_take_parameters() -> None:
    assert "0.25*x" in call("plan", "k*x", "--set", "k=0.25", "--eps", "0.1").out
    assert call("bench", "k*x", "--set", "k=0.25", "--seconds", "0").code == 0
    assert "--set k=1: without WHAT" in call("bench", "--set", "k=1").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["k"], "--set 'k': write a name and its value"),
        (["=3"], "write a name and its value"),
        (["k="], "write a name and its value"),
        (["k=1", "k=2"], "k has the value 1 already, set it once"),
        (["q=1"], "q does not occur in the formula"),
        (["k=z"], "k = z is not constant: it names z"),
        (["k=nan"], "in the value of the parameter k: nan is not a number"),
        (["sin=2"], "'sin' cannot name a parameter"),
    ],
)
def test_mistakes(words: list[str], message: str) -> None:
    said = call("compile", "k*x", *(word for value in words for word in ("--set", value)))
    assert said.code == 2
    assert message in " ".join(said.err.split())
    assert "--set" in said.err or "in the value" in said.err


def test_a_file_of_formulas(tmp_path: Path) -> None:
    path = tmp_path / "model.formula"
    path.write_text("u = a*x  # scaled\nu^2\nlast = u + 1\n")
    data = call("compile", path, "--set", "a=2", "--json").data
    assert data["origin"]["source"] == "u = 2*x; u^2, u + 1"
    assert data["centre"]["source"] == [1.0, 2.0]
    path.write_text("x\nx +\n")
    said = call("compile", path)
    assert said.code == 2
    assert "model.formula: a value is missing before the end, in line 2, at column 4" in said.err


def test_a_smoothed_condition_is_said() -> None:
    said = call("compile", "if(x < 0, 0, x^2)", "--eps", "1e-3", "--box=-1,1")
    assert said.code == 0
    assert "a condition of the formula changes on the box, and is smoothed" in " ".join(said.err.split())
    assert "largest difference found" in said.out
