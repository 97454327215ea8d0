"""ONNX files → networks: opset 6 to 28, float32 and float64, weights exactly as stored, nothing executed or fetched.

The graph is walked node by node (`ops`), from the one input to the one output; nodes that the output does not need
are left out. What is no feedforward net is refused at the node where that shows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from integraph.errors import FileError, SourceError, UsageError
from integraph.frontends.extras import need
from integraph.frontends.onnx.node import Node, attributes, show
from integraph.frontends.onnx.ops import DOMAINS
from integraph.frontends.onnx.tensors import decode, type_name, whole
from integraph.frontends.trace import Operand, Traced, Tracer
from integraph.targets import Network

OLDEST, NEWEST = 6, 28
LFS = b"version https://git-lfs"
UNFOLD = 1 << 26  # numbers that may be made besides those of the file


def read(source: Any, max_bytes: int = 2 << 30) -> Network:
    """The network in an ONNX file, or in an onnx.ModelProto."""
    onnx = need("onnx", "onnx")
    if isinstance(source, onnx.ModelProto):
        model, name = source, "an ONNX model"
    elif isinstance(source, str | os.PathLike):
        model, name = _load(source, max_bytes)
    else:
        raise UsageError(f"an ONNX model is a path or an onnx.ModelProto, got {type(source).__name__}")
    size = model.ByteSize()
    if size > max_bytes:
        raise FileError(f"{name} has {size} bytes, more than max_bytes = {max_bytes}")
    if not model.HasField("graph") or not model.graph.node:
        raise FileError(f"{name} holds no graph: it is empty, cut off, or not an ONNX model")
    shape = _shape(_checked(model.graph))
    if len(shape) < 2 or shape[0] == 1:
        return _Walk(model, name, size).network(shape)
    try:
        found = _Walk(model, name, size, shape[0]).network((1, *shape[1:]))
    except SourceError as reason:
        try:
            return _Walk(model, name, size).network(shape)
        except SourceError:
            raise reason from None
    return replace(
        found, notes=(f"the first axis of the input, of size {shape[0]}, is read as the batch", *found.notes)
    )


def _load(source: str | os.PathLike[str], max_bytes: int) -> tuple[Any, str]:
    onnx = need("onnx", "onnx")
    path = Path(source)
    if path.exists() and not path.is_file():  # a pipe would wait for ever
        raise FileError(f"{path.name} is {'a folder' if path.is_dir() else 'no regular file'}, not an ONNX file")
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(max_bytes + 1) if size <= max_bytes else b""
    except (OSError, ValueError) as reason:
        raise FileError(f"cannot open {os.fspath(source)!r}: {getattr(reason, 'strerror', None) or reason}") from None
    if size > max_bytes or len(data) > max_bytes:
        raise FileError(f"{path.name} has {max(size, len(data))} bytes, more than max_bytes = {max_bytes}")
    _recognised(data, path.name)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as reason:  # whatever the parser raises, it is the file
        raise FileError(f"{path.name} is not an ONNX model, or cut off: {reason}") from None
    return model, path.name


def _recognised(data: bytes, name: str) -> None:
    if not data:
        raise FileError(f"{name} is empty")
    if data.startswith(LFS):
        raise FileError(f"{name} is a git-lfs pointer, not the model itself: fetch it with `git lfs pull`")
    start = data[:64]
    if all(32 <= byte < 127 or byte in b"\t\r\n" for byte in start):
        raise FileError(f"{name} is a text file, it starts with {start[:24].decode()!r}: an ONNX model is binary")


def _checked(graph: Any) -> Any:
    """The one input of a graph that has one output and holds its weights."""
    if graph.sparse_initializer:
        raise SourceError(
            f"initializer {show(graph.sparse_initializer[0].values.name)} is sparse: only dense tensors are read"
        )
    stored = {tensor.name for tensor in graph.initializer}
    if len(stored) < len(graph.initializer):
        raise SourceError("two initializers have the same name: names must be unique")
    for tensor in graph.initializer:
        whole(tensor, f"initializer {show(tensor.name)}")
    given = [value for value in graph.input if value.name not in stored]  # old files list weights as inputs too
    if len(given) != 1 or len(graph.output) != 1:
        raise SourceError(
            f"the graph has inputs {_list(v.name for v in given)} and outputs "
            f"{_list(v.name for v in graph.output)}: a network has one of each"
        )
    return given[0]


class _Walk:
    """From the input to the output: tensors by name, constants decoded when they are asked for."""

    def __init__(self, model: Any, name: str, size: int, rows: int = 1) -> None:
        self.graph = model.graph
        self.opset = _opset(model)
        self.functions = {(f.domain, f.name) for f in model.functions}
        self.stored = {tensor.name: tensor for tensor in self.graph.initializer}
        self.tracer = Tracer(name, UNFOLD + 2 * size, rows)
        self.notes: list[str] = []
        self.values: dict[str, Operand] = {}

    def network(self, shape: tuple[int, ...]) -> Network:
        given = next(value.name for value in self.graph.input if value.name not in self.stored)
        self.values[given] = self.tracer.input(shape)
        for index, proto in self._needed(self.graph.output[0].name):
            self._step(
                proto, f"node {index} {show(proto.op_type)!r}" + (f" ({show(proto.name)})" if proto.name else "")
            )
        output = self._value(self.graph.output[0].name, "the output of the graph")
        if not isinstance(output, Traced):
            raise SourceError(f"the output {show(self.graph.output[0].name)} does not depend on the input")
        found = self.tracer.network(output)
        return replace(found, notes=tuple(dict.fromkeys((*self.notes, *found.notes))))

    def _needed(self, output: str) -> list[tuple[int, Any]]:
        """The nodes that the output needs, in order."""
        wanted, found = {output}, []
        for index, proto in reversed(list(enumerate(self.graph.node))):
            if not wanted.isdisjoint(proto.output):
                wanted.update(filter(None, proto.input))
                found.append((index, proto))
        self.wanted = wanted
        return found[::-1]

    def _step(self, proto: Any, where: str) -> None:
        rules = DOMAINS.get(proto.domain)
        if (proto.domain, proto.op_type) in self.functions:
            raise SourceError(f"{where} is a function that the file defines: save the model with functions inlined")
        if rules is None or proto.op_type not in rules:
            domain = f" of domain {show(proto.domain)!r}" if proto.domain else ""
            raise SourceError(f"{where}{domain} is not supported: supported are {', '.join(sorted(DOMAINS['']))}")
        inputs = tuple(self._value(name, where) if name else None for name in proto.input)
        node = Node(
            proto.op_type, where, self.opset, inputs, attributes(proto, where, self.opset), self.tracer, self.notes
        )
        for name in proto.output:
            if name in self.values or name in self.stored:
                raise SourceError(f"{where} writes tensor {show(name)}, which exists already")
        if proto.op_type == "BatchNormalization" and self.opset < 14 and any(proto.output[1:]):
            raise SourceError(f"{where} has {len(proto.output)} outputs, so it is in training mode: save for inference")
        if not self.wanted.isdisjoint(proto.output[1:]):
            raise SourceError(f"{where}: its second output is used, only the first is supported")
        self.values[proto.output[0]] = rules[proto.op_type](node)

    def _value(self, name: str, where: str) -> Operand:
        if name not in self.values:
            if name not in self.stored:
                raise SourceError(f"{where} needs tensor {show(name)}, which nothing before it gives")
            array = decode(self.stored[name], f"initializer {show(name)}")
            self.tracer.spend(array.size, f"initializer {show(name)}")
            self.values[name] = array
        return self.values[name]


def _opset(model: Any) -> int:
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    if len(versions) != 1 or not OLDEST <= versions[0] <= NEWEST:
        said = f"opset {versions[0]}" if len(versions) == 1 else f"{len(versions)} opsets"
        raise SourceError(f"the model says {said}: opsets {OLDEST} to {NEWEST} are read")
    return int(versions[0])


def _shape(value: Any) -> tuple[int, ...]:
    """The shape of the input, its batch axis as 1."""
    name = show(value.name)
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or type_name(tensor.elem_type) not in ("FLOAT", "DOUBLE", "FLOAT16"):
        raise SourceError(f"input {name} is no tensor of floats")
    if not tensor.HasField("shape"):
        raise SourceError(f"input {name} has no shape: save the model with the number of its inputs")
    sizes = [dim.dim_value if dim.HasField("dim_value") else 0 for dim in tensor.shape.dim]
    if len(sizes) > 1 and sizes[0] < 1:
        sizes[0] = 1
    if any(size < 1 for size in sizes):
        shown = ", ".join(str(size) if size > 0 else "?" for size in sizes)
        raise SourceError(f"input {name} has shape ({shown}): every axis but the first, the batch, needs a fixed size")
    return tuple(sizes)


def _list(names: Iterable[str]) -> str:
    found = [show(name) for name in names]
    return f"[{', '.join(found[:4])}{', …' if len(found) > 4 else ''}]"
