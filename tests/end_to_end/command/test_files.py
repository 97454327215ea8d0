"""Words that read a program: info, describe, report; and every word with files that are missing, wrong or broken."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import integraph
from command import call

FORMULA = "1/(1+x*y)"
READERS = ("info", "describe", "eval", "trace", "compare", "certify", "report")


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("programs") / "lean.integraph"
    integraph.compile(FORMULA, 1e-3, method="lean").save(path)
    return path


def test_info(lean: Path) -> None:
    program, said = integraph.load(lean), call("info", lean)
    assert program.summary() in said.out
    assert program.digest in said.out
    assert f"{lean.stat().st_size:,} bytes" in said.out
    data = call("info", lean, "--json").data
    assert (data["width"], data["depth"], data["terms"]) == (program.width, program.depth, program.terms)
    corners = np.array([(0.5, 0.5), (0, 0), (1, 0), (0, 1), (1, 1)])
    assert data["stiffness"] == max(program.stiffness(x[None], 9) for x in corners)
    assert data["bytes"] == lean.stat().st_size


def test_info_names_the_proof_beside(path: Path) -> None:
    proof = path.with_suffix(".proof.json")
    integraph.compile(FORMULA, 1e-3, method="lean").save(path)
    assert call("info", path, "--json").data["proof"] is None
    assert call("certify", path, "-o", proof).code == 0
    certificate = integraph.Certificate.load(proof)
    said = call("info", path)
    assert re.search(
        rf"{proof} claims an error ≤ \S+ for x, y in \[0, 1\]\^2; integraph check {proof} {path} ", said.out
    )
    data = call("info", path, "--json").data["proof"]
    assert data == {"file": str(proof), "upper": certificate.upper, "low": [0.0, 0.0], "high": [1.0, 1.0]}
    integraph.compile("x").save(path)
    assert f"{proof} is about another program" in call("info", path).out
    proof.write_text("{}")
    said = call("info", path)
    assert (said.code, "cannot read the certificate" in said.out) == (0, True)


def test_describe(lean: Path, path: Path) -> None:
    program, said = integraph.load(lean), call("describe", lean)
    assert said.code == 0
    assert [line for line in program.describe().splitlines() if line not in said.out.splitlines()] == []
    data = call("describe", lean, "--json").data
    assert [segment["label"] for segment in data["segments"]] == [segment.label for segment in program.segments]
    assert sum(segment["terms"] for segment in data["segments"]) == program.terms
    integraph.compile("sin(3*x)").save(path)
    spelled = call("describe", path, "--json").data["segments"]
    assert spelled[1]["equations"] == ["v1' = −3·x·u1", "u1' = 3·x·v1"]


def test_describe_one_segment_spells_all_of_it(lean: Path) -> None:
    program = integraph.load(lean)
    long = max(range(program.depth), key=lambda n: sum(map(len, program.segment_terms(n))))
    data = call("describe", lean, "--segment", str(long), "--json").data
    (found,) = data["segments"]
    terms = program.controls()
    rows = {program.registers.name(i) for i in terms.i[terms.segment == long].tolist()}
    assert {equation.split("'")[0] for equation in found["equations"]} == rows
    said = call("describe", lean, "--segment", str(long))
    assert f"segment {long}: " in said.out
    assert len(re.findall("^segment ", said.out, re.MULTILINE)) == 1
    for number in ("-1", str(program.depth)):
        failed = call("describe", lean, "--segment", number)
        assert failed.code == 2
        assert number in failed.err


@pytest.mark.parametrize("word", READERS)
def test_files_that_are_no_programs(word: str, lean: Path, tmp_path: Path) -> None:
    whole = lean.read_bytes()
    altered = bytearray(whole)
    altered[-3] ^= 1
    bad = {"text": b"hello, hello", "empty": b"", "short": whole[:200], "cut": whole[:-9], "altered": bytes(altered)}
    for name, content in bad.items():
        (tmp_path / f"{name}.integraph").write_bytes(content)
    reasons = {
        "text": "not a program",
        "empty": "empty",
        "short": "truncated",
        "cut": "truncated",
        "altered": "damaged",
    }
    for name, reason in (reasons | {"none": "No such file"}).items():
        said = call(word, tmp_path / f"{name}.integraph")
        assert (said.code, said.out) == (2, ""), (name, said)
        assert reason in said.err, (name, said)
        assert f"{name}.integraph" in said.err
    assert "directory" in call(word, tmp_path).err
    as_json = call(word, tmp_path / "none.integraph", "--json")
    assert (as_json.code, as_json.data["error"]["kind"]) == (2, "FileError")


def test_a_network_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"\x08\x07")
    said = call("info", tmp_path / "net.onnx")
    assert said.code == 2
    assert f"integraph compile {tmp_path / 'net.onnx'} -o {tmp_path / 'net.integraph'}" in said.err


@pytest.mark.slow
def test_report(path: Path, tmp_path: Path) -> None:
    page, pictures = tmp_path / "bell.html", tmp_path / "pictures"
    integraph.compile("exp(-x^2)").save(path)
    said = call("report", path, "-o", page, "--figures", pictures, "--format", "svg,pdf")
    assert said.code == 0, said.err
    assert f"wrote {page}" in said.out
    text = page.read_text()
    assert text.lower().startswith("<!doctype html")
    assert "exp(-x^2)" in text
    drawn = sorted(file.name for file in pictures.iterdir())
    assert {"trajectory.svg", "trajectory.pdf", "error.svg", "error.pdf"} <= set(drawn)
    assert {Path(name).suffix for name in drawn} == {".svg", ".pdf"}


@pytest.mark.slow
def test_report_with_a_proof_and_beside_the_program(lean: Path, path: Path) -> None:
    path.write_bytes(lean.read_bytes())
    proof = path.with_suffix(".proof.json")
    assert call("certify", path, "-o", proof).code == 0
    data = call("report", path, FORMULA, "--certificate", proof, "--json").data
    assert data == {"report": str(path.with_suffix(".html")), "figures": None, "formats": None}
    assert path.with_suffix(".html").is_file()


def test_report_refuses(lean: Path, tmp_path: Path) -> None:
    other = tmp_path / "proof.json"
    other.write_text("{}")
    for words, wanted in (
        (["-o", tmp_path / "a.pdf"], ".html"),
        (["--format", "svg"], "--figures"),
        (["-o", tmp_path / "a.html", "--figures", tmp_path / "d", "--format", "bmp"], "bmp"),
        (["-o", tmp_path / "a.html", "--certificate", other], "proof.json"),
        (["-o", tmp_path / "a.html", "--certificate", tmp_path / "none.json"], "none.json"),
        (["sin(x)", "-o", tmp_path / "a.html"], "1 → 1"),
        (["exxp(x*y)", "-o", tmp_path / "a.html"], "did you mean exp?"),
    ):
        said = call("report", lean, *words)
        assert (said.code, said.out) == (2, ""), (words, said)
        assert wanted in said.err, said.err
        assert not (tmp_path / "a.html").exists()


@pytest.mark.slow
def test_paper_is_what_reproduce_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table itself has tests of its own: here a few of its rows are enough."""
    import integraph.paper

    monkeypatch.setattr(integraph.paper, "ITEMS", integraph.paper.ITEMS[:3])
    page = tmp_path / "paper.html"
    said = call("paper", "--html", page)
    assert said.code == 0, said.out
    assert all(item.name.split()[0] in said.out for item in integraph.paper.ITEMS)
    assert page.read_text().lower().startswith("<!doctype html")
    data = call("paper", "--json").data
    assert data["holds"] is True
    assert [row["item"] for row in data["rows"]] == [item.name for item in integraph.paper.ITEMS]
    assert call("paper", "--html", tmp_path / "paper.pdf").code == 2


def test_paper_fails_if_a_row_does(monkeypatch: pytest.MonkeyPatch) -> None:
    import integraph.paper
    from integraph.paper.rows import Finding, Item

    monkeypatch.setattr(integraph.paper, "ITEMS", (Item("Lemma 0", "1 = 2", lambda: Finding("1 ≠ 2", False)),))
    said = call("paper")
    assert said.code == 1
    assert "1 ≠ 2" in said.out
    assert call("paper", "--json").data["holds"] is False
