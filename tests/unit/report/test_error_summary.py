"""What reports say of the error: promised, proven and seen, against mpmath and the proofs themselves."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import integraph
from integraph import Certificate, Program
from integraph.errors import FileError, UsageError
from integraph.plot import subject
from report_pages import Reader, identity, read


def card(reader: Reader, name: str) -> str:
    found = re.search(rf"{name} (\S+(?: \S+)?) ", reader.words)
    assert found is not None
    return found[1]


@pytest.mark.slow
def test_what_is_said_of_the_program(program: Program, tmp_path: Path) -> None:
    words = read(integraph.report(program, tmp_path / "report.html")).words
    for name, value in (("Width W", program.width), ("Depth D", program.depth), ("Terms", f"{program.terms:,}")):
        assert f"{name} {value} " in words
    assert program.source in words
    assert program.digest in words
    assert f"largest rate {program.rate:.4g} " in words
    assert "53 bits" in words
    assert program.budget is not None
    shown = re.search(r"Promised error ≤ (\S+) ", words)
    assert shown is not None
    assert 0 <= float(shown[1]) - program.budget.total <= 0.01 * program.budget.total
    assert f"SHA-256 of the ODE {program.digest}" in words


@pytest.mark.slow
def test_the_error_is_seen(program: Program, tmp_path: Path) -> None:
    """At as many points as it says; a fine grid in mpmath sees at least as much as 90 % of it."""
    import mpmath

    words = read(integraph.report(program, tmp_path / "report.html")).words
    found = re.search(
        r"Largest difference found (\S+) The largest difference \|source − program\| found at ([\d,]+) points", words
    )
    assert found is not None
    x = np.linspace(0.0, 1.0, 2001)
    truth = np.array([float(mpmath.exp(-t) * mpmath.sin(5 * t)) for t in x])
    largest = np.abs(program(x)[:, 0] - truth).max()
    assert 0.9 * largest <= float(found[1]) <= 1.01 * largest
    assert int(found[2].replace(",", "")) == len(subject(program).seen.points)


@pytest.mark.parametrize("off", ["0.25", "1e-11"])
def test_another_source_is_noticed(off: str, tmp_path: Path) -> None:
    words = read(integraph.report(integraph.compile("x^2"), tmp_path / "report.html", f"x^2 + {off}")).words
    assert f"Largest difference found {off} " in words
    assert "exceeds the promised error: is this the source that was compiled?" in words
    right = read(integraph.report(integraph.compile("x^2"), tmp_path / "report.html", "x^2")).words
    assert "is this the source" not in right


def test_without_a_source_it_says_so(tmp_path: Path) -> None:
    words = read(integraph.report(identity(), tmp_path / "report.html")).words
    assert "no source was given" in words
    assert "Promised error unknown" in words
    assert "Proven error unknown" in words
    assert "Largest difference found unknown Not measured" in words
    assert "Not shown" in words
    known = read(integraph.report(identity().with_errors(proven=1.5e-3, seen=2e-4), tmp_path / "report.html")).words
    assert "Proven error unknown The file states that ≤ 0.0015 was proved, but for a box" in known
    assert "Largest difference found 0.0002 Not measured" in known


def test_a_source_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"1 → 1.*2 → 1"):
        integraph.report(identity(), tmp_path / "report.html", "x*y")
    with pytest.raises(UsageError, match="program"):
        integraph.report("x^2", tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_box_of_its_own(tmp_path: Path) -> None:
    """What is promised for [0, 1] is not promised for more."""
    program = integraph.compile("sin(x)", 1e-4, method="lean")
    words = read(integraph.report(program, tmp_path / "report.html", box=(0.0, 2.0))).words
    assert "box x in [0, 2]" in words
    assert re.search(r"Promised error unknown The promise, ≤ \S+, is for x in \[0, 1\] only", words)
    assert "box=(0.0, 2.0))" in words


@pytest.mark.slow
def test_what_is_proved_for_one_box_is_not_said_of_another(tmp_path: Path) -> None:
    """By the program's word, and by a certificate; on a part of the box it holds too."""
    program = integraph.compile("tanh(x)", box=(0, 1)).with_errors(proven=1e-9)
    path = tmp_path / "report.html"
    for box in ((0, 1), (0.25, 0.5)):
        assert "Proven error ≤ 1e-09 The file states" in read(integraph.report(program, path, box=box)).words
    other = read(integraph.report(program, path, box=(0, 1.5))).words
    assert re.search(r"Proven error unknown The file states that ≤ 1e-09 was proved, but for x in \[0, 1\] only", other)
    proof = integraph.certify(program, "tanh(x)", 1e-6, seconds=5, workers=1, progress=False)
    assert proof.status == "proved"
    reader = read(integraph.report(program, path, box=(0, 1.5), proof=proof))
    assert re.search(r"Proven error unknown The proof, ≤ \S+, is for x in \[0, 1\] only", reader.words)
    assert not any("proved" in (a.get("class") or "") for a in reader.of("div"))
    reader = read(integraph.report(program, path, box=(0, 0.5), proof=proof))
    assert any(a.get("class") == "card proved" for a in reader.of("div"))


