"""ONNX graphs that are not read: one clear error each, and nothing else whatever the bytes are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazy import framework

onnx = framework("onnx")
from onnx import helper  # noqa: E402

from integraph.errors import FileError, SourceError, UsageError  # noqa: E402
from integraph.frontends.onnx import read_graph  # noqa: E402
from integraph.targets.graph import Graph  # noqa: E402
from law import examples  # noqa: E402
from onnx_graphs import Build, block, model  # noqa: E402
from onnx_models import Builder  # noqa: E402
from onnx_operators import CASES, flags, i  # noqa: E402
from refusals import damaged, outcome  # noqa: E402

INF = np.array([0.0, -np.inf, 0.0])


def chosen(b: Builder) -> str:
    """A branch for each sign of the sum."""
    branch = helper.make_graph(
        [helper.make_node("Tanh", ["x"], ["y"])], "branch", [], [helper.make_tensor_value_info("y", 11, None)]
    )
    return b.node("If", flags(b, 1), then_branch=branch, else_branch=branch)


def cycle(b: Builder) -> str:
    b.nodes.append(helper.make_node("Add", ["x", "second"], ["first"], name="one"))
    b.nodes.append(helper.make_node("Tanh", ["first"], ["second"], name="two"))
    return "second"


def mask_of_dropout(b: Builder) -> str:
    b.nodes.append(helper.make_node("Dropout", ["x"], ["y", "mask"]))
    return b.node("Mul", "x", "mask")


def deviation(b: Builder) -> str:
    b.nodes.append(helper.make_node("LayerNormalization", ["x", b.number(np.ones(3))], ["y", "mean", "deviation"]))
    return "deviation"


REFUSED: dict[str, tuple[Build, str]] = {
    "unknown operator": (
        lambda b: b.node("Floor", b.node("Tanh", "x")),
        r"node 1 'Floor' \(/Floor_1\) is not supported: supported are Abs, .*Where$",
    ),
    "Einsum": (lambda b: b.node("Einsum", "x", equation="ij->j"), "node 0 'Einsum' .*is not supported"),
    "If": (chosen, r"node 0 'If' .*is not supported \(what it computes depends on the data\)"),
    "a cycle": (cycle, r"node 0 'Add' \(one\) needs tensor second, which nothing .*only a later one: .*cycle"),
    "missing tensor": (lambda b: b.node("Add", "x", "nowhere"), "needs tensor nowhere, which nothing before it gives$"),
    "division by 0": (lambda b: b.node("Div", "x", b.number([1.0, 0.0, 2.0])), r"node 0 'Div' \(/Div_0\) divides by 0"),
    "constants divided by 0": (
        lambda b: b.node("Add", "x", b.node("Div", b.number(1.0), b.number(0.0))),
        r"'Div' \(/Div_0\) divides by 0",
    ),
    "1/0": (lambda b: b.node("Add", "x", b.node("Reciprocal", b.number(0.0))), "/Reciprocal_0 of constants is inf"),
    "ln 0": (lambda b: b.node("Add", "x", b.node("Log", b.number(0.0))), "/Log_0 of constants is -inf"),
    "comparison": (
        lambda b: b.node("Where", b.node("Greater", "x", b.number(0.0)), "x", b.node("Tanh", "x")),
        r"node 0 'Greater' .*compares what depends on the input: .*chosen by the data",
    ),
    "data as a condition": (lambda b: b.node("Where", "x", "x", "x"), "'Where' .*its conditions come from the input"),
    "a condition of numbers": (lambda b: b.node("Where", b.number(1.0), "x", "x"), "must be truth values"),
    "computed sizes": (lambda b: b.node("Reshape", "x", "x"), "'Reshape' .*its sizes come from the input"),
    "computed indices": (lambda b: b.node("Gather", b.number(np.eye(3)), "x"), "its indices come from the input"),
    "to integers": (lambda b: b.node("Cast", "x", to=7), "casts a computed tensor to INT64: only float types"),
    "integers and floats": (lambda b: b.node("Add", "x", i(b, 1)), "its constants are of type int64"),
    "an output of integers": (lambda b: b.node("Shape", "x"), "the output t0 computes with constants of type int64"),
    "second output of Dropout": (mask_of_dropout, "'Dropout': its second output is used"),
    "second output of LayerNormalization": (deviation, "'LayerNormalization': its second output is used"),
    "−∞ that is no mask": (lambda b: b.node("Mul", "x", b.number(INF)), r"'Mul' .*computes with −∞"),
    "a mask that is read": (
        lambda b: b.node("Tanh", b.node("Add", "x", b.number(INF))),
        r"node 1 'Tanh' \(/Tanh_1\) reads what node 0 'Add' \(/Add_0\) masks with −∞",
    ),
    "a mask that is put out": (
        lambda b: b.node("Where", flags(b, 1, 0, 1), "x", b.number(-np.inf)),
        "output t0 reads what",
    ),
    "everything masked": (
        lambda b: b.node("Softmax", b.node("Add", "x", b.number(INF[1]))),
        "/Softmax_1: every entry of a row is masked",
    ),
    "logarithm of a masked entry": (lambda b: b.node("LogSoftmax", b.node("Add", "x", b.number(INF))), "ln 0"),
    "+∞": (lambda b: b.node("Add", "x", b.number(np.inf)), "initializer c0: entry .* is inf"),
    "NaN": (lambda b: b.node("Add", "x", b.number(np.nan)), "initializer c0: entry .* is nan"),
    "shapes": (lambda b: b.node("Add", "x", b.number(np.ones(4))), r"combines shapes \(1, 3\) and \(4,\)"),
    "shapes of a product": (
        lambda b: b.node("MatMul", "x", b.number(np.ones((4, 2)))),
        r"'MatMul' .*multiplies shapes \(1, 3\) and \(4, 2\): 3 columns and 4 rows",
    ),
    "shape": (lambda b: b.node("Reshape", "x", i(b, 2, -1)), r"gives shape \(2, -1\) to a tensor of shape \(1, 3\)"),
    "axis": (lambda b: b.node("Softmax", "x", axis=2), "there is no axis 2 among 2"),
    "axes": (lambda b: b.node("ReduceMean", "x", axes=[0, -2]), r"axes \[0, -2\] must be distinct axes of the 2"),
    "order of axes": (lambda b: b.node("Transpose", "x", perm=[0, 0]), "is not an order of its axes"),
    "indices": (lambda b: b.node("Gather", "x", i(b, 3), axis=1), r"takes entries \[3\] of 3: some do not exist"),
    "an empty slice": (lambda b: b.node("Slice", "x", i(b, 2), i(b, 1), i(b, 1)), "/Slice_0: .*do not fit"),
    "slices of one axis": (lambda b: b.node("Slice", "x", i(b, 0, 0), i(b, 1, 1), i(b, 1, 1)), r"slices axes \[1, 1\]"),
    "steps of 0": (lambda b: b.node("Slice", "x", i(b, 0), i(b, 1), i(b, 1), i(b, 0)), r"by \[0\]"),
    "a count without end": (
        lambda b: b.node("Gather", "x", b.node("Range", i(b, 0), i(b, 2**40), i(b, 1))),
        "unfolds too far",
    ),
    "an expansion": (lambda b: b.node("Expand", "x", i(b, 2**30, 2**20, 3)), "unfolds too far"),
    "an empty tensor": (lambda b: b.node("Expand", "x", i(b, 0, 3)), r"makes an empty tensor, of shape \(0, 3\)"),
    "a count to ∞": (
        lambda b: b.node("Add", "x", b.node("Range", b.number(0.0), b.number(-np.inf), b.number(-1.0))),
        r"'Range' \(/Range_0\): cannot convert float infinity",
    ),
    "a negative size": (lambda b: b.node("Expand", "x", i(b, -5, 3)), "sizes must be ≥ 0"),
    "an exponent": (lambda b: b.node("Pow", "x", b.number(-np.inf)), "an exponent that is not finite"),
    "normalisation in training": (
        lambda b: b.node("BatchNormalization", "x", *(b.number(np.ones(3)) for _ in range(4)), training_mode=1),
        "training mode",
    ),
    "scales": (
        lambda b: b.node("LayerNormalization", "x", b.number(np.ones((2, 3)))),
        "scales or biases that do not fit",
    ),
    "types of constants": (
        lambda b: b.node("Add", "x", b.node("Mul", i(b, 2), b.number([1.0]))),
        "types int64 and float64",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_graphs_that_are_not_read(case: str) -> None:
    build, message = REFUSED[case]
    with pytest.raises(SourceError, match=message) as caught:
        read_graph(model(build, (1, 3)))
    assert len(str(caught.value)) < 1500


def changed(change: Any) -> Any:
    made = model(lambda b: b.node("Tanh", "x"), (1, 3))
    change(made)
    return made


def named(name: str) -> Any:
    return helper.make_tensor_value_info(name, 11, (1, 3))


INPUTS: dict[str, tuple[Any, str]] = {
    "two inputs": (
        lambda m: m.graph.input.append(named("y")),
        r"inputs \[x, y\] and outputs \[t0\]: read are graphs of one",
    ),
    "no input": (lambda m: m.graph.ClearField("input"), r"inputs \[\] and outputs"),
    "no output": (lambda m: m.graph.ClearField("output"), r"inputs \[x\] and outputs \[\]"),
    "token numbers": (
        lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 7),
        "input x is no tensor of floats, it holds INT64: for token numbers, save the model from its embeddings on",
    ),
    "text": (lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 8), "input x is no tensor of floats$"),
    "dynamic shape": (
        lambda m: setattr(m.graph.input[0].type.tensor_type.shape.dim[1], "dim_param", "tokens"),
        r"input x has shape \(1, \?\): every axis but the first",
    ),
    "no shape": (lambda m: m.graph.input[0].type.tensor_type.ClearField("shape"), "input x has no shape"),
    "much": (
        lambda m: setattr(m.graph.input[0].type.tensor_type.shape.dim[1], "dim_value", 1 << 30),
        "takes 1 to 1048576",
    ),
    "opset": (lambda m: setattr(m.opset_import[0], "version", 5), "the model says opset 5"),
}


@pytest.mark.parametrize("case", INPUTS)
def test_inputs_that_are_not_read(case: str) -> None:
    change, message = INPUTS[case]
    with pytest.raises(SourceError, match=message):
        read_graph(changed(change))


def test_files(tmp_path: Path) -> None:
    made = model(lambda b: b.node("Add", "x", b.number(np.ones(3))), (1, 3))
    onnx.external_data_helper.set_external_data(made.graph.initializer[0], "weights.bin")
    with pytest.raises(FileError, match="initializer c0 is stored in another file"):
        read_graph(made)
    with pytest.raises(FileError, match="more than max_bytes = 10"):
        read_graph(made, max_bytes=10)
    (tmp_path / "g.onnx").write_bytes(b"")
    with pytest.raises(FileError, match=r"g\.onnx is empty"):
        read_graph(tmp_path / "g.onnx")
    with pytest.raises(UsageError, match="got int"):
        read_graph(3)


HUGE: dict[str, Build] = {
    "product": lambda b: b.node("MatMul", b.number(np.ones((2**18, 1))), b.number(np.ones((1, 2**18)))),
    "Gemm": lambda b: b.node("Gemm", "x", b.number(np.ones((3, 2**18))), b.number(np.ones((2**18, 1)))),
    "Pow": lambda b: b.node("Pow", b.number(np.ones((2**18, 1))), b.number(np.arange(2.0**18))),
    "Max": lambda b: b.node("Max", b.number(np.ones((2**18, 1))), b.number(np.ones(2**18))),
    "Equal": lambda b: b.node("Equal", b.number(np.ones((2**18, 1))), b.number(np.ones(2**18))),
    "Gather": lambda b: b.node("Gather", b.number(np.ones((1, 2**18))), b.number(np.zeros(2**18), np.int64)),
    "Expand": lambda b: b.node("Tanh", b.node("Expand", b.number(1.0), i(b, 2**18, 2**18))),
}


@pytest.mark.parametrize("case", HUGE)
def test_constants_are_measured_before_they_are_made(case: str) -> None:
    with pytest.raises(SourceError, match=r"unfolds too far|biases of shape \(262144, 1\) for a result of shape"):
        read_graph(model(lambda b: b.node("Mul", "x", HUGE[case](b)), (1, 3)))


@pytest.mark.parametrize("way", ["Concat", "MatMul", "Tanh", "Where"])
def test_small_files_that_unfold_are_refused(way: str) -> None:
    def build(b: Builder) -> str:
        x = b.node("Expand", "x", i(b, 300, 1000))
        for _ in range(1000):
            if way == "Concat":
                x = b.node("Concat", x, x, axis=0)
            elif way == "MatMul":
                x = b.node("MatMul", x, b.node("Expand", b.number(1.0), i(b, 1000, 1000)))
            elif way == "Where":
                x = b.node("Where", b.node("Expand", flags(b, 1), i(b, 300, 1000)), x, b.number(0.0))
            else:
                x = b.node("Tanh", x)
        return x

    with pytest.raises(SourceError, match="unfolds too far"):
        read_graph(model(build, (1, 1000)))


def test_a_cut_file_is_one_error(tmp_path: Path) -> None:
    data = model(block("where"), (1, 5, 8)).SerializeToString()
    path = tmp_path / "g.onnx"
    for size in range(1, len(data) - 1, 97):
        path.write_bytes(data[:size])
        with pytest.raises((FileError, SourceError)):
            read_graph(path)


BLOCKS = (block("range", "op", "Shape"), block("where", "written out", "constants"))
SEEDS = [*(model(build, (1, 5, 8)) for build in BLOCKS), *(model(*CASES[case]) for case in CASES)]


@examples(500)
@given(st.data())
def test_no_bytes_raise_anything_else(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "graph_fuzz.onnx"
    path.write_bytes(damaged(data, data.draw(st.sampled_from(SEEDS)).SerializeToString()))
    result = outcome(read_graph, path)
    assert isinstance(result, Graph) or len(str(result)) < 2000


@examples(300)
@given(st.data())
def test_no_field_raises_anything_else(data: st.DataObject) -> None:
    """Attributes, constants and operands of a node are exchanged for others."""
    made = onnx.ModelProto()
    made.CopyFrom(data.draw(st.sampled_from(SEEDS)))
    node = data.draw(st.sampled_from(list(made.graph.node)))
    names = ["x", "", *(t.name for t in made.graph.initializer), *(n.output[0] for n in made.graph.node)]
    if node.input and data.draw(st.booleans()):
        node.input[data.draw(st.integers(0, len(node.input) - 1))] = data.draw(st.sampled_from(names))
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.INT:
            attribute.i = data.draw(st.integers(-(2**63), 2**63 - 1))
        elif attribute.type == onnx.AttributeProto.INTS:
            values = data.draw(st.lists(st.integers(-4, 4) | st.integers(-(2**63), 2**63 - 1), max_size=5))
            attribute.ClearField("ints")
            attribute.ints.extend(values)
    for tensor in made.graph.initializer:
        if tensor.data_type == onnx.TensorProto.INT64 and data.draw(st.booleans()):
            count = int(np.prod(tensor.dims))
            values = data.draw(
                st.lists(st.integers(-4, 9) | st.integers(-(2**63), 2**63 - 1), min_size=count, max_size=count)
            )
            tensor.raw_data = np.array(values, np.int64).tobytes()
    result = outcome(read_graph, made)
    assert isinstance(result, Graph) or len(str(result)) < 2000
