"""`integraph compile`: what it prints, what it writes and when it writes nothing; values are those of numpy."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from command import call
from frameworks import to_h5, to_keras, to_onnx
from integraph.targets import from_layers
from lazy import framework
from networks import random_network
from slow import mostly_slow

LEAN = ("1/(1+x*y)", "--method", "lean", "--eps", "1e-4")


def test_alone_it_says_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = call("compile", "sin(3*x)*exp(-y)")
    program = integraph.compile("sin(3*x)*exp(-y)")
    assert said.code == 0
    assert repr(program) in said.out
    assert program.describe() in said.out
    assert repr(math.sin(1.5) * math.exp(-0.5))[:14] in said.out
    assert "x = 0.5, y = 0.5" in said.out
    assert "-o NAME.integraph" in said.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_json_holds_the_numbers_of_the_api() -> None:
    data = call("compile", *LEAN, "--json").data
    program = integraph.compile("1/(1+x*y)", 1e-4, method="lean")
    assert program.budget is not None
    for name in ("width", "depth", "horizon", "terms", "rate", "bits", "digest", "source", "seen", "proven"):
        assert data[name] == getattr(program, name), name
    assert data["promised"]["total"] == program.budget.total
    assert data["promised"]["low"] == [0.0, 0.0]
    assert data["centre"]["x"] == [0.5, 0.5]
    assert data["centre"]["source"] == [0.8]
    assert abs(data["centre"]["program"][0] - 0.8) == data["centre"]["difference"] <= 1e-4
    assert data["files"] == {}


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["exp(-x^2)", "--box=-2,2"], {"box": (-2, 2)}),
        (["exp(-x^2)", "--box", "-2,2"], {"box": (-2, 2)}),
        (["x*y", "--box", "0,1;-2,2"], {"box": [(0, 1), (-2, 2)]}),
        (["x/(1+y)", "--variables", "y,x"], {"variables": ["y", "x"]}),
        (["a*x + b", "--set", "a=1.5", "--set", "b = pi/4"], {"parameters": {"a": 1.5, "b": "pi/4"}}),
        (["abs(x)", "--eps", "1e-3", "--box", "-1,1"], {"eps": 1e-3, "box": (-1, 1)}),
        (["sin(x)*cos(y)", "--free", "clean", "--horizon", "1"], {"free": "clean", "horizon": 1.0}),
        (["sin(x)", "--order", "5", "--width", "40", "--eps", "1e-3"], {"order": 5, "width": 40, "eps": 1e-3}),
        (["-cos(x)"], {}),
        (["-x^2"], {}),
    ],
)
def test_options_are_those_of_the_api(words: list[str], options: dict[str, object], path: Path) -> None:
    said = call("compile", *words, "-o", path)
    assert said.code == 0, said.err
    wanted = integraph.compile(words[0], **options)  # type: ignore[arg-type]
    assert integraph.load(path).digest == wanted.digest
    assert f"wrote {path}" in said.out


def test_a_network(tmp_path: Path) -> None:
    onnx = framework("onnx")
    from onnx import helper, numpy_helper

    rng = np.random.default_rng(3)
    A, b, C = rng.normal(size=(4, 2)), rng.normal(size=4), rng.normal(size=(1, 4))
    nodes = [
        helper.make_node("Gemm", ["x", "A", "b"], ["z"], transB=1),
        helper.make_node("Tanh", ["z"], ["a"]),
        helper.make_node("Gemm", ["a", "C"], ["y"], transB=1),
    ]
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, [None, n]) for name, n in (("x", 2), ("y", 1))]
    weights = [numpy_helper.from_array(array, name) for array, name in ((A, "A"), (b, "b"), (C, "C"))]
    model = helper.make_model(helper.make_graph(nodes, "net", ends[:1], ends[1:], weights))
    net, to = tmp_path / "net.onnx", tmp_path / "net.integraph"
    onnx.save(model, str(net))
    said = call("compile", net, "--eps", "1e-8", "-o", to, "--certify", "--json")
    assert said.code == 0, said.out
    value = C @ np.tanh(A @ [0.5, 0.5] + b)
    assert abs(said.data["centre"]["program"][0] - value[0]) < 1e-8
    assert abs(said.data["centre"]["source"][0] - value[0]) < 1e-14
    assert said.data["proof"]["status"] == "proved"
    assert said.data["proven"] == said.data["proof"]["proven"] <= 1e-8
    assert integraph.load(to).proven == said.data["proven"]
    assert integraph.check(tmp_path / "net.proof.json", integraph.load(to), from_layers([(A, b, "tanh"), (C, None)]))
    before = net.read_bytes()
    for words in ([net, "-o", net], [net, "-o", tmp_path / "." / "net.onnx"]):
        assert call("compile", *words).code == 2
    assert net.read_bytes() == before


@pytest.mark.slow
def test_a_torch_module_with_the_shape_of_its_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    framework("torch")
    (tmp_path / "my_nets.py").write_text(
        "from torch import nn\n"
        "cnn = nn.Sequential(nn.Conv1d(2, 3, 2), nn.Tanh(), nn.Flatten(), nn.Linear(9, 2))\n"
        "two = nn.Bilinear(3, 2, 1)\n"
    )
    monkeypatch.chdir(tmp_path)
    said = call("compile", "my_nets:cnn", "--inputs", "2,4", "--json")
    assert said.code == 0, said.out
    assert (said.data["inputs"], said.data["outputs"]) == (8, 2)
    assert call("compile", "my_nets:two", "--inputs", "3;2", "--json").data["inputs"] == 5
    assert "inputs=(2, W)" in call("compile", "my_nets:cnn").err
    assert "1,28,28" in call("compile", "my_nets:cnn", "--inputs", "2,x").err


def test_a_python_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_functions.py").write_text(
        "import numpy as np\nprint('hello')\n"
        "class Deep:\n    @staticmethod\n    def f(x, y):\n        return np.sin(x) * y\n"
        "def g(x):\n    return x[..., 0] * x[..., 1]\n"
    )
    (tmp_path / "needs.py").write_text("import a_package_that_is_not_there\n")
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.chdir(tmp_path)
    said = call("compile", "my_functions:Deep.f", "--eps", "1e-3", "--json")
    assert said.code == 0, said.out
    assert abs(said.data["centre"]["program"][0] - math.sin(0.5) * 0.5) < 1e-3
    assert said.data["promised"] is None
    assert said.data["seen"] <= 1e-3
    assert call("compile", "my_functions:g", "--inputs", "2", "--eps", "1e-3").code == 0
    for words, wanted in (
        (["my_functions:h"], "it has Deep, g"),
        (["no_such_module:f"], "no module 'no_such_module'"),
        (["needs:f"], "'a_package_that_is_not_there', which is not installed"),
        (["leaves:f"], "'leaves' ends the program"),
        (["my_functions:g"], "say how many (--inputs)"),
        (["my_functions.py"], "my_functions.py is Python code: to compile a function in it, write my_functions:NAME"),
        (["my_functions.g"], "there is no file my_functions.g: for g in my_functions.py write my_functions:g"),
        (["my_functions:g", "--method", "exact"], "g is a Python function, which method='exact' traces with jax"),
    ):
        failed = call("compile", *words)
        assert failed.code == 2
        assert wanted in failed.err


def test_a_name_that_is_also_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "warning" not in call("compile", "controller").err
    (tmp_path / "controller.py").write_text("")
    assert "for a function in controller.py write controller:NAME" in call("compile", "controller").err
    (tmp_path / "controller").write_text("1\n1\n1\n")
    assert "for the file controller write ./controller" in call("compile", "controller").err
    assert "warning" not in call("compile", "2*controller").err


def test_a_proof_of_a_formula(path: Path) -> None:
    said = call("compile", *LEAN, "-o", path, "--certify")
    program, proof = integraph.load(path), path.with_suffix(".proof.json")
    assert said.code == 0, said.err
    assert program.proven is not None
    assert program.proven <= program.budget.total  # type: ignore[union-attr]
    assert integraph.check(proof, program, "1/(1+x*y)")
    x = np.random.default_rng(0).uniform(size=(1000, 2))
    assert np.abs(program(x)[:, 0] - 1 / (1 + x[:, 0] * x[:, 1])).max() <= program.proven
    assert "status            proved" in said.out


def test_a_proof_of_an_exact_program(path: Path) -> None:
    said = call("compile", "exp(0.1*x)*sin(3*y)", "-o", path, "--certify")
    program = integraph.load(path)
    assert said.code == 0, said.err
    assert "asked             ≤ 1e-12" in said.out
    assert program.budget is not None
    assert program.proven is not None
    assert 0 < program.proven <= program.budget.total < 1e-12
    assert integraph.check(path.with_suffix(".proof.json"), program, "exp(0.1*x)*sin(3*y)").status == "proved"


def test_what_cannot_be_proved_says_so(path: Path) -> None:
    said = call("compile", "tanh(tanh(tanh(x)+y)+x)", "--free", "decay", "-o", path, "--certify")
    assert said.code == 1
    assert "status            unknown: segment 'tanh(tanh(x)+y)': tanh does not start at 0" in said.out
    assert integraph.load(path).proven is None
    assert not path.with_suffix(".proof.json").exists()


def test_files_that_would_be_lost(tmp_path: Path) -> None:
    text, folder = tmp_path / "notes.integraph", tmp_path / "folder.integraph"
    text.write_text("years of work")
    folder.mkdir()
    (tmp_path / "a.proof.json").write_text('{"mine": 1}')
    (tmp_path / "index.txt").write_text("mine")
    for words, wanted in (
        (["-o", text], "not a program"),
        (["-o", folder], "folder"),
        (["-o", tmp_path], "this is a folder, name a file in it"),
        (["-o", tmp_path / "net.onnx"], ".integraph"),
        (["-o", tmp_path / "none" / "a.integraph"], "there is no folder"),
        (["-o", tmp_path / "a.integraph", "--certify"], "not a proof"),
        (["-o", tmp_path / "a.integraph", "--report", tmp_path / "index.txt"], ".html"),
    ):
        said = call("compile", "x", *words)
        assert said.code == 2
        assert wanted in said.err
    assert text.read_text() == "years of work"
    assert not (tmp_path / "a.integraph").exists()
    assert not tmp_path.with_suffix(".integraph").exists()


def test_a_suffix_is_added_and_a_program_is_replaced(tmp_path: Path) -> None:
    name, file = tmp_path / "bell", tmp_path / "bell.integraph"
    file.touch()
    for formula in ("exp(-x^2)", "exp(-x^4)"):
        assert call("compile", formula, "-o", name).code == 0
        assert integraph.load(file).source.startswith(formula)
    assert call("compile", file).code == 2
    assert "is a program already" in call("compile", file).err


def test_what_a_report_cannot_do_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **options: object) -> None:
        raise MemoryError("too large a page")

    monkeypatch.setattr(importlib.import_module("integraph.report"), "report", broken)
    assert call("compile", "x*y", "-o", tmp_path / "a.integraph", "--report", tmp_path / "a.html").code == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_value_that_is_not_there() -> None:
    said = call("compile", "1/x", "--box", "-1,1", "--json")
    assert said.code == 0
    assert (said.data["centre"]["program"], said.data["centre"]["difference"]) == (None, None)
    assert "no value" in call("compile", "1/x", "--box", "-1,1").out


@mostly_slow("writer", [to_onnx, to_keras, to_h5], quick=1, ids=["onnx", "keras", "h5"])
def test_files_of_networks(writer: Callable[..., tuple[Any, Any]], path: Path, tmp_path: Path) -> None:
    """Compiled and proved; the outputs are those of the framework."""
    file, values = writer(random_network((2, 5, 1), "tanh", seed=2), tmp_path)
    said = call("compile", file, "--eps", "1e-5", "-o", path, "--certify", "--json")
    assert said.code == 0
    assert said.data["proof"]["status"] == "proved"
    X = np.random.default_rng(0).uniform(size=(50, 2))
    assert np.abs(integraph.load(path)(X) - np.asarray(values(X)).reshape(50, 1)).max() <= 1e-5
