"""Random ONNX graphs: what is drawn, the oracles among themselves, the laws."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest

from lazy import framework

onnx = framework("onnx")
ort = framework("onnxruntime")

from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx.reference.op_run import OpRun  # noqa: E402

import integraph  # noqa: E402
from fuzz.kind import case, load  # noqa: E402
from fuzz.onnx import oracle, runtime  # noqa: E402
from fuzz.onnx.case import Case, Node, model, tensor  # noqa: E402
from fuzz.onnx.draw import OPSETS, RULES, SHAPES, draw  # noqa: E402
from fuzz.onnx.drawing import Drawing, Unfit  # noqa: E402
from fuzz.onnx.laws import LAWS, Idle  # noqa: E402
from integraph.frontends.onnx.operators import MICROSOFT, OPS  # noqa: E402
from onnx_models import Erf, Gelu  # noqa: E402

DRAWN = [replace(draw(np.random.default_rng((7, k))), single=False) for k in range(500)]
ONE = Case(17, (2,), (0.0, 0.0), (1.0, 1.0), (), (Node("Tanh", ("x",), ("y",)),), ("y",))


def loaded(made: onnx.ModelProto) -> ort.InferenceSession | None:
    """None where onnxruntime has no kernel of float64, or does not know the opset."""
    if made.opset_import[0].version > max(OPSETS):
        return None
    try:
        return runtime.session(made.SerializeToString())
    except Exception as reason:
        if "NOT_IMPLEMENTED" in str(reason) or "Type 'tensor(double)'" in str(reason):
            return None
        raise


def test_the_tables_have_the_same_operators() -> None:
    assert set(RULES) == set(OPS) | set(MICROSOFT)


@pytest.mark.parametrize("name", RULES)
def test_every_operator_can_be_drawn(name: str) -> None:
    for k in range(200):
        rng = np.random.default_rng((8, k))
        shape = SHAPES[k % len(SHAPES)]
        d = Drawing(rng, int(rng.choice(OPSETS)), shape, np.zeros(math.prod(shape)), np.ones(math.prod(shape)))
        try:
            RULES[name](d, name)
        except Unfit:
            continue
        if name in (node.op for node in d.nodes):
            return
    pytest.fail(f"{name} was never drawn")


FUNCTIONS = {"Cos": mp.cos, "Exp": mp.exp, "Sigmoid": lambda t: 1 / (1 + mp.exp(-t)), "Sin": mp.sin, "Tanh": mp.tanh}
POSITIVE = {"Log": mp.log, "Sqrt": mp.sqrt, "Softplus": lambda t: mp.log1p(mp.exp(t)), "Gelu": lambda t: t * mp.ncdf(t)}


@pytest.mark.parametrize("name", [*FUNCTIONS, *POSITIVE])
def test_the_oracle_has_all_digits(name: str) -> None:
    """Far out too: what a graph does with a tiny number is compared as well."""
    x = np.array([1e-12, 0.3, 2.0, 30.0, 100.0])
    x = x if name in POSITIVE else np.concatenate([-x, x])
    found = runtime.step(Node(name, ("x",), ("y",)), 20, [x])[0]
    with mp.workdps(60):
        right = np.array([float((FUNCTIONS | POSITIVE)[name](mp.mpf(t))) for t in x.tolist()])
    np.testing.assert_allclose(found, right, rtol=4e-15)


def test_ranks_opsets_and_outputs_vary() -> None:
    assert {len(c.shape) for c in DRAWN} == {0, 1, 2, 3, 4}
    assert {c.opset for c in DRAWN} == set(OPSETS)
    assert {len(c.outputs) for c in DRAWN} >= {1, 2, 3}
    assert {c.batch for c in DRAWN} == {True, False}


def test_a_file_of_float32_means_the_same() -> None:
    """Its constants are such numbers already, so that the graph that is read is the same."""
    cases = [c for k in range(100) if (c := draw(np.random.default_rng((9, k)))).single]
    assert len(cases) > 5
    for c in cases:
        x = np.array(c.low)
        try:
            graphs = [integraph.graph(model(one)) for one in (c, replace(c, single=False))]
        except integraph.errors.IntegraphError:
            continue
        np.testing.assert_array_equal(*(graph.values(x) for graph in graphs))


def test_a_case_is_drawn_again() -> None:
    kind = load("onnx")
    assert case(kind, 5, 17) == case(kind, 5, 17) != case(kind, 5, 18)


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_node_by_node_is_as_the_whole(start: int) -> None:
    """Of graphs for all of whose nodes onnxruntime has a kernel."""
    compared = 0
    for c in DRAWN[start : start + 50]:
        if any(node.op in runtime.INSTEAD for node in c.nodes):
            continue
        x = np.array(c.low)
        values = runtime.run(c, x)
        session = loaded(model(c))
        if session is None:
            continue
        found = session.run(None, {"x": x.reshape(c.shape)})
        compared += 1
        for name, part in zip(c.outputs, found, strict=True):
            np.testing.assert_array_equal(part, values[name])
    assert compared > 5


class LogSoftmax(OpRun):  # the evaluator has it as the logarithm of a softmax
    def _run(self, x: np.ndarray, axis: int = -1) -> tuple[np.ndarray]:
        shifted = x - x.max(axis=axis, keepdims=True)
        return (shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True)),)


def test_the_two_oracles_agree() -> None:
    """Where onnx's evaluator is right: it reads Softmax before opset 13 as after it, masks as NaN, and before opset 14
    it normalises batches by something else than the variance."""
    compared = 0
    for c in DRAWN[:250]:
        if c.opset < 13 or any(node.domain or node.op in ("Dropout", "Softmax") for node in c.nodes):
            continue
        if c.opset < 14 and any(node.op == "BatchNormalization" for node in c.nodes):
            continue
        x = 0.4 * np.array(c.low) + 0.6 * np.array(c.high)
        with np.errstate(all="ignore"):
            values = runtime.run(c, x)
            try:
                found = ReferenceEvaluator(model(c), new_ops=[Erf, Gelu, LogSoftmax]).run(
                    None, {"x": x.reshape(c.shape)}
                )
            except (TypeError, ValueError, RuntimeError):
                continue
        slack = oracle.slack(c, x[None])[0]
        flat = runtime.flat(c, values)
        if not np.isfinite(flat).all() or not (slack < 1e-6).all():
            continue
        compared += 1
        off = np.abs(np.concatenate([np.ravel(part) for part in found]) - flat)
        assert (off <= 1e-12 * np.maximum(1.0, np.abs(flat)) + slack).all(), model(c)
    assert compared > 60


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in LAWS if name != "permuted inputs"])
def test_laws_hold_for_the_oracle(name: str) -> None:
    """What a law makes of a graph is the same function, by onnxruntime alone."""
    compared = 0
    for c in DRAWN[:150]:
        if any(node.domain for node in c.nodes):
            continue  # of which onnxruntime has kernels in float32 only
        try:
            changed = LAWS[name](c, np.random.default_rng(c.seed)).model
        except Idle:
            continue
        session = loaded(changed)
        if session is None:
            continue
        x = np.array(c.low)
        found = session.run(None, {"x": x.reshape(c.shape)})
        flat = oracle.truth(c, x[None])[0]
        off = np.abs(np.concatenate([np.ravel(part) for part in found]) - flat)
        if np.isfinite(flat).all() and not any(node.op in ("Sigmoid", "Softplus", "Gelu", "Swish") for node in c.nodes):
            compared += 1
            assert (off <= 1e-12 * np.maximum(1.0, np.abs(flat)) + oracle.slack(c, x[None])[0]).all(), changed
    assert compared > 3


def test_noise_shows_how_ill_conditioned_a_graph_is() -> None:
    ill = Case(
        17, (1,), (0.0,), (1.0,), (("c", tensor([1e6])),),
        (Node("Add", ("x", "c"), ("a",)), Node("Sub", ("a", "c"), ("y",))), ("y",),
    )  # fmt: skip
    x = np.array([[0.5]])
    assert oracle.slack(ONE, np.full((1, 2), 0.5)).max() < 1e-11
    assert 1e-8 < oracle.slack(ill, x)[0, 0] < 1e-4


def test_shrinking_keeps_graphs_that_run() -> None:
    kind = load("onnx")
    for c in DRAWN[:20]:
        for smaller in kind.smaller(c):
            values = runtime.run(smaller, np.array(smaller.low))
            assert all(name in values for name in smaller.outputs)
            assert math.prod(smaller.shape) == len(smaller.low)


def test_what_is_shown_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(load("onnx").show(ONE), "shown", "exec"), {})
    ours, theirs = capsys.readouterr().out.strip().split("\n")
    assert ours.strip("[]").split() == theirs.strip("[]()ary").split(", ")
