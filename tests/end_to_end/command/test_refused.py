"""What the command is given and cannot use: odd sources, pipes, options without effect, files that are not its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import command
import integraph
from command import call
from integraph.cli.app import app
from integraph.cli.output import option_names
from integraph.cli.paths import PAGE
from slow import mostly_slow

LONG = "+".join(["x*y"] * 1000)  # more characters than a name of a file may have


@pytest.fixture
def product(path: Path) -> Path:
    integraph.compile("x*y").save(path)
    return path


@mostly_slow("length", [299, 3999], quick=1)
def test_long_formulas(length: int, product: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    long = LONG[:length]
    same = f"x*y + 0*({long})"
    assert call("compile", long, "-o", "long", "--report", "long.html").code == 0
    assert call("plan", long, "--method", "exact").code == 0
    assert call("compare", product, same).code == 0
    assert call("report", product, same, "-o", "same.html").code == 0
    assert call("compare", product, long).code == 1


@pytest.mark.slow
def test_long_formulas_are_timed(tmp_path: Path) -> None:
    assert call("bench", LONG[:299], "--seconds", "0").code == 0


def test_long_formulas_are_proved(product: Path, tmp_path: Path) -> None:
    proof = tmp_path / "long.json"
    assert call("certify", product, LONG[:299]).code == 1
    assert call("certify", product, "-o", proof).code == 0
    assert call("check", proof, product, LONG[:299]).code == 1


@pytest.mark.parametrize("word", ["compile", "plan", "bench"])
def test_sources_that_are_none(word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.onnx").mkdir()
    for source, wanted in (("", "SOURCE is empty"), ("  ", "SOURCE is empty"), ("d.onnx", "folder"), ("x\0y", "x")):
        said = call(word, source)
        assert (said.code, said.out) == (2, ""), (source, said)
        assert wanted in said.err


def test_a_formula_that_is_the_name_of_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    os.mkfifo(tmp_path / "y")
    for name in "xy":
        assert call("compile", name, "--json").data["centre"]["program"] == [0.5]


@pytest.mark.parametrize("source", ["sys:exit", "leaving:f", "left:f"])
def test_code_that_ends_the_program(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leaving.py").write_text("import sys\ndef f(x):\n    sys.exit()\n")
    (tmp_path / "left.py").write_text("import sys\nsys.exit()\n")
    said = call("compile", source, "--json")
    assert (said.code, said.data["error"]["kind"]) == (2, "SourceError")
    assert "ends the program" in said.data["error"]["message"]
    plain = call("compile", source)
    assert (plain.code, plain.out) == (2, "")
    assert "ends the program" in plain.err


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_pipes_are_not_waited_for(product: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("p.onnx", "p.integraph", "p.html", "p.json", "p.csv"):
        os.mkfifo(tmp_path / name)
    commands = [
        ["compile", "p.onnx"],
        ["plan", "p.integraph"],
        ["bench", "p.integraph"],
        ["info", "p.integraph"],
        ["compile", "x*y", "-o", "p.integraph"],
        ["compile", "x*y", "--report", "p.html"],
        ["report", str(product), "-o", "p.html"],
        ["report", str(product), "--certificate", "p.json"],
        ["check", "p.json", str(product)],
        ["certify", str(product), "-o", "p.json"],
        ["eval", str(product), "0,1", "-o", "p.csv"],
        ["paper", "--html", "p.html"],
    ]
    code = f"""
import sys
sys.path.insert(0, {str(Path(command.__file__).parent)!r})
from command import call
for words in {commands!r}:
    said = call(*words)
    assert (said.code, said.out) == (2, ""), (words, said)
    assert "a pipe or a device" in said.err, (words, said)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)  # if it waits
    assert done.returncode == 0, done.stderr


def test_pages_of_others_stay(product: Path, tmp_path: Path) -> None:
    page, other = tmp_path / "page.html", product.with_suffix(".html")
    for file in (page, other):
        file.write_text("<!DOCTYPE html>\n<title>mine</title>")
    for words in (
        ["report", product],
        ["report", product, "-o", page],
        ["compile", "x*y", "--report", page],
        ["paper", "--html", page],
    ):
        said = call(*words)
        assert (said.code, said.out) == (2, "")
        assert "not a page of integraph, and would be overwritten" in said.err
    assert "mine" in page.read_text()
    assert "mine" in other.read_text()


