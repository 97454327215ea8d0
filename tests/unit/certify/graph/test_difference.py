"""Proofs of graphs: what is proved contains what is seen, and no program that was tampered with is proved."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.bounds.ranges.propagation import ranges
from integraph.certify.graph import difference
from integraph.certify.graph.atoms import Atoms
from integraph.certify.graph.difference import GraphDifference
from integraph.certify.problem import Box
from integraph.certify.search.stop import Stop
from integraph.errors import UsageError
from integraph.program import Block, Program, View
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder
from lazy import framework
from slow import mostly_slow
from transformers import to_graph, transformer

Make = Callable[[Builder, int], int]
RNG = np.random.default_rng(0)
W, BACK = RNG.standard_normal((4, 6)), RNG.standard_normal((6, 4))


def graph_of(make: Make, shape: tuple[int, ...] = (3, 4)) -> Graph:
    b = Builder()
    return b.graph([make(b, b.input("x", shape))])


def layer_norm(b: Builder, x: int, more: float = 0.1) -> int:
    rows = b.nodes[x].shape[0]
    mean = b.apply("reshape", b.mean(x, (1,), "mean"), data=((rows, 1),))
    d = b.apply("sub", x, mean)
    variance = b.apply("reshape", b.mean(b.apply("mul", d, d), (1,), "variance"), data=((rows, 1),))
    return b.apply("mul", d, b.power(b.apply("add", variance, b.constant(more)), -0.5, "root"))


def dense(f: str) -> Make:
    return lambda b, x: b.apply(f, b.apply("matmul", x, b.constant(W)))


def residual(b: Builder, x: int) -> int:
    return b.apply("add", x, b.apply("matmul", dense("tanh")(b, x), b.constant(BACK)))


def attention(b: Builder, x: int) -> int:
    z = layer_norm(b, x)
    q, k = (b.apply("matmul", z, b.constant(W[:, part : part + 2])) for part in (0, 2))
    scores = b.apply("matmul", q, b.apply("transpose", k, data=(1, 0)))
    weights = b.softmax(b.apply("div", scores, b.constant(np.sqrt(2.0))))
    return b.apply("add", x, b.apply("matmul", weights, z))


CASES: dict[str, Make] = {
    "residual": residual,
    "layer norm": layer_norm,
    "attention": attention,
    **{f: dense(f) for f in ("gelu", "silu", "sigmoid", "softplus", "erf", "exp", "sin", "atan", "asinh", "gelu_tanh")},
    "softmax": lambda b, x: b.softmax(b.apply("matmul", x, b.constant(W))),
    "log softmax": lambda b, x: b.apply("log_softmax", x),
    "ln": lambda b, x: b.apply("ln", b.apply("add", x, b.constant(5.0))),
    "quotient": lambda b, x: b.apply("div", x, b.apply("add", b.apply("mul", x, x), b.constant(3.0))),
    "root": lambda b, x: b.apply("sqrt", b.apply("add", x, b.constant(5.0))),
    "cube": lambda b, x: b.power(x, 3),
}
KINKS: dict[str, Make] = {
    "relu": dense("relu"),
    "abs": dense("abs"),
    "max": lambda b, x: b.apply("max", x, b.apply("mul", x, x)),
    "min": lambda b, x: b.apply("min", x, b.constant(0.3)),
}


def difference_seen(program: Program, graph: Graph) -> float:
    """At random points, the flow in as many bits as it takes; the graph in float64."""
    x = np.random.default_rng(1).uniform(-1, 1, (20, graph.inputs))
    return float(np.abs(program(x, engine="precise") - graph.values(x)).max())


@mostly_slow("name", CASES, 1)
@pytest.mark.parametrize("free", ["decay", *(pytest.param(free, marks=pytest.mark.slow) for free in ("keep", "clean"))])
def test_what_is_proved(name: str, free: str) -> None:
    graph = graph_of(CASES[name])
    program = integraph.compile(graph, free=free, box=(-1, 1))
    proof = integraph.certify(program, graph, 1e-11, box=(-1, 1), progress=False)
    assert proof.status == "proved", proof
    assert difference_seen(program, graph) <= proof.upper + 1e-13
    assert integraph.check(proof, program, graph).status == "proved"


@mostly_slow("name", KINKS, 1)
def test_smoothed_kinks(name: str) -> None:
    graph = graph_of(KINKS[name])
    program = integraph.compile(graph, 1e-3, box=(-1, 1))
    proof = integraph.certify(program, graph, 1e-3, box=(-1, 1), progress=False)
    assert proof.status == "proved"
    assert 0.5 * proof.upper < proof.lower <= proof.upper


@pytest.mark.parametrize(
    ("make", "node"),
    [
        (lambda b, x: b.apply("div", b.constant(1.0), x), "x"),
        (lambda b, x: b.apply("ln", x), "x"),
        (lambda b, x: layer_norm(b, x, more=0.0), "root: add 11"),  # its base
    ],
    ids=["quotient", "logarithm", "layer norm"],
)
def test_where_there_is_no_value(make: Make, node: str) -> None:
    """The node is named."""
    graph = graph_of(make, (1, 4))
    proof = integraph.certify(integraph.compile(graph, box=(-1, 1)), graph, box=(-1, 1), progress=False)
    assert proof.status == "unknown"
    assert proof.upper == np.inf
    assert f"{node} may reach 0 on the box" in proof.reason


def changed(program: Program, change: Callable[[Block], Block | None]) -> Program:
    """The program with the first block that `change` changes."""
    segments = list(program.segments)
    for n, segment in enumerate(segments):
        for k, block in enumerate(segment.blocks):
            new = change(block)
            if new is not None:
                segments[n] = replace(segment, blocks=(*segment.blocks[:k], new, *segment.blocks[k + 1 :]))
                return replace(program, segments=tuple(segments), budget=None)
    raise AssertionError("nothing to change")


def wrong_weight(block: Block) -> Block | None:
    w = block.tensors.get("w")
    if block.op.name != "affine" or w is None or w.size < 4:
        return None
    off = w.copy()
    off.reshape(-1)[1] += 1e-3
    return replace(block, tensors={**block.tensors, "w": off})


def swapped_view(block: Block) -> Block | None:
    x = block.operands[0] if block.operands else None
    if block.op.name != "affine" or not isinstance(x, View) or x.shape[-1] != 4 or x.strides[-1] != 1:
        return None
    return replace(block, operands=(x[..., ::-1],))


def no_residual(block: Block) -> Block | None:
    """The input is added with weight 1: not any more."""
    w = block.tensors.get("w")
    if block.op.name != "affine" or w is None or w.size != 1 or w.reshape(-1)[0] != 1:
        return None
    return replace(block, tensors={**block.tensors, "w": np.full(w.shape, 0.5)})


def wrong_exponent(block: Block) -> Block | None:
    if block.op.name != "powers":
        return None
    return replace(block, tensors={**block.tensors, "a": np.full(block.tensors["a"].shape, -0.4999)})


def other_side(block: Block) -> Block | None:
    """x·sigmoid(−kx) is min(x, 0)."""
    if block.op.name != "relu":
        return None
    return replace(block, tensors={**block.tensors, "k": -block.tensors["k"]})


@pytest.mark.slow
def test_softmax_of_rows_of_two_lengths() -> None:
    def twice(b: Builder, x: int) -> int:
        other = b.apply("reshape", b.apply("softmax", x), data=((2, 3),))
        return b.apply("softmax", other)

    graph = graph_of(twice, (3, 2))
    box = [[-0.1, 0.1]] * 6
    program = integraph.compile(graph, box=box)
    assert integraph.certify(program, graph, box=box, progress=False).proven < 1e-14


@pytest.mark.slow
@pytest.mark.parametrize("free", ["keep", "clean", "decay"])
def test_rows_of_a_single_entry(free: str) -> None:
    """Their softmax is 1, its logarithm 0, and ln Σ exp the entry; so is a row of a mask among longer ones."""
    b = Builder()
    x = b.input("x", (2, 2))
    column = b.apply("reshape", x, data=((4, 1),))
    masked = b.apply("add", x, b.constant(np.array([[0.0, -np.inf], [0.0, 0.0]])))
    parts = [b.softmax(column), b.log_softmax(column), b.logsumexp(column), b.softmax(masked), b.logsumexp(masked)]
    graph = b.graph(parts)
    program = integraph.compile(graph, free=free, box=(-1, 1))
    proof = integraph.certify(program, graph, 1e-12, box=(-1, 1), progress=False)
    assert proof.status == "proved", proof
    assert difference_seen(program, graph) <= proof.upper + 1e-13


def test_a_rectifier_of_the_other_side() -> None:
    graph = graph_of(KINKS["relu"])
    program = changed(integraph.compile(graph, 1e-3, box=(-1, 1)), other_side)
    assert integraph.certify(program, graph, 1e-3, box=(-1, 1), progress=False, seconds=10).status == "refuted"


@mostly_slow(
    ("name", "change"),
    [
        ("residual", wrong_weight),
        ("attention", wrong_weight),
        ("residual", swapped_view),
        ("attention", no_residual),
        ("layer norm", wrong_exponent),
    ],
    1,
)
def test_tampered_programs_are_refuted(name: str, change: Callable[[Block], Block | None]) -> None:
    graph = graph_of(CASES[name])
    program = changed(integraph.compile(graph, box=(-1, 1)), change)
    proof = integraph.certify(program, graph, 1e-9, box=(-1, 1), progress=False, seconds=10)
    assert proof.status == "refuted", proof


def test_a_dropped_residual() -> None:
    """The read-out adds the input: without it the program is refuted."""
    graph = graph_of(CASES["residual"])
    program = integraph.compile(graph, box=(-1, 1))
    readout = program.readout.copy()
    readout.data = np.where(readout.indices < graph.inputs, 0.0, readout.data)
    wrong = replace(program, readout=readout, budget=None)
    assert integraph.certify(wrong, graph, 1e-9, box=(-1, 1), progress=False, seconds=10).status == "refuted"


@pytest.mark.slow
def test_layer_norms_of_a_residual_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of them in a row: with intervals alone variances get too near to 0."""
    graph = to_graph(transformer(2, 32, 4, 32, 2, gain=0.1))
    x = np.random.default_rng(1).standard_normal(graph.inputs)
    program = integraph.compile(graph, box=np.stack([x - 0.5, x + 0.5], -1))
    box = Box(tuple(x - 0.5), tuple(x + 0.5))
    proven = GraphDifference(program, graph).upper(box, 64)[0]
    assert proven < 1e-10
    monkeypatch.setattr(difference, "row_ranges", ranges)
    assert GraphDifference(program, graph).upper(box, 64)[0] > 20 * proven


