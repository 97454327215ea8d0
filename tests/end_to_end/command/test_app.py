"""The frame of the command: help, misuse, JSON, exit codes, and text that a terminal can be given."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import integraph
from command import call, process
from integraph.cli.app import app
from integraph.cli.output import plain
from integraph.text import clean, lines

WORDS = [info.name or info.callback.__name__ for info in app.registered_commands]  # type: ignore[union-attr]
SLOW = ("numpy", "scipy", "numba", "matplotlib", "flint", "torch", "onnx", "sympy", "jax", "mpmath")


def test_all_words_are_there() -> None:
    wanted = "compile info describe eval compare trace certify check plan report bench"
    assert set(wanted.split()) <= set(WORDS)


def test_alone_it_shows_help() -> None:
    alone, asked = call(), call("--help")
    assert alone.code == asked.code == 0
    assert alone.out.strip() == asked.out.strip()
    assert "Usage: integraph" in asked.out
    assert "<bool>" not in asked.out
    assert all(f" {word} " in asked.out for word in WORDS)


@pytest.mark.parametrize("word", WORDS)
def test_help_of_a_word(word: str) -> None:
    said = call(word, "--help")
    assert said.code == 0
    assert f"Usage: integraph {word} " in said.out
    assert "Example" in said.out
    assert said.out.count(f"integraph {word} ") + said.out.count(f"integraph {word}\n") >= 2  # usage, and an example
    assert "--json" in said.out
    assert "[bold]" not in said.out
    assert not any(mark in said.out for mark in ("<bool>", "{", "}"))  # a flag has no value, an argument no braces
    assert call(word, "-h").out == said.out


def test_help_loads_nothing_heavy() -> None:
    code = f"""
import sys
sys.argv = ["integraph", "--help"]
from integraph.cli.app import main
try:
    main()
except SystemExit:
    pass
print([name for name in {SLOW!r} if name in sys.modules], file=sys.stderr)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert found.stderr.strip() == "[]"


def test_version() -> None:
    assert call("--version").out == f"integraph {integraph.__version__}\n"


