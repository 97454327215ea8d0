"""ONNX files as MATLAB's exportONNXNetwork and the converters of ACAS Xu write them, against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from integraph.frontends import network
from lazy import needs

pytestmark = [needs("onnx"), needs("onnxruntime")]

Layers = Callable[[Any, str], str]


def normalised(shape: tuple[int, ...]) -> Layers:
    """Sub of the mean and Div by the deviation, in the shape of the input."""

    def build(b: Any, x: str) -> str:
        rng = np.random.default_rng(1)
        centred = b.node("Sub", x, b.number(rng.normal(size=shape)))
        return str(b.node("Div", centred, b.number(rng.uniform(0.5, 3, size=shape))))

    return build


def flat(axis: int) -> Layers:
    return lambda b, x: b.node("Flatten", x, axis=axis)


def reshaped(*shape: int) -> Layers:
    return lambda b, x: b.node("Reshape", x, b.number(shape, np.int64))


def gemm(units: int, inputs: int, **attributes: Any) -> Layers:
    """A fully connected layer, transposed as the attributes say."""

    def build(b: Any, x: str) -> str:
        rng = np.random.default_rng(units)
        A = rng.normal(size=(units, inputs) if attributes.get("transB") else (inputs, units))
        return str(b.node("Gemm", x, b.number(A), b.number(rng.normal(size=(1, units))), **attributes))

    return build


def column_gemm(units: int, inputs: int) -> Layers:
    """A x + b with x a column, as MATLAB computes."""

    def build(b: Any, x: str) -> str:
        rng = np.random.default_rng(units)
        A, bias = b.number(rng.normal(size=(units, inputs))), b.number(rng.normal(size=(units, 1)))
        return str(b.node("Gemm", A, x, bias))

    return build


def function(name: str) -> Layers:
    return lambda b, x: b.node(name, x)


def scaled(b: Any, x: str) -> str:
    """MATLAB's scalingLayer, after the last tanh of an actor."""
    return str(b.node("Add", b.node("Mul", x, b.number([[2.0, 3.7]])), b.number([[0.1, -1.0]])))


ROW = {"transB": 1}
NETS: dict[str, tuple[tuple[int | str, ...], list[Layers]]] = {
    "features": ((1, 4), [normalised((1, 4)), gemm(6, 4, **ROW), function("Relu"), gemm(2, 6, **ROW)]),
    "features, a named batch": (
        ("BatchSize", 4), [normalised((1, 4)), gemm(6, 4, **ROW), function("Tanh"), gemm(2, 6, **ROW)],
    ),
    "an image of one row": (
        (1, 1, 1, 4), [normalised((1, 1, 1, 4)), flat(1), gemm(6, 4, **ROW), function("Relu"), gemm(2, 6, **ROW)],
    ),
    "an image of one column": (
        (1, 4, 1, 1), [normalised((1, 4, 1, 1)), flat(1), gemm(6, 4, **ROW), function("Sigmoid"), gemm(2, 6, **ROW)],
    ),
    "flat at axis 0": ((1, 1, 1, 4), [flat(0), gemm(6, 4, **ROW), function("Relu"), gemm(2, 6)]),
    "flat at axis 2": ((1, 1, 1, 4), [flat(2), gemm(6, 4, **ROW), function("Relu"), gemm(2, 6)]),
    "flat at axis -1": ((1, 1, 1, 4), [flat(-1), gemm(6, 4, **ROW), function("Relu"), gemm(2, 6)]),
    "flat at the last axis": (
        (1, 1, 1, 4), [normalised((1, 1, 1, 4)), flat(4), column_gemm(6, 4), function("Relu"), column_gemm(2, 6)],
    ),
    "transposed on both sides": ((4, 1), [gemm(6, 4, transA=1, transB=1), function("Tanh"), gemm(2, 6, **ROW)]),
    "alpha and beta": ((1, 4), [gemm(6, 4, alpha=0.5, beta=2.0), function("Tanh"), gemm(2, 6, **ROW)]),
    "an actor": (
        (1, 4),
        [normalised((1, 4)), gemm(6, 4, **ROW), function("Relu"), gemm(2, 6, **ROW), function("Tanh"), scaled],
    ),
    "reshaped": (
        (1, 4, 1, 1), [reshaped(1, 4), gemm(6, 4), function("Relu"), gemm(2, 6, **ROW), reshaped(1, 2, 1, 1)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NETS)
def test_onnx_from_matlab(case: str) -> None:
    from onnx_graphs import model, runtime

    shape, layers = NETS[case]

    def build(b: Any) -> str:
        value = "x"
        for layer in layers:
            value = layer(b, value)
        return value

    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 2e-5)):
        made = model(build, shape, 13, dtype)
        rng = np.random.default_rng(2)
        x = rng.uniform(-2, 2, [n if isinstance(n, int) else 1 for n in shape]).astype(dtype)
        wanted = runtime(made, x)
        if wanted is None:
            continue
        net = network(made)
        np.testing.assert_allclose(net(x.ravel().astype(np.float64)), wanted[0].ravel(), rtol=tolerance, atol=tolerance)
        assert any("rounded" in note for note in net.notes) == ("Div" in [node.op_type for node in made.graph.node])
        break
    else:
        pytest.fail("onnxruntime ran neither")
