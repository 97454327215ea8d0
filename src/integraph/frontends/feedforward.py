"""Whether a graph is a feedforward net, and which: its nodes are handed to the tracer one after the other.

A graph says the same however it was written, so this is the only place that knows what a net is. A graph that is none
is refused at the node where that shows.
"""

from __future__ import annotations

import math
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
from integraph.targets.graph_evaluation import STRUCTURE, compute

UNARY = ("erf", "exp", "relu", "sigmoid", "sin", "softplus", "tanh", "gelu", "gelu_tanh", "silu")
ACTIVATIONS = {name: name for name in UNARY} | {"atan": "arctan"}  # of a net, by their names in a graph
MOVES = ("transpose", "slice", "take", "broadcast")
PARTS = {"input", "add", "sub", "mul", "div", "neg", "power", "leaky_relu", "matmul", "reshape", *MOVES, *ACTIVATIONS}
SOFTMAX = (
    "; softmax is not a function of each value alone: end the model before it and compile the raw outputs, of which "
    "the largest stays the largest, or compile the whole as a graph, method='exact'"
)
Places = Callable[[int], str]  # how a node is called in an error
Scaling = tuple[int, Floats, Floats]  # factor·x + shift: the node x, and the constants


def feedforward(
    nodes: Sequence[Node],
    output: int,
    source: str,
    places: Places,
    remarks: Mapping[int, str],
    *,
    rows: int = 1,
    budget: int = BUDGET,
    scalings: Mapping[int, Scaling] | None = None,
) -> Network:
    """The net from the one input of a graph to a node.

    `remarks` become notes of the net, if it needs the node that they are about. With several `rows`, the first axis of
    the input is a batch of so many, and the net is that of one row. Nodes of `scalings` are one map each, as the source
    has them.
    """
    recogniser = _Recogniser(nodes, Tracer(source, budget), places, rows, scalings or {})
    value = recogniser.run(output)
    if not isinstance(value, TracedValue):
        raise SourceError("the output does not depend on the input")
    network = recogniser.tracer.network(value)
    said = (remarks[number] for number in recogniser.values if number in remarks)
    return replace(network, notes=tuple(dict.fromkeys((*recogniser.notes, *network.notes, *said))))


