"""Closed loops in TOML files: the same answer as the call, files beside them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import integraph
from integraph.api.loop_file import read_loop
from integraph.errors import FileError

FILE = """controller = "{controller}"
period = 1
steps = 15
discrete = true
spec = "x in [-1, 1] always"
{more}
[plant]
x = "x + 0.1*v"
v = "v + 0.1*u"
[start]
x = [0.4, 0.5]
v = 0.1
"""


def written(folder: Path, controller: str = "-x - 2*v", more: str = "") -> Path:
    path = folder / "bench.toml"
    path.write_text(FILE.format(controller=controller, more=more))
    return path


def test_a_file_holds_the_arguments(tmp_path: Path) -> None:
    read = integraph.loop(**read_loop(written(tmp_path)), progress=False)
    same = integraph.loop(
        {"x": "x + 0.1*v", "v": "v + 0.1*u"}, "-x - 2*v", period=1, steps=15, discrete=True,
        spec="x in [-1, 1] always", start={"x": (0.4, 0.5), "v": 0.1}, progress=False,
    )  # fmt: skip
    assert read.answer.value == same.answer.value == "proved"
    assert (read.boxes() == same.boxes()).all()


def test_files_are_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "law.formula").write_text("-x - 2*v")
    (tmp_path / "plant.ode").write_text("x' = v\nv' = u - x")
    path = tmp_path / "bench.toml"
    path.write_text(
        'plant = "plant.ode"\nperiod = 0.1\nsteps = 2\nspec = "x <= 1"\n[controller]\nu = "law.formula"\n'
        "[start]\nx = 0.5\nv = 0\n"
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert read_loop(path)["controller"] == {"u": tmp_path / "law.formula"}
    assert read_loop(path)["plant"] == tmp_path / "plant.ode"
    assert read_loop(written(tmp_path, "net.onnx"))["controller"] == tmp_path / "net.onnx"
    assert read_loop(written(tmp_path, "net.integraph"))["controller"] == tmp_path / "net.integraph"
    assert read_loop(written(tmp_path, "1.5*x"))["controller"] == "1.5*x"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("perod = 1", "did you mean period"),
        ("scheduler = 'tcp://127.0.0.1:1'", "no key scheduler"),
        ("workers = 2", "no key workers"),
        ("cells = true", "whole number"),
        ("limits = 3", "two numbers"),
        ("seconds = 1979-05-27", "date"),
        ("scale = '2'", "a number"),
        ("x = ", "not TOML"),
        ("x = " + 5000 * "[" + 5000 * "]", "bench.toml"),
    ],
)
def test_refusals(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        read_loop(written(tmp_path, more=more))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bench.toml"
    path.write_text("period = 0.1")
    with pytest.raises(FileError, match="plant is missing"):
        read_loop(path)
    with pytest.raises(FileError, match=r"\.toml"):
        read_loop(tmp_path / "bench.json")
