"""An ONNX model → `targets.graph.Graph`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from integraph.frontends.onnx.builder import OnnxGraphBuilder
from integraph.frontends.onnx.node import show
from integraph.frontends.onnx.operators import DOMAINS
from integraph.frontends.onnx.traversal import OnnxTraversal, given
from integraph.targets.graph import Graph


def build_graph(model: Any, name: str, budget: int, shape: tuple[int, ...]) -> Graph:
    """The graph of a model whose input has that shape."""
    drawing = OnnxGraphBuilder(name, budget)
    start = drawing.input(show(given(model.graph)[0].name), shape)
    walk = OnnxTraversal(model, drawing, DOMAINS)
    outputs = walk.outputs(start)
    names = [show(output.name) for output in model.graph.output]
    graph = drawing.builder.graph(
        drawing.node(value, f"the output {name}") for value, name in zip(outputs, names, strict=True)
    )
    sizes = given(model.graph)[0].type.tensor_type.shape.dim
    batch = ("the first axis of the input has no size: it is read as a batch of one",)
    notes = (*(batch if len(sizes) > 1 and not sizes[0].dim_value else ()), *walk.notes)
    return replace(graph, notes=tuple(dict.fromkeys(notes)))
