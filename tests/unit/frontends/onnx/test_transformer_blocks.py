"""Transformer blocks in ONNX files → graphs that equal onnxruntime."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazy import framework

onnx = framework("onnx")

import integraph  # noqa: E402
from integraph.frontends.onnx import read_graph  # noqa: E402
from onnx_graphs import MASKS, NORMS, SIZES, agree, block, check, model, ops, runtime  # noqa: E402
from slow import mostly_slow  # noqa: E402

PLAIN = {"input", "constant", "add", "sub", "mul", "div", "sum", "power", "sqrt", "matmul", "softmax", "gelu"}
MOVES = {"reshape", "transpose"}


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("norm", NORMS)
@mostly_slow("mask", MASKS, quick=2)
def test_a_block(mask: str, norm: str, sizes: str) -> None:
    graph = check(block(mask, norm, sizes), ("N", 5, 8))
    assert ops(graph) <= PLAIN | MOVES
    assert "erf" not in ops(graph)
    (softmax,) = (node for node in graph.nodes if node.op == "softmax")
    if mask in ("none", "sub", "range"):  # −1e9 is a number, and left out when the graph is compiled
        assert softmax.value is None
    else:
        assert np.array_equal(softmax.value, np.broadcast_to(np.tri(5, dtype=bool), (1, 4, 5, 5)))
    assert all(np.isfinite(node.value).all() for node in graph.nodes if node.op == "constant")


@pytest.mark.parametrize("free", ["keep", "clean", "decay"])
@pytest.mark.parametrize("mask", ["sub", "range"])
def test_a_mask_of_numbers_costs_no_registers(mask: str, free: str) -> None:
    def width(mask: str) -> int:
        return integraph.compile(model(block(mask), (1, 5, 8)), method="exact", box=(-1, 1), free=free).width

    assert width(mask) == width("where")


@pytest.mark.parametrize("gelu", ["Gelu", "gelu of Erf, spread", "gelu of Tanh", "gelu of Tanh, Horner", "Gelu, tanh"])
def test_every_way_to_write_gelu(gelu: str) -> None:
    graph = check(block(gelu=gelu, norm="written out"), (1, 5, 8), opset=20)
    assert ops(graph) & {"gelu", "gelu_tanh"} == {"gelu_tanh" if "anh" in gelu else "gelu"}
    assert not ops(graph) & {"erf", "tanh"}


def test_large_scores() -> None:
    """Weights ×8: scores of hundreds, and rows of the softmax that are all but one entry 0."""
    check(block("where", gain=8.0, width=16), (1, 5, 16))


def test_two_blocks_and_two_outputs() -> None:
    def build(b: Any) -> tuple[str, str]:
        first = block("add", gelu="gelu of Tanh")(b)
        return first, block("where", gelu="gelu of Tanh")(b, first)

    graph = check(build, (1, 5, 8))
    assert (graph.inputs, graph.sizes) == (40, 80)


def test_tokens_without_a_batch() -> None:
    """(tokens, width): the first axis is one like any other."""

    def build(b: Any) -> str:
        q, k, v = (b.node("MatMul", "x", b.number(np.random.default_rng(n).normal(size=(4, 4)))) for n in range(3))
        weights = b.node("Softmax", b.node("MatMul", q, b.node("Transpose", k, perm=[1, 0])), axis=-1)
        return b.node("MatMul", weights, v)

    graph = check(build, (6, 4))
    assert (graph.inputs, graph.sizes, graph.nodes[0].shape) == (24, 24, (6, 4))


def exported(path: Path, module: Any, x: Any, dynamo: bool) -> None:
    torch = framework("torch")
    framework("onnxscript")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        more: Any = {"external_data": False} if dynamo else {"dynamic_axes": {"x": {0: "batch"}}, "input_names": ["x"]}
        torch.onnx.export(module.eval().double(), (x,), path, dynamo=dynamo, verbose=False, **more)


@pytest.mark.slow
@pytest.mark.parametrize("dynamo", [True, False])
def test_attention_that_torch_exports(tmp_path: Path, dynamo: bool) -> None:
    torch = framework("torch")

    class Attention(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.qkv, self.out = torch.nn.LayerNorm(8), torch.nn.Linear(8, 24), torch.nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            n, t, c = x.shape
            q, k, v = (z.view(n, t, 2, 4).transpose(1, 2) for z in self.qkv(self.norm(x)).chunk(3, -1))
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x + torch.nn.functional.gelu(self.out(y.transpose(1, 2).reshape(n, t, c)))

    torch.manual_seed(0)
    module, x = Attention(), torch.randn(1, 5, 8, dtype=torch.float64)
    exported(tmp_path / "a.onnx", module, x, dynamo)
    graph = read_graph(tmp_path / "a.onnx")
    with torch.no_grad():
        agree(graph, [module(x).numpy()], x.numpy(), 1e-13)
    assert graph.name == "a.onnx"
    assert ops(graph) <= PLAIN | MOVES | {"slice"}


@pytest.mark.slow
def test_an_encoder_layer_that_torch_exports(tmp_path: Path) -> None:
    torch = framework("torch")
    torch.manual_seed(1)
    module = torch.nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True, norm_first=True)
    x = torch.randn(1, 5, 8, dtype=torch.float64)
    exported(tmp_path / "e.onnx", module, x, True)
    graph = read_graph(tmp_path / "e.onnx")
    with torch.no_grad():
        agree(graph, [module(x).numpy()], x.numpy(), 1e-13)


def test_float32_files_are_read_exactly() -> None:
    made = model(block(), (1, 5, 8), dtype=np.float32)
    x = np.random.default_rng(0).normal(size=(1, 5, 8)).astype(np.float32)
    graph = read_graph(made)
    agree(graph, runtime(made, x) or [], x, 3e-6)
    stored = {onnx.numpy_helper.to_array(t).astype(np.float64).tobytes() for t in made.graph.initializer}
    matrices = [node.value for node in graph.nodes if node.op == "constant" and node.value.size == 64]
    assert len(matrices) == 4
    assert all(m.tobytes() in stored for m in matrices)
