"""A graph on its way: nodes so far, and what their tensors hold at a few points of the box."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuzz.onnx.case import INPUT, Array, Case, Node, Tensor, tensor
from fuzz.onnx.runtime import step

SIZE, TOTAL = 16, 60  # numbers in one tensor, and in all that depend on the input; of a few cases ten times as many
LARGE, MASKED = 1e6, -1e8


class Unfit(Exception):
    """This operator cannot be drawn here."""


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor; `samples` are what it holds at each sampled point."""

    name: str
    samples: tuple[Array, ...]
    constant: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self.samples[0].shape

    @property
    def rank(self) -> int:
        return self.samples[0].ndim

    @property
    def low(self) -> float:
        return min(float(np.min(sample)) for sample in self.samples)

    @property
    def high(self) -> float:
        return max(float(np.max(sample)) for sample in self.samples)

    @property
    def large(self) -> bool:
        """Apart from what is masked."""
        return any(bool((np.abs(np.where(s > MASKED, s, 0.0)) > LARGE).any()) for s in self.samples)


class Drawing:
    """Operators add nodes here; `values` are the tensors of floats that they may read."""

    def __init__(
        self,
        rng: np.random.Generator,
        opset: int,
        shape: tuple[int, ...],
        low: Array,
        high: Array,
        single: bool = False,
    ) -> None:
        self.rng, self.opset, self.shape, self.box, self.single = rng, opset, shape, (low, high), single
        self.tensors: dict[str, Tensor] = {}
        self.nodes: list[Node] = []
        points = (0.5 * (low + high), low + (high - low) * rng.random(len(low)), low, high)
        self.values = [Value(INPUT, tuple(point.reshape(shape) for point in points), False)]
        self.total, self.most = math.prod(shape), 10 if self.chance(0.03) else 1

    @property
    def full(self) -> bool:
        return self.total > TOTAL * self.most

    # random choices

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def integer(self, low: int, high: int) -> int:
        """Of low, …, high."""
        return int(self.rng.integers(low, high + 1))

    def one(self, things: Sequence[Any]) -> Any:
        return things[self.integer(0, len(things) - 1)]

    def pick(self, fits: Callable[[Value], bool] = lambda value: True) -> Value:
        """A tensor that depends on the input, a late one more often, and now and then a constant."""
        found = [value for value in self.values if fits(value) and (not value.constant or self.chance(0.1))]
        if not found:
            raise Unfit
        return found[max(self.integer(0, len(found) - 1), self.integer(0, len(found) - 1))]

    def axis(self, rank: int, since: int = 11) -> int:
        """A number of an axis, from some opset on also a negative one."""
        if rank < 1:
            raise Unfit
        axis = self.integer(0, rank - 1)
        return axis - rank if self.opset >= since and self.chance(0.4) else axis

    # tensors and nodes

    def constant(self, array: Any, spoken: bool = False) -> Value:
        """An initializer, or sometimes a node that holds it (`spoken`: always)."""
        array = np.asarray(array)
        if array.dtype == np.float64 and self.single:
            array = array.astype(np.float32).astype(np.float64)
        held = tensor(array)
        name = f"c{len(self.tensors)}"
        if spoken or self.chance(0.1):
            return self.emit("Constant", value=held)
        self.tensors[name] = held
        return Value(name, (array,) * len(self.values[0].samples), True)

    def integers(self, *numbers: int) -> Value:
        return self.constant(np.array(numbers, np.int64))

    def emit(self, op: str, *operands: Value | None, domain: str = "", **attributes: Any) -> Value:
        return self.several(op, *operands, count=1, domain=domain, **attributes)[0]

    def several(
        self, op: str, *operands: Value | None, count: int, domain: str = "", **attributes: Any
    ) -> tuple[Value, ...]:
        """A node with some outputs; those of floats can be read by others from now on."""
        names = tuple(f"v{len(self.nodes)}" + (f"_{k}" if count > 1 else "") for k in range(count))
        inputs = tuple("" if operand is None else operand.name for operand in operands)
        node = Node(op, inputs, names, tuple(attributes.items()), domain)
        found = [self._step(node, operands, k) for k in range(len(self.values[0].samples))]
        constant = all(operand is None or operand.constant for operand in operands)
        made = tuple(
            Value(name, tuple(results[k] for results in found), constant or op == "Shape")
            for k, name in enumerate(names)
        )
        sizes = [math.prod(value.shape) for value in made]
        large = any(value.large for value in made)
        if min(sizes) < 1 or max(sizes) > SIZE * self.most or len(made[0].shape) > 4 or (large and self.chance(0.95)):
            raise Unfit
        self.nodes.append(node)
        self.values += [value for value in made if value.samples[0].dtype == np.float64]
        self.total += 0 if constant else sum(sizes)
        return made

    def _step(self, node: Node, operands: Sequence[Value | None], k: int) -> list[Array]:
        given = [None if operand is None else operand.samples[k] for operand in operands]
        try:
            return step(node, self.opset, given)
        except ValueError:  # shapes or types that do not go together
            raise Unfit from None

    def case(self, **options: Any) -> Case:
        """The graph, with the last value that depends on the input and perhaps some others as outputs."""
        low, high = self.box
        made = [value for value in self.values[1:] if not value.constant] or self.values[:1]
        outputs = [made[-1].name]
        while self.chance(0.35):
            outputs.append(self.one(made if self.chance(0.9) else self.values).name)
        if self.chance(0.03):
            outputs.append(self.one([INPUT, *(name for name, held in self.tensors.items() if held.dtype == "f8")]))
        chosen = tuple(dict.fromkeys(outputs))
        if chosen[0] == INPUT:
            raise Unfit
        box = {"low": tuple(low.tolist()), "high": tuple(high.tolist())}
        graph = {"tensors": tuple(self.tensors.items()), "nodes": tuple(self.nodes), "outputs": chosen}
        return pruned(Case(self.opset, self.shape, **box, **graph, **options, single=self.single))


def pruned(case: Case) -> Case:
    """Without what no output needs."""
    needed, nodes = set(case.outputs), []
    for node in reversed(case.nodes):
        if not needed.isdisjoint(node.outputs):
            needed.update(node.inputs)
            nodes.append(node)
    tensors = tuple((name, held) for name, held in case.tensors if name in needed)
    return Case(**{**vars(case), "nodes": tuple(nodes[::-1]), "tensors": tensors})
