"""ONNX files → networks, against onnxruntime and the reference evaluator of ONNX."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazy import framework

onnx = framework("onnx")

from integraph.frontends.onnx import read  # noqa: E402
from law import examples  # noqa: E402
from networks import agree  # noqa: E402
from onnx_graphs import runtime  # noqa: E402
from onnx_models import ACTIVATIONS, DENSE, OPSETS, Builder, net, one, reference  # noqa: E402
from slow import mostly_slow  # noqa: E402

CASES = [(opset, name) for opset in OPSETS for name, (_, first, _) in ACTIVATIONS.items() if opset >= first]


@mostly_slow(("opset", "name"), CASES, quick=122)
def test_every_activation_in_every_opset(opset: int, name: str) -> None:
    rng = np.random.default_rng(opset)
    model = net(rng, opset, name, [3, 7, 2, 4])
    onnx.checker.check_model(model)
    network = read(model)
    X = rng.normal(size=(9, 3))
    agree(network, reference(model, X), X)
    assert {layer.activation for layer in network.layers} - {"identity"} == {ACTIVATIONS[name][0]}


@examples(120)
@given(
    st.sampled_from([case for case in CASES if case[1] != "Exp"]),
    st.lists(st.integers(1, 12), min_size=1, max_size=6),
    st.integers(1, 20),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_the_network_is_the_file(case: tuple[int, str], sizes: list[int], d: int, seed: int, normal: bool) -> None:
    rng = np.random.default_rng(seed)
    model = net(rng, case[0], case[1], [d, *sizes], normal=normal)
    X = rng.normal(size=(5, d))
    agree(read(model), reference(model, X), X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@mostly_slow("opset", [7, 9, 11, 13, 17, 21, 24], quick=2)
def test_onnxruntime_agrees(opset: int, dtype: type) -> None:
    compared = 0
    for name, (_, first, _) in ACTIVATIONS.items():
        if opset < first:
            continue
        rng = np.random.default_rng(opset)
        model = net(rng, opset, name, [4, 6, 5, 3], dtype, normal=True, dense=DENSE[:-1])  # it has no Conv in float64
        X = rng.normal(size=(8, 4)).astype(dtype)
        values = runtime(model, X)
        if values is not None:
            agree(read(model), values[0], X, 3e-5 if dtype is np.float32 else 1e-12)
            compared += 1
    assert compared > 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_are_exactly_as_stored(dtype: type) -> None:
    rng = np.random.default_rng(0)
    W, V, bias = (
        rng.normal(size=(5, 3)).astype(dtype),
        rng.normal(size=(2, 5)).astype(dtype),
        rng.normal(size=5).astype(dtype),
    )
    b = Builder(17, dtype)
    hidden = b.node("Tanh", b.node("Gemm", "x", b.number(W), b.number(bias), transB=1))
    network = read(b.model(b.node("MatMul", hidden, b.number(V.T)), ("N", 3)))
    first, last = network.layers
    for found, stored in ((first.A, W), (first.b, bias), (last.A, V), (last.b, np.zeros(2))):
        assert np.array_equal(found, stored.astype(np.float64))
    assert network.notes == ()


def test_what_the_output_does_not_need_is_left_out() -> None:
    b = Builder()
    output = b.node("Tanh", "x")
    b.node("Softmax", output)
    assert read(b.model(output, ("N", 3))).layers[0].activation == "tanh"


def test_a_file_says_its_name(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(one(lambda b: b.node("Tanh", "x")), path)
    for given_path in (path, str(path)):
        assert read(given_path).source == "net.onnx"


@mostly_slow("dynamo", [False, True], quick=1)
@mostly_slow("activation", ["Tanh", "GELU", "SiLU", "Softplus", "PReLU", "LeakyReLU", "BatchNorm1d"], quick=1)
def test_torch_exports(tmp_path: Path, activation: str, dynamo: bool) -> None:
    torch = framework("torch")
    if dynamo:
        framework("onnxscript")
    torch.manual_seed(0)
    nn = torch.nn
    middle = nn.BatchNorm1d(8) if activation == "BatchNorm1d" else getattr(nn, activation)()
    module = nn.Sequential(
        nn.Linear(3, 8), middle, nn.Linear(8, 5), nn.GELU(approximate="tanh"), nn.Linear(5, 2)
    ).eval()
    X = torch.randn(10, 3)
    path = tmp_path / "net.onnx"
    export(torch, module, X, path, dynamo)
    agree(read(path), module(X).detach().numpy(), X.numpy(), 1e-5)


def export(torch: Any, module: Any, X: Any, path: Path, dynamo: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (X,), str(path), dynamo=dynamo, **({"external_data": False} if dynamo else {}))
