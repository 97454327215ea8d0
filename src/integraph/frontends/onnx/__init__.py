"""ONNX files → networks or graphs: opset 6 to 28, float32 and float64, weights exactly as stored, nothing executed or
fetched.

The graph is walked node by node (`walk`), and a table (`ops`, `graph_ops`) says what each operator means. What is no
feedforward net is refused by `read` at the node where that shows; `read_graph` takes any graph of known operators.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from integraph.errors import SourceError
from integraph.frontends.onnx.graph import build_graph
from integraph.frontends.onnx.loader import opened
from integraph.frontends.onnx.network_operators import DOMAINS
from integraph.frontends.onnx.node import show
from integraph.frontends.onnx.traversal import NEWEST, OLDEST, UNFOLD, OnnxTraversal, checked
from integraph.frontends.tracer import TracedValue, Tracer
from integraph.targets import Network
from integraph.targets.graph import Graph

__all__ = ["NEWEST", "OLDEST", "read", "read_either", "read_graph"]

MAX_BYTES = 2 << 30


def read(source: Any, max_bytes: int = MAX_BYTES) -> Network:
    """The network in an ONNX file, or in an onnx.ModelProto."""
    return _read(*opened(source, max_bytes))


def read_either(source: Any, max_bytes: int = MAX_BYTES) -> Network | Graph:
    """The network in an ONNX file, or, where it is no feedforward net, its graph."""
    model, name, size = opened(source, max_bytes)
    try:
        return _read(model, name, size)
    except SourceError as reason:
        try:
            return _graph(model, name, size)
        except SourceError as other:
            raise other from reason


def _read(model: Any, name: str, size: int) -> Network:
    shape = checked(model.graph, one_output=True)
    if len(shape) < 2 or shape[0] == 1:
        return _network(model, name, size, shape)
    try:
        network = _network(model, name, size, (1, *shape[1:]), shape[0])
    except SourceError as reason:
        try:
            return _network(model, name, size, shape)
        except SourceError:
            raise reason from None
    return replace(
        network, notes=(f"the first axis of the input, of size {shape[0]}, is read as the batch", *network.notes)
    )


def read_graph(source: Any, max_bytes: int = MAX_BYTES) -> Graph:
    """The graph in an ONNX file, or in an onnx.ModelProto: one input of floats, any number of outputs.

    Shapes are fixed. A first axis of the input that has no size, or the size 1, is the batch, and the graph is that of
    one row; a first axis of another size is an axis like any other, as of (tokens, width). x is the flat input, and the
    outputs are flat, one after the other.
    """
    return _graph(*opened(source, max_bytes))


def _graph(model: Any, name: str, size: int) -> Graph:
    return build_graph(model, name, UNFOLD + 2 * size, checked(model.graph, one_output=False))


def _network(model: Any, name: str, size: int, shape: tuple[int, ...], rows: int = 1) -> Network:
    tracer = Tracer(name, UNFOLD + 2 * size, rows)
    walk = OnnxTraversal(model, tracer, DOMAINS)
    (output,) = walk.outputs(tracer.input(shape))
    if not isinstance(output, TracedValue):
        raise SourceError(f"the output {show(model.graph.output[0].name)} does not depend on the input")
    network = tracer.network(output)
    return replace(network, notes=tuple(dict.fromkeys((*walk.notes, *network.notes))))
