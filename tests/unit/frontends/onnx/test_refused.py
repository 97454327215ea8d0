"""ONNX that is no feedforward net: one clear error each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lazy import framework

onnx = framework("onnx")
from onnx import TensorProto, helper  # noqa: E402

from integraph.errors import SourceError  # noqa: E402
from integraph.frontends.onnx import NEWEST, read  # noqa: E402
from onnx_models import Builder, one  # noqa: E402

W = np.random.default_rng(7).normal(size=(4, 3))
BN = "BatchNormalization"

GRAPHS: dict[str, tuple[Callable[[Builder], str], str]] = {
    "unknown operator": (
        lambda b: b.node("Einsum", b.node("Tanh", "x"), equation="ij->j"),
        r"node 1 'Einsum' \(/Einsum_1\) is not supported: supported are Abs, .*Conv, .*Where$",
    ),
    "operator of other graphs": (
        lambda b: b.node("Softmax", b.node("Tanh", "x")),
        r"node 1 'Softmax' \(/Softmax_1\) is no part of a feedforward net, which has dense layers and activations",
    ),
    "floor": (lambda b: b.node("Floor", "x"), r"node 0 'Floor' \(/Floor_0\) is not supported"),
    "a condition is no value": (
        lambda b: b.node("Where", b.node("Greater", "x", b.number(0.0)), "x", b.node("Tanh", "x")),
        r"'Where' .*only softplus with its threshold is known",
    ),
    "a softplus that jumps": (
        lambda b: b.node("Where", b.node("Greater", "x", b.number(2.0)), "x", b.node("Softplus", "x")),
        r"'Where' .*only softplus with its threshold is known",
    ),
    "a softplus and a multiple": (
        lambda b: b.node(
            "Where", b.node("Greater", "x", b.number(20.0)), b.node("Mul", "x", b.number(2.0)), b.node("Softplus", "x")
        ),
        r"'Where' .*only softplus with its threshold is known",
    ),
    "branches of two layers": (
        lambda b: b.node("Where", b.node("Greater", "x", b.number(20.0)), "x", b.node("Tanh", b.node("Tanh", "x"))),
        r"'Greater' .*compares what depends on the input.*'Where' .*only softplus with its threshold is known",
    ),
    "residual": (
        lambda b: b.node("Add", "x", b.node("MatMul", "x", b.number(np.eye(3)))),
        "node 1 'Add' .*combines two computed tensors",
    ),
    "dynamic weights": (lambda b: b.node("MatMul", "x", b.node("Transpose", "x")), "'MatMul' .*two computed tensors"),
    "dynamic biases": (
        lambda b: b.node("Gemm", "x", b.number(np.eye(3)), b.node("Tanh", "x")),
        "node 1 'Gemm' .*combines two computed tensors, from .* and node 0 'Tanh'",
    ),
    "constants only": (lambda b: b.node("Gemm", b.number(W), b.number(W.T)), "the output does not depend on"),
    "activation of a constant": (
        lambda b: b.node("Add", "x", b.node("Tanh", b.number(W))),
        r"combines shape \(1, 3\) with constants of shape \(4, 3\): that repeats features",
    ),
    "cast to integers": (lambda b: b.node("Cast", "x", to=7), "casts a computed tensor to INT64"),
    "Pow 4": (lambda b: b.node("Pow", "x", b.number(4.0)), "takes the power 4"),
    "x to the x": (lambda b: b.node("Pow", "x", "x"), "'Pow' .*is no part of a feedforward net"),
    "division by x": (lambda b: b.node("Div", b.number(1.0), "x"), "divides by a computed tensor"),
    "division by 0": (lambda b: b.node("Div", "x", b.number(0.0)), "divides by 0"),
    "constant division by 0": (
        lambda b: b.node("Add", "x", b.node("Div", b.number(1.0), b.number(0.0))),
        "divides by 0",
    ),
    "concatenation": (
        lambda b: b.node("Concat", "x", b.number(np.ones((1, 2))), axis=1),
        "'Concat' .*is no part of a feedforward net",
    ),
    "training dropout": (lambda b: b.node("Dropout", "x", b.number(0.5), b.number(True, np.bool_)), "training mode"),
    "training normalisation": (
        lambda b: b.node(BN, "x", *[b.number(np.ones(3))] * 4, training_mode=1),
        "training mode",
    ),
    "negative variance": (lambda b: b.node(BN, "x", *[b.number(-np.ones(3))] * 4), "variance"),
    "wrong normalisation": (lambda b: b.node(BN, "x", *[b.number(np.ones(4))] * 4), "normalises shape"),
    "infinite bias": (
        lambda b: b.node("Tanh", b.node("Add", "x", b.number([0, np.inf, 0]))),
        r"initializer c0: entry \[1\] is inf",
    ),
    "nan weight": (lambda b: b.node("MatMul", "x", b.number(W.T * np.nan)), r"initializer c0: entry \[0, 0\] is nan"),
    "infinite constant": (lambda b: b.node("Add", "x", b.node("Constant", value_float=math.inf)), "'Constant' .*inf"),
    "infinite alpha": (lambda b: b.node("LeakyRelu", "x", alpha=math.inf), "attribute alpha is inf"),
    "overflow in folding": (
        lambda b: b.node("Mul", "x", b.node("Mul", b.number(1e300), b.number(1e300))),
        "/Mul_0 of constants is inf",
    ),
    "overflow in casting": (lambda b: b.node("Mul", "x", b.node("Cast", b.number(1e300), to=1)), "node 0 'Cast' .*inf"),
    "wrong weights": (lambda b: b.node("MatMul", "x", b.number(W)), r"multiplies shapes \(1, 3\) and \(4, 3\)"),
    "integer weights": (
        lambda b: b.node("MatMul", "x", b.number(np.ones((3, 3)), np.int64)),
        "computes with constants of type int64: they must be floats",
    ),
    "integer constants": (lambda b: b.node("Add", "x", b.number(1, np.int64)), "its constants are of type int64"),
    "two matrices": (lambda b: b.node("MatMul", "x", b.number(np.ones((2, 3, 3)))), "a dense layer has one matrix"),
    "wrong biases": (lambda b: b.node("Gemm", "x", b.number(W.T), b.number(np.ones(3))), r"biases of shape \(3,\)"),
    "biases of a batch": (
        lambda b: b.node("Gemm", "x", b.number(W.T), b.number(np.ones((5, 4)))),
        r"biases of shape \(5, 4\)",
    ),
    "wrong sizes": (
        lambda b: b.node("Reshape", "x", b.number([2, 2], np.int64)),
        r"shape \(2, 2\) to a tensor of shape \(1, 3\)",
    ),
    "huge sizes": (lambda b: b.node("Reshape", "x", b.number([2**62, 2**62], np.int64)), "to a tensor of shape"),
    "sizes that are no integers": (lambda b: b.node("Reshape", "x", b.number([1.0, 3.0])), "short list of integers"),
    "huge constant": (
        lambda b: b.node("Add", "x", b.node("ConstantOfShape", b.number([2**40], np.int64))),
        "unfolds too far",
    ),
    "negative constant": (
        lambda b: b.node("Add", "x", b.node("ConstantOfShape", b.number([-1], np.int64))),
        "sizes must be ≥ 0",
    ),
    "huge sum": (
        lambda b: b.node("MatMul", "x", b.node("Add", b.number(np.ones((9999, 1))), b.number(np.ones((1, 9999))))),
        "unfolds too far",
    ),
    "huge reshaped constant": (
        lambda b: b.node("Add", "x", b.node("Reshape", b.number([1.0]), b.number([2**62, 8], np.int64))),
        "gives shape",
    ),
    "wrong axes": (
        lambda b: b.node("Squeeze", "x", b.number([5], np.int64)),
        r"axes \[5\] must be distinct axes of the 2",
    ),
    "squeezed features": (lambda b: b.node("Squeeze", "x", b.number([1], np.int64)), "they must be of size 1"),
    "attribute of another opset": (
        lambda b: b.node("Add", "x", b.number(1.0), broadcast=1),
        "attribute broadcast that its operator does not have in opset 17",
    ),
    "attribute of another type": (lambda b: b.node("Gemm", "x", b.number(W.T), alpha=1), "attribute alpha"),
    "operator of another opset": (lambda b: b.node("Gelu", "x"), "'Gelu' .*is no operator of opset 17"),
    "too few operands": (lambda b: b.node("MatMul", "x"), "has 1 operands, opset 17 says 2 to 2"),
    "missing operand": (lambda b: b.node("MatMul", "x", ""), "has no operand 1"),
    "missing tensor": (lambda b: b.node("Add", "x", "nowhere"), "needs tensor nowhere, which nothing before it gives"),
    "constant output": (
        lambda b: b.node("Identity", b.node("Constant", value_float=1.0)),
        "does not depend on the input",
    ),
    "text": (lambda b: b.node("Add", "x", b.node("Constant", value_string="a")), "holds a value_string"),
    "other domain": (
        lambda b: b.node("Tanh", "x", domain="org.example"),
        "node 0 'Tanh' .*of domain 'org.example' is not supported",
    ),
    "If": (
        lambda b: b.node("If", b.number(True, np.bool_), then_branch=branch("Sin"), else_branch=branch("Tanh")),
        "node 0 'If' .*is not supported",
    ),
    "names twice": (
        lambda b: b.tensors.extend([helper.make_tensor("c", 1, [1], [0.0])] * 2) or b.node("Tanh", "x"),
        "two initializers have the same name",
    ),
}


def branch(op: str) -> Any:
    return one(lambda b: b.node(op, "x")).graph


@pytest.mark.parametrize("case", GRAPHS)
def test_graphs_that_are_no_nets(case: str) -> None:
    build, message = GRAPHS[case]
    with pytest.raises(SourceError, match=message):
        read(one(build))


def conv(kernel: tuple[int, ...], **attributes: Any) -> Callable[[Builder], str]:
    return lambda b: b.node("Conv", "x", b.number(np.ones(kernel)), **attributes)


def dense(b: Builder) -> str:
    return b.node("MatMul", "x", b.number(W.T))


SHAPES: dict[str, tuple[Callable[[Builder], str], tuple[Any, ...], str]] = {
    "convolution": (conv((1, 1, 3, 3)), ("N", 1, 5, 5), "takes all 9 features at once"),
    "padded": (conv((1, 1, 3, 3), pads=[1] * 4), ("N", 1, 3, 3), "no part of a feedforward net"),
    "padded by itself": (conv((1, 1, 3, 3), auto_pad="SAME_LOWER"), ("N", 1, 3, 3), "no part of a feedforward net"),
    "grouped": (conv((2, 1, 1, 1), group=2), ("N", 2, 1, 1), "takes all 2 features at once"),
    "dilated": (conv((1, 1, 3), dilations=[2]), ("N", 1, 3), "dilation 2 does not fit an axis of 3"),
    "dilated by −1": (conv((1, 1, 1), dilations=[-1]), ("N", 1, 1), "must be positive"),
    "1 × 1": (conv((2, 3, 1, 1)), ("N", 3, 4, 4), "takes all 48 features at once"),
    "dense over positions": (dense, ("N", 5, 3), r"multiplies shapes \(1, 5, 3\) and \(3, 4\)"),
    "wrong features": (dense, (5, 2), r"multiplies shapes \(5, 2\) and \(3, 4\): 2 columns and 3 rows"),
    "two axes of features": (
        lambda b: b.node("MatMul", b.number(np.ones((4, 5))), "x"),
        (5, 2),
        "all .* features at once.* save the model with a batch of 1 or any size",
    ),
    "huge input": (dense, ("N", 2**50), "takes 1 to"),
    "unknown size": (dense, ("N", "D"), r"input x has shape \(1, \?\): every axis but the first"),
    "only a batch": (dense, ("N",), r"input x has shape \(\?\)"),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes_that_are_no_dense_layers(case: str) -> None:
    build, shape, message = SHAPES[case]
    with pytest.raises(SourceError, match=message):
        read(one(build, shape))


def changed(change: Callable[[Any], object]) -> Any:
    model = one(lambda b: b.node("Tanh", "x"))
    change(model)
    return model


def twice() -> Any:
    b = Builder()
    b.nodes += [helper.make_node("Tanh", ["x"], ["y"]), helper.make_node("Sin", ["x"], ["y"])]
    return b.model("y", ("N", 3))


def mask() -> Any:
    b = Builder()
    b.nodes.append(helper.make_node("Dropout", ["x"], ["y", "mask"]))
    return b.model(b.node("Add", "y", "mask"), ("N", 3))


FUNCTION = helper.make_function(
    "", "Tanh", ["a"], ["b"], [helper.make_node("Sin", ["a"], ["b"])], [helper.make_opsetid("", 17)]
)
SPARSE = helper.make_sparse_tensor(
    helper.make_tensor("s", TensorProto.DOUBLE, [1], [1.0]), helper.make_tensor("i", TensorProto.INT64, [1], [0]), [3]
)
MODELS: dict[str, tuple[Callable[[], Any], str]] = {
    "old opset": (lambda: one(lambda b: b.node("Tanh", "x"), opset=5), "the model says opset 5: opsets 6 to"),
    "opset of tomorrow": (
        lambda: changed(lambda m: setattr(m.opset_import[0], "version", NEWEST + 1)),
        f"the model says opset {NEWEST + 1}",
    ),
    "no opset": (lambda: changed(lambda m: m.ClearField("opset_import")), "the model says 0 opsets"),
    "function": (
        lambda: changed(lambda m: m.functions.append(FUNCTION)),
        "node 0 'Tanh' .*is a function that the file defines",
    ),
    "two inputs": (
        lambda: changed(lambda m: m.graph.input.append(helper.make_tensor_value_info("y", 11, ("N", 3)))),
        r"inputs \[x, y\] and outputs \[t0\]: a network has one of each",
    ),
    "two outputs": (lambda: changed(lambda m: m.graph.output.append(m.graph.output[0])), r"outputs \[t0, t0\]"),
    "no inputs": (lambda: changed(lambda m: m.graph.ClearField("input")), r"inputs \[\] and outputs"),
    "integer input": (lambda: one(lambda b: b.node("Tanh", "x"), dtype=np.int64), "input x is no tensor of floats"),
    "no shape": (
        lambda: changed(lambda m: m.graph.input[0].type.tensor_type.ClearField("shape")),
        "input x has no shape",
    ),
    "sparse": (lambda: changed(lambda m: m.graph.sparse_initializer.append(SPARSE)), "initializer s is sparse"),
    "output that nothing gives": (
        lambda: changed(lambda m: setattr(m.graph.output[0], "name", "y")),
        "the output of the graph needs tensor y",
    ),
    "second output": (mask, "its second output is used"),
    "written twice": (twice, "writes tensor y, which exists already"),
}


@pytest.mark.parametrize("case", MODELS)
def test_models_that_are_not_read(case: str) -> None:
    build, message = MODELS[case]
    with pytest.raises(SourceError, match=message):
        read(build())


def test_normalisation_in_training_by_its_outputs() -> None:
    b = Builder(9)
    more = [b.number(np.ones(3)) for _ in range(4)]
    b.nodes.append(helper.make_node(BN, ["x", *more], ["y", "m", "v", "sm", "sv"]))
    with pytest.raises(SourceError, match="5 outputs, so it is in training mode"):
        read(b.model("y", ("N", 3)))


def test_an_attribute_twice() -> None:
    b = Builder()
    output = b.node("LeakyRelu", "x", alpha=0.1)
    b.nodes[0].attribute.append(helper.make_attribute("alpha", 0.2))
    with pytest.raises(SourceError, match="attribute alpha twice"):
        read(b.model(output, ("N", 3)))


def test_rows_of_a_fixed_batch_stay_where_they_are() -> None:
    b = Builder()
    rows = b.node("Transpose", b.node("Reshape", "x", b.number([-1, 2], np.int64)), perm=[1, 0])
    output = b.node("MatMul", b.node("Reshape", rows, b.number([-1, 4], np.int64)), b.number(np.eye(4)))
    with pytest.raises(SourceError):
        read(b.model(output, (2, 4)))