def test_pages_of_ours_may_go(product: Path, tmp_path: Path) -> None:
    from integraph.report.page import GENERATOR

    assert PAGE.mark == GENERATOR.encode()
    page = tmp_path / "page.html"
    for formula in ("x*y", "x + y"):
        assert call("compile", formula, "--report", page).code == 0
    assert "x + y" in page.read_text()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["bench", "{}", "--eps", "1e-3"], "--eps"),
        (["bench", "{}", "--method", "lean"], "--method"),
        (["bench", "{}", "--variables", "y,x"], "--variables"),
        (["bench", "--box", "0,2"], "--box"),
        (["certify", "{}", "--variables", "y,x"], "give the source too"),
        (["compare", "{}", "--inputs", "2"], "give the source too"),
        (["report", "{}", "--variables", "y,x"], "give the source too"),
        (["compare", "{}", "--points", "x.csv", "--box", "0,2"], "--box"),
        (["compare", "{}", "--points", "x.csv", "--seed", "0"], "--seed"),
        (["compare", "{}", "--points", "x.csv", "--samples", "9"], "--samples"),
    ],
)
def test_options_without_effect(words: list[str], wanted: str, product: Path) -> None:
    said = call(*(word.format(product) for word in words))
    assert (said.code, said.out) == (2, "")
    assert wanted in said.err


def test_a_missing_value_names_the_word() -> None:
    assert call("compile", "x", "--eps").err.endswith("see integraph compile --help\n")


def test_messages_speak_of_options() -> None:
    wrong = call("compile", "x*y", "--box", "0,1;0,1;0,1").err
    assert "the box has 3 pairs" in wrong
    assert wrong.endswith("(--box)\n")
    assert call("compile", "x*y", "--eps", "0").err == "error: --eps 0.0: the tolerance must be finite and > 0\n"
    assert call("compile", "x*y", "--free", "no").err.startswith("error: --free 'no': needs 'keep'")
    error = call("compile", "x", "--inputs", "3", "--json").data["error"]
    assert (error["option"], error["message"].split(":")[0]) == ("--inputs", "--inputs 3")
    assert "option" not in call("compile", "x*/y", "--json").data["error"]


def test_every_word_knows_its_options() -> None:
    """A parameter is called what help calls it."""
    options: dict[str, str] = {}
    for info in app.registered_commands:
        assert info.callback is not None
        shown = call(str(info.name or info.callback.__name__), "--help").out
        names = option_names(info.callback)
        assert all(name in shown for name in names.values()), (info.callback, names)
        options |= names
    assert (options["eps"], options["formats"], options["table"], options["source"]) == (
        "--eps", "--format", "--points", "SOURCE",
    )  # fmt: skip


def test_what_may_be_done_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nameless.py").write_text("def f(x):\n    return x * x\n")
    assert call("compile", "x*y", "-o", "a").err.endswith("integraph report a.integraph\n")
    with_report = call("compile", "x*y", "-o", "a", "--report", "a").err
    assert "integraph report" not in with_report
    assert with_report.endswith("integraph export a.integraph TARGET\n")
    assert call("compile", "nameless:f", "--eps", "1e-2", "-o", "b").err.endswith("report b.integraph SOURCE\n")
    assert "no picture of the error" in call("report", "b.integraph").err
    assert "warning" not in call("report", "a.integraph").err


def test_one_of_a_thing() -> None:
    said = call("compile", "x").out
    assert "W = 1 register, D = 0 segments" in said


def test_a_root_that_may_not_exist() -> None:
    said = call("compile", "sqrt(x - 0.5)")
    assert said.code == 0
    assert "warning: no error is promised" in said.err
    assert call("compile", "sqrt(x - 0.5)", "--json").data["warnings"]
    assert "promised" not in call("compile", "sqrt(x - 0.5)", "--box", "0.75,1").err