@pytest.mark.slow
def test_swapped_heads() -> None:
    """Queries of one head that meet the keys of the other are refuted."""
    net = transformer(2, 4, 2, 3, 1)
    w, order = net.layers[0], [2, 3, 0, 1]
    swapped = {"query": w["query"][:, order], "query_bias": w["query_bias"][order]}
    other = to_graph(replace(net, layers=({**w, **swapped},)))
    program = integraph.compile(to_graph(net), box=(-1, 1))
    assert integraph.certify(program, other, 1e-6, box=(-1, 1), progress=False, seconds=10).status == "refuted"


def test_a_mismatch_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no value refutes it, no smaller box is tried; with a kink one may help."""
    monkeypatch.setattr(difference, "TERMS", 0)
    for f, ending in (("tanh", Stop.MISMATCH), ("relu", Stop.SIDES)):
        graph = graph_of(dense(f))
        program = changed(integraph.compile(graph, 1e-3, box=(-1, 1)), wrong_weight)
        proof = integraph.certify(program, graph, 1e-3, box=(-1, 1), boxes=20, progress=False)
        assert proof.stopped is ending, proof
        assert proof.status == "unknown"
        assert (proof.boxes > 1) is (f == "relu")


@pytest.mark.parametrize("name", ["distance", "vanishing"])
def test_faults_of_the_proof_are_caught(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Without the distances of coefficients the bound is below a value of the difference."""

    def make(b: Builder, x: int) -> int:
        """Thirds are rounded, and what is rounded is multiplied by itself."""
        third = b.apply("div", x, b.constant(3.0))
        return b.apply("mul", b.apply("tanh", third), b.apply("exp", b.apply("div", third, b.constant(7.0))))

    graph, box = graph_of(make, (1,)), Box((0.5,), (1.0,))
    program = integraph.compile(graph, box=(0.5, 1))
    value = max(GraphDifference(program, graph).at((x,), 256)[0][0] for x in (0.5, 0.7, 0.9, 1.0))
    assert 0 < value <= GraphDifference(program, graph).upper(box, 64)[0]
    monkeypatch.setattr(Atoms, name, lambda _, p, __: (np.zeros(p.count), np.ones(p.count, np.bool_)))
    assert GraphDifference(program, graph).upper(box, 64)[0] < value


