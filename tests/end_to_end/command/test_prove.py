"""`integraph prove` and `integraph check` of what it wrote: verdicts, exit codes, JSON, files."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

import integraph
from command import WAVE, call

UNSAFE = (
    "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (>= X_0 -2))(assert (<= X_0 2))\n(assert (>= Y_0 {}))\n"
)
BELL = "x*exp(-x^2)"


def test_verdicts_and_exit_codes(tmp_path: Path) -> None:
    path, proof = tmp_path / "property.vnnlib", tmp_path / "proof.json"
    path.write_text(UNSAFE.format(0.43))
    good = call("prove", BELL, path, "--workers", "1", "-o", proof)
    assert good.code == 0
    assert "holds (unsat)" in good.out
    checked = call("check", proof, BELL, "--json")
    assert (checked.code, checked.data["status"]) == (0, "proved")
    assert call("check", proof, "x*exp(-x^2)*2").code == 1
    path.write_text(UNSAFE.format(0.42))
    bad = call("prove", BELL, path, "--json")
    assert (bad.code, bad.data["verdict"]) == (1, "violated (sat)")
    assert bad.data["low"][0] >= 0.42
    again = call("prove", BELL, path, "-o", proof)
    assert again.code == 1
    assert call("check", proof, BELL).code == 1  # it holds, and refutes
    there = call("prove", BELL, "y < 0.3 or y >= 0.3", "--box=-2,2", "--seconds", "0.3", "-o", proof, "--json")
    assert there.code == 3
    assert there.data["open"] > 0
    assert "was not written" in there.err or "was not written" in there.out


@pytest.mark.parametrize("unsafe", ["(or (<= X_0 0) (>= Y_0 2))", "(=> (> X_0 0) (>= Y_0 2))"])
def test_what_is_unsafe_by_its_inputs(tmp_path: Path, unsafe: str) -> None:
    """Whatever the outputs are: any point of that part of the box is a counterexample."""
    path, proof = tmp_path / "property.vnnlib", tmp_path / "proof.json"
    path.write_text(UNSAFE.format("-9").replace("(>= Y_0 -9)", unsafe))
    bad = call("prove", BELL, path, "-o", proof, "--json")
    assert (bad.code, bad.data["verdict"]) == (1, "violated (sat)")
    assert bad.data["point"][0] <= 0
    assert call("check", proof, BELL, "--json").data["status"] == "refuted"


def test_programs_and_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "wave.integraph"
    integraph.compile(WAVE, box=(0, 1)).save(file)
    assert call("prove", file, "y0 <= 1.01", "-o", tmp_path / "p.json").code == 0
    assert call("check", tmp_path / "p.json", file).code == 0
    assert call("prove", WAVE, "y0 <= 1.01", "--box", "1,0").code == 2
    both = call("prove", WAVE, "y0 <= 1.01", "--workers", "2", "--scheduler", "tcp://127.0.0.1:1")
    assert both.code == 2
    assert "one of the two" in both.err
    wrong = call("prove", WAVE, "y0 = 1")
    assert wrong.code == 2
    assert "^" in wrong.err
    path = tmp_path / "broken.vnnlib"
    path.write_text("(declare-const X_0 Real)\n(assert (>= X_0 1)")
    broken = call("prove", BELL, path)
    assert broken.code == 2
    assert "line 2, at column 1" in broken.err


def test_an_onnx_file(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    net = [("w", np.array([[1.0], [-1.0]]).T), ("v", np.array([[1.0], [1.0]]))]
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["h"]),
        onnx.helper.make_node("Tanh", ["h"], ["t"]),
        onnx.helper.make_node("MatMul", ["t", "v"], ["y"]),
    ]
    sides = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, [1, 1]) for name in "xy"]
    tensors = [onnx.numpy_helper.from_array(value, name) for name, value in net]
    graph = onnx.helper.make_graph(nodes, "odd", [sides[0]], [sides[1]], tensors)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), tmp_path / "net.onnx")
    path = tmp_path / "p.vnnlib"
    path.write_text(UNSAFE.format("1e-3"))
    assert call("prove", tmp_path / "net.onnx", path, "-o", tmp_path / "p.json").code == 0
    assert call("check", tmp_path / "p.json", tmp_path / "net.onnx").code == 0


@pytest.mark.parametrize("words", [("y <= 1", BELL), ("y0 in [0, 1]", "net.onnx"), ("unsafe.vnnlib", BELL)])
def test_swapped_arguments(words: tuple[str, str]) -> None:
    said = call("prove", *words)
    assert said.code == 2
    assert f"the source comes first: integraph prove {shlex.quote(words[1])} {shlex.quote(words[0])}" in said.err


def test_a_condition_is_no_property() -> None:
    """A formula may compare, in `if`, and is the source nevertheless."""
    said = call("prove", "if(x < 0.5, x, 1 - x)", "y")
    assert said.code == 2
    assert "the source comes first" not in said.err


def test_a_proof_of_a_source_is_not_one_of_its_program(tmp_path: Path) -> None:
    proof, program = tmp_path / "proof.json", tmp_path / "bell.integraph"
    assert call("prove", BELL, "y <= 1", "-o", proof).code == 0
    assert call("compile", BELL, "-o", program).code == 0
    said = call("check", proof, program)
    assert said.code == 2
    assert "bell.integraph is a program: give what it is compiled from" in said.err
    assert call("check", proof, BELL, "--workers", "1").code == 0
