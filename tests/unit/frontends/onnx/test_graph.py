"""ONNX operators → nodes of a graph, each against onnxruntime, and what the graph then looks like."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazy import framework

onnx = framework("onnx")
from onnx import helper  # noqa: E402

import integraph  # noqa: E402
from integraph.errors import FileError  # noqa: E402
from integraph.frontends import ReadOptions, read  # noqa: E402
from integraph.frontends.onnx import read_graph  # noqa: E402
from law import examples  # noqa: E402
from onnx_graphs import agree, check, model, ops, runtime  # noqa: E402
from onnx_models import ACTIVATIONS, Builder  # noqa: E402
from onnx_operators import BIAS, CASES, CUBE, FUNCTIONS, W, i  # noqa: E402
from slow import mostly_slow  # noqa: E402


@mostly_slow("op", FUNCTIONS, quick=15)
def test_functions(op: str) -> None:
    check(lambda b: b.node(op, "x"), (1, 5), 17, FUNCTIONS[op])


@mostly_slow("op", [op for op in FUNCTIONS if op != "LeakyRelu"], quick=8)
def test_functions_of_constants(op: str) -> None:
    values = np.linspace(*FUNCTIONS[op], 5)
    graph = check(lambda b: b.node("Mul", "x", b.node(op, b.number(values))), (2, 5))
    assert ops(graph) == {"input", "constant", "mul"}


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Gelu", "LeakyRelu", "LayerNormalization", "ReduceLogSumExp"])
def test_rows_of_constants(op: str) -> None:
    """What is folded on the way, as the mean −½ and the logarithm of one exponential are, is a constant again."""
    for values in ([[-2.0, -1.0, 0.0, 1.0]], [[-2.0, -1.0, 0.0, 1.7]], [[3.0]]):
        scale = (np.ones(len(values[0])),) if op == "LayerNormalization" else ()
        check(
            lambda b, v=values, s=scale: b.node("Mul", "x", b.node(op, *map(b.number, (np.array(v), *s)))), (1, 4), 20
        )


@mostly_slow("case", CASES, quick=40)
def test_operators(case: str) -> None:
    check(*CASES[case])


@pytest.mark.parametrize("opset", [7, 9, 11, 13, 17, 20, 24])
def test_activations_however_written(opset: int) -> None:
    for name, (activation, first, build) in ACTIVATIONS.items():
        if first <= opset and not (name == "PRelu" and opset < 9):
            graph = check(lambda b, build=build: build(b, b.node("Add", "x", b.number(BIAS))), (2, 4), opset)
            if activation in ("gelu", "gelu_tanh", "silu", "relu", "leaky_relu"):
                assert activation in ops(graph), name
                assert not ops(graph) & {"erf", "tanh", "sigmoid"}


def test_scaled_gelu_and_what_only_looks_like_it() -> None:
    """x·½·(1 + erf(x/√2)) with x = 3y: a GELU of 3y; with other constants it stays as it is."""

    def written(b: Builder, x: str, root: float, half: Any = 0.5) -> str:
        grown = b.node("Add", b.node("Erf", b.node("Div", x, b.number(root))), b.number(1.0))
        return b.node("Mul", b.node("Mul", x, b.number(half)), grown)

    for build, good in (
        (lambda b: written(b, b.node("Mul", "x", b.number(3.0)), math.sqrt(2.0)), True),
        (lambda b: written(b, b.node("Add", "x", b.number(3.0)), math.sqrt(2.0)), True),
        (lambda b: written(b, b.node("Tanh", "x"), math.sqrt(2.0)), True),
        (lambda b: written(b, "x", -math.sqrt(2.0)), True),
        (lambda b: written(b, "x", math.sqrt(2.0), 0.7), True),
        (lambda b: written(b, "x", 1.5), True),
        (lambda b: written(b, "x", math.sqrt(2.0), np.full((4, 2, 3), 0.5)), False),
        (lambda b: b.node("Mul", b.node("Erf", "x"), b.number(0.5)), False),
        (lambda b: b.node("Mul", b.node("Erf", "x"), b.node("Add", "x", b.number(1.0))), False),
        (lambda b: b.node("Mul", b.node("Add", b.node("Erf", "x"), b.number(1.1)), "x"), False),
    ):
        graph = check(build, (2, 3))
        assert ("gelu" in ops(graph)) == good
    rounded = model(lambda b: written(b, "x", math.sqrt(2.0)), (2, 3), dtype=np.float32)
    assert ops(read_graph(rounded)) == {"input", "gelu"}


def test_what_the_nodes_are() -> None:
    """Names of the file, exact exponents, equal nodes once, the unused left out, relu where it is one."""

    def build(b: Builder) -> str:
        b.node("Sinh", "x")
        again = [b.node("Pow", "x", b.number(0.1, np.float32)) for _ in range(2)]
        return b.node("Max", b.node("Add", *again), b.number([0.0]))

    graph = read_graph(model(build, (1, 3), dtype=np.float32))
    assert [(node.op, node.text) for node in graph.nodes] == [
        ("input", "x"), ("power", "/Pow_1"), ("add", "/Add_3"), ("relu", "/Max_4"),
    ]  # fmt: skip
    assert graph.nodes[1].data == (Fraction(float(np.float32(0.1))),)
    assert graph.variables == ("x[0]", "x[1]", "x[2]")


def test_a_nameless_node_has_the_name_of_its_result() -> None:
    b = Builder()
    b.nodes.append(helper.make_node("Tanh", ["x"], ["a\nresult"]))
    assert read_graph(b.model("a\nresult", (1, 3))).nodes[1].text == r"a\nresult"


def test_broadcast_along_an_axis_before_opset_7() -> None:
    graph = read_graph(model(lambda b: b.node("Add", "x", b.number(BIAS[:3]), broadcast=1, axis=1), CUBE, 6))
    x = np.arange(24.0)
    assert np.array_equal(graph.values(x[None])[0], (x.reshape(CUBE) + BIAS[:3, None]).ravel())


MASK = np.array([[0.0, -np.inf, 0.0, -np.inf], [0.5, 0.0, -np.inf, 0.0], [0.0, 0.0, 0.0, -np.inf]])


@pytest.mark.parametrize(
    "way", ["plain", "reshaped", "sliced", "transposed", "biased", "twice", "added twice", "before 13", "gathered"]
)
def test_masks_reach_the_softmax(way: str) -> None:
    """Whatever is done to masked scores between the mask and the softmax."""

    def build(b: Builder) -> str:
        x = b.node("Add", "x", b.number(MASK))
        if way == "reshaped":
            x = b.node("Reshape", x, i(b, 6, 4))
        elif way == "sliced":
            x = b.node("Slice", x, i(b, 1), i(b, 9), i(b, 1))
        elif way == "transposed":
            return b.node("Softmax", b.node("Transpose", x, perm=[0, 2, 1]), axis=1)
        elif way == "biased":
            x = b.node("Add", b.number(2.0 * BIAS), b.node("Add", b.node("Sin", "x"), x))
        elif way == "twice":
            x = b.node("Where", b.number([True, True, False, True], np.bool_), x, b.number(-1e30))
        elif way == "added twice":
            x = b.node("Add", x, b.number([0.0, 0.0, -1e6, 0.0]))
        elif way == "gathered":
            x = b.node("Gather", x, i(b, 1, 0), axis=0)
        return b.node("Softmax", x, axis=2 if way == "before 13" else -1)

    graph = check(build, CUBE, 12 if way == "before 13" else 17)
    (softmax,) = (node for node in graph.nodes if node.op == "softmax")
    assert softmax.value is not None
    assert all(np.isfinite(node.value).all() for node in graph.nodes if node.op == "constant")


def test_scores_masked_with_a_number_are_numbers_too() -> None:
    def build(b: Builder) -> tuple[str, str]:
        scores = b.node("Where", b.number([True, False, True, True], np.bool_), "x", b.number(-1e5))
        return scores, b.node("Softmax", scores)

    graph = check(build, (2, 4))
    assert {"add", "mul", "softmax"} <= ops(graph)


def gemm(b: Builder, low: float) -> str:
    return b.node("Gemm", "x", b.number(np.eye(2)[::-1]), b.number([low, 0.0]))


OFFSETS = {
    "Sub": lambda b, low: b.node("Sub", b.number([[low, 0.0]]), "x"),
    "Gemm": gemm,
    "Concat": lambda b, low: b.node(
        "Concat",
        b.node("Add", b.node("Slice", "x", i(b, 0), i(b, 1), i(b, 1)), b.number(low)),
        b.node("Slice", "x", i(b, 1), i(b, 2), i(b, 1)),
        axis=1,
    ),
    "Mul": lambda b, low: b.node("Mul", "x", b.number([[low, 1.0]])),
    "Where": lambda b, low: b.node("Where", b.number([[False, True]], np.bool_), "x", b.number(low)),
}


@pytest.mark.parametrize("rows", ["Softmax", "LogSoftmax", "ReduceLogSumExp"])
@pytest.mark.parametrize("name", OFFSETS)
def test_large_numbers_that_cancel_are_no_mask(name: str, rows: str) -> None:
    """The number is a power of two, so that it takes few digits with it."""

    def build(b: Builder) -> str:
        whole = b.node("Add", OFFSETS[name](b, -(2.0**30)), b.number([[2.0**30, 0.0]]))
        return b.node(rows, whole, **({"axes": [1]} if rows == "ReduceLogSumExp" else {}))

    made = model(build, (1, 2))
    x = np.random.default_rng(1).integers(0, 2**20, (1, 2)) / 2.0**20
    want = runtime(made, x)
    assert want is not None
    agree(read_graph(made), want, x, 1e-13)
    found = integraph.compile(made, method="exact")(x)[0]
    np.testing.assert_allclose(found, np.ravel(want[0]), rtol=1e-13, atol=2.0**-22)  # a few roundings of 2^30


UNARY = ("Tanh", "Sin", "Neg", "Sigmoid", "Cos")
PAIRS = ("Add", "Sub", "Mul")


@examples(80)
@given(st.data())
def test_random_graphs(data: st.DataObject) -> None:
    """Matrices that are moved, joined, multiplied and mixed: onnxruntime says the same."""
    pick = lambda options: data.draw(st.sampled_from(list(options)))  # noqa: E731
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))

    def build(b: Builder) -> tuple[str, ...]:
        known: list[tuple[str, tuple[int, int]]] = [("x", (2, 3))]
        for _ in range(data.draw(st.integers(1, 12))):
            x, (n, m) = pick(known)
            step = pick(("unary", "pair", "weights", "gram", "move", "softmax", "mean", "slice", "concat", "constant"))
            if step == "unary":
                made = b.node(pick(UNARY), x), (n, m)
            elif step == "pair":
                y, _ = pick([k for k in known if k[1] == (n, m)])
                made = b.node(pick(PAIRS), x, y), (n, m)
            elif step == "constant":
                made = b.node(pick(PAIRS), x, b.number(rng.normal(size=pick([(), (m,), (n, 1), (n, m)])))), (n, m)
            elif step == "weights":
                k = data.draw(st.integers(1, 4))
                made = b.node("MatMul", x, b.number(rng.normal(size=(m, k)) / m)), (n, k)
            elif step == "gram":
                made = b.node("MatMul", x, b.node("Transpose", x)), (n, n)
            elif step == "move":
                made = (
                    (b.node("Transpose", x), (m, n))
                    if rng.random() < 0.5
                    else (b.node("Reshape", x, i(b, m, -1)), (m, n))
                )
            elif step == "softmax":
                made = b.node("Softmax", x, axis=pick((0, 1))), (n, m)
            elif step == "mean":
                made = b.node("ReduceMean", x, axes=[0]), (1, m)
            elif step == "slice":
                made = b.node("Slice", x, i(b, -1), i(b, -99), i(b, 0), i(b, -1)), (n, m)
            else:
                made = b.node("Concat", x, x, axis=1), (n, 2 * m)
            known.append(made)
        return tuple(name for name, _ in known[-2:] if name != "x") or (b.node("Identity", "x"),)

    made = model(build, (2, 3))
    x = rng.normal(size=(2, 3))
    want = runtime(made, x)
    assert want is not None
    agree(read_graph(made), want, x, 1e-11)


def test_sources(tmp_path: Path) -> None:
    made = model(lambda b: b.node("MatMul", "x", b.number(W.T)), ("N", 3))
    path = tmp_path / "g.onnx"
    onnx.save(made, path)
    options = ReadOptions(into=integraph.Graph)
    graph = read(str(path), options)
    assert graph.name == "g.onnx"
    assert read(graph) is graph
    assert read(made, options).sizes == 4
    with pytest.raises(FileError, match="there is no such file"):
        read(tmp_path / "missing.onnx", options)