def test_another_graph() -> None:
    """A certificate belongs to one graph, and a proof of another one does not hold."""
    graph, other = graph_of(CASES["attention"]), graph_of(dense("silu"))
    program = integraph.compile(graph, box=(-1, 1))
    proof = integraph.certify(program, graph, box=(-1, 1), progress=False)
    assert proof.certificate is not None
    checked = integraph.check(proof.certificate, program, graph_of(lambda b, x: residual(b, b.apply("neg", x))))
    assert not checked.holds
    assert "another target" in checked.reason
    assert proof.proven > 0  # √2 is rounded
    claimed = replace(proof.certificate, upper=0.0, tree=(replace(proof.certificate.tree[0], uppers=(0.0,)),)).sealed()
    assert not integraph.check(claimed, program, graph).holds
    with pytest.raises(UsageError, match="give what it was compiled from"):
        integraph.certify(program, other, progress=False)


def test_exact_programs_of_networks() -> None:
    net = [(W.T, np.ones(6), "tanh"), (BACK.T, np.zeros(4), "identity")]
    program = integraph.compile(net, method="exact", free="clean")
    proof = integraph.certify(program, net, progress=False)
    assert proof.status == "proved"
    assert integraph.check(proof, program, net).holds


def _torch() -> tuple[Any, Any]:
    torch = framework("torch")
    nn = torch.nn
    torch.manual_seed(0)
    parts = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.SiLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(8, 2)
    return nn.Sequential(*parts).eval(), (1, 6, 6)


