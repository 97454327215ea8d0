"""ONNX graphs that are more than networks: transformer blocks as exporters write them, and what onnxruntime says."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import helper

from integraph.frontends.onnx import read_graph
from integraph.targets.graph import Graph
from lazy import framework
from onnx_models import ACTIVATIONS, Builder, reference

Build = Callable[[Builder], str | tuple[str, ...]]


def model(build: Build, shape: tuple[int | str, ...] = (1, 3), opset: int = 17, dtype: type = np.float64) -> Any:
    """A model of a few nodes, with one output or several."""
    b = Builder(opset, dtype)
    found = build(b)
    first, *more = (found,) if isinstance(found, str) else found
    made = b.model(first, shape)
    made.graph.output.extend(
        helper.make_tensor_value_info(name, made.graph.output[0].type.tensor_type.elem_type, None) for name in more
    )
    return made


def runtime(model: Any, x: Any) -> list[Any] | None:
    """What onnxruntime says without fusing anything, or None if it has no kernel of this type."""
    ort = framework("onnxruntime")
    if x.dtype == np.float64 and any(node.op_type == "Gelu" for node in model.graph.node):
        return None  # it has it as a function with constants of float32
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as reason:
        if any(word in str(reason) for word in ("NOT_IMPLEMENTED", "Opset", "opset", "Type 'tensor(double)'")):
            return None
        raise
    return list(session.run(None, {model.graph.input[0].name: x}))


def check(build: Build, shape: tuple[int | str, ...], opset: int = 17, box: tuple[float, float] = (-2, 2)) -> Graph:
    """The graph of a model, after it was compared with onnxruntime: in float64 if that can.

    Else it is compared in float32, and in float64 with the reference evaluator of ONNX.
    """
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 3e-6)):
        made = model(build, shape, opset, dtype)
        x = np.random.default_rng(3).uniform(*box, [n if isinstance(n, int) else 1 for n in shape]).astype(dtype)
        graph, want = read_graph(made), runtime(made, x)
        if want is not None:
            agree(graph, want, x, tolerance)
            return graph
        agree(graph, [reference(made, x)], x, tolerance)
    pytest.fail("onnxruntime has none of these operators")


def agree(graph: Graph, want: list[Any], x: Any, tolerance: float) -> None:
    flat = np.concatenate([np.ravel(part) for part in want]).astype(np.float64)
    found = graph.values(x.reshape(1, -1))[0]
    assert [graph.nodes[n].shape for n in graph.outputs] == [part.shape for part in want]
    assert np.abs(found - flat).max() <= tolerance * max(1.0, np.abs(flat).max())
    assert all(node.text for node in graph.nodes if node.op != "constant")


def ops(graph: Graph) -> set[str]:
    return {node.op for node in graph.nodes}


def norm_op(b: Builder, x: str, scale: Any, bias: Any) -> str:
    return b.node("LayerNormalization", x, b.number(scale), b.number(bias), epsilon=1e-5)


def norm_written_out(b: Builder, x: str, scale: Any, bias: Any) -> str:
    axes = {"axes": [-1]} if b.opset < 18 else {}
    more = () if axes else (b.number([-1], np.int64),)
    centred = b.node("Sub", x, b.node("ReduceMean", x, *more, **axes))
    variance = b.node("ReduceMean", b.node("Pow", centred, b.number(2.0)), *more, **axes)
    width = b.node("Sqrt", b.node("Add", variance, b.number(1e-5)))
    return b.node("Add", b.node("Mul", b.node("Div", centred, width), b.number(scale)), b.number(bias))


def sizes_as_constants(b: Builder, x: str, sizes: tuple[int, ...]) -> str:
    return b.node("Reshape", x, b.number([0, 0, *sizes], np.int64))


def sizes_from_shape(b: Builder, x: str, sizes: tuple[int, ...]) -> str:
    """Shape → Gather → Unsqueeze → Concat, as exporters write `x.view(b, t, …)`."""
    shape, axes = b.node("Shape", x), b.number([0], np.int64)
    lead = [b.node("Unsqueeze", b.node("Gather", shape, b.number(k, np.int64)), axes) for k in (0, 1)]
    rest = [b.number([n], np.int64) for n in sizes]
    return b.node("Reshape", x, b.node("Concat", *lead, *rest, axis=0))


def mask_added(b: Builder, scores: str, tokens: int) -> str:
    return b.node("Add", scores, b.number(np.triu(np.full((tokens, tokens), -np.inf), 1)))


def mask_large(b: Builder, scores: str, tokens: int) -> str:
    return b.node("Sub", scores, b.number(np.triu(np.full((tokens, tokens), 1e9), 1)))


def mask_chosen(b: Builder, scores: str, tokens: int) -> str:
    """From a triangle of ones that is cut out of a larger one."""
    ones = b.node("Trilu", b.number(np.ones((1, 1, 9, 9))), upper=0)
    ends = (b.number([0, 0], np.int64), b.number([tokens, tokens], np.int64), b.number([2, 3], np.int64))
    hidden = b.node("Equal", b.node("Slice", ones, *ends), b.number(0.0))
    return b.node("Where", hidden, b.number(-np.inf), scores)


def mask_counted(b: Builder, scores: str, tokens: int) -> str:
    """From two ranges that are compared."""
    count = b.node("Range", *(b.number(n, np.int64) for n in (0, tokens, 1)))
    seen = b.node("LessOrEqual", count, b.node("Unsqueeze", count, b.number([1], np.int64)))
    return b.node("Where", seen, scores, b.number(-1e9))


MASKS = {"none": lambda b, s, n: s, "add": mask_added, "sub": mask_large, "where": mask_chosen, "range": mask_counted}
NORMS = {"op": norm_op, "written out": norm_written_out}
SIZES = {"constants": sizes_as_constants, "Shape": sizes_from_shape}


def block(
    mask: str = "none", norm: str = "op", sizes: str = "constants", gelu: str = "gelu of Erf", width: int = 8,
    heads: int = 4, tokens: int = 5, gain: float = 1.0,
) -> Callable[..., str]:  # fmt: skip
    """A pre-norm transformer block: attention, an MLP with GELU, two residual connections."""
    rng = np.random.default_rng(11)
    depth = width // heads

    def dense(b: Builder, x: str, n: int, m: int) -> str:
        W, bias = gain * rng.normal(size=(n, m)) / math.sqrt(n), rng.normal(size=m) / 4
        return b.node("Add", b.node("MatMul", x, b.number(W)), b.number(bias))

    def normal(b: Builder, x: str) -> str:
        return NORMS[norm](b, x, rng.uniform(0.5, 1.5, width), rng.normal(size=width) / 4)

    def build(b: Builder, x: str = "x") -> str:
        nonlocal rng
        rng = np.random.default_rng(11)  # the same weights in every type
        y = normal(b, x)
        q, k, v = (SIZES[sizes](b, dense(b, y, width, width), (heads, depth)) for _ in range(3))
        q, v = (b.node("Transpose", z, perm=[0, 2, 1, 3]) for z in (q, v))
        scores = b.node("MatMul", q, b.node("Transpose", k, perm=[0, 2, 3, 1]))
        scores = b.node("Div", scores, b.number(math.sqrt(depth)))
        weights = b.node("Softmax", MASKS[mask](b, scores, tokens), axis=-1)
        y = b.node("Transpose", b.node("MatMul", weights, v), perm=[0, 2, 1, 3])
        x = b.node("Add", x, dense(b, SIZES[sizes](b, y, (width,)), width, width))
        hidden = ACTIVATIONS[gelu][2](b, dense(b, normal(b, x), width, 2 * width))
        return b.node("Add", x, dense(b, hidden, 2 * width, width))

    return build
