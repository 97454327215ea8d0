"""The command with data: compiled, shown, compared, and refused where it must be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from command import call


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ρ over T and p, with noise of 0.05, a gap, decimal commas and units."""
    rng = np.random.default_rng(0)
    T, p = 300 + 100 * rng.random(200), 1 + 9 * rng.random(200)
    rows = [f"{a:.2f};{b:.3f};{100 * b / a + 0.05 * rng.normal():.4f}" for a, b in zip(T, p, strict=True)]
    path = tmp_path_factory.mktemp("data") / "density.csv"
    path.write_text("\n".join(["T [K];p [bar];rho", *rows, "310,0;;2,0"]).replace(".", ","))
    return path


@pytest.fixture(scope="module")
def program(table: Path) -> Path:
    path = table.with_suffix(".integraph")
    said = call("compile", table, "--inputs", "2", "--order", "4", "-o", path)
    assert said.code == 0
    assert "density.csv: T [K], p [bar] → rho, Theorem 1, lean, order 4" in said.out
    assert "1 row with gaps left out; noise, or detail that the rows do not resolve, is about 0.0" in said.out
    assert "largest difference found on 40 held-out rows 0." in said.out
    return path


def test_info_and_eval(program: Path) -> None:
    said = call("info", program, "--json")
    assert said.data["promised"] is None
    assert said.data["origin"]["kind"] == "data"
    assert said.data["origin"]["options"]["held-out rows"] == 40
    assert said.data["origin"]["options"]["noise"] == pytest.approx(0.05, rel=0.3)
    assert "difference found  on 40 held-out rows 0." in call("info", program).out
    assert float(call("eval", program, "350,5").out) == pytest.approx(500 / 350, abs=0.05)


def test_compare_takes_the_rows(program: Path, table: Path) -> None:
    said = call("compare", program, table, "--json")
    assert said.code == 0
    assert said.data["inputs"] == 200
    assert 0.1 < said.data["largest"] < 0.3
    for option in ("--points", "--samples", "--seed", "--box"):
        value = {"--points": str(table), "--box": "0,1"}.get(option, "3")
        refused = call("compare", program, table, option, value)
        assert refused.code == 2
        assert f"{option} says where to compare, and data have rows of their own" in refused.err


def test_what_is_refused(program: Path, table: Path) -> None:
    for words, message in (
        (("compile", table), "say how many of them are inputs"),
        (("compile", table, "--inputs", "2", "--eps", "0.01", "--order", "4"), "--eps 0.01: the rows do not show that"),
        (("certify", program, table, "--eps", "1"), "nothing can be proved of them"),
        (("plan", table, "--inputs", "2"), "are data: their fit shows what they allow"),
        (("compile", table, "--inputs", "2", "--method", "paper"), "data are compiled by method='lean'"),
    ):
        said = call(*words)
        assert said.code == 2, said
        assert message in said.err


def test_extrapolation_is_warned_of_and_the_report_says_what_was_measured(table: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = ("compile", table, "--variables", "p,T", "--order", "2", "--box", "0,20;300,400", "--report", page)
    said = call(*words)
    assert said.code == 0
    assert "% of the box: elsewhere the program extrapolates" in said.err
    assert "Measured when it was fitted, on rows that the fit had not used." in page.read_text()
