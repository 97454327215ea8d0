"""A walk over an ONNX graph, node by node, from its one input to its outputs; what they do not need is left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from integraph.errors import SourceError
from integraph.frontends.onnx.node import OnnxNode, attributes, show
from integraph.frontends.onnx.operators import DOMAINS
from integraph.frontends.onnx.tensors import decode, type_name, whole
from integraph.frontends.tensor_builder import Operand, TensorBuilder, TensorValue

OLDEST, NEWEST = 6, 28
UNFOLD = 1 << 26  # numbers that may be made besides those of the file
CONTROL = ("If", "Loop", "Scan")


class OnnxTraversal:
    """Tensors by name, constants decoded when they are asked for."""

    def __init__(self, model: Any, builder: TensorBuilder) -> None:
        self.graph = model.graph
        self.builder = builder
        self.opset = _opset(model)
        self.functions = {(f.domain, f.name) for f in model.functions}
        self.stored = {tensor.name: tensor for tensor in self.graph.initializer}
        self.notes: list[str] = []
        self.values: dict[str, Operand] = {}

    def outputs(self, start: TensorValue) -> list[Operand]:
        """The outputs of the graph, whose input is `start`."""
        self.values[given(self.graph)[0].name] = start
        for index, proto in self._needed():
            self._step(
                proto, f"node {index} {show(proto.op_type)!r}" + (f" ({show(proto.name)})" if proto.name else "")
            )
        return [self._value(output.name, "the output of the graph") for output in self.graph.output]

    def _needed(self) -> list[tuple[int, Any]]:
        """The nodes that the outputs need, in order."""
        wanted, needed = {output.name for output in self.graph.output}, []
        for index, proto in reversed(list(enumerate(self.graph.node))):
            if not wanted.isdisjoint(proto.output):
                wanted.update(filter(None, proto.input))
                needed.append((index, proto))
        self.wanted = wanted
        return needed[::-1]

    def _step(self, proto: Any, where: str) -> None:
        rules = DOMAINS.get(proto.domain)
        if (proto.domain, proto.op_type) in self.functions:
            raise SourceError(f"{where} is a function that the file defines: save the model with functions inlined")
        if rules is None or proto.op_type not in rules:
            domain = f" of domain {show(proto.domain)!r}" if proto.domain else ""
            why = " (what it computes depends on the data)" if proto.op_type in CONTROL else ""
            supported = ", ".join(sorted(DOMAINS[""]))
            raise SourceError(f"{where}{domain} is not supported{why}: supported are {supported}")
        inputs = tuple(self._value(name, where) if name else None for name in proto.input)
        options = attributes(proto, where, self.opset)
        for name in proto.output:
            if name in self.values or name in self.stored:
                raise SourceError(f"{where} writes tensor {show(name)}, which exists already")
        if proto.op_type == "BatchNormalization" and self.opset < 14 and any(proto.output[1:]):
            raise SourceError(f"{where} has {len(proto.output)} outputs, so it is in training mode: save for inference")
        text, count = show(proto.name or proto.output[0]), len(proto.output)
        node = OnnxNode(proto.op_type, where, text, self.opset, inputs, count, options, self.builder, self.notes)
        produced = rules[proto.op_type](node)
        results = produced if isinstance(produced, tuple) else (produced,)
        if not self.wanted.isdisjoint(proto.output[len(results) :]):
            raise SourceError(f"{where}: its second output is used, only the first is supported")
        self.values.update((name, value) for name, value in zip(proto.output, results, strict=False) if name)

    def _value(self, name: str, where: str) -> Operand:
        if name not in self.values:
            if name not in self.stored:
                later = any(name in proto.output for proto in self.graph.node)
                why = ", only a later one: the nodes form a cycle, or are not in order" if later else ""
                raise SourceError(f"{where} needs tensor {show(name)}, which nothing before it gives{why}")
            array = decode(self.stored[name], f"initializer {show(name)}")
            self.builder.spend(array.size, f"initializer {show(name)}")
            self.values[name] = array
        return self.values[name]


def given(graph: Any) -> list[Any]:
    """The inputs of a graph; old files list weights as inputs too."""
    stored = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in stored]


def checked(graph: Any, one_output: bool) -> tuple[int, ...]:
    """The shape of the one input, its batch axis as 1, of a graph that holds its weights."""
    if graph.sparse_initializer:
        raise SourceError(
            f"initializer {show(graph.sparse_initializer[0].values.name)} is sparse: only dense tensors are read"
        )
    if len({tensor.name for tensor in graph.initializer}) < len(graph.initializer):
        raise SourceError("two initializers have the same name: names must be unique")
    for tensor in graph.initializer:
        whole(tensor, f"initializer {show(tensor.name)}")
    inputs, outputs = given(graph), graph.output
    if len(inputs) != 1 or not outputs or (one_output and len(outputs) > 1):
        wanted = "a network has one of each" if one_output else "read are graphs of one input, with an output"
        raise SourceError(f"the graph has inputs {_list(inputs)} and outputs {_list(outputs)}: {wanted}")
    return _shape(inputs[0])


def _opset(model: Any) -> int:
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    if len(versions) != 1 or not OLDEST <= versions[0] <= NEWEST:
        said = f"opset {versions[0]}" if len(versions) == 1 else f"{len(versions)} opsets"
        raise SourceError(f"the model says {said}: opsets {OLDEST} to {NEWEST} are read")
    return int(versions[0])


def _shape(value: Any) -> tuple[int, ...]:
    name = show(value.name)
    tensor = value.type.tensor_type
    kind = type_name(tensor.elem_type)
    if not value.type.HasField("tensor_type") or kind not in ("FLOAT", "DOUBLE", "FLOAT16"):
        why = f", it holds {kind}: for token numbers, save the model from its embeddings on" if "INT" in kind else ""
        raise SourceError(f"input {name} is no tensor of floats{why}")
    if not tensor.HasField("shape"):
        raise SourceError(f"input {name} has no shape: save the model with the number of its inputs")
    sizes = [dim.dim_value if dim.HasField("dim_value") else 0 for dim in tensor.shape.dim]
    if len(sizes) > 1 and sizes[0] < 1:
        sizes[0] = 1
    if any(size < 1 for size in sizes):
        shown = ", ".join(str(size) if size > 0 else "?" for size in sizes)
        raise SourceError(f"input {name} has shape ({shown}): every axis but the first, the batch, needs a fixed size")
    return tuple(sizes)


def _list(values: Iterable[Any]) -> str:
    names = [show(value.name) for value in values]
    return f"[{', '.join(names[:4])}{', …' if len(names) > 4 else ''}]"