@pytest.mark.slow
def test_as_a_module() -> None:
    said = process("compile", "x*y", "--json")
    assert (said.code, said.data["width"]) == (0, integraph.compile("x*y").width)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["compil", "x"], "compile"),
        (["descibe", "f"], "describe"),
        (["compile", "x", "--bax", "0,1"], "--box"),
        (["compile"], "SOURCE"),
        (["compile", "x", "--eps", "small"], "--eps"),
        (["compile", "x", "--order", "2.5"], "--order"),
        (["compile", "x", "y"], "y"),
        (["compile", "x", "--box", "0;1"], "--box"),
        (["compile", "x", "--box", "0,1,2"], "low,high"),
        (["compile", "x", "--box", "0,nan"], "nan"),
        (["compile", "x", "--method", "quick"], "quick"),
        (["compile", "x", "--inputs", "-3"], "-3"),
        (["info"], "FILE"),
    ],
)
def test_misuse_is_explained(words: list[str], wanted: str) -> None:
    said = call(*words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: ")
    assert wanted in said.err
    as_json = call(*words, "--json")
    assert (as_json.code, as_json.err) == (2, "")
    assert set(as_json.data) == {"error"}
    assert wanted in as_json.data["error"]["message"]


def test_a_typo_in_a_formula_has_a_caret() -> None:
    said = call("compile", "sin(3*x)*exxp(-y)")
    lines = said.err.splitlines()
    row = next(n for n, line in enumerate(lines) if "sin(3*x)*exxp(-y)" in line)
    assert said.code == 2
    assert lines[row + 1].index("^") == lines[row].index("exxp")
    assert "did you mean exp?" in said.err


def test_a_mistake_of_ours_is_said_and_shown_with_debug(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **options: object) -> None:
        raise RuntimeError("a wheel came off")

    monkeypatch.setattr("integraph.compile", broken)
    said = call("compile", "x")
    assert said.code == 1
    assert "a wheel came off" in said.err
    assert "--debug" in said.err
    shown = call("compile", "x", "--debug")
    assert "Traceback" in shown.err
    assert "in broken" in shown.err
    assert call("compile", "x", "--json").data["error"]["kind"] == "InternalError"


def test_debug_shows_the_traceback_of_a_misuse_too() -> None:
    said = call("compile", "exxp(x)", "--debug")
    assert said.code == 2
    assert "Traceback" in said.err
    assert "did you mean exp?" in said.err


@pytest.mark.parametrize(
    ("error", "code"), [(MemoryError(), 1), (OSError(28, "No space left on device"), 1), (KeyboardInterrupt(), 130)]
)
def test_what_is_nobodys_mistake(monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int) -> None:
    def stopped(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("integraph.compile", stopped)
    said = call("compile", "x")
    assert said.code == code
    assert "mistake in integraph" not in said.err
    assert said.err.startswith("error: ")
    assert call("compile", "x", "--json").data["error"]["kind"] in ("MemoryError", "OSError", "Interrupted")


def test_control_characters_are_shown_and_not_obeyed(path: Path) -> None:
    evil = "x\x1b[2J\x9b31m\u202e[red]\rend"
    integraph_program = replace(integraph.compile("x*y"), source=evil)
    integraph_program.save(path)
    for word in ("info", "describe"):
        said = call(word, path)
        assert "x\\x1b[2J\\x9b31m\\u202e[red]\\rend" in said.out
        assert call(word, path, "--json").data["source"] == clean(evil)
        assert call(word, path, "--json").out.isascii()


def test_lines_leaves_text_alone() -> None:
    text = "γ·y₁ ≤ 1e−3, π\n[bold]"
    assert lines(text) == text
    assert lines("\x07\udcff") == "\\x07\\udcff"


def test_plain_is_json() -> None:
    found = plain(
        {"a": np.arange(3), "b": [np.float64("nan"), float("inf"), np.int64(4)], 3: Path("x"), "c": (None, True)}
    )
    assert found == {"a": [0, 1, 2], "b": ["nan", "inf", 4], "3": "x", "c": [None, True]}


@pytest.mark.slow
def test_an_encoding_that_lacks_characters() -> None:
    said = process("compile", "x*y", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert said.code == 0
    assert "\\u2264" in said.out  # ≤


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("integraph co", ["compile", "compare"]),
        ("integraph compile x --met", ["--method"]),
        ("integraph compile x --method ", ["exact", "lean", "remark", "paper", "narrow", "wide"]),
        ("integraph compile x --bound p", ["paper"]),
        ("integraph eval f --engine t", ["taylor"]),
        ("integraph info som", []),  # the shell completes files
    ],
)
def test_completion(words: str, wanted: list[str]) -> None:
    env = {"_INTEGRAPH_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    said = process(env=os.environ | env)
    assert said.code == 0
    assert sorted(said.out.split()) == sorted(wanted)


def test_completion_script() -> None:
    said = process("--show-completion", "bash", env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"})
    assert said.code == 0
    assert "integraph" in said.out
    assert "complete -o default" in said.out


def test_the_value_of_an_option_may_be_attached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("compile", "x*y", "-oproduct.integraph").code == 0
    assert integraph.load("product.integraph").inputs == 2
    assert call("compile", "-omega*y", "--json").data["source"].startswith("-omega*y")  # a formula as before
    said = call("compile", "x", "-oproduct")
    assert said.code == 2
    assert "Is -oproduct a formula, or do you mean -o product?" in said.err


def test_a_page_of_the_paper_needs_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from integraph import paper

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(paper, "reproduce", lambda say: paper.Reproduction(()))
    for words, name in (
        (["--html"], "paper.html"),
        (["--html", "--json"], "paper.html"),
        (["--html", "a.html"], "a.html"),
    ):
        said = call("paper", *words)
        assert said.code == 0
        assert name in said.out
        assert Path(name).read_text("utf-8").startswith("<!DOCTYPE html>")
        Path(name).unlink()


@pytest.mark.parametrize(
    ("word", "instead"), [("run", "integraph eval FILE"), ("plot", "--figures"), ("help", "--help")]
)
def test_what_other_tools_call_it(word: str, instead: str) -> None:
    said = call(word, "wave.integraph")
    assert said.code == 2
    assert f"There is no command '{word}': type integraph" in said.err
    assert instead in said.err
