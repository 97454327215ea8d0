"""`integraph export`: what it writes, lists and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import export_programs
from command import call
from integraph.export.formats import FORMATS


@pytest.fixture
def wave(path: Path) -> Path:
    export_programs.formula().save(path)
    return path


def test_a_file_for_another_tool(wave: Path, tmp_path: Path) -> None:
    said = call("export", wave, tmp_path / "wave.json")
    assert said.code == 0
    assert "every number to the last bit" in said.out
    assert json.loads((tmp_path / "wave.json").read_text())["digest"] == export_programs.formula().digest
    data = call("export", wave, tmp_path / "other.txt", "--to", "csv", "--name", "ours", "--json").data
    assert (data["format"], data["exact"], data["terms"]) == ("csv", True, export_programs.formula().terms)
    assert (tmp_path / "other.txt").read_text().startswith("# ours: a quadratic ODE")


def test_an_option_of_the_format(wave: Path, tmp_path: Path) -> None:
    assert call("export", wave, tmp_path / "wave.m", "--set", "solver=ode15s").code == 0
    assert "= ode15s(" in (tmp_path / "wave.m").read_text()
    for words, wanted in (
        (["--set", "solver"], "write NAME=VALUE"),
        (["--set", "solver=ode1; system('id')"], "a solver is one of ode45"),
        (["--set", "speed=3"], "no option 'speed': it has solver"),
        (["--limit", "3"], "more than the 3 that matlab takes"),
        (["--to", "wat"], "no format is called 'wat'"),
    ):
        said = call("export", wave, tmp_path / "wave2.m", *words)
        assert said.code == 2
        assert wanted in said.err
        assert not (tmp_path / "wave2.m").exists()


def test_the_list(wave: Path, tmp_path: Path) -> None:
    listed = call("export", "--list").out
    assert all(one.name in listed for one in FORMATS)
    data = call("export", "--list", "--json").data["formats"]
    assert [one["format"] for one in data] == [one.name for one in FORMATS]
    assert call("export", wave).code == 2
    said = call("export", wave, tmp_path / "wave.wat")
    assert said.code == 2
    assert ".json (json)" in said.err


def test_the_program_itself_is_not_overwritten(wave: Path) -> None:
    before = wave.read_bytes()
    said = call("export", wave, wave, "--to", "json")
    assert said.code == 2
    assert wave.read_bytes() == before
