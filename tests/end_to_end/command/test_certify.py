"""`integraph certify` and `integraph check`: exit codes are verdicts, and a file that was altered is no proof."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import integraph
from command import WAVE, call, lean
from integraph.certify.search.stop import Stop
from lazy import framework
from networks import random_network


@pytest.fixture
def wave(path: Path) -> Path:
    lean().save(path)
    return path


def seen() -> float:
    """The largest error on a grid, in numpy."""
    side = np.linspace(0, 1, 101)
    x = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    return float(np.abs(lean()(x)[:, 0] - np.sin(3 * x[:, 0]) * np.exp(-x[:, 1])).max())


def test_proved_and_checked(wave: Path, tmp_path: Path) -> None:
    proof = tmp_path / "wave.proof.json"
    said = call("certify", wave, "-o", proof)
    assert said.code == 0
    assert "status            proved" in said.out
    assert f"source: {WAVE}, which the program names" in said.out
    assert f"wrote {proof}" in said.out
    assert "assumed" in said.out
    checked = call("check", proof, wave)
    assert checked.code == 0
    assert "the proof holds: proved" in checked.out
    assert "what is proved: |target − program| ≤ " in checked.out
    assert "for x, y in [0, 1]^2" in checked.out
    assert checked.out.count("assumed: ") == len(integraph.Certificate.load(proof).assumed) > 0
    data = call("check", proof, wave, WAVE, "--json").data
    assert (data["holds"], data["status"]) == (True, "proved")


def test_json(wave: Path) -> None:
    data = call("certify", wave, "--gap", "0.2", "--json").data
    budget = lean().budget
    assert budget is not None
    assert seen() <= data["proven"] <= budget.total == data["promised"]
    assert data["proven"] <= 1.2 * data["lower"]
    assert (data["status"], data["low"], data["high"]) == ("proved", [0.0, 0.0], [1.0, 1.0])
    assert data["stopped"] == "gap"
    assert "written" not in data
    assert not list(wave.parent.glob("*.json"))


def test_refuted(wave: Path, tmp_path: Path) -> None:
    """A tolerance below what is seen in numpy; and the refutation is a proof too, of something else."""
    proof = tmp_path / "no.json"
    said = call("certify", wave, "--eps", repr(seen() / 2), "-o", proof)
    assert said.code == 1
    assert "status            refuted" in said.out
    checked = call("check", proof, wave)
    assert checked.code == 1
    assert "the proof holds: refuted" in checked.out
    assert "which is refuted" in checked.out


def test_another_source(wave: Path, tmp_path: Path) -> None:
    other = f"{WAVE} + 0.01"
    assert call("certify", wave, other, "--json").data["status"] == "refuted"
    proof = tmp_path / "wave.json"
    assert call("certify", wave, "-o", proof).code == 0
    said = call("check", proof, wave, other)
    assert said.code == 1
    assert "the proof does not hold: it is about another target" in said.out
    swapped = call("check", proof, wave, WAVE, "--variables", "y,x", "--json")
    assert (swapped.code, swapped.data["holds"], swapped.data["status"]) == (1, False, "unknown")


def test_unknown_is_a_failure(wave: Path) -> None:
    said = call("certify", wave, "--boxes", "1", "--gap", "1e-9", "--eps", repr(1.01 * seen()))
    assert said.code == 1
    assert "status            unknown" in said.out


@pytest.fixture
def black_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python function, of which nothing can be proved."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "black_box.py").write_text("def f(x):\n    return x * x\n")
    integraph.compile(lambda x: x * x, 1e-2).save(tmp_path / "f.integraph")
    return tmp_path / "f.integraph"


def test_nothing_is_proved_of_a_black_box(black_box: Path) -> None:
    said = call("certify", black_box, "black_box:f", "-o", "none.json")
    assert said.code == 1
    assert "status            unknown" in said.out
    assert "nothing is proved, so none.json was not written" in said.err
    assert not (black_box.parent / "none.json").exists()


def test_a_graph(path: Path, tmp_path: Path) -> None:
    onnx = framework("onnx")
    from onnx_models import Builder

    b = Builder()
    onnx.save(b.model(b.node("Mul", b.node("Exp", "x"), "x"), (1, 2), (1, 2)), tmp_path / "graph.onnx")
    integraph.compile(tmp_path / "graph.onnx").save(path)
    said = call("certify", path, tmp_path / "graph.onnx")
    assert said.code == 0
    assert "status            proved" in said.out


def test_a_box(wave: Path) -> None:
    data = call("certify", wave, "--box", "0,0.5;0.25,1", "--json").data
    assert (data["low"], data["high"]) == ([0.0, 0.25], [0.5, 1.0])
    assert call("certify", wave, "--box", "0,2", "--eps", "1e-3").code == 1


def test_a_network(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    net = random_network((2, 4, 1), "tanh", seed=4)
    layers = [(layer.A.tolist(), layer.b.tolist(), layer.activation) for layer in net.layers]
    (tmp_path / "proved_nets.py").write_text(f"good = {layers!r}\nbad = good[:-1] + [(good[-1][0], [0.1])]\n")
    integraph.compile(net).save(path)
    assert call("certify", path, "proved_nets:good", "-o", "net.json", "--workers", "1").code == 0
    assert call("check", "net.json", path, "proved_nets:good").code == 0
    assert call("check", "net.json", path, "proved_nets:bad").code == 1
    assert call("certify", path, "proved_nets:bad").code == 1
    said = call("check", "net.json", path)
    assert said.code == 2
    assert "give the source too" in said.err


def test_altered_files(wave: Path, tmp_path: Path) -> None:
    proof = tmp_path / "wave.json"
    assert call("certify", wave, "-o", proof).code == 0
    text = proof.read_text()
    document = json.loads(text)
    changed = tmp_path / "changed.json"
    for bad in (text[:-20], text.replace('"leaf",64', '"leaf",65', 1), "", "{}", json.dumps(document, indent=1)):
        changed.write_text(bad)
        said = call("check", changed, wave)
        assert (said.code, said.out) == (2, "")
        assert "changed.json" in said.err


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["certify", "{wave}", "--eps", "-1"], "--eps -1"),
        (["certify", "{wave}", "--eps", "nan"], "--eps nan"),
        (["certify", "{wave}", "--seconds", "0"], "--seconds 0"),
        (["certify", "{wave}", "--boxes", "0"], "--boxes"),
        (["certify", "{wave}", "x"], "the program maps 2 → 1, the source 1 → 1"),
        (["certify", "{wave}", "-o", "proof.txt"], "a proof is written as .json"),
        (["certify", "{wave}", "-o", "{wave}"], "-o"),
        (["certify", "{wave}", "--workers", "1", "--scheduler", "tcp://127.0.0.1:1"], "give one of the two"),
        (["certify", "none.integraph"], "none.integraph"),
        (["check", "{wave}", "proof.json"], "the proof comes first"),
        (["check", "none.json", "{wave}"], "none.json"),
        (["check", "net.onnx", "{wave}"], "net.onnx is a network: the proof comes first"),
        (["check", "wave.html", "{wave}"], "wave.html is a page: the proof comes first"),
        (["check", "wave.smt2", "{wave}"], "wave.smt2 is a text of SMT-LIB: the proof comes first"),
        (["check", "wave.vnnlib", "{wave}"], "wave.vnnlib is a property of VNN-LIB: the proof comes first"),
    ],
)
def test_misuse(wave: Path, words: list[str], wanted: str) -> None:
    said = call(*(word.format(wave=wave) for word in words))
    assert (said.code, said.out) == (2, "")
    assert wanted in said.err


def test_an_old_proof_is_kept_where_nothing_is_proved(wave: Path, black_box: Path, tmp_path: Path) -> None:
    proof = tmp_path / "kept.json"
    assert call("certify", wave, "-o", proof).code == 0
    before = proof.read_bytes()
    assert call("certify", wave, "y", "--variables", "y", "-o", proof).code == 2
    assert call("certify", black_box, "black_box:f", "-o", proof).code == 1
    assert proof.read_bytes() == before


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_proved(wave: Path, tmp_path: Path) -> None:
    """A gap that is never reached: when the bar is there, what was asked is proved for long, and then a person has seen
    enough."""
    from terminals import ended, spawn  # which skips where there is no such terminal

    proof = tmp_path / "wave.json"
    limits = ["--seconds", "600", "--boxes", "100000000", "--workers", "1"]
    run = spawn("certify", wave, "--gap", "1e-12", "--eps", "1", "-o", proof, *limits, cwd=tmp_path)
    run.expect("proving: ≤")
    run.sendintr()
    run.expect("status +proved: the gap is not reached, it was interrupted")
    run.expect("wrote ")
    assert ended(run)[0] == 130
    assert call("check", proof, wave).code == 0


def test_ctrl_c_before_anything_is_proved(wave: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As certify returns after Ctrl-C."""
    proof = integraph.certify(lean(), WAVE, progress=False)
    left = replace(proof, status="unknown", stopped=Stop.INTERRUPTED)
    monkeypatch.setattr(integraph, "certify", lambda *given, **options: left)
    assert call("certify", wave).code == 130


def test_a_gap_that_is_not_reached_is_not_good(wave: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked decides: within the budget the tolerance is proved, and the gap is not there."""
    few = ["--eps", "1", "--boxes", "1", "--workers", "1"]
    assert call("certify", wave, *few).code == 0
    said = call("certify", wave, "--gap", "1e-9", *few)
    assert said.code == 1
    assert "status            proved: the gap is not reached" in said.out
