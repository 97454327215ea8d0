"""Every word of the command at a real terminal, with good input and with bad input."""

from __future__ import annotations

from pathlib import Path

import pytest

import integraph
from integraph.cli.app import app
from slow import mostly_slow
from terminals import ANY, ended, spawn

WAVE = "sin(3*x)*exp(-y)"
LOOP = """controller = "-x"
plant = "x' = x + 0.5*u"
period = 1
steps = 5
discrete = true
spec = "x <= 1.5 always"
start = {x = [0, 1]}
"""
GOOD: dict[str, tuple[list[str], str]] = {  # arguments, and what is said
    "compile": ([WAVE, "-o", "new"], "W = 4 registers, D = 2 segments"),
    "lift": (["x' = v; v' = -sin(x)", "-o", "p", "--time", "1", "--box=-1,1"], "w1' = v*w2"),
    "plan": ([WAVE, "--eps", "1e-3"], "by Theorem 1"),
    "info": (["wave.integraph"], "promised error    ≤ 0 for x, y in [0, 1]^2"),
    "describe": (["wave.integraph"], "−3·x·u"),
    "eval": (["wave.integraph", "0.3", "0.8"], "0.35197146886806"),
    "trace": (["wave.integraph", "0.3", "0.8"], "▁"),
    "compare": (["wave.integraph"], "1,000 inputs: the largest difference is"),
    "report": (["wave.integraph"], "wrote wave.html"),
    "certify": (["wave.integraph", "-o", "new.proof.json"], "status            proved"),
    "prove": (["sin(3*x)*exp(-y)", "y0 <= 1.01"], "holds (unsat)"),
    "loop": (["bench.toml"], "proved for all starts"),
    "check": (["wave.proof.json", "wave.integraph"], "the proof holds: proved"),
    "export": (["wave.integraph", "wave.csv"], "every number to the last bit"),
    "bound": (["wave.integraph", "--box", "[0,1]^2", "--gap", "0.01", "--registers"], "as close as was asked for"),
    "ranges": (["wave.integraph", "--cells", "4"], "Ranges of 4 registers in 2 segments"),
    "scale": (["wave.integraph", "--cells", "4", "-o", "machine.integraph"], "wrote machine.integraph"),
    "lemma4": (["--N", "5", "--c", "30"], "W = 14 registers, D = 7 segments"),
    "bench": (["wave.integraph"], "Runs that would take longer than 2 s are left out"),
}
BAD: dict[str, tuple[list[str], str]] = {
    "compile": (["sin(3*x)*exq(-y)"], "did you mean exp?"),
    "lift": (["x' = abs(x)"], "has a kink"),
    "plan": (["missing.onnx"], "there is no such file"),
    "info": (["missing.integraph"], "No such file or directory"),
    "describe": (["cut.integraph"], "cut.integraph"),
    "eval": (["wave.integraph", "0.3"], "a point has 2, x, y"),
    "trace": (["wave.integraph", "0.3", "here"], "is not a number"),
    "export": (["wave.integraph", "wave.wat"], "no format has the suffix"),
    "bound": (["x*y", "--box", "[0,1]^0"], "a power must be at least 1"),
    "ranges": (["wave.integraph", "--box", "1,0"], "needs finite low ≤ high"),
    "scale": (["wave.integraph", "--unit", "0"], "needs a finite number > 0"),
    "compare": (["wave.integraph", "x*y*z"], "3"),
    "report": (["wave.integraph", "-o", "page.png"], "is written as .html or .htm"),
    "certify": (["wave.integraph", "--eps=-1"], "it must be finite and ≥ 0"),
    "prove": (["x*y", "y0 <= "], "a value is missing"),
    "loop": (["bench.toml", "--cells", "0"], "cells"),
    "check": (["wave.integraph", "wave.integraph"], "wave.integraph"),
    "bench": (["cut.integraph"], "cut.integraph"),
    "lemma4": (["--N", "0"], "needs an integer from 1 to 200"),
    "paper": (["--html", "nowhere/page.html"], "there is no folder nowhere"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A program, its proof, and half of a program."""
    program = integraph.compile(WAVE)
    program.save(tmp_path / "wave.integraph")
    proof = integraph.certify(program, WAVE, progress=False)
    assert proof.certificate is not None
    proof.certificate.save(tmp_path / "wave.proof.json")
    whole = (tmp_path / "wave.integraph").read_bytes()
    (tmp_path / "cut.integraph").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "bench.toml").write_text(LOOP)
    return tmp_path


def run(folder: Path, word: str, arguments: list[str]) -> tuple[int, str]:
    code, text = ended(spawn(word, *arguments, cwd=folder))
    return code, " ".join(ANY.sub("", text).split())  # lines are broken where the screen ends


@mostly_slow("word", GOOD, quick=1)
def test_good_input(word: str, folder: Path) -> None:
    arguments, said = GOOD[word]
    code, text = run(folder, word, arguments)
    assert code == 0, text
    assert " ".join(said.split()) in text


@mostly_slow("word", BAD, quick=1)
def test_bad_input(word: str, folder: Path) -> None:
    arguments, said = BAD[word]
    code, text = run(folder, word, arguments)
    assert code == 2, text
    assert "error: " in text
    assert said in text


@pytest.mark.slow
def test_the_paper_shows_a_bar_and_can_be_stopped(folder: Path) -> None:
    """All of it takes seconds; what it says is tested elsewhere."""
    child = spawn("paper", "--html", "paper.html", cwd=folder)
    child.expect("━")  # of a bar
    child.sendintr()
    code, text = ended(child)
    assert code == 130
    assert "interrupted" in text
    assert not (folder / "paper.html").exists()


def test_no_word_is_left_out() -> None:
    words = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert set(GOOD) | {"paper"} == set(BAD) == words
