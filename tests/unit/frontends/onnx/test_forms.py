"""Ways to write one layer in ONNX, against onnxruntime and the reference evaluator of ONNX."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lazy import framework

onnx = framework("onnx")
from onnx import helper, numpy_helper  # noqa: E402

from integraph.errors import SourceError  # noqa: E402
from integraph.frontends.onnx import read  # noqa: E402
from networks import agree  # noqa: E402
from onnx_graphs import runtime  # noqa: E402
from onnx_models import Builder, one, reference  # noqa: E402

W = np.random.default_rng(7).normal(size=(4, 3))
FORMS: dict[str, tuple[Callable[[Builder], str], tuple[Any, ...], int]] = {
    "Gemm, C left out": (lambda b: b.node("Gemm", "x", b.number(W.T)), ("N", 3), 17),
    "Gemm, C a scalar": (lambda b: b.node("Gemm", "x", b.number(W.T), b.number(0.3)), ("N", 3), 17),
    "Gemm, C one row": (lambda b: b.node("Gemm", "x", b.number(W), b.number(np.ones((1, 4))), transB=1), ("N", 3), 17),
    "Gemm, alpha and beta": (
        lambda b: b.node("Gemm", "x", b.number(W), b.number(np.ones(4) / 3), transB=1, alpha=0.7, beta=0.3),
        ("N", 3),
        17,
    ),
    "Gemm, transA": (lambda b: b.node("Gemm", "x", b.number(W.T), transA=1), (3, 1), 17),
    "Gemm, weights first": (lambda b: b.node("Gemm", b.number(W), "x", b.number(np.ones((4, 1)))), (3, 1), 17),
    "Gemm, weights first, transB": (lambda b: b.node("Gemm", b.number(W), "x", transB=1), (1, 3), 17),
    "MatMul, weights first": (lambda b: b.node("MatMul", b.number(W), "x"), (3, 1), 17),
    "MatMul, no batch": (lambda b: b.node("MatMul", "x", b.number(W.T)), (3,), 17),
    "MatMul, no batch, weights first": (lambda b: b.node("MatMul", b.number(W), "x"), (3,), 17),
    "MatMul, a vector": (lambda b: b.node("MatMul", "x", b.number(W[0])), ("N", 3), 17),
    "MatMul, a vector first": (lambda b: b.node("MatMul", b.number(W[0]), "x"), (3, 1), 17),
    "MatMul, more axes": (
        lambda b: b.node("Transpose", b.node("MatMul", "x", b.number(W.T[None])), perm=[1, 0, 2]),
        ("N", 3),
        17,
    ),
    "MatMul, three axes": (lambda b: b.node("MatMul", "x", b.number(W.T[None])), ("N", 1, 3), 17),
    "chain": (lambda b: b.node("MatMul", b.node("MatMul", "x", b.number(W.T)), b.number(W)), ("N", 3), 17),
    "constant minus x": (lambda b: b.node("Sub", b.number([1.0, 2.0, 3.0]), "x"), ("N", 3), 17),
    "scaled and shifted": (
        lambda b: b.node("Div", b.node("Mul", b.number(0.7), b.node("Add", "x", b.number(W[:1]))), b.number(W[1])),
        ("N", 3),
        17,
    ),
    "one input, many scales": (lambda b: b.node("Tanh", b.node("Mul", "x", b.number(W[:1]))), ("N", 1), 17),
    "Cast": (lambda b: b.node("Cast", b.node("Tanh", b.node("Cast", "x", to=1)), to=11), ("N", 3), 17),
    "shapes": (
        lambda b: b.node(
            "Flatten",
            b.node(
                "Squeeze",
                b.node(
                    "Unsqueeze", b.node("Reshape", "x", b.number([0, 1, -1], np.int64)), b.number([1, -1], np.int64)
                ),
                b.number([1], np.int64),
            ),
        ),
        ("N", 3),
        17,
    ),
    "shapes, opset 11": (
        lambda b: b.node("Flatten", b.node("Squeeze", b.node("Unsqueeze", "x", axes=[1, -1]), axes=[-1]), axis=-2),
        ("N", 3),
        11,
    ),
    "Squeeze of all": (
        lambda b: b.node("MatMul", b.node("Squeeze", b.node("Tanh", "x")), b.number(W.T)),
        (1, 1, 3),
        17,
    ),
    "order of features": (
        lambda b: b.node(
            "Gemm",
            b.node("Flatten", b.node("Transpose", "x", perm=[0, 2, 1])),
            b.number(np.arange(12.0).reshape(2, 6)),
            transB=1,
        ),
        ("N", 2, 3),
        17,
    ),
    "Dropout": (lambda b: b.node("Dropout", "x", b.number(0.5), b.number(False, np.bool_)), ("N", 3), 17),
    "Dropout, opset 7": (lambda b: b.node("Dropout", "x", ratio=0.5), ("N", 3), 7),
    "Dropout, opset 6": (lambda b: b.node("Dropout", "x", is_test=1), ("N", 3), 6),
    "Constant": (
        lambda b: b.node("Add", "x", b.node("Constant", value=numpy_helper.from_array(W[0]))),
        ("N", 3),
        9,
    ),
    "folded weights": (
        lambda b: b.node(
            "MatMul",
            "x",
            b.node(
                "Transpose",
                b.node(
                    "Concat",
                    b.node("Identity", b.number(W[:2])),
                    b.node("Reshape", b.number(W[2:].ravel()), b.number([2, 3], np.int64)),
                    axis=0,
                ),
            ),
        ),
        ("N", 3),
        17,
    ),
    "folded arithmetic": (
        lambda b: b.node(
            "Mul",
            "x",
            b.node(
                "Div",
                b.number(1.0),
                b.node("Sub", b.node("Add", b.number(W[0]), b.node("Neg", b.number(9.0))), b.number(1.0)),
            ),
        ),
        ("N", 3),
        17,
    ),
    "folded sizes": (
        lambda b: b.node(
            "Reshape",
            "x",
            b.node(
                "Concat",
                b.number([-1], np.int64),
                b.node("Div", b.number([7], np.int64), b.number([2], np.int64)),
                axis=0,
            ),
        ),
        ("N", 1, 3),
        17,
    ),
    "ConstantOfShape": (
        lambda b: b.node(
            "Add",
            "x",
            b.node("ConstantOfShape", b.number([1, 3], np.int64), value=numpy_helper.from_array(np.array([2.5]))),
        ),
        ("N", 3),
        17,
    ),
    "BatchNormalization": (
        lambda b: b.node("BatchNormalization", "x", *(b.number(v) for v in (W[0], W[1], W[2], W[3] ** 2))),
        ("N", 3),
        17,
    ),
    "BatchNormalization over channels": (
        lambda b: b.node("BatchNormalization", "x", *(b.number(v) for v in (W[0], W[1], W[2], W[3] ** 2)), epsilon=0.1),
        ("N", 3, 2),
        17,
    ),
    "PRelu": (lambda b: b.node("PRelu", "x", b.number([0.1, 0.2, -0.3])), ("N", 3), 17),
    "PRelu over channels": (lambda b: b.node("PRelu", "x", b.number([[0.1], [0.2], [0.3]])), ("N", 3, 2), 17),
    "Conv": (
        lambda b: b.node("Conv", "x", b.number(W.reshape(2, 2, 3, 1)), b.number([1.0, 2.0]), kernel_shape=[3, 1]),
        ("N", 2, 3, 1),
        17,
    ),
    "Conv of one axis": (
        lambda b: b.node("Conv", "x", b.number(W.reshape(4, 1, 3)), auto_pad="VALID", strides=[2]),
        ("N", 1, 3),
        17,
    ),
    "MATLAB": (
        lambda b: b.node(
            "Conv",
            b.node(
                "Tanh",
                b.node(
                    "Conv",
                    b.node("Sub", "x", b.number(W[:1, None, :, None])),
                    b.number(W[:, None, :, None]),
                    b.number(np.ones(4)),
                    kernel_shape=[3, 1],
                    strides=[1, 1],
                    pads=[0] * 4,
                    dilations=[1, 1],
                    group=1,
                ),
            ),
            b.number(np.ones((2, 4, 1, 1))),
            b.number(np.ones(2)),
            kernel_shape=[1, 1],
            auto_pad="SAME_UPPER",
        ),
        (1, 1, 3, 1),
        9,
    ),
    "activation of an activation": (lambda b: b.node("Exp", b.node("Tanh", "x")), ("N", 3), 17),
    "only the input": (lambda b: b.node("Identity", "x"), ("N", 3), 17),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms(name: str) -> None:
    build, shape, opset = FORMS[name]
    model = one(build, shape, opset)
    sizes = tuple(1 if n == "N" else n for n in shape)
    X = np.random.default_rng(0).normal(size=(6, math.prod(sizes)))
    want = np.stack([np.ravel(reference(model, x.reshape(sizes))) for x in X])
    tolerance = 1e-6 if name == "Cast" else 1e-12  # the evaluator really casts
    agree(read(model), want.reshape(6, -1), X, tolerance)


def test_constants_of_every_kind() -> None:
    for values, want in (
        ({"value_float": 0.1}, float(np.float32(0.1))),
        ({"value_floats": [0.1, 2.0, 3.0]}, np.float32([0.1, 2.0, 3.0])),
    ):
        network = read(one(lambda b, values=values: b.node("Mul", "x", b.node("Constant", **values)), dtype=np.float32))
        assert np.array_equal(network.layers[0].A, np.diag(np.broadcast_to(want, 3).astype(float)))
    for values in ({"value_int": 3}, {"value_ints": [-1, 3]}):
        assert (
            read(
                one(lambda b, values=values: b.node("Tanh", b.node("Reshape", "x", b.node("Constant", **values))))
            ).inputs
            == 3
        )


def test_old_broadcast_along_an_axis() -> None:
    X = np.random.default_rng(0).normal(size=(6, 3))
    c = np.array([1.0, 2.0, 3.0])
    model = one(lambda b: b.node("Mul", "x", b.number(c), broadcast=1, axis=1), ("N", 3, 1, 1), 6)
    agree(read(model), X * c, X)
    model = one(lambda b: b.node("PRelu", "x", b.number(c)), ("N", 3, 1, 1), 6)
    agree(read(model), np.where(X > 0, X, c * X), X)
    model = one(lambda b: b.node("Pow", "x", b.number(2.0), broadcast=1), ("N", 3), 6)
    with pytest.raises(SourceError, match=r"node 0 'Pow' \(/Pow_0\): 1·x² is not a known activation"):
        read(model)


def test_microsoft_gelu() -> None:
    X = np.random.default_rng(0).normal(size=(6, 3))
    for op, want in (("Gelu", "gelu"), ("FastGelu", "gelu_tanh")):
        model = one(lambda b, op=op: b.node(op, "x", domain="com.microsoft"), dtype=np.float32)
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        network = read(model)
        assert network.layers[0].activation == want
        (value,) = runtime(model, X.astype(np.float32))
        agree(network, value, X, 1e-5)


def test_notes_say_what_was_rounded() -> None:
    batch = read(one(FORMS["BatchNormalization"][0]))
    where, what = batch.notes[0].split(": ")
    assert where == "node 0 'BatchNormalization' (/BatchNormalization_0)"
    assert what == "read as an affine map, its coefficients rounded to float64"
    scaled = read(one(FORMS["Gemm, alpha and beta"][0]))
    assert {note.split(": ")[1] for note in scaled.notes} == {
        "0.699999988 times its weights rounded to float64",
        "0.300000012 times its biases rounded to float64",
    }
    assert "constants combined in float64" in read(one(FORMS["folded arithmetic"][0])).notes[0]
    assert "is_test = 0" in read(one(lambda b: b.node("Dropout", "x"), opset=6)).notes[0]


def test_old_normalisation() -> None:
    """The evaluator takes it as training, onnxruntime as inference."""
    X = np.random.default_rng(0).normal(size=(6, 3))
    model = one(FORMS["BatchNormalization"][0], opset=9, dtype=np.float32)
    agree(read(model), runtime(model, X.astype(np.float32))[0], X, 1e-5)


def test_a_fixed_batch() -> None:
    X = np.random.default_rng(0).normal(size=(5, 3))
    model = one(
        lambda b: b.node("Tanh", b.node("Add", b.node("MatMul", "x", b.number(W.T)), b.number(W[:, 0]))), (5, 3)
    )
    network = read(model)
    agree(network, reference(model, X), X)
    assert network.notes == ("the first axis of the input, of size 5, is read as the batch",)
    column = one(lambda b: b.node("MatMul", b.number(W), b.node("Tanh", "x")), (3, 1))
    assert read(column).sizes == (3, 3, 4)
    assert read(column).notes == ()
