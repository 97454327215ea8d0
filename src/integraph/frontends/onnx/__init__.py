"""ONNX files → graphs and networks: opset 6 to 28, float32 and float64, weights exactly as stored, nothing executed or
fetched.

A file is read as a graph, by one table of operators; whether that is a feedforward net, `frontends.feedforward` says.
Read `loader` (bytes → model), `traversal` (node by node, from the input to the outputs), `node` (what
an operator is given), `operators` (the table), then the operators by subject: `arithmetic`, `reductions`,
`structure_operators`, `shape_operators`, `constant_operators`. They draw on `frontends.tensor_builder`, by what
`frontends.tensor_operations` has for all frameworks; `tensors` decodes what is stored.
Only this folder knows ONNX; it knows nothing of programs or constructions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from integraph.errors import SourceError
from integraph.frontends.composer import Composer
from integraph.frontends.drawn_model import DrawnModel
from integraph.frontends.onnx.loader import opened
from integraph.frontends.onnx.node import show
from integraph.frontends.onnx.traversal import NEWEST, OLDEST, UNFOLD, OnnxTraversal, checked, given
from integraph.frontends.tensor_builder import TensorBuilder
from integraph.targets import Network
from integraph.targets.graph import Graph

__all__ = ["NEWEST", "OLDEST", "read", "read_either", "read_graph"]

MAX_BYTES = 2 << 30


def read(source: Any, max_bytes: int = MAX_BYTES) -> Network:
    """The network in an ONNX file, or in an onnx.ModelProto; what is no feedforward net is refused."""
    return _draw(source, max_bytes, one_output=True).network()


def read_either(source: Any, max_bytes: int = MAX_BYTES) -> Network | Graph:
    """The network in an ONNX file, or, where it is no feedforward net, its graph."""
    return _draw(source, max_bytes).either()


def read_graph(source: Any, max_bytes: int = MAX_BYTES) -> Graph:
    """The graph in an ONNX file, or in an onnx.ModelProto: one input of floats, any number of outputs.

    Shapes are fixed. A first axis of the input that has no size, or the size 1, is the batch, and the graph is that of
    one row; a first axis of another size is an axis like any other, as of (tokens, width). x is the flat input, and the
    outputs are flat, one after the other.
    """
    return _draw(source, max_bytes).graph()


@dataclass(frozen=True, slots=True, eq=False)
class _OnnxModel(DrawnModel):
    """A model, with the shape of its input, and whether the file says the size of the first axis."""

    shape: tuple[int, ...] = ()
    sized: bool = True

    def graph(self) -> Graph:
        graph = DrawnModel.graph(self)
        batch = () if self.sized else ("the first axis of the input has no size: it is read as a batch of one",)
        return replace(graph, notes=(*batch, *graph.notes))

    def network(self, rows: int = 1) -> Network:
        """Of one row, where a first axis of several is a batch; else of all there is."""
        if len(self.shape) < 2 or self.shape[0] == 1:
            return DrawnModel.network(self)
        try:
            network = DrawnModel.network(self, self.shape[0])
        except SourceError as reason:
            try:
                return DrawnModel.network(self)
            except SourceError:
                raise reason from None
        note = f"the first axis of the input, of size {self.shape[0]}, is read as the batch"
        return replace(network, notes=(note, *network.notes))


def _draw(source: Any, max_bytes: int, one_output: bool = False) -> _OnnxModel:
    model, name, size = opened(source, max_bytes)
    shape, budget = checked(model.graph, one_output), UNFOLD + 2 * size
    builder = TensorBuilder(Composer(name), budget)
    entry = given(model.graph)[0]
    walk = OnnxTraversal(model, builder)
    values = walk.outputs(builder.input(show(entry.name), shape))
    named = [f"the output {show(output.name)}" for output in model.graph.output]
    outputs = [builder.node(value, where) for value, where in zip(values, named, strict=True)]
    for where in named:
        builder.mark(where)
    dims = entry.type.tensor_type.shape.dim
    sized = len(dims) < 2 or dims[0].dim_value > 0
    return _OnnxModel(builder, outputs, tuple(walk.notes), budget, shape=shape, sized=sized)