@pytest.mark.slow
def test_a_proof_is_shown(net: tuple[integraph.Network, Program], tmp_path: Path) -> None:
    source, program = net
    proof = integraph.certify(program, source, seconds=5, workers=1, progress=False)
    assert proof.status == "proved"
    assert proof.certificate is not None
    reader = read(integraph.report(program, tmp_path / "report.html", source, proof=proof))
    words = reader.words
    shown = re.search(r"Proven error ≤ (\S+) Computed with ball arithmetic", words)
    assert shown is not None
    assert float(shown[1]) >= proof.upper
    assert "status of the proof proved" in words
    assert proof.certificate.seal in words
    assert all(text in words for text in proof.assumed)
    proof.certificate.save(tmp_path / "proof.json")
    loaded = Certificate.load(tmp_path / "proof.json")
    pages = [
        integraph.report(program, tmp_path / f"{n}.html", source, proof=given).read_bytes()
        for n, given in enumerate((loaded, tmp_path / "proof.json"))
    ]
    assert pages[0] == pages[1]
    assert "not for this report; integraph.check computes every box again" in pages[0].decode()


def test_a_refuted_promise_is_shown(net: tuple[integraph.Network, Program], tmp_path: Path) -> None:
    source, program = net
    proof = integraph.certify(program, source, 1e-12, seconds=5, workers=1, progress=False)
    assert proof.status == "refuted"
    reader = read(integraph.report(program, tmp_path / "report.html", source, proof=proof))
    assert "status of the proof refuted" in reader.words
    assert "More than the 1e-12 that was asked for" in reader.words
    assert any(a.get("class") == "card refuted" for a in reader.of("div"))


def test_a_proof_of_something_else_is_refused(net: tuple[integraph.Network, Program], tmp_path: Path) -> None:
    source, program = net
    proof = integraph.certify(program, source, seconds=5, workers=1, progress=False)
    other = integraph.compile(source, 1e-4)
    with pytest.raises(UsageError, match="about a program with hash"):
        integraph.report(other, tmp_path / "report.html", source, proof=proof)
    layers = [(layer.A, layer.b + 1e-9, layer.activation) for layer in source.layers]
    with pytest.raises(UsageError, match="another source"):
        integraph.report(program, tmp_path / "report.html", integraph.network(layers), proof=proof)
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(FileError):
        integraph.report(program, tmp_path / "report.html", source, proof=tmp_path / "bad.json")
    assert not (tmp_path / "report.html").exists()


def test_a_proof_that_found_nothing(tmp_path: Path) -> None:
    program = integraph.compile(lambda x: x * x, 1e-2, norm=2.0, order=2)
    proof = integraph.certify(program, lambda x: x * x, seconds=1, workers=1, progress=False)
    assert proof.status == "unknown"
    words = read(integraph.report(program, tmp_path / "report.html", lambda x: x * x, proof=proof)).words
    assert "Proven error unknown The proof ended without a bound" in words
    assert "known only at points" in words
