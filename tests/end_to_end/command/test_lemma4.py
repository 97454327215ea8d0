"""`integraph lemma4` against the functions as the paper prints them, in many digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import integraph
from command import call
from integraph.paper.lemma4_equations import psi


@pytest.mark.parametrize(("N", "c", "x"), [(5, 30.0, 0.3), (1, 2.0, 0.0), (12, 90.0, 0.77)])
def test_the_states_at_the_end_are_logarithms_of_psi(N: int, c: float, x: float) -> None:
    said = call("lemma4", "--N", str(N), "--c", str(c), "--x", str(x), "--json").data
    true = np.array(psi(N, c, x), float)
    assert (said["width"], said["depth"]) == (2 * (N + 2), 7)
    assert np.allclose(said["psi"], true, rtol=1e-12, atol=0)
    end = np.array(said["states"])[7]
    assert np.allclose(np.exp(end[-(N + 1) :]), true, rtol=1e-12, atol=0)
    assert np.allclose(end[: N + 2], 1.0)
    assert end[N + 2] == pytest.approx(np.log(x + 0.5))


@pytest.mark.slow
def test_it_prints_table_1_and_writes_what_it_is_asked_for(tmp_path: Path) -> None:
    said = call("lemma4", "--N", "20", "--c", "60", "--figure", tmp_path / "p.svg", f"-o{tmp_path / 'l.integraph'}")
    assert said.code == 0
    assert "W = 44 registers, D = 7 segments" in said.out
    assert "after step" in said.out
    assert "and the same for 13 functions that are smaller at x" in said.out
    assert "N = 20, c = 60" in (tmp_path / "p.svg").read_text("utf-8")
    program = integraph.load(tmp_path / "l.integraph")
    assert (program.width, program.source) == (44, "Lemma 4, N = 20, c = 60")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--N", "0"], "--N 0: needs an integer from 1 to 200"),
        (["--c", "nan"], "--c nan: needs a number above 0"),
        (["--x", "1.5"], "--x 1.5: needs a number from 0 to 1"),
        (["--figure", "p.gif"], "--figure p.gif: a picture is written as .png or .svg or .pdf, not .gif"),
    ],
)
def test_refusals(words: list[str], wanted: str) -> None:
    said = call("lemma4", *words)
    assert said.code == 2
    assert wanted in said.err