def _onnx() -> tuple[Any, Any]:
    framework("onnx")
    from onnx_graphs import model

    return model(lambda b: b.node("LogSoftmax", b.node("Mul", b.node("Exp", "x"), "x"), axis=-1), (1, 3)), None


def _jax() -> tuple[Any, Any]:
    jax = framework("jax")
    return lambda x: jax.nn.softmax(x * jax.numpy.tanh(x)), 3


def _keras() -> tuple[Any, Any]:
    os.environ.setdefault("KERAS_BACKEND", "torch")
    keras = framework("keras")
    layers, x = keras.layers, keras.Input((4, 3))
    keras.utils.set_random_seed(0)
    z = layers.Add()([x, layers.Dense(3, "tanh")(x)])
    return keras.Model(x, layers.Dense(2, "silu")(layers.Flatten()(z))), None


@mostly_slow("source", [_onnx, _torch, _jax, _keras], 1)
def test_graphs_of_frameworks(source: Callable[[], tuple[Any, Any]]) -> None:
    net, inputs = source()
    program = integraph.compile(net, inputs=inputs, method="exact", box=(-1, 1))
    proof = integraph.certify(program, net, 1e-12, inputs=inputs, box=(-1, 1), progress=False)
    assert proof.status == "proved", proof
    assert integraph.check(proof, program, net, inputs=inputs).holds
