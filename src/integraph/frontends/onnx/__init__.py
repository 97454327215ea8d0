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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from integraph.errors import SourceError
from integraph.frontends.composer import Composer
from integraph.frontends.feedforward import feedforward
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
    drawing = _draw(source, max_bytes)
    try:
        return drawing.network()
    except SourceError:
        return drawing.graph()


def read_graph(source: Any, max_bytes: int = MAX_BYTES) -> Graph:
    """The graph in an ONNX file, or in an onnx.ModelProto: one input of floats, any number of outputs.

    Shapes are fixed. A first axis of the input that has no size, or the size 1, is the batch, and the graph is that of
    one row; a first axis of another size is an axis like any other, as of (tokens, width). x is the flat input, and the
    outputs are flat, one after the other.
    """
    return _draw(source, max_bytes).graph()


@dataclass(frozen=True, slots=True, eq=False)
class _Drawing:
    """A model that was read."""

    builder: TensorBuilder
    outputs: Sequence[int]
    shape: tuple[int, ...]  # of the input
    sized: bool  # whether the file says the size of its first axis
    budget: int
    notes: tuple[str, ...]

    def graph(self) -> Graph:
        batch = () if self.sized else ("the first axis of the input has no size: it is read as a batch of one",)
        graph = self.builder.composer.graph(self.outputs)
        return replace(graph, notes=tuple(dict.fromkeys((*batch, *self.notes))))

    def network(self) -> Network:
        """Of one row, where a first axis of several is a batch; else of all there is."""
        if len(self.shape) < 2 or self.shape[0] == 1:
            return self._network(1)
        try:
            network = self._network(self.shape[0])
        except SourceError as reason:
            try:
                return self._network(1)
            except SourceError:
                raise reason from None
        note = f"the first axis of the input, of size {self.shape[0]}, is read as the batch"
        return replace(network, notes=(note, *network.notes))

    def _network(self, rows: int) -> Network:
        if len(self.outputs) > 1:
            raise SourceError(f"the graph has {len(self.outputs)} outputs: a network has one")
        drawn, places = self.builder.composer, self.builder.places
        network = feedforward(
            drawn.nodes, self.outputs[0], drawn.name, places.__getitem__, drawn.remarks, rows=rows, budget=self.budget
        )
        return replace(network, notes=tuple(dict.fromkeys((*self.notes, *network.notes))))


def _draw(source: Any, max_bytes: int, one_output: bool = False) -> _Drawing:
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
    return _Drawing(builder, outputs, shape, len(dims) < 2 or dims[0].dim_value > 0, budget, tuple(walk.notes))
