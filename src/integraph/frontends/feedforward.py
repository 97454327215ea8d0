"""Whether a graph is a feedforward net, and which: its nodes are handed to the tracer one after the other.

A graph says the same however it was written, so this is the only place that knows what a net is. A graph that is none
is refused at the node where that shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.chain import scaled
from integraph.frontends.tracer import BUDGET, Operand, TracedValue, Tracer
from integraph.numbers.arrays import Floats
from integraph.targets import Network
from integraph.targets.graph import Node
from integraph.targets.graph_evaluation import compute

UNARY = ("erf", "exp", "relu", "sigmoid", "sin", "softplus", "tanh", "gelu", "gelu_tanh", "silu")
ACTIVATIONS = {name: name for name in UNARY} | {"atan": "arctan"}  # of a net, by their names in a graph
Places = Callable[[int], str]  # how a node is called in an error


def feedforward(
    nodes: Sequence[Node],
    output: int,
    source: str,
    places: Places,
    remarks: Mapping[int, str],
    *,
    rows: int = 1,
    budget: int = BUDGET,
) -> Network:
    """The net from the one input of a graph to a node.

    `remarks` become notes of the net, if it needs the node that they are about. With several `rows`, the first axis of
    the input is a batch of so many, and the net is that of one row.
    """
    recogniser = _Recogniser(nodes, Tracer(source, budget), places, rows)
    value = recogniser.run(output)
    if not isinstance(value, TracedValue):
        raise SourceError("the output does not depend on the input")
    network = recogniser.tracer.network(value)
    said = (remarks[number] for number in recogniser.values if number in remarks)
    return replace(network, notes=tuple(dict.fromkeys((*recogniser.notes, *network.notes, *said))))


class _Recogniser:
    """What each node is to the tracer; constants are arrays."""

    def __init__(self, nodes: Sequence[Node], tracer: Tracer, places: Places, rows: int) -> None:
        self.nodes, self.tracer, self.places, self.rows = nodes, tracer, places, rows
        self.values: dict[int, Operand] = {}
        self.notes: list[str] = []

    def run(self, output: int) -> Operand:
        for number in _needed(self.nodes, output):
            node, where = self.nodes[number], self.places(number)
            operands = [self.values[n] for n in node.args]
            if any(isinstance(x, TracedValue) for x in operands) or node.op == "input":
                self.values[number] = self._fitting(self._traced(number, operands, where), node.shape, where)
            else:
                self.values[number] = self._constant(node, operands, where)
        return self.values[output]

    def _constant(self, node: Node, operands: Sequence[Any], where: str) -> Floats:
        if node.data or node.op != "constant":
            self.notes.append(f"{where}: constants combined in float64")
        with np.errstate(all="ignore"):
            return np.asarray(node.value if node.op == "constant" else compute(node, operands))

    def _traced(self, number: int, x: Sequence[Operand], where: str) -> TracedValue:
        node, tracer = self.nodes[number], self.tracer
        slopes = self._slopes(node)
        if slopes is not None:
            inner, slope = slopes
            return tracer.unary("leaky_relu", self._of(inner), where, slope)
        if node.op == "mul" and (weighted := self._weighted(number, where)) is not None:
            return weighted
        rules: dict[str, Callable[[], TracedValue]] = {
            "input": lambda: self._input(node),
            "add": lambda: tracer.add(x[0], x[1], where),
            "sub": lambda: tracer.sub(x[0], x[1], where),
            "mul": lambda: tracer.mul(x[0], x[1], where),
            "div": lambda: tracer.div(x[0], x[1], where),
            "neg": lambda: tracer.neg(self._of(node.args[0]), where),
            "power": lambda: tracer.power(self._of(node.args[0]), float(node.data[0]), where),
            "leaky_relu": lambda: tracer.unary("leaky_relu", self._of(node.args[0]), where, node.data[0]),
            "matmul": lambda: self._matmul(number, 1.0, where),
            "reshape": lambda: tracer.reshape(self._of(node.args[0]), self._shape(node.shape, where), where),
            "transpose": lambda: tracer.transpose(self._of(node.args[0]), node.data, where),
        }
        if node.op in ACTIVATIONS:
            return tracer.unary(ACTIVATIONS[node.op], self._of(node.args[0]), where)
        if node.op not in rules:
            raise SourceError(f"{where} is no part of a feedforward net, which has dense layers and activations only")
        return rules[node.op]()

    def _input(self, node: Node) -> TracedValue:
        if sum(other.op == "input" for other in self.nodes) > 1:
            raise SourceError("the graph has several inputs: a network has one")
        return self.tracer.input(self._shape(node.shape, "the input"))

    def _of(self, number: int) -> TracedValue:
        value = self.values[number]
        assert isinstance(value, TracedValue)
        return value

    def _shape(self, shape: tuple[int, ...], where: str) -> tuple[int, ...]:
        """The shape of a node, for one row of the batch."""
        if self.rows == 1:
            return shape
        if shape[:1] != (self.rows,):
            raise SourceError(f"{where} moves the {self.rows} rows of the batch that the graph is written for")
        return (1, *shape[1:])

    def _fitting(self, x: TracedValue, shape: tuple[int, ...], where: str) -> TracedValue:
        if x.shape != self._shape(shape, where):
            raise SourceError(f"{where} has shape {shape}, for one row {x.shape}: the rows of a batch are not alike")
        return x

    def _slopes(self, node: Node) -> tuple[int, Floats] | None:
        """x and c, of relu(x) − c·relu(−x): a leaky ReLU with a slope for each unit is written so."""
        if node.op != "sub":
            return None
        above, below = (self.nodes[n] for n in node.args)
        if above.op != "relu" or below.op != "mul":
            return None
        inner, slope = (self.nodes[n] for n in below.args)
        if inner.op != "relu" or slope.op != "constant" or self.nodes[inner.args[0]].op != "neg":
            return None
        slopes = self.values[below.args[1]]
        same = self.nodes[inner.args[0]].args == above.args
        return (above.args[0], slopes) if same and isinstance(slopes, np.ndarray) else None

    def _weighted(self, number: int, where: str) -> TracedValue | None:
        """α·(W x) as (α·W) x, if one operator of the source says both: the factor of a Gemm is part of its weights."""
        args = self.nodes[number].args
        for other, constant in (args, args[::-1]):
            factor = self.values[constant]
            if self.nodes[other].op == "matmul" and self.places(other) == where and isinstance(factor, np.ndarray):
                return self._matmul(other, float(factor.reshape(())), where)
        return None

    def _matmul(self, number: int, factor: float, where: str) -> TracedValue:
        a, b = (self.values[n] for n in self.nodes[number].args)
        if isinstance(a, TracedValue) and isinstance(b, TracedValue):
            raise SourceError(f"{where} multiplies two computed tensors: a dense layer has weights that are constants")
        if isinstance(a, TracedValue):
            x, W, fits = a, _matrix(b, where).T, a.shape[-1:] == (a.features,)
        else:
            assert isinstance(b, TracedValue)
            x, W, fits = b, _matrix(a, where), b.shape == (*b.shape[:-2], b.features, 1)
        if not fits or W.shape[1] != x.features:
            raise SourceError(
                f"{where} multiplies shapes {a.shape} and {b.shape}: a dense layer takes all {x.features} features at "
                "once. If the first axis is a batch, save the model with a batch of 1 or any size"
            )
        if factor != 1.0:
            W, exact = scaled(factor, W)
            if not exact:
                self.notes.append(f"{where}: {factor:.9g} times its weights rounded to float64")
        shape = self._shape(self.nodes[number].shape, where)
        return self.tracer.reshape(self.tracer.dense(x, W, None, where), shape, where)


def _needed(nodes: Sequence[Node], output: int) -> list[int]:
    """The nodes that an output needs, in order."""
    needed, waiting = set(), [output]
    while waiting:
        number = waiting.pop()
        if number not in needed:
            needed.add(number)
            waiting += nodes[number].args
    return sorted(needed)


def _matrix(W: Operand, where: str) -> Floats:
    """A matrix with leading axes of size 1 dropped."""
    if any(size != 1 for size in W.shape[:-2]):
        raise SourceError(f"{where} has weights of shape {W.shape}: a dense layer has one matrix")
    assert isinstance(W, np.ndarray)
    return W.reshape(W.shape[-2:])
