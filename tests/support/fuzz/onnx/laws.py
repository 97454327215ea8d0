"""Changes of a graph that do not change what it computes.

A law makes another model of a case, for inputs in an order that it says: x of the case is y[order] of the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from onnx import ModelProto, TensorProto, version_converter

from fuzz.onnx.case import INPUT, Array, Case, Node, Tensor, model, tensor
from fuzz.onnx.runtime import run

Nodes = list[Node]
Tensors = list[tuple[str, Tensor]]


class Idle(Exception):
    """A law has nothing to say about a case."""


@dataclass(frozen=True, eq=False)
class Changed:
    model: ModelProto
    order: Array  # of the inputs


Law = Callable[[Case, np.random.Generator], Changed]


def _same(case: Case) -> Changed:
    return Changed(model(case), np.arange(len(case.low)))


def _tensor(case: Case, rng: np.random.Generator) -> tuple[str, tuple[int, ...]]:
    """A tensor of floats that depends on the input, perhaps the input itself, and its shape."""
    values = run(case, np.array(case.low))
    depends = {INPUT}
    for node in case.nodes:
        if not depends.isdisjoint(node.inputs):
            depends.update(node.outputs)
    names = [name for name in values if name in depends and values[name].dtype == np.float64]
    name = names[int(rng.integers(len(names)))]
    return name, values[name].shape


def _detour(case: Case, name: str, nodes: Nodes, tensors: Tensors) -> Case:
    """With new nodes after a tensor, of which the last is read in its place."""
    last = nodes[-1].outputs[0]

    def new(old: str) -> str:
        return last if old == name else old

    place = next((k + 1 for k, node in enumerate(case.nodes) if name in node.outputs), 0)
    later = [replace(node, inputs=tuple(map(new, node.inputs))) for node in case.nodes[place:]]
    return replace(
        case,
        nodes=(*case.nodes[:place], *nodes, *later),
        tensors=(*case.tensors, *tensors),
        outputs=tuple(map(new, case.outputs)),
    )


def _whole(name: str, *numbers: int) -> tuple[str, Tensor]:
    return name, tensor(np.array(numbers, np.int64))


def identity(case: Case, rng: np.random.Generator) -> Changed:
    name, _ = _tensor(case, rng)
    return _same(_detour(case, name, [Node("Identity", (name,), ("l0",))], []))


def double_negation(case: Case, rng: np.random.Generator) -> Changed:
    name, _ = _tensor(case, rng)
    return _same(_detour(case, name, [Node("Neg", (name,), ("l0",)), Node("Neg", ("l0",), ("l1",))], []))


def round_trip(case: Case, rng: np.random.Generator) -> Changed:
    """Reshape to a row, or to one axis more, and back."""
    name, shape = _tensor(case, rng)
    other = (-1,) if rng.random() < 0.5 else (*shape, 1)
    nodes = [Node("Reshape", (name, "k0"), ("l0",)), Node("Reshape", ("l0", "k1"), ("l1",))]
    return _same(_detour(case, name, nodes, [_whole("k0", *other), _whole("k1", *shape)]))


def double_transpose(case: Case, rng: np.random.Generator) -> Changed:
    name, shape = _tensor(case, rng)
    order = rng.permutation(len(shape))
    there, back = tuple(order.tolist()), tuple(np.argsort(order).tolist())
    nodes = [
        Node("Transpose", (name,), ("l0",), (("perm", there),)),
        Node("Transpose", ("l0",), ("l1",), (("perm", back),)),
    ]
    return _same(_detour(case, name, nodes, []))


def padding(case: Case, rng: np.random.Generator) -> Changed:
    """Zeros before and after along an axis, and cut off again."""
    name, shape = _tensor(case, rng)
    if not shape:
        raise Idle
    axis = int(rng.integers(len(shape)))
    size = shape[axis]
    zeros = [(f"k{k}", tensor(np.zeros((*shape[:axis], k + 1, *shape[axis + 1 :])))) for k in range(2)]
    nodes = [Node("Concat", ("k0", name, "k1"), ("l0",), (("axis", axis),))]
    cuts, tensors = _slice(case, "l0", "l1", axis, 1, size + 1)
    return _same(_detour(case, name, [*nodes, cuts], [*zeros, *tensors]))


def _slice(case: Case, x: str, result: str, axis: int, start: int, end: int) -> tuple[Node, Tensors]:
    if case.opset < 10:
        return Node("Slice", (x,), (result,), (("starts", (start,)), ("ends", (end,)), ("axes", (axis,)))), []
    names = [f"{result}_{what}" for what in ("starts", "ends", "axes")]
    tensors = [_whole(name, number) for name, number in zip(names, (start, end, axis), strict=True)]
    return Node("Slice", (x, *names), (result,)), tensors


def two_products(case: Case, rng: np.random.Generator) -> Changed:
    """A MatMul as the sum of two, over a part of the inner axis each."""
    products = [node for node in case.nodes if node.op == "MatMul"]
    if not products:
        raise Idle
    node = products[int(rng.integers(len(products)))]
    a, b = (run(case, np.array(case.low))[name] for name in node.inputs)
    if a.shape[-1] < 2:
        raise Idle
    cut, size = int(rng.integers(1, a.shape[-1])), a.shape[-1]
    nodes, tensors = [], []
    for part, (start, end) in enumerate(((0, cut), (cut, size))):
        for side, axis in enumerate((a.ndim - 1, max(b.ndim - 2, 0))):
            one, more = _slice(case, node.inputs[side], f"l{part}{side}", axis, start, end)
            nodes, tensors = [*nodes, one], [*tensors, *more]
        nodes.append(Node("MatMul", (f"l{part}0", f"l{part}1"), (f"l{part}",)))
    nodes.append(Node("Add", ("l0", "l1"), node.outputs))
    place = case.nodes.index(node)
    changed = (*case.nodes[:place], *nodes, *case.nodes[place + 1 :])
    return _same(replace(case, nodes=changed, tensors=(*case.tensors, *tensors)))


def permuted_inputs(case: Case, rng: np.random.Generator) -> Changed:
    order = rng.permutation(len(case.low))
    nodes = [
        Node("Reshape", (INPUT, "k0"), ("l0",)),
        Node("Gather", ("l0", "k1"), ("l1",)),
        Node("Reshape", ("l1", "k2"), ("l2",)),
    ]
    tensors = [_whole("k0", -1), _whole("k1", *order.tolist()), _whole("k2", *case.shape)]
    return Changed(model(_detour(case, INPUT, nodes, tensors)), order)


def next_opset(case: Case, rng: np.random.Generator) -> Changed:
    """As onnx's own converter writes it; it cannot do everything, and needs the shapes of what it converts."""
    made = model(case)
    if case.batch or any(node.domain for node in case.nodes):
        raise Idle
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    try:
        return Changed(version_converter.convert_version(made, case.opset + 1), np.arange(len(case.low)))
    except Exception:  # whatever it cannot convert
        raise Idle from None


LAWS: dict[str, Law] = {
    "identity": identity,
    "double negation": double_negation,
    "round trip": round_trip,
    "double transpose": double_transpose,
    "padding": padding,
    "two products": two_products,
    "permuted inputs": permuted_inputs,
    "next opset": next_opset,
}
