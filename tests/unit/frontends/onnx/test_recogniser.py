"""Graphs of ONNX files that are feedforward nets: the net has the values of its graph, row by row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from lazy import framework

onnx = framework("onnx")

from integraph.errors import SourceError  # noqa: E402
from integraph.frontends.onnx import read, read_either, read_graph  # noqa: E402
from integraph.targets import Network  # noqa: E402
from integraph.targets.graph import Graph  # noqa: E402
from onnx_graphs import model  # noqa: E402
from onnx_models import Builder  # noqa: E402
from onnx_operators import CASES  # noqa: E402

W = np.random.default_rng(7).normal(size=(4, 3))


@pytest.mark.parametrize("case", CASES)
def test_a_net_has_the_values_of_its_graph(case: str) -> None:
    """Of any operator: what is recognised is compared, with the rows of a batch next to each other."""
    build, shape, *rest = CASES[case]
    made = model(build, shape, *rest[:1])
    graph, target = read_graph(made), read_either(made)
    if isinstance(target, Graph):
        with pytest.raises(SourceError):
            read(made)
        return
    low, high = rest[1] if len(rest) > 1 else (-2.0, 2.0)
    x = np.random.default_rng(0).uniform(low, high, (3, graph.inputs))
    rows = target(x.reshape(-1, target.inputs)).reshape(3, -1)
    np.testing.assert_allclose(rows, graph.values(x), rtol=1e-13, atol=1e-13)


NETS: dict[str, tuple[Callable[[Builder], str], list[str]]] = {
    "max(x, 0) is a ReLU": (lambda b: b.node("Max", "x", b.number(0.0)), ["relu"]),
    "sizes that are computed": (
        lambda b: b.node("Tanh", b.node("Reshape", "x", b.node("Shape", "x"))),
        ["tanh"],
    ),
    "weights that are computed": (
        lambda b: b.node("MatMul", "x", b.node("Exp", b.number(W.T))),
        ["identity"],
    ),
    "the same layer written twice": (
        lambda b: b.node("Mul", b.node("MatMul", "x", b.number(W.T)), b.node("Sigmoid", b.node("MatMul", "x", "c0"))),
        ["silu"],
    ),
    "a slope for each unit": (lambda b: b.node("PRelu", "x", b.number([0.1, 0.2, -0.3])), ["leaky_relu"]),
    "softplus with its threshold": (
        lambda b: b.node("Where", b.node("Greater", "x", b.number(20.0)), "x", b.node("Softplus", "x")),
        ["softplus"],
    ),
    "softplus of a multiple": (
        lambda b: b.node(
            "Where",
            b.node("Greater", b.node("Mul", "x", b.number(2.0)), b.number(40.0)),
            "x",
            b.node("Div", b.node("Softplus", "t0"), b.number(2.0)),
        ),
        ["softplus", "identity"],
    ),
}


@pytest.mark.parametrize("name", NETS)
def test_nets(name: str) -> None:
    build, activations = NETS[name]
    made = model(build, ("N", 3))
    network = read(made)
    assert [layer.activation for layer in network.layers] == activations
    x = np.random.default_rng(1).normal(size=(5, 3))
    np.testing.assert_allclose(network(x), read_graph(made).values(x), rtol=1e-14, atol=1e-14)


def test_what_a_threshold_changes_is_noted() -> None:
    build, _ = NETS["softplus with its threshold"]
    for reader in (read, read_graph):
        (note,) = [note for note in reader(model(build, (1, 3))).notes if "softplus" in note]
        assert note.startswith("node 2 'Where' (/Where_2): softplus is linear above 20 there")


@pytest.mark.parametrize("factor", [0.5, 0.7])
def test_the_factor_of_a_gemm_is_part_of_its_weights(factor: float) -> None:
    made = model(lambda b: b.node("Tanh", b.node("Gemm", "x", b.number(W), transB=1, alpha=factor)), ("N", 3))
    (layer,) = read(made).layers
    np.testing.assert_array_equal(layer.A, float(np.float32(factor)) * W)
    assert {node.op for node in read_graph(made).nodes} >= {"matmul", "mul", "tanh"}  # where nothing is rounded


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4)])
def test_rows_that_are_joined_are_no_batch(shape: tuple[int, ...]) -> None:
    """A Flatten of everything puts the rows of a batch beside each other: its net takes all of them at once."""
    network = read(model(lambda b: b.node("Flatten", "x", axis=0), shape))
    assert network.inputs == np.prod(shape)
    batch = read(model(lambda b: b.node("Flatten", "x"), shape))
    assert batch.inputs == np.prod(shape[1:])
    assert isinstance(batch, Network)


def test_a_number_for_each_row_is_no_net_of_a_row() -> None:
    """(3, 1) → (3,) + (3,): each row has its own constant."""

    def build(b: Builder) -> str:
        return b.node("Add", b.node("Reshape", "x", b.number([-1], np.int64)), b.number([1.0, 2.0, 3.0]))

    network = read(model(build, (3, 1)))
    assert (network.inputs, network.outputs) == (3, 3)
    np.testing.assert_allclose(network([0.5, 0.5, 0.5]), [1.5, 2.5, 3.5])


def test_a_factor_of_its_own_is_a_layer_where_it_would_be_rounded() -> None:
    made = model(lambda b: b.node("Mul", b.node("MatMul", "x", b.number(W.T)), b.number(0.7)), ("N", 3))
    dense, scale = read(made).layers
    np.testing.assert_array_equal(dense.A, W)
    np.testing.assert_array_equal(scale.A, 0.7 * np.eye(4))


MOVES: dict[str, tuple[Callable[[Builder], str], list[int]]] = {  # what one row of three features becomes
    "slice": (lambda b: _slice(b, 1, [2, -4, -1]), [2, 1, 0]),
    "gather": (lambda b: b.node("Gather", "x", b.number([1, 1, 0, 2], np.int64), axis=1), [1, 1, 0, 2]),
}


def _slice(b: Builder, axis: int, cut: list[int]) -> str:
    return b.node("Slice", "x", *(b.number([n], np.int64) for n in (cut[0], cut[1], axis, cut[2])))


@pytest.mark.parametrize("rows", ["N", 1, 5])
@pytest.mark.parametrize("name", MOVES)
def test_features_in_other_places(name: str, rows: str | int) -> None:
    """A matrix of zeros and ones, the same for each row of the batch."""
    build, order = MOVES[name]
    network = read(model(build, (rows, 3)))
    np.testing.assert_array_equal(network.layers[0].A, np.eye(3)[order])
    assert len(network.layers) == 1


def test_rows_in_other_places() -> None:
    """The batch read backwards is no net of one row, but one of all of them."""
    network = read(model(lambda b: _slice(b, 0, [4, -9, -1]), (5, 3)))
    x = np.arange(15.0)
    np.testing.assert_array_equal(network(x), x.reshape(5, 3)[::-1].ravel())


def test_repeated_rows_are_no_net_of_a_row() -> None:
    """(3, 2) → (3, 3, 2): each row sees all, although the first axis stays 3."""
    network = read(model(lambda b: b.node("Expand", "x", b.number([3, 3, 2], np.int64)), (3, 2)))
    x = np.arange(6.0)
    np.testing.assert_array_equal(network(x), np.broadcast_to(x.reshape(3, 2), (3, 3, 2)).ravel())
