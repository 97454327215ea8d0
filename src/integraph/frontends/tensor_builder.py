"""The graph that is drawn while the operations of a framework are read, one after the other.

A tensor that depends on the input is a `TensorValue`. What is constant stays an array until it meets one: sizes,
indices and conditions are integers and truth values, which a graph does not have.

A mask is −∞ in the place of some scores. The node of masked scores holds anything there, and `part` tells which entries
take part. So they may be moved about before a softmax, which reads both; nothing else can. A mask that is a large
negative number is a number as any other.

A comparison of what depends on the input is kept as the tensor and the `limit` that it is above: exporters write the
threshold of a softplus so, and nothing else reads it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.composer import Composer
from integraph.frontends.tracer import MOST, TraceBudget, broadcast
from integraph.targets.graph_evaluation import STRUCTURE
from integraph.targets.graph_rows import of_rows

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class TensorValue:
    """A node of the graph; with a `limit`, whether it is above that."""

    number: int
    shape: tuple[int, ...]
    where: str
    part: Array | None = None
    limit: Array | None = None

    @property
    def seen(self) -> TensorValue:
        """What a softmax sees, `part` apart."""
        return replace(self, part=None)


Operand = TensorValue | Array

COMPARED = (
    "compares what depends on the input: what follows would be chosen by the data, and would be no analytic function"
)


class TensorBuilder(TraceBudget):
    """`text` is what the source calls the operation that is read."""

    def __init__(self, composer: Composer, budget: int) -> None:
        super().__init__(budget)
        self.composer = composer
        self.text = ""
        self.places: list[str] = []  # where each node was made

    def mark(self, where: str) -> None:
        """The nodes that are new were made here."""
        self.places += [where] * (len(self.composer.nodes) - len(self.places))

    def input(self, name: str, shape: tuple[int, ...]) -> TensorValue:
        if not 1 <= math.prod(shape) <= MOST:
            raise SourceError(f"the input has shape {shape}: a graph takes 1 to {MOST} numbers")
        number = self.composer.input(name, shape)
        self.mark("the input")
        return TensorValue(number, shape, "the input")

    def node(self, x: Operand, where: str) -> int:
        """The node that a tensor is; constants become one."""
        if isinstance(x, TensorValue):
            if x.part is not None:
                raise SourceError(f"{where} reads what {x.where} masks with −∞: only a softmax can")
            if x.limit is not None:
                raise SourceError(f"{x.where} {COMPARED}")
            return x.number
        if x.dtype.kind != "f":
            raise SourceError(f"{where} computes with constants of type {x.dtype}: they must be floats")
        if x.min(initial=0.0) == -np.inf:
            raise SourceError(f"{where} computes with −∞, a constant that is for masks alone: it is added to scores")
        return self.composer.constant(x, self.text)

    def apply(self, op: str, *operands: Operand, where: str, data: tuple[Any, ...] = ()) -> Operand:
        """An operation of the graph; of constants it is a constant."""
        if len(operands) == 2 and all(isinstance(x, np.ndarray) for x in operands):
            self.spend(_entries(op, operands[0].shape, operands[1].shape, where), where)  # before they are computed
        numbers = [self.node(x, where) for x in operands]
        try:
            number = self.composer.apply(op, *numbers, data=data, text=self.text)
        except SourceError as error:
            raise SourceError(f"{where}: {error}") from None
        return self.value(number, where)

    def value(self, number: int, where: str) -> Operand:
        node = self.composer.nodes[number]
        self.spend(node.size, where)
        if node.op == "constant" and node.value is not None and not node.data:
            return node.value
        if not node.size:
            raise SourceError(f"{where} makes an empty tensor, of shape {node.shape}")
        return TensorValue(number, node.shape, where)

    def fold(self, op: str, a: Array, b: Array, where: str) -> Operand | None:
        """An operation on constants, rounded once; none of masks."""
        return self.apply(op, a, b, where=where) if np.isfinite(a).all() and np.isfinite(b).all() else None

    def lift(self, x: Operand, where: str) -> TensorValue:
        """A constant as if it were computed; what is drawn stays."""
        return x if isinstance(x, TensorValue) else TensorValue(self.node(x, where), x.shape, where)

    def combined(self, x: TensorValue) -> Array | None:
        """The number nearest to a constant that was combined from others; None of what depends on the input."""
        node = self.composer.nodes[x.number]
        return node.value if node.op == "constant" else None

    def draw(self, op: str, *operands: Operand, where: str, data: tuple[Any, ...] = ()) -> TensorValue:
        """An operation on what is drawn, which may be a constant after all."""
        return self.lift(self.apply(op, *operands, where=where, data=data), where)

    def add(self, a: Operand, b: Operand, where: str) -> TensorValue:
        x, other = (
            (a, b) if isinstance(a, TensorValue) and (a.part is not None or not isinstance(b, TensorValue)) else (b, a)
        )
        assert isinstance(x, TensorValue)
        shape = broadcast(x.shape, other.shape, where)
        if isinstance(other, np.ndarray) and (hidden := other == -np.inf).any():
            left = np.where(hidden, 0.0, other)
            scores = self.draw("add", x.seen, left, where=where) if left.any() else self.spread(x.seen, shape, where)
            part = np.broadcast_to(~hidden & (x.part is None or x.part), shape)
            return replace(scores, where=where, part=part)
        if x.part is None:
            return self.draw("add", a, b, where=where)
        scores = self.draw("add", x.seen, other, where=where)
        return replace(scores, where=x.where, part=np.broadcast_to(x.part, shape))

    def sub(self, a: Operand, b: Operand, where: str) -> TensorValue:
        return self.add(a, -b, where) if isinstance(b, np.ndarray) else self.draw("sub", a, b, where=where)

    def mul(self, a: Operand, b: Operand, where: str) -> TensorValue:
        return self.draw("mul", a, b, where=where)

    def div(self, a: Operand, b: Operand, where: str) -> TensorValue:
        if isinstance(b, np.ndarray) and not b.all():
            raise SourceError(f"{where} divides by 0")
        return self.draw("div", a, b, where=where)

    def neg(self, a: TensorValue, where: str) -> TensorValue:
        return self.draw("neg", a, where=where)

    def unary(self, name: str, a: TensorValue, where: str, slope: Any = 0.0) -> TensorValue:
        """A function or an activation; `slope`, of leaky_relu, is a number or an array."""
        if name != "leaky_relu":
            return self.draw(name, a, where=where)
        if np.size(slope) == 1 and np.ndim(slope) <= len(a.shape):
            return self.draw(name, a, where=where, data=(float(np.reshape(slope, ())),))
        below = self.mul(self.draw("relu", self.neg(a, where), where=where), slope, where)
        return self.sub(self.draw("relu", a, where=where), below, where)

    def choose(self, first: Array, x: TensorValue, other: Operand, where: str) -> TensorValue:
        """x in the places of the condition `first`, a constant, else the other; all have one shape."""
        if isinstance(other, TensorValue):
            return self._chosen(first, x, self.mul(other, np.where(first, 0.0, 1.0), where), where)
        rest = np.where(first, 0.0, other)
        hidden = rest == -np.inf
        if x.part is None and not hidden.any():
            return self._chosen(first, x, rest, where)
        whole = (first | hidden).all()
        scores = x.seen if whole else self._chosen(first, x.seen, np.where(hidden, 0.0, rest), where)
        return replace(scores, where=where, part=np.where(first, True if x.part is None else x.part, ~hidden))

    def softplus(
        self, condition: TensorValue, above: TensorValue, below: TensorValue, where: str
    ) -> tuple[TensorValue, str]:
        """A softplus with a threshold, above which its argument is taken, as plain softplus, and what that changes."""
        assert condition.limit is not None
        numbers = (condition.number, self.node(above, where), self.node(below, where))
        note = self.composer.softplus_note(*numbers, float(condition.limit.min(initial=np.inf)), where)
        if note is None:
            raise SourceError(f"{condition.where} {COMPARED}; at {where} only softplus with its threshold is known")
        return below, note

    def _chosen(self, first: Array, x: TensorValue, rest: Operand, where: str) -> TensorValue:
        return self.draw("add", self.mul(x, np.where(first, 1.0, 0.0), where), rest, where=where)

    def spread(self, x: TensorValue, shape: tuple[int, ...], where: str) -> TensorValue:
        """Broadcast to a shape."""
        return x if x.shape == shape else self.move("broadcast", x, (shape,), where)

    def reshape(self, a: TensorValue, shape: Sequence[int], where: str) -> TensorValue:
        """The same numbers in the same order; one size may be −1."""
        try:
            wanted = np.broadcast_to(np.int8(0), math.prod(a.shape)).reshape(tuple(shape)).shape
        except (ValueError, OverflowError):
            raise SourceError(f"{where} gives shape {tuple(shape)} to a tensor of shape {a.shape}") from None
        return a if wanted == a.shape else self.move("reshape", a, (wanted,), where)

    def transpose(self, a: TensorValue, perm: Sequence[int], where: str) -> TensorValue:
        return self.move("transpose", a, tuple(perm), where)

    def move(self, op: str, x: TensorValue, data: tuple[Any, ...], where: str) -> TensorValue:
        """An operation that takes entries to other places."""
        node = self.draw(op, x.seen, where=where, data=data)
        return node if x.part is None else replace(node, where=x.where, part=STRUCTURE[op](x.part, data))

    def of_rows(self, op: str, x: TensorValue, where: str) -> TensorValue:
        """softmax, its logarithm or logsumexp over the last axis, of the entries that take part."""
        number = self.node(x.seen, where)
        if x.part is not None:
            mask = self.composer.constant(np.where(x.part, 0.0, -np.inf), self.text)
            number = self.composer.apply("add", number, mask, text=self.text)
        try:
            result = of_rows(self.composer, op, number, self.text)
        except SourceError as error:
            raise SourceError(f"{where}: {error}") from None
        return self.lift(self.value(result, where), where)


def _entries(op: str, a: tuple[int, ...], b: tuple[int, ...], where: str) -> int:
    """How many numbers an operation makes of two tensors."""
    if op == "matmul":
        return math.prod((*broadcast(a[:-2], b[:-2], where), *a[-2:-1], *b[-1:]))
    return math.prod(broadcast(a, b, where))
