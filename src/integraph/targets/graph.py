"""A computation as a graph of array operations: what formulas, ONNX files and traced Python functions have in common.

A node is an operation on earlier nodes, with the shape of its result; there is no batch axis. `graph_builder` builds
graphs.

| op | operands | data |
|---|---|---|
| input | – | where it begins in x, the flat input |
| constant | – | `value`; −∞ only where a softmax is the next to see it; `ROUNDED` if it stands for one near it |
| add, sub, mul, div, min, max | two, broadcast as in numpy | |
| neg, the names of `FUNCTIONS` and `ACTIVATIONS` | one | of leaky_relu: its slope |
| power | base | the exponent, a Fraction |
| variable_power | base > 0, exponent | |
| matmul | two, each with two axes at least | |
| sum | one | axes, which disappear |
| softmax | one, over its last axis | `value`: which entries are not −∞, or all |
| log_softmax | the same, its logarithm | the same; what is −∞ has no value, and nobody reads it |
| logsumexp | one, over its last axis, which disappears | the same |
| reshape, broadcast | one | (the new shape) |
| transpose | one | the order of axes |
| slice | one | (start, step, count) for each axis |
| take | one | axis, indices |
| concat | some | axis |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from integraph.numbers.arrays import Floats
from integraph.program.engine import batch_of
from integraph.targets.activations import NAMES
from integraph.targets.expression import FUNCTIONS
from integraph.targets.graph_evaluation import compute
from integraph.text import NAME, DistinctNames, clean, counted

BINARY = ("add", "sub", "mul", "div", "min", "max", "matmul", "variable_power")
ROWS = ("softmax", "log_softmax", "logsumexp")
MOVES = ("sum", "reshape", "broadcast", "transpose", "slice", "take", "concat", "neg", "power", *ROWS)
ACTIVATIONS = tuple(name for name in NAMES if name not in (*FUNCTIONS, "identity", "arctan"))  # that formulas lack
OPERATIONS = frozenset((*BINARY, *MOVES, *FUNCTIONS, *ACTIVATIONS))
ROUNDED = ("rounded",)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operation; `text` is its name in the source."""

    op: str
    args: tuple[int, ...]
    shape: tuple[int, ...]
    data: tuple[Any, ...] = ()
    value: np.ndarray[Any, Any] | None = None
    text: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", clean(self.text, NAME))

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Graph:
    """x is flat, and so is the result: the outputs one after the other."""

    inputs: int
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]
    name: str = "graph"
    variables: tuple[str, ...] = ()  # names of the inputs
    notes: tuple[str, ...] = ()  # what its reader rounded, matched or left out
    formula: str = ""  # the whole of it, where the graph was read from one

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", clean(self.name))
        object.__setattr__(self, "variables", tuple(map(DistinctNames(), self.variables)))
        object.__setattr__(self, "notes", tuple(map(clean, self.notes)))

    def __repr__(self) -> str:
        sizes = sum(self.nodes[n].size for n in self.outputs)
        counts = {"input": self.inputs, "node": len(self.nodes), "output": sizes}
        return f"graph {self.name}: {', '.join(counted(count, noun) for noun, count in counts.items())}"

    @property
    def sizes(self) -> int:
        """How many numbers the outputs hold."""
        return sum(self.nodes[n].size for n in self.outputs)

    def values(self, x: ArrayLike) -> Floats:
        """(B, inputs), or one point, → (B, outputs), in numpy."""
        with np.errstate(all="ignore"):
            rows = [self._one(row) for row in batch_of(x, self.inputs, "the graph")]
        return np.array(rows).reshape(len(rows), self.sizes)

    def _one(self, x: Floats) -> Floats:
        values = self.nodes_at(x)
        return np.concatenate([np.ravel(values[n]) for n in self.outputs])

    def nodes_at(self, x: Floats) -> list[Any]:
        """The value of every node at one point (inputs,)."""
        values: list[Any] = []
        for node in self.nodes:
            if node.op == "input":
                values.append(x[node.data[0] : node.data[0] + node.size].reshape(node.shape))
            else:
                values.append(compute(node, [values[n] for n in node.args]))
        return values
