"""ONNX graphs that are no feedforward nets, compiled: equal to onnxruntime."""

from __future__ import annotations

from pathlib import Path

import mpmath
import numpy as np
import pytest

from lazy import framework

onnx = framework("onnx")

import integraph  # noqa: E402
from integraph.errors import SourceError, UsageError  # noqa: E402
from onnx_graphs import MASKS, NORMS, block, model, runtime  # noqa: E402
from onnx_models import Builder, reference  # noqa: E402
from onnx_operators import CASES, FUNCTIONS  # noqa: E402
from slow import mostly_slow  # noqa: E402

BOX = (-3.0, 3.0)


@pytest.mark.parametrize("norm", NORMS)
@mostly_slow("mask", MASKS, quick=2)
def test_a_transformer_block(mask: str, norm: str) -> None:
    """Attention, MLP, layer norms and residuals; both ways to write a layer norm, every way to mask."""
    for dtype, tolerance, truth in ((np.float32, 3e-6, runtime), (np.float64, 1e-13, evaluated)):
        made = model(block(mask, norm), (1, 5, 8), dtype=dtype)
        program = integraph.compile(made, box=BOX)
        x = np.random.default_rng(1).uniform(*BOX, (1, 5, 8)).astype(dtype)
        (wanted,) = truth(made, x)
        for options in ({}, {"engine": "taylor", "rtol": 1e-14}):
            found = program(x.ravel(), **options)
            np.testing.assert_allclose(found, wanted.ravel(), atol=tolerance * np.abs(wanted).max(), rtol=0)


def evaluated(made: onnx.ModelProto, x: np.ndarray) -> list[np.ndarray]:
    """By ONNX's own evaluator, which has what onnxruntime lacks in float64."""
    return [reference(made, x)]


def residual(b: Builder) -> str:
    """x + tanh(W x): no feedforward net."""
    hidden = b.node("Tanh", b.node("MatMul", "x", b.number(np.eye(3) + 0.5)))
    return b.node("Add", "x", hidden)


def test_a_file_that_is_no_net_is_a_graph(path: Path) -> None:
    made = model(residual, (1, 3))
    onnx.save(made, str(path.with_suffix(".onnx")))
    program = integraph.compile(path.with_suffix(".onnx"))
    x = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(program(x), x + np.tanh(x @ (np.eye(3) + 0.5)), atol=1e-15)
    assert "exact" in program.source
    assert program.depth == 2


def test_a_net_stays_a_net_unless_asked() -> None:
    made = model(lambda b: b.node("Tanh", b.node("MatMul", "x", b.number(np.eye(3)))), (1, 3))
    assert "narrow" in integraph.compile(made).source
    exact = integraph.compile(made, method="exact")
    assert "exact" in exact.source
    assert (exact.width, exact.depth) == (12, 2)
    with pytest.raises(SourceError):
        integraph.compile(model(residual, (1, 3)), method="wide")  # asked for by name: no graph instead


def test_relu_needs_a_tolerance() -> None:
    made = model(lambda b: b.node("Add", "x", b.node("Relu", b.node("Neg", "x"))), (1, 3))
    assert integraph.compile(made).depth == 0  # on [0, 1] its sign is known: nothing is left to compute
    with pytest.raises(SourceError, match="not analytic"):
        integraph.compile(made, box=(-1, 1))
    program = integraph.compile(made, 1e-4, box=(-1, 1))
    x = np.linspace(-1, 1, 21)[:, None] * np.ones(3)
    assert np.abs(program(x) - (x + np.maximum(-x, 0))).max() <= program.budget.total <= 1e-4


def test_what_is_no_graph() -> None:
    for options, names in (({"order": 3}, "order"), ({"gamma": 0.5}, "gamma")):
        with pytest.raises(UsageError, match=names):
            integraph.compile(model(residual, (1, 3)), **options)
    with pytest.raises(SourceError, match="Einsum"):
        integraph.compile(model(lambda b: b.node("Einsum", "x", "x", equation="ij,ij->i"), (1, 3)))


def _compiles(graph: integraph.Graph, box: tuple[float, float]) -> None:
    """The program equals the graph in numpy; what is smoothed, within the tolerance."""
    x = np.random.default_rng(8).uniform(*box, (4, graph.inputs))
    wanted = graph.values(x)
    try:
        program, off = integraph.compile(graph, box=box), 1e-12
    except SourceError as reason:
        if "not analytic" not in str(reason):
            raise
        program, off = integraph.compile(graph, 1e-3, box=box), 1e-3
    np.testing.assert_allclose(program(x), wanted, atol=off * max(1.0, np.abs(wanted).max()), rtol=0)


@mostly_slow("op", FUNCTIONS, quick=10)
def test_functions(op: str) -> None:
    _compiles(integraph.graph(model(lambda b: b.node(op, "x"), (1, 5))), FUNCTIONS[op])


@mostly_slow("case", CASES, quick=25)
def test_operators(case: str) -> None:
    """Every operator and every variant of its shapes that the reader has a test for."""
    build, shape, *rest = CASES[case]
    opset, box = (*rest, *(17, (-2.0, 2.0))[len(rest) :])
    _compiles(integraph.graph(model(build, shape, opset)), box)


@mostly_slow("gap", [20.0, 29.0, 40.0, 50.0, 1000.0], quick=2)
@pytest.mark.parametrize(("opset", "written"), [(9, "LogSoftmax"), (13, "LogSoftmax"), (17, "Log"), (17, "Sub")])
def test_the_logarithm_of_a_softmax_of_scores_far_apart(gap: float, opset: int, written: str) -> None:
    """As LogSoftmax, as Log of Softmax and as x − Log(ReduceSum(Exp x)), against mpmath."""

    def build(b: Builder) -> str:
        if written == "LogSoftmax":
            return b.node("LogSoftmax", "x", axis=1)
        if written == "Log":
            return b.node("Log", b.node("Softmax", "x", axis=1))
        total = b.node("ReduceSum", b.node("Exp", "x"), b.number([1], np.int64))
        return b.node("Sub", "x", b.node("Log", total))

    x = np.array([gap, 0.25, -1.0, 3.0])
    with mpmath.workdps(60):
        total = mpmath.log(mpmath.fsum(mpmath.exp(mpmath.mpf(v)) for v in x))
        wanted = np.array([float(mpmath.mpf(v) - total) for v in x])
    program = integraph.compile(model(build, (1, 4), opset, dtype=np.float64), box=(-gap, gap))
    for engine in ("exact", "precise", *(("taylor",) if gap <= 50 else ())):
        np.testing.assert_allclose(program(x, engine=engine), wanted, rtol=0, atol=4e-16 * (gap + 4))
