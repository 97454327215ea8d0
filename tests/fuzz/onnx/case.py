"""A random ONNX graph as plain data, and the model that it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, helper, numpy_helper

Array = np.ndarray[Any, Any]
INPUT = "x"
MICROSOFT = "com.microsoft"


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
    thorough: bool = False
    law: str = ""


def ir_version(opset: int) -> int:
    return 8 if opset < 21 else 10


def model(case: Case, shapes: dict[str, tuple[int, ...]] | None = None) -> ModelProto:
    """The ONNX model; the outputs are declared with their shapes if these are known."""
    dims = ("N", *case.shape[1:]) if case.batch else case.shape
    graph = helper.make_graph(
        [node_proto(node) for node in case.nodes],
        "fuzz",
        [helper.make_tensor_value_info(INPUT, helper.np_dtype_to_tensor_dtype(np.dtype("f8")), dims)],
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(np.dtype("f8")), (shapes or {}).get(name)
            )
            for name in case.outputs
        ],
        [numpy_helper.from_array(constant.array, name) for name, constant in case.tensors],
    )
    opsets = [helper.make_opsetid("", case.opset)]
    if any(node.domain for node in case.nodes):
        opsets.append(helper.make_opsetid(MICROSOFT, 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version(case.opset))


def node_proto(node: Node) -> Any:
    attributes = {
        name: numpy_helper.from_array(value.array) if isinstance(value, Tensor) else value
        for name, value in node.attributes
    }
    made = helper.make_node(node.op, node.inputs, node.outputs, domain=node.domain)
    made.attribute.extend(
        helper.make_attribute(name, list(value) if isinstance(value, tuple) else value, attr_type=_kind(value))
        for name, value in attributes.items()
    )
    return made


def _kind(value: Any) -> int | None:
    """An empty list does not say what it is a list of; ours are of integers."""
    return 7 if value == () else None
