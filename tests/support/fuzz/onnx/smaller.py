"""Simpler graphs: fewer outputs and nodes, smaller shapes, rounder constants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fuzz.onnx.case import INPUT, Array, Case, Node, tensor
from fuzz.onnx.drawing import pruned
from fuzz.onnx.runtime import run


def smaller(case: Case) -> Iterator[Case]:
    """The most drastic first. Shapes are not followed: a graph that does not run is for the caller to drop."""
    yield from _fewer_checks(case)
    yield from _fewer_outputs(case)
    values = _middle(case)
    yield from _earlier_outputs(case, values)
    yield from _constants_for_nodes(case, values)
    yield from _operands_for_nodes(case, values)
    yield from _input_for_nodes(case, values)
    yield from _thinner(case)
    yield from _fewer_attributes(case)
    yield from _rounder(case)
    yield from _plainer_box(case)


def _middle(case: Case) -> dict[str, Array]:
    x = 0.5 * (np.array(case.low) + np.array(case.high))
    return run(case, x)


def _fewer_checks(case: Case) -> Iterator[Case]:
    if case.thorough:
        yield replace(case, thorough=False)
    if case.law:
        yield replace(case, law="")
    if case.single:
        yield replace(case, single=False)
    if case.batch:
        yield replace(case, batch=False)


def _fewer_outputs(case: Case) -> Iterator[Case]:
    if len(case.outputs) > 1:
        for name in case.outputs:
            yield pruned(replace(case, outputs=(name,)))


def _earlier_outputs(case: Case, values: dict[str, Array]) -> Iterator[Case]:
    """What a node in the middle gives, in the place of an output."""
    if len(case.outputs) == 1:
        for node in case.nodes:
            for name in node.outputs:
                if name not in case.outputs and values[name].dtype == np.float64:
                    yield pruned(replace(case, outputs=(name,)))


def _operands_for_nodes(case: Case, values: dict[str, Array]) -> Iterator[Case]:
    """A node left out: those that read it read an operand of it of the same type."""
    for node in case.nodes:
        for name in dict.fromkeys(filter(None, node.inputs)):
            if values[name].dtype == values[node.outputs[0]].dtype:
                yield _renamed(case, node, name)


def _input_for_nodes(case: Case, values: dict[str, Array]) -> Iterator[Case]:
    for node in case.nodes:
        if INPUT not in node.inputs and values[node.outputs[0]].dtype == np.float64:
            yield _renamed(case, node, INPUT)


def _renamed(case: Case, gone: Node, name: str) -> Case:
    def new(old: str) -> str:
        return name if old in gone.outputs else old

    nodes = tuple(replace(node, inputs=tuple(map(new, node.inputs))) for node in case.nodes if node is not gone)
    outputs = tuple(dict.fromkeys(map(new, case.outputs)))
    made = {output for node in nodes for output in node.outputs}
    return pruned(replace(case, nodes=nodes, outputs=tuple(output for output in outputs if output in made)))


def _constants_for_nodes(case: Case, values: dict[str, Array]) -> Iterator[Case]:
    """What a node gives in the middle of the box, as a constant."""
    for node in case.nodes:
        if not set(node.outputs) & set(case.outputs) and all(np.isfinite(values[name]).all() for name in node.outputs):
            held = tuple((name, tensor(_rounded(values[name]))) for name in node.outputs)
            nodes = tuple(other for other in case.nodes if other is not node)
            yield pruned(replace(case, nodes=nodes, tensors=case.tensors + held))


def _thinner(case: Case) -> Iterator[Case]:
    """Every axis of one size shorter, in the input, in constants and where constants are sizes."""
    for old in sorted(set(case.shape) - {1}):
        for new in range(1, old):
            tensors = tuple((name, tensor(_cut(held.array, old, new))) for name, held in case.tensors)
            low, high = (_cut(np.reshape(end, case.shape), old, new) for end in (case.low, case.high))
            ends = {"low": tuple(low.ravel().tolist()), "high": tuple(high.ravel().tolist())}
            yield replace(case, shape=low.shape, tensors=tensors, **ends)


def _cut(array: Array, old: int, new: int) -> Array:
    if array.dtype == np.int64:
        return np.where(array == old, new, array)
    return array[tuple(slice(new if n == old else n) for n in array.shape)]


def _fewer_attributes(case: Case) -> Iterator[Case]:
    for k, node in enumerate(case.nodes):
        for gone in node.attributes:
            left = replace(node, attributes=tuple(pair for pair in node.attributes if pair is not gone))
            yield replace(case, nodes=(*case.nodes[:k], left, *case.nodes[k + 1 :]))


def _rounded(array: Array) -> Array:
    return np.round(array, 3) if array.dtype == np.float64 else array


def _rounder(case: Case) -> Iterator[Case]:
    for k, (name, held) in enumerate(case.tensors):
        if held.dtype != "f8":
            continue
        for array in (np.ones(held.shape), np.full(held.shape, 2.0), np.round(held.array), np.round(held.array, 1)):
            if np.isfinite(array).all() and _cost(array) < _cost(held.array):
                yield replace(case, tensors=(*case.tensors[:k], (name, tensor(array)), *case.tensors[k + 1 :]))


def _cost(array: Array) -> int:
    """How long it is in print; ones and twos are the shortest."""
    return sum(len(repr(number)) + (number not in (1.0, 2.0)) for number in array.ravel().tolist())


def _plainer_box(case: Case) -> Iterator[Case]:
    for low, high in ((0.0, 1.0), (0.5, 2.0), (-1.0, 1.0)):
        new = replace(case, low=(low,) * len(case.low), high=(high,) * len(case.high))
        if new != case and (len(set(zip(case.low, case.high, strict=True))) > 1 or (low, high) == (0.0, 1.0)):
            yield new
