"""A graph of arrays as an expression of numbers: every entry of every node is a step of a tape."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from integraph.errors import SourceError
from integraph.numbers.arrays import Indices
from integraph.targets.activations import CUBIC, ROOT_2_PI
from integraph.targets.expression import FUNCTIONS, NUMBER, VARIABLE, Expression, Tape
from integraph.targets.graph import ROWS, Graph, Node
from integraph.targets.graph_evaluation import STRUCTURE

MOST = 2_000_000  # entries of all nodes, and factors of all products
BINARY = ("add", "sub", "mul", "div", "min", "max")
MOVES = ("reshape", "broadcast", "transpose", "slice", "take")


def to_expression(graph: Graph, names: Sequence[str]) -> Expression:
    """The outputs over these variables, one for each input of the graph."""
    work = sum(node.size for node in graph.nodes) + sum(
        node.size * graph.nodes[node.args[0]].shape[-1] for node in graph.nodes if node.op == "matmul"
    )
    if work > MOST:
        raise SourceError(f"{graph.name} computes {work:,} numbers one by one: at most {MOST:,}")
    entries = _Entries(names)
    arrays: list[Indices] = []
    for node in graph.nodes:
        arrays.append(entries.of(node, [arrays[n] for n in node.args]))
    outputs = [int(step) for n in graph.outputs for step in arrays[n].ravel()]
    return entries.tape.expression(outputs, entries.source)


class _Entries:
    """Nodes as arrays of step numbers. Factors 0 and 1 of products are left out: constant matrices are mostly 0."""

    def __init__(self, names: Sequence[str]) -> None:
        self.tape = Tape(names)
        self.names = names
        self.zero, self.one = self.number(0.0), self.number(1.0)
        self.source = ""

    def number(self, value: float) -> int:
        if math.copysign(1.0, value) < 0 and value:
            return self.tape.add("neg", self.number(-value))
        whole = float(value).is_integer() and value < 1e15
        return self.tape.add(NUMBER, text=str(int(value)) if whole else repr(float(value)))

    def of(self, node: Node, args: list[Indices]) -> Indices:
        if node.op == "input":
            names = self.names[node.data[0] : node.data[0] + node.size]
            return self._array([self.tape.add(VARIABLE, text=name) for name in names], node)
        if node.op == "constant" and node.value is not None:
            return self._array([self.number(v) for v in node.value.ravel().tolist()], node)
        if node.op in MOVES:
            return np.asarray(STRUCTURE[node.op](args[0], node.data))
        if node.op == "concat":
            return np.concatenate(args, node.data[0])
        if node.op == "sum":
            rest = math.prod(node.shape)
            kept = [axis for axis in range(args[0].ndim) if axis not in {range(args[0].ndim)[a] for a in node.data[0]}]
            moved = args[0].transpose(*kept, *(axis for axis in range(args[0].ndim) if axis not in kept))
            return self._array([self.total(row) for row in moved.reshape(rest, -1).tolist()], node)
        if node.op == "matmul":
            return self._matmul(node, *args)
        if node.op in ROWS:
            return self._rows(node, args[0])
        return self._elementwise(node, args)

    def total(self, steps: Sequence[int]) -> int:
        sum_ = self.zero
        for step in steps:
            sum_ = self.add(sum_, step)
        return sum_

    def add(self, a: int, b: int) -> int:
        return b if a == self.zero else a if b == self.zero else self.tape.add("add", a, b)

    def mul(self, a: int, b: int) -> int:
        if self.zero in (a, b):
            return self.zero
        return b if a == self.one else a if b == self.one else self.tape.add("mul", a, b)

    def power(self, a: int, exponent: str) -> int:
        return self.tape.add("power", a, self.number(float(Fraction(exponent))), text=exponent)

    def _array(self, steps: list[int], node: Node) -> Indices:
        return np.array(steps, np.int64).reshape(node.shape)

    def _elementwise(self, node: Node, args: list[Indices]) -> Indices:
        where = (0, 0)
        if node.op in KINKS:
            where = len(self.source), len(self.source) + len(node.text)
            self.source += node.text
        if node.op == "power":
            return self._array([self.power(a, str(node.data[0])) for a in args[0].ravel().tolist()], node)
        if node.op in ("add", "mul"):
            rule: Callable[..., int] = self.add if node.op == "add" else self.mul
        elif node.op in ACTIVATIONS:
            rule = lambda x: ACTIVATIONS[node.op](self, x)  # noqa: E731
        elif node.op in ("relu", "leaky_relu"):
            rule = lambda x: self.tape.add("max", x, self.zero, where=where)  # noqa: E731
        elif node.op in (*BINARY, *FUNCTIONS, "neg", "variable_power"):
            op = "power" if node.op == "variable_power" else node.op
            rule = lambda *each: self.tape.add(op, *each, where=where)  # noqa: E731
        else:
            raise SourceError(f"{node.text or node.op}: {node.op} is not read as a formula")
        columns = [np.broadcast_to(a, node.shape).ravel().tolist() for a in args]
        return self._array([rule(*each) for each in zip(*columns, strict=True)], node)

    def _matmul(self, node: Node, a: Indices, b: Indices) -> Indices:
        lead = node.shape[:-2]
        left = np.broadcast_to(a, (*lead, *a.shape[-2:])).reshape(-1, *a.shape[-2:])
        right = np.broadcast_to(b, (*lead, *b.shape[-2:])).reshape(-1, *b.shape[-2:]).swapaxes(-1, -2)
        steps = []
        for rows, columns in zip(left, right, strict=True):
            for row in rows:
                for column in columns:
                    some = np.flatnonzero((row != self.zero) & (column != self.zero))
                    pairs = zip(row[some].tolist(), column[some].tolist(), strict=True)
                    steps.append(self.total([self.mul(u, v) for u, v in pairs]))
        return self._array(steps, node)

    def _rows(self, node: Node, scores: Indices) -> Indices:
        if node.value is not None:
            raise SourceError(f"{node.text or node.op}: a masked {node.op} is not read as a formula")
        steps = []
        for row in scores.reshape(-1, scores.shape[-1]).tolist():
            grown = [self.tape.add("exp", x) for x in row]
            total = self.total(grown)
            if node.op == "softmax":
                steps += [self.tape.add("div", g, total) for g in grown]
            elif node.op == "log_softmax":
                steps += [self.tape.add("sub", x, self.tape.add("ln", total)) for x in row]
            else:
                steps.append(self.tape.add("ln", total))
        return self._array(steps, node)


def _silu(e: _Entries, x: int) -> int:
    return e.mul(x, e.tape.add("sigmoid", x))


def _gelu(e: _Entries, x: int) -> int:
    half = e.mul(e.number(0.5), x)
    return e.mul(half, e.add(e.one, e.tape.add("erf", e.tape.add("div", x, e.tape.add("sqrt", e.number(2.0))))))


def _gelu_tanh(e: _Entries, x: int) -> int:
    inner = e.mul(e.number(ROOT_2_PI), e.add(x, e.mul(e.number(CUBIC), e.power(x, "3"))))
    return e.mul(e.mul(e.number(0.5), x), e.add(e.one, e.tape.add("tanh", inner)))


def _gaussian(e: _Entries, x: int) -> int:
    return e.tape.add("exp", e.tape.add("neg", e.power(x, "2")))


def _log_cosh(e: _Entries, x: int) -> int:
    """softplus(2x) − x − ln 2."""
    grown = e.tape.add("softplus", e.mul(e.number(2.0), x))
    return e.tape.add("sub", e.tape.add("sub", grown, x), e.tape.add("ln", e.number(2.0)))


KINKS = ("min", "max", "abs", "relu", "leaky_relu")
ACTIVATIONS: dict[str, Callable[[_Entries, int], int]] = {
    "silu": _silu,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "gaussian": _gaussian,
    "log_cosh": _log_cosh,
}
