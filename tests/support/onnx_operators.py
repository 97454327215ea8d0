"""One ONNX model for each operator of graphs, and for each form that it has had: as data."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper

from onnx_graphs import Build
from onnx_models import Builder

RNG = np.random.default_rng(5)
W, V, BIAS = RNG.normal(size=(4, 3)), RNG.normal(size=(2, 3, 4)), RNG.normal(size=4)
CUBE, POSITIVE, SMALL = (2, 3, 4), (0.3, 2.0), (-0.9, 0.9)
FUNCTIONS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("Abs", "Cos", "Cosh", "Erf", "Exp", "Relu", "Sigmoid", "Sin", "Sinh", "Softplus"), (-2, 2)),
    **dict.fromkeys(("Tan", "Asin", "Acos", "Atanh"), SMALL),
    **dict.fromkeys(("Tanh", "Atan", "Asinh", "Neg", "LeakyRelu"), (-2, 2)),
    **dict.fromkeys(("Log", "Sqrt", "Reciprocal"), POSITIVE),
    "Acosh": (1.2, 3.0),
}


def i(b: Builder, *numbers: int) -> str:
    return b.number(list(numbers), np.int64)


def flags(b: Builder, *numbers: int) -> str:
    return b.number(list(numbers), np.bool_)


def kind(b: Builder) -> int:
    return int(helper.np_dtype_to_tensor_dtype(b.dtype))


def split(count: int, *sizes: int, **attributes: Any) -> Build:
    def build(b: Builder) -> tuple[str, ...]:
        names = tuple(f"part{k}" for k in range(count))
        b.nodes.append(helper.make_node("Split", ["x", *([i(b, *sizes)] if sizes else [])], names, **attributes))
        return names

    return build


def conditions(b: Builder) -> str:
    at_least = b.node("Not", b.node("Less", b.number(W), b.number(0.0)))
    outside = b.node(
        "Or", b.node("GreaterOrEqual", b.number(W), b.number(1.0)), b.node("Greater", b.number(0.5), b.number(W))
    )
    return b.node("Where", b.node("And", at_least, outside), "x", b.number(3.0))


CASES: dict[str, tuple[Build, tuple[int | str, ...], int]] = {
    "Add, broadcast both ways": (lambda b: b.node("Add", "x", b.number(W)), (2, 1, 3), 17),
    "Sub of itself": (lambda b: b.node("Sub", b.node("Tanh", "x"), "x"), (1, 3), 17),
    "Sub from a constant": (lambda b: b.node("Sub", b.number(1.0), "x"), (1, 3), 17),
    "Mul of two": (lambda b: b.node("Mul", "x", b.node("Sin", "x")), CUBE, 17),
    "Div of two": (lambda b: b.node("Div", "x", b.node("Exp", "x")), (1, 3), 17),
    "Div by a constant": (lambda b: b.node("Div", "x", b.number([2.0, 3.0, -7.0])), ("N", 3), 17),
    "Div of a constant": (lambda b: b.node("Div", b.number(2.0), b.node("Exp", "x")), (1, 3), 17),
    "constants": (
        lambda b: b.node("Add", "x", b.node("Div", b.node("Sqrt", b.number([4.0])), b.number([3.0]))),
        (3,),
        17,
    ),
    "Pow 2": (lambda b: b.node("Pow", "x", b.number(2.0)), (1, 3), 17),
    "Pow 3, an integer": (lambda b: b.node("Pow", "x", b.number(3, np.int64)), (1, 3), 17),
    "Pow, more axes": (lambda b: b.node("Pow", "x", b.number([[[2.0]]])), (1, 3), 17),
    "Pow, variable": (lambda b: b.node("Pow", b.number([2.0, 3.0, 0.5]), "x"), (1, 3), 17),
    "Pow, several exponents": (lambda b: b.node("Pow", b.node("Exp", "x"), b.number([2.0, 0.5, -1.5])), (1, 3), 17),
    "Pow, of two": (lambda b: b.node("Pow", b.node("Exp", "x"), "x"), (1, 3), 17),
    "Max of three": (lambda b: b.node("Max", "x", b.number([0.5]), b.node("Neg", "x")), (1, 3), 17),
    "Max of constants": (
        lambda b: b.node("Reshape", "x", b.node("Max", b.node("Shape", "x"), i(b, 1, 1, 1))),
        CUBE,
        17,
    ),
    "Min": (lambda b: b.node("Min", "x", b.number([0.5])), (1, 3), 17),
    "Clip, attributes": (lambda b: b.node("Clip", "x", min=-0.5, max=1.0), (1, 3), 10),
    "Clip": (lambda b: b.node("Clip", "x", b.number(-0.5), b.number(1.0)), (1, 3), 17),
    "Clip, far above": (lambda b: b.node("Clip", "x", b.number(1e39)), (1, 3), 17),
    "Clip, far below": (lambda b: b.node("Clip", "x", b.number(-1e40), b.number(-1e39)), (1, 3), 17),
    "Clip below": (lambda b: b.node("Clip", "x", b.number(0.0)), (1, 3), 17),
    "PRelu, one": (lambda b: b.node("PRelu", "x", b.number([0.25])), (2, 3), 17),
    "PRelu, some": (lambda b: b.node("PRelu", "x", b.number([0.25, -1.0, 0.0])), (2, 3), 17),
    "Softmax": (lambda b: b.node("Softmax", "x"), CUBE, 17),
    "Softmax, first axis": (lambda b: b.node("Softmax", "x", axis=0), CUBE, 17),
    "Softmax, middle axis": (lambda b: b.node("Softmax", "x", axis=-2), CUBE, 13),
    "Softmax before 13": (lambda b: b.node("Softmax", "x"), CUBE, 12),
    "Softmax before 13, axis 2": (lambda b: b.node("Softmax", "x", axis=2), CUBE, 11),
    "Softmax before 13, axis 0": (lambda b: b.node("Softmax", "x", axis=0), CUBE, 7),
    "LogSoftmax": (lambda b: b.node("LogSoftmax", "x", axis=1), CUBE, 17),
    "LogSoftmax, last axis": (lambda b: b.node("LogSoftmax", "x"), CUBE, 13),
    "LogSoftmax before 13": (lambda b: b.node("LogSoftmax", "x"), CUBE, 9),
    "LogSoftmax before 13, axis 2": (lambda b: b.node("LogSoftmax", "x", axis=2), CUBE, 11),
    "LogSoftmax before 13, axis 0": (lambda b: b.node("LogSoftmax", "x", axis=0), CUBE, 7),
    "LogSoftmax with a finite mask": (
        lambda b: b.node("LogSoftmax", b.node("Add", "x", b.number([0.0, -1e9, 0.0, 0.0]))),
        CUBE,
        17,
    ),
    "Log of a Softmax": (lambda b: b.node("Log", b.node("Softmax", "x", axis=1)), CUBE, 17),
    "ReduceLogSumExp": (lambda b: b.node("ReduceLogSumExp", "x"), CUBE, 17),
    "ReduceLogSumExp, axes": (lambda b: b.node("ReduceLogSumExp", "x", axes=[0, -1], keepdims=0), CUBE, 17),
    "ReduceLogSumExp, axes out of order": (lambda b: b.node("ReduceLogSumExp", "x", axes=[2, 0]), CUBE, 11),
    "ReduceLogSumExp from 18": (lambda b: b.node("ReduceLogSumExp", "x", i(b, 1), keepdims=0), CUBE, 18),
    "ReduceLogSumExp, an axis of one": (lambda b: b.node("ReduceLogSumExp", "x", i(b, 1)), (2, 1, 3), 18),
    "ReduceLogSumExp with a mask": (
        lambda b: b.node("ReduceLogSumExp", b.node("Add", "x", b.number([0.0, -np.inf, 0.0, 0.0])), axes=[-1]),
        CUBE,
        17,
    ),
    "ReduceLogSum": (lambda b: b.node("ReduceLogSum", b.node("Exp", "x"), axes=[1]), CUBE, 17),
    "ReduceLogSum from 18": (
        lambda b: b.node("ReduceLogSum", b.node("Add", b.node("Mul", "x", "x"), b.number(1.0)), i(b, 0, 2)),
        CUBE,
        18,
    ),
    "ReduceLogSumExp of a constant": (
        lambda b: b.node("Mul", "x", b.node("ReduceLogSumExp", b.number(W), axes=[0], keepdims=0)),
        (2, 3),
        17,
    ),
    "LayerNormalization": (lambda b: b.node("LayerNormalization", "x", b.number(BIAS)), CUBE, 17),
    "LayerNormalization, two axes": (
        lambda b: b.node("LayerNormalization", "x", b.number(V[0]), b.number(V[1]), axis=1, epsilon=0.1),
        CUBE,
        17,
    ),
    "BatchNormalization": (
        lambda b: b.node("BatchNormalization", "x", *(b.number(np.abs(BIAS[:3])) for _ in range(4)), epsilon=0.1),
        (2, 3, 4),
        17,
    ),
    "MatMul": (lambda b: b.node("MatMul", "x", b.number(W)), (2, 5, 4), 17),
    "MatMul, batches": (lambda b: b.node("MatMul", "x", b.number(V)), (2, 5, 3), 17),
    "MatMul, from the left": (lambda b: b.node("MatMul", b.number(W), "x"), (3, 2), 17),
    "MatMul of two": (lambda b: b.node("MatMul", "x", b.node("Transpose", "x", perm=[0, 2, 1])), CUBE, 17),
    "MatMul, a row": (lambda b: b.node("MatMul", "x", b.number(W)), (4,), 17),
    "MatMul, a column": (lambda b: b.node("MatMul", "x", b.number(BIAS)), CUBE, 17),
    "MatMul, two vectors": (lambda b: b.node("MatMul", "x", "x"), (3,), 17),
    "MatMul of constants": (lambda b: b.node("Add", "x", b.node("MatMul", b.number(W.T), b.number(W))), (3, 3), 17),
    "Gemm": (lambda b: b.node("Gemm", "x", b.number(W), b.number(BIAS), transB=1, alpha=0.5, beta=2.0), (2, 3), 17),
    "Gemm of two": (lambda b: b.node("Gemm", "x", "x", b.node("Sin", "x"), transA=1, alpha=0.25), (3, 3), 17),
    "Gemm, C left out": (lambda b: b.node("Gemm", "x", b.number(W), transA=1), (4, 2), 13),
    "Conv": (
        lambda b: b.node("Conv", "x", b.number(V), b.number(BIAS[:2]), kernel_shape=[4]),
        (2, 3, 4),
        17,
    ),
    "ReduceMean": (lambda b: b.node("ReduceMean", "x", axes=[1]), CUBE, 13),
    "ReduceMean, all": (lambda b: b.node("ReduceMean", "x", keepdims=0), CUBE, 13),
    "ReduceMean, an operand": (lambda b: b.node("ReduceMean", "x", i(b, -1, 0), keepdims=0), CUBE, 18),
    "ReduceSum, an operand": (lambda b: b.node("ReduceSum", "x", i(b, 1)), CUBE, 13),
    "ReduceSum, an attribute": (lambda b: b.node("ReduceSum", "x", axes=[-1], keepdims=0), CUBE, 11),
    "ReduceSum, none": (
        lambda b: b.node("ReduceSum", "x", b.number(np.zeros(0), np.int64), noop_with_empty_axes=1),
        CUBE,
        13,
    ),
    "ReduceSumSquare": (lambda b: b.node("ReduceSumSquare", "x", axes=[0]), CUBE, 13),
    "ReduceL2": (lambda b: b.node("Div", "x", b.node("ReduceL2", "x", i(b, 1))), CUBE, 18),
    "Concat": (lambda b: b.node("Concat", "x", b.number(V), b.node("Sin", "x"), axis=-1), CUBE, 17),
    "Concat, opset 6": (lambda b: b.node("Concat", "x", "x", axis=1), CUBE, 7),
    "Split, opset 11": (split(2, axis=1, split=[1, 2]), CUBE, 11),
    "Split, equal": (split(2, axis=-1), CUBE, 13),
    "Split, an operand": (split(3, 1, 2, 1, axis=2), CUBE, 13),
    "Split, uneven": (split(3, axis=0, num_outputs=3), (5, 2), 18),
    "Slice, attributes": (lambda b: b.node("Slice", "x", axes=[2], starts=[1], ends=[-1]), CUBE, 9),
    "Slice": (lambda b: b.node("Slice", "x", i(b, 0, 1), i(b, 1, 99)), CUBE, 13),
    "Slice, backwards": (lambda b: b.node("Slice", "x", i(b, -1), i(b, -99), i(b, 2), i(b, -2)), CUBE, 13),
    "Slice, from before": (lambda b: b.node("Slice", "x", i(b, -10), i(b, -20), i(b, 1), i(b, -1)), (2, 4), 13),
    "Slice, from beyond": (lambda b: b.node("Slice", "x", i(b, 99), i(b, -99), i(b, 1), i(b, -3)), (2, 4), 13),
    "Slice, by two": (lambda b: b.node("Slice", "x", i(b, 0, 3), i(b, 2**40, 0), i(b, 1, -1), i(b, 2, -1)), CUBE, 17),
    "Transpose": (lambda b: b.node("Transpose", "x"), CUBE, 17),
    "Transpose, perm": (lambda b: b.node("Transpose", "x", perm=[1, 0, 2]), CUBE, 17),
    "Reshape": (lambda b: b.node("Reshape", "x", i(b, 0, -1, 2)), CUBE, 17),
    "Flatten": (lambda b: b.node("Flatten", "x", axis=2), CUBE, 17),
    "Flatten all": (lambda b: b.node("Flatten", "x", axis=0), CUBE, 17),
    "Squeeze": (lambda b: b.node("Squeeze", "x", i(b, 1)), (2, 1, 1, 3), 13),
    "Unsqueeze": (lambda b: b.node("Unsqueeze", "x", axes=[0, 2]), CUBE, 11),
    "Expand": (lambda b: b.node("Expand", "x", i(b, 2, 3, 1, 1)), (3, 1, 4), 17),
    "Gather": (lambda b: b.node("Gather", "x", i(b, 2, -1, 0), axis=1), CUBE, 17),
    "Gather, one": (lambda b: b.node("Gather", "x", b.number(1, np.int64), axis=-1), CUBE, 17),
    "Gather, a table": (lambda b: b.node("Gather", "x", b.number([[0, 1], [1, 1]], np.int64)), CUBE, 17),
    "Gather of constants": (lambda b: b.node("Add", "x", b.node("Gather", b.number(W), i(b, 3, 0))), (2, 3), 17),
    "Where": (lambda b: b.node("Where", flags(b, 1, 0, 1), "x", b.node("Sin", "x")), (2, 3), 17),
    "Where, a constant": (lambda b: b.node("Where", flags(b, 1, 0, 1), b.number(7.0), "x"), (2, 3), 17),
    "Where, never": (lambda b: b.node("Where", flags(b, 0), b.number(7.0), "x"), (2, 3), 17),
    "Where, low and no mask": (lambda b: b.node("Where", flags(b, 1, 0, 1), "x", b.number(-2e4)), (2, 3), 17),
    "Cast": (lambda b: b.node("Cast", b.node("Cast", "x", to=11), to=kind(b)), (2, 3), 17),
    "Identity and Dropout": (lambda b: b.node("Dropout", b.node("Identity", "x")), (2, 3), 17),
    "ConstantOfShape": (
        lambda b: b.node(
            "Add",
            "x",
            b.node("ConstantOfShape", b.node("Shape", "x"), value=helper.make_tensor("v", kind(b), [1], [2.5])),
        ),
        (2, 3),
        17,
    ),
    "Shape, a part": (
        lambda b: b.node("Reshape", "x", b.node("Concat", i(b, -1), b.node("Shape", "x", start=-1), axis=0)),
        CUBE,
        17,
    ),
    "CumSum": (lambda b: b.node("Mul", "x", b.node("CumSum", b.number(W), i(b, 0), reverse=1)), (4, 3), 17),
    "Trilu": (lambda b: b.node("Mul", "x", b.node("Trilu", b.number(W), i(b, -1))), (4, 3), 17),
    "IsNaN": (lambda b: b.node("Where", b.node("IsNaN", "x"), b.number(0.0), "x"), (4, 3), 17),
    "Range and Mod": (
        lambda b: b.node(
            "Gather", "x", b.node("Mod", b.node("Range", *(b.number(n, np.int64) for n in (5, 0, -2))), i(b, 3))
        ),
        (4, 3),
        17,
    ),
    "conditions": (conditions, (4, 3), 17),
    "Not, of one": (lambda b: b.node("Where", b.node("Not", b.number(True, np.bool_)), b.number(0.0), "x"), (2, 3), 17),
}