class _Recogniser:
    """What each node is to the tracer; constants are arrays."""

    def __init__(
        self, nodes: Sequence[Node], tracer: Tracer, places: Places, rows: int, scalings: Mapping[int, Scaling]
    ) -> None:
        self.nodes, self.tracer, self.places, self.rows, self.scalings = nodes, tracer, places, rows, scalings
        self.values: dict[int, Operand] = {}
        self.turned: dict[int, Floats] = {}  # weights as layers have them: one array, however often it is used
        self.notes: list[str] = []

    def run(self, output: int) -> Operand:
        needed = _needed(self.nodes, output)
        self._check(needed)
        for number in needed:
            node, where = self.nodes[number], self.places(number)
            operands = [self.values[n] for n in node.args]
            if any(isinstance(x, TracedValue) for x in operands) or node.op == "input":
                self.values[number] = self._fitting(self._traced(number, operands, where), node.shape, where)
            else:
                self.values[number] = self._constant(node, operands, where)
        return self.values[output]

    def _check(self, needed: Sequence[int]) -> None:
        """Refuse what is no net, before anything of its size is made."""
        traced: set[int] = set()
        for number in needed:
            node, where = self.nodes[number], self.places(number)
            if node.op != "input" and traced.isdisjoint(node.args):
                continue
            traced.add(number)
            if node.op not in PARTS:
                hint = SOFTMAX if node.op == "softmax" else ""
                raise SourceError(
                    f"{where} is no part of a feedforward net, which has dense layers and activations{hint}"
                )
            if node.op == "matmul":
                self._check_dense(node, traced, where)

    def _check_dense(self, node: Node, traced: set[int], where: str) -> None:
        if traced.issuperset(node.args):
            raise SourceError(f"{where} multiplies two computed tensors: a dense layer has weights that are constants")
        left = node.args[0] in traced
        shape = self._shape(self.nodes[node.args[0 if left else 1]].shape, where)
        features = math.prod(shape)
        if shape[-1:] != (features,) if left else shape[-2:] != (features, 1):
            shapes = " and ".join(str(self.nodes[n].shape) for n in node.args)
            raise SourceError(
                f"{where} multiplies shapes {shapes}: a dense layer takes all {features} features at once. If the "
                "first axis is a batch, save the model with a batch of 1 or any size"
            )

    def _constant(self, node: Node, operands: Sequence[Any], where: str) -> Floats:
        if node.data or node.op != "constant":
            self.notes.append(f"{where}: constants combined in float64")
        with np.errstate(all="ignore"):
            return np.asarray(node.value if node.op == "constant" else compute(node, operands))

    def _traced(self, number: int, x: Sequence[Any], where: str) -> TracedValue:
        node, tracer = self.nodes[number], self.tracer
        if number in self.scalings:
            source, factor, shift = self.scalings[number]
            origin = self.values[source]
            assert isinstance(origin, TracedValue)
            return tracer.scale(origin, factor, shift, where)
        match node.op:
            case "input":
                return self._input(node)
            case "add":
                return tracer.add(x[0], x[1], where)
            case "sub":
                return self._leaky(node, where) or tracer.sub(x[0], x[1], where)
            case "mul":
                return self._weighted(number, where) or tracer.mul(x[0], x[1], where)
            case "div":
                return tracer.div(x[0], x[1], where)
            case "neg":
                return tracer.neg(x[0], where)
            case "power":
                return tracer.power(x[0], float(node.data[0]), where)
            case "leaky_relu":
                return tracer.unary("leaky_relu", x[0], where, node.data[0])
            case "matmul":
                return self._matmul(number, 1.0, where)
            case "reshape":
                return tracer.reshape(x[0], self._shape(node.shape, where), where)
            case op if op in MOVES:
                return self._moved(node, x[0], where)
        return tracer.unary(ACTIVATIONS[node.op], x[0], where)

    def _input(self, node: Node) -> TracedValue:
        if sum(other.op == "input" for other in self.nodes) > 1:
            raise SourceError("the graph has several inputs: a network has one")
        return self.tracer.input(self._shape(node.shape, "the input"))

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

    def _moved(self, node: Node, x: TracedValue, where: str) -> TracedValue:
        """Features in other places, of each row alone."""
        numbers = np.arange(x.features).reshape(x.shape)
        return self.tracer.arrange(x, STRUCTURE[node.op](numbers, self._row(node, x, where)), where)

    def _row(self, node: Node, x: TracedValue, where: str) -> tuple[Any, ...]:
        """What a node does to one row of the batch."""
        if self.rows == 1:
            return node.data
        match node.op, node.data[0]:
            case "slice", (0, 1, self.rows):
                return ((0, 1, 1), *node.data[1:])
            case "transpose", 0:
                return node.data
            case "take", axis if axis:
                return node.data
            case "broadcast", shape if len(shape) == len(x.shape):
                return (self._shape(shape, where),)
        raise SourceError(f"{where} moves the {self.rows} rows of the batch that the graph is written for")

    def _leaky(self, node: Node, where: str) -> TracedValue | None:
        """relu(x) − c·relu(−x): a leaky ReLU with a slope for each unit is written so."""
        above, below = (self.nodes[n] for n in node.args)
        if above.op != "relu" or below.op != "mul":
            return None
        inner, x, slopes = self.nodes[below.args[0]], self.values[above.args[0]], self.values[below.args[1]]
        mirrored = inner.op == "relu" and self.nodes[inner.args[0]].op == "neg"
        if not mirrored or self.nodes[inner.args[0]].args != above.args or not isinstance(slopes, np.ndarray):
            return None
        assert isinstance(x, TracedValue)
        return self.tracer.unary("leaky_relu", x, where, slopes)

    def _weighted(self, number: int, where: str) -> TracedValue | None:
        """α·(W x) as (α·W) x, if one operator of the source says both: the factor of a Gemm is part of its weights."""
        args = self.nodes[number].args
        for other, constant in (args, args[::-1]):
            factor = self.values[constant]
            product = self.nodes[other].op == "matmul" and self.places(other) == where
            if product and isinstance(factor, np.ndarray) and not factor.ndim:
                return self._matmul(other, float(factor), where)
        return None

    def _matmul(self, number: int, factor: float, where: str) -> TracedValue:
        left, right = self.nodes[number].args
        a, b = self.values[left], self.values[right]
        if isinstance(a, TracedValue):
            x, W = a, self.turned.setdefault(right, _matrix(b, where).T)
        else:
            assert isinstance(b, TracedValue)
            x, W = b, _matrix(a, where)
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
