"""One controller in the files of five tools, in TOML and in Python: the same inputs, the same answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import integraph
from integraph.api.loop_file import read_loop, read_question
from integraph.api.loops import closed_loop
from integraph.targets.network import Network, from_layers

A, B = np.array([[0.5, -1.0], [1.0, 0.25]]), np.array([[-1.5, 0.5]])
a, b = np.array([0.125, -0.5]), np.array([0.25])
PLANT = {"x": "x + 0.1*v", "v": "v + 0.1*u"}
SETTING = {"period": 1, "steps": 5, "discrete": True}
FILE = """controller = "{name}"
period = 1
steps = 5
discrete = true
spec = "x in [-1, 1] always"
plant = {{x = "x + 0.1*v", v = "v + 0.1*u"}}
start = {{x = [0.4, 0.5], v = 0.1}}
"""


def net() -> Network:
    return from_layers([(A, a, "tanh"), (B, b, None)])


def polar(path: Path) -> None:
    numbers = [2, 1, 1, 2, "tanh", "Affine", *A[0], a[0], *A[1], a[1], *B[0], b[0], 0, 1]
    path.write_text("\n".join(map(str, numbers)))


def yaml(path: Path) -> None:
    path.write_text(
        f"weights:\n  1: {A.tolist()}\n  2: {B.tolist()}\noffsets:\n  1: {a.tolist()}\n  2: {b.tolist()}\n"
        "activations:\n  1: Tanh\n  2: Linear\n"
    )


def matlab(path: Path) -> None:
    from scipy.io import savemat

    cells = np.empty((1, 2), object), np.empty((1, 2), object)
    cells[0][0, :] = [A, B]
    cells[1][0, :] = [a[:, None], b[:, None]]
    savemat(path, {"W": cells[0], "b": cells[1], "act_fcns": np.array(["tansig", "purelin"])})


def onnx(path: Path) -> None:
    pytest.importorskip("onnx", reason="needs onnx: pip install 'integraph[onnx]'")
    from onnx import TensorProto, helper, numpy_helper, save

    arrays = {"A": A, "a": a, "B": B, "b": b}
    nodes = [
        helper.make_node("Gemm", ["x", "A", "a"], ["y"], transB=1),
        helper.make_node("Tanh", ["y"], ["z"]),
        helper.make_node("Gemm", ["z", "B", "b"], ["u"], transB=1),
    ]
    ends = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, [1, k]) for n, k in (("x", 2), ("u", 1))]
    weights = [numpy_helper.from_array(value, name) for name, value in arrays.items()]
    save(helper.make_model(helper.make_graph(nodes, "net", ends[:1], ends[1:], weights)), str(path))


WRITERS = {"net.txt": polar, "net": polar, "net.yml": yaml, "net.mat": matlab, "net.onnx": onnx}


@pytest.mark.parametrize("name", WRITERS)
def test_files(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    (tmp_path / "loop.toml").write_text(FILE.format(name=name if "." in name else f"./{name}"))
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 2))
    loops = closed_loop(PLANT, tmp_path / name, **SETTING), read_question(tmp_path / "loop.toml").loop
    for loop in loops:
        np.testing.assert_allclose(loop.controller(x), net()(x), rtol=1e-13, atol=1e-15)
    result = integraph.loop(**read_loop(tmp_path / "loop.toml"), progress=False)
    same = integraph.loop(PLANT, net(), **SETTING, start={"x": (0.4, 0.5), "v": 0.1}, spec="x <= 1", progress=False)
    assert result.answer.value == "proved"
    np.testing.assert_allclose(result.boxes(), same.boxes(), atol=1e-12)
