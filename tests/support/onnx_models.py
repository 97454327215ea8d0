"""ONNX models for tests: written node by node, as exporters of several ages write them."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from scipy import special

LATEST = min(onnx.defs.onnx_opset_version(), 28)
OPSETS = (6, 7, 9, 11, 13, 17, 21, LATEST)


class Builder:
    """Nodes and initializers of one graph; a tensor is its name."""

    def __init__(self, opset: int = 17, dtype: type = np.float64) -> None:
        self.opset, self.dtype = opset, np.dtype(dtype)
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []

    def number(self, values: Any, dtype: Any = None) -> str:
        name = f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.array(values, dtype or self.dtype), name))
        return name

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=f"/{op}_{len(self.nodes)}", **attributes))
        return name

    def pair(self, op: str, a: str, b: str) -> str:
        """A binary operation whose second operand is the smaller: before opset 7 that had to be said."""
        return self.node(op, a, b, **({"broadcast": 1} if self.opset < 7 else {}))

    def model(
        self, output: str, shape: tuple[int | str, ...], outputs: tuple[int | str, ...] | None = None
    ) -> onnx.ModelProto:
        kind = helper.np_dtype_to_tensor_dtype(self.dtype)
        graph = helper.make_graph(
            self.nodes,
            "net",
            [helper.make_tensor_value_info("x", kind, shape)]
            + [  # before IR 4, weights had to be listed among the inputs
                helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in self.tensors if self.opset < 9
            ],
            [helper.make_tensor_value_info(output, kind, outputs)],
            self.tensors,
        )
        imports = [helper.make_opsetid("", self.opset)]
        return helper.make_model(
            graph, opset_imports=imports, ir_version=3 if self.opset < 9 else 8 if self.opset < 21 else 10
        )


def _gelu_erf(b: Builder, x: str) -> str:
    inner = b.node("Erf", b.pair("Div", x, b.number(math.sqrt(2.0))))
    return b.pair("Mul", b.node("Mul", x, b.pair("Add", inner, b.number(1.0))), b.number(0.5))


def _gelu_erf_spread(b: Builder, x: str) -> str:
    inner = b.node("Mul", b.node("Erf", b.pair("Mul", x, b.number(math.sqrt(0.5)))), x)
    return b.pair("Mul", b.node("Add", inner, x), b.number(0.5))


def _gelu_tanh(b: Builder, x: str) -> str:
    cube = b.pair("Mul", b.pair("Pow", x, b.number(3.0)), b.number(0.044715))
    inner = b.node("Tanh", b.pair("Mul", b.node("Add", x, cube), b.number(math.sqrt(2.0 / math.pi))))
    return b.node("Mul", b.pair("Mul", x, b.number(0.5)), b.pair("Add", inner, b.number(1.0)))


def _gelu_tanh_horner(b: Builder, x: str) -> str:
    square = b.pair("Add", b.pair("Mul", b.node("Mul", x, x), b.number(0.044715)), b.number(1.0))
    inner = b.node("Tanh", b.pair("Mul", b.node("Mul", square, x), b.number(math.sqrt(2.0 / math.pi))))
    return b.node("Mul", b.pair("Add", inner, b.number(1.0)), b.pair("Mul", x, b.number(0.5)))


def _plain(op: str, **attributes: Any) -> Callable[[Builder, str], str]:
    return lambda b, x: b.node(op, x, **attributes)


# as it is written: name → (our activation, opset from which it can be, the nodes)
ACTIVATIONS: dict[str, tuple[str, int, Callable[[Builder, str], str]]] = {
    "Tanh": ("tanh", 6, _plain("Tanh")),
    "Atan": ("arctan", 7, _plain("Atan")),
    "Softplus": ("softplus", 6, _plain("Softplus")),
    "Sigmoid": ("sigmoid", 6, _plain("Sigmoid")),
    "Sin": ("sin", 7, _plain("Sin")),
    "Exp": ("exp", 6, _plain("Exp")),
    "Erf": ("erf", 9, _plain("Erf")),
    "Relu": ("relu", 6, _plain("Relu")),
    "LeakyRelu": ("leaky_relu", 6, _plain("LeakyRelu", alpha=0.25)),
    "LeakyRelu, default": ("leaky_relu", 6, _plain("LeakyRelu")),
    "PRelu": ("leaky_relu", 7, lambda b, x: b.node("PRelu", x, b.number([0.3]))),
    "Gelu": ("gelu", 20, _plain("Gelu")),
    "Gelu, tanh": ("gelu_tanh", 20, _plain("Gelu", approximate="tanh")),
    "Swish": ("silu", 24, _plain("Swish")),
    "Swish, alpha": ("silu", 24, _plain("Swish", alpha=1.702)),
    "x·Sigmoid": ("silu", 6, lambda b, x: b.node("Mul", x, b.node("Sigmoid", x))),
    "Sigmoid·x, 1.702": (
        "silu",
        6,
        lambda b, x: b.node("Mul", b.node("Sigmoid", b.pair("Mul", x, b.number(1.702))), x),
    ),
    "gelu of Erf": ("gelu", 9, _gelu_erf),
    "gelu of Erf, spread": ("gelu", 9, _gelu_erf_spread),
    "gelu of Tanh": ("gelu_tanh", 6, _gelu_tanh),
    "gelu of Tanh, Horner": ("gelu_tanh", 6, _gelu_tanh_horner),
    "exp(−x·x)": ("gaussian", 6, lambda b, x: b.node("Exp", b.node("Neg", b.node("Mul", x, x)))),
    "exp(−x²/3)": (
        "gaussian",
        6,
        lambda b, x: b.node("Exp", b.pair("Div", b.pair("Pow", x, b.number(2.0)), b.number(-3.0))),
    ),
}


def gemm(b: Builder, x: str, W: Any, bias: Any) -> str:
    return b.node("Gemm", x, b.number(W), b.number(bias), transB=1, **({"broadcast": 1} if b.opset < 7 else {}))


def gemm_scaled(b: Builder, x: str, W: Any, bias: Any) -> str:
    more = {"broadcast": 1} if b.opset < 7 else {}
    return b.node("Gemm", x, b.number(2.0 * W.T), b.number(bias / 4.0), alpha=0.5, beta=4.0, **more)


def matmul(b: Builder, x: str, W: Any, bias: Any) -> str:
    return b.pair("Add", b.node("MatMul", x, b.number(W.T)), b.number(bias))


def transposed(b: Builder, x: str, W: Any, bias: Any) -> str:
    weights = b.node("Transpose", b.node("Identity", b.number(W)), perm=[1, 0])
    return b.pair("Add", b.node("MatMul", x, weights), b.number(bias[None]))


def columns(b: Builder, x: str, W: Any, bias: Any) -> str:
    """W·xᵀ, the batch in columns."""
    found = b.node("MatMul", b.number(W), b.node("Transpose", x, perm=[1, 0]))
    return b.node("Transpose", b.pair("Add", found, b.number(bias[:, None])))


def conv(b: Builder, x: str, W: Any, bias: Any) -> str:
    """As MATLAB writes a dense layer."""
    sizes = b.number([0, W.shape[1], 1, 1], np.int64)
    kernel = {"kernel_shape": [1, 1], "strides": [1, 1], "pads": [0] * 4, "dilations": [1, 1], "group": 1}
    found = b.node("Conv", b.node("Reshape", x, sizes), b.number(W[:, :, None, None]), b.number(bias), **kernel)
    return b.node("Flatten", found)


Dense = Callable[[Builder, str, Any, Any], str]
DENSE: tuple[Dense, ...] = (gemm, gemm_scaled, matmul, transposed, columns, conv)


def net(
    rng: np.random.Generator,
    opset: int,
    activation: str,
    sizes: list[int],
    dtype: type = np.float64,
    normal: bool = False,
    dense: tuple[Dense, ...] = DENSE,
) -> onnx.ModelProto:
    """A random net; `normal` adds normalisation before and after."""
    b = Builder(opset, dtype)
    x = "x"
    if normal:
        x = b.pair(
            "Div", b.pair("Sub", x, b.number(rng.normal(size=sizes[0]))), b.number(rng.uniform(0.5, 3, sizes[0]))
        )
    for k, (n, m) in enumerate(pairwise(sizes)):
        W, bias = rng.normal(size=(m, n)) * 0.7 / math.sqrt(n), rng.normal(size=m) * 0.3
        x = dense[rng.integers(len(dense))](b, x, W.astype(dtype), bias.astype(dtype))
        if k < len(sizes) - 2:
            x = ACTIVATIONS[activation][2](b, x)
    if normal:
        x = b.pair("Add", b.pair("Mul", x, b.number(rng.normal(size=sizes[-1]))), b.number(rng.normal()))
    return b.model(x, ("N", sizes[0]), ("N", sizes[-1]))


def one(
    build: Callable[[Builder], str], shape: tuple[int | str, ...] = ("N", 3), opset: int = 17, dtype: type = np.float64
) -> onnx.ModelProto:
    """A model of a few nodes."""
    b = Builder(opset, dtype)
    return b.model(build(b), shape)


class Erf(OpRun):  # the evaluator's own works in float32
    def _run(self, x: Any) -> Any:
        return (special.erf(x),)


class Gelu(OpRun):
    def _run(self, x: Any, approximate: Any = None) -> Any:
        inner = special.erf(x / math.sqrt(2))
        if approximate == "tanh":
            inner = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
        return (0.5 * x * (1 + inner),)


def reference(model: Any, X: Any) -> Any:
    """What ONNX says of the first output. It cannot broadcast as before opset 7, which only differs by saying so."""
    if model.opset_import[0].version < 7:
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        copy.opset_import[0].version = 7
        for node in copy.graph.node:
            for attribute in [a for a in node.attribute if a.name in ("broadcast", "is_test")]:
                node.attribute.remove(attribute)
        model = copy
    return ReferenceEvaluator(model, new_ops=[Erf, Gelu]).run(None, {"x": X})[0]
