"""A random ONNX graph as plain data, and the model that it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

Array = np.ndarray[Any, Any]
INPUT = "x"
MICROSOFT = "com.microsoft"
SINGLE, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE


@dataclass(frozen=True)
class Tensor:
    """A constant of the file: its type as numpy writes it, and its entries in a row."""

    dtype: str
    shape: tuple[int, ...]
    values: tuple[Any, ...]

    @property
    def array(self) -> Array:
        return np.array(self.values, self.dtype).reshape(self.shape)


def tensor(array: Any) -> Tensor:
    array = np.asarray(array)
    return Tensor(array.dtype.str[1:], array.shape, tuple(array.ravel().tolist()))


@dataclass(frozen=True)
class Node:
    """An operator; an operand that is left out has no name. A `Tensor` as an attribute is a tensor."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[tuple[str, Any], ...] = ()
    domain: str = ""


@dataclass(frozen=True)
class Case:
    """`checks` and `law` say what is looked at besides values; `seed` where."""

    opset: int
    shape: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    tensors: tuple[tuple[str, Tensor], ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    seed: int = 0
    batch: bool = False  # the first axis, of size 1, has a name instead of a size
    single: bool = False  # the file is one of float32; what it means is the same
    thorough: bool = False
    law: str = ""


def ir_version(opset: int) -> int:
    return 8 if opset < 21 else 10


def model(case: Case, shapes: dict[str, tuple[int, ...]] | None = None) -> ModelProto:
    """The ONNX model; the outputs are declared with their shapes if these are known."""
    kind = SINGLE if case.single else DOUBLE
    dims = ("N", *case.shape[1:]) if case.batch else case.shape
    graph = helper.make_graph(
        [node_proto(node, case.single) for node in case.nodes],
        "fuzz",
        [helper.make_tensor_value_info(INPUT, kind, dims)],
        [helper.make_tensor_value_info(name, kind, (shapes or {}).get(name)) for name in case.outputs],
        [numpy_helper.from_array(_held(constant, case.single), name) for name, constant in case.tensors],
    )
    opsets = [helper.make_opsetid("", case.opset)]
    if any(node.domain for node in case.nodes):
        opsets.append(helper.make_opsetid(MICROSOFT, 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version(case.opset))


def node_proto(node: Node, single: bool = False) -> NodeProto:
    made = helper.make_node(node.op, node.inputs, node.outputs, domain=node.domain)
    for name, value in node.attributes:
        if isinstance(value, Tensor):
            value = numpy_helper.from_array(_held(value, single))
        elif node.op == "Cast" and value == DOUBLE and single:
            value = SINGLE
        kind = AttributeProto.INTS if value == () else None  # an empty list does not say what it is a list of
        value = list(value) if isinstance(value, tuple) else value
        made.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    return made


def _held(constant: Tensor, single: bool) -> Array:
    return constant.array.astype(np.float32) if single and constant.dtype == "f8" else constant.array
