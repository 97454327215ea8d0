"""ONNX files of closed forms, checked by onnx and run by onnxruntime with its default optimisation."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import export_programs
import integraph
import transformers
from integraph import Program, Registers, Segment, build, segment
from integraph.errors import UsageError
from integraph.gadgets import affine, ramp
from lazy import Lazy, needs
from slow import mostly_slow

pytestmark = [needs("onnx"), needs("onnxruntime")]
onnx, onnxruntime = Lazy("onnx"), Lazy("onnxruntime")


def run(path: Path, x: np.ndarray) -> np.ndarray:
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    outputs: np.ndarray = session.run(None, {"x": x})[0]
    return outputs


def largest_error(program: Program, tmp_path: Path, x: np.ndarray) -> float:
    return float(np.abs(run(program.export(tmp_path / "wave.onnx"), x) - program(x)).max())


@mostly_slow("name", export_programs.PROGRAMS, quick=2)
def test_onnxruntime_gives_the_same_outputs(name: str, tmp_path: Path) -> None:
    program = export_programs.PROGRAMS[name]()
    assert largest_error(program, tmp_path, export_programs.inputs(program, 200)) <= 1e-13


@mostly_slow("name", export_programs.PROGRAMS, quick=1)
def test_float32(name: str, tmp_path: Path) -> None:
    program = export_programs.PROGRAMS[name]()
    x = export_programs.inputs(program, 50)
    path = program.export(tmp_path / "wave.onnx", precision="float32")
    outputs = run(path, x.astype(np.float32))
    assert outputs.dtype == np.float32
    assert np.abs(outputs - program(x)).max() <= 1e-5
    assert "Not bit-exact" in onnx.load(path).doc_string


@pytest.mark.slow
def test_functions_that_onnxruntime_lacks(tmp_path: Path) -> None:
    program = integraph.compile("atan(x)*asinh(y) + log(cosh(x))*erf(x*y) + softplus(x)", box=((0.1, 2), (0.1, 2)))
    assert largest_error(program, tmp_path, np.random.default_rng(5).uniform(0.1, 2, (50, 2))) <= 1e-13


@pytest.mark.slow
def test_a_transformer(tmp_path: Path) -> None:
    net = transformers.transformer(tokens=4, width=8, heads=2, hidden=16, layers=1, causal=True)
    program = integraph.compile(transformers.to_graph(net))
    assert largest_error(program, tmp_path, np.random.default_rng(5).normal(size=(10, 32))) <= 1e-13


def test_no_solution_is_nan_in_its_row_only(tmp_path: Path) -> None:
    """At −0.5 the formula has a value, but the flow passes a pole on the way."""
    program = integraph.compile("1/x", box=(0.5, 2))
    x = np.array([[1.5], [-0.5], [0.0], [np.nan], [np.inf], [0.7]])
    outputs = run(program.export(tmp_path / "wave.onnx"), x)
    assert np.abs(outputs[[0, 5]] - program(x[[0, 5]])).max() <= 1e-13
    assert np.isnan(outputs[1:5]).all()


def test_constants_beside_variables(tmp_path: Path) -> None:
    """A matrix reads registers from several places, one of them still 0."""
    r = Registers()
    x, y, z = r.inputs("x", 2), r.new("y", 3), r.new("z", 3)
    weights = [[1.0, 2.0, 3.0], [0.0, 1.0, 0.5], [4.0, 0.0, 0.0]]
    steps = [
        segment("one", ramp(y[:1], b=2.5)),
        segment("two", affine(y[2:], x[None, :], w=[[0.5, -3.0]])),
        segment("three", affine(z, y[None, :], w=weights)),
    ]
    program = build(r, steps, z)
    assert largest_error(program, tmp_path, np.random.default_rng(5).normal(size=(7, 2))) <= 1e-14


@pytest.mark.parametrize("width", [1, 2])
def test_no_factor_of_a_matrix_product_is_rounded_to_float32(width: int, tmp_path: Path) -> None:
    r = Registers()
    x, y, z = r.inputs("x", 3), r.new("y", 4), r.new("z", width)
    rng = np.random.default_rng(5)
    steps = [
        Segment("one", (affine(y, x[None, :], w=rng.normal(size=(4, 3))),), 0.7),
        Segment("two", (affine(z, y[None, :], w=rng.normal(size=(width, 4))),), 1.3),
    ]
    assert largest_error(build(r, steps, z), tmp_path, rng.normal(size=(9, 3))) <= 1e-14


def test_weights_are_initializers_with_every_bit(tmp_path: Path) -> None:
    program = export_programs.wide()
    model = onnx.load(program.export(tmp_path / "wave.onnx"))
    stored = [onnx.numpy_helper.to_array(one) for one in model.graph.initializer]
    for block in (block for part in program.segments for block in part.blocks):
        weights = block.tensors.get("w")
        if weights is not None and weights.size > 1:
            flat = np.sort(weights.reshape(-1))
            assert any(one.size == flat.size and np.array_equal(np.sort(one.reshape(-1)), flat) for one in stored)
    assert len(model.graph.node) < 500


def test_the_file_says_what_it_is(tmp_path: Path) -> None:
    program = export_programs.hostile()
    model = onnx.load(program.export(tmp_path / "wave.onnx"))
    assert (model.graph.name, model.producer_name) == ("wave", "integraph")
    about = {one.key: one.value for one in model.metadata_props}
    assert about["digest"] == program.digest
    for text in (model.doc_string, about["about"]):
        assert "closed forms of the ODE's segments" in text
        assert "to the last bit." in text
        assert "$(" not in text
        assert text.isascii()
    assert [one.version for one in model.opset_import] == [17]
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = export_programs.formula()
    with pytest.raises(UsageError, match="float64 or float32"):
        program.export(tmp_path / "wave.onnx", precision="half")
    r = Registers()
    x, y = r.inputs("x"), r.new("y")
    large = build(r, [segment("large", affine(y, x[:, None], w=[[1e200]]))], y)
    with pytest.raises(UsageError, match="float32 cannot hold"):
        large.export(tmp_path / "wave.onnx", precision="float32")
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "onnx":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=r"pip install 'integraph\[onnx\]'"):
        program.export(tmp_path / "wave.onnx")
    assert not list(tmp_path.iterdir())
