"""Nodes and initializers of an ONNX graph, each under a name. Needs the package onnx."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from integraph.errors import UsageError


class Nodes:
    """Constants have the batch as an axis of length 1: onnxruntime would fuse a scalar factor of a matrix product, in
    float32. Equal ones are stored once."""

    def __init__(self, helper: Any, kind: type) -> None:
        self.helper, self.kind = helper, kind
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._known: dict[tuple[Any, ...], str] = {}

    def node(self, op: str, *given: str, name: str, **attributes: Any) -> str:
        self.nodes.append(self.helper.make_node(op, list(given), [name], **attributes))
        return name

    def constant(self, value: NDArray[Any]) -> str:
        if value.dtype == np.float64:
            with np.errstate(over="ignore"):
                value, exact = value.astype(self.kind), value
            if not np.isfinite(value[np.isfinite(exact)]).all():
                raise UsageError(
                    "the program has numbers that float32 cannot hold: choose float64", argument="precision"
                )
        key = (value.shape, value.dtype.str, value.tobytes())
        if key not in self._known:
            self._known[key] = name = f"c{len(self.initializers)}"
            number = self.helper.np_dtype_to_tensor_dtype(value.dtype)
            self.initializers.append(self.helper.make_tensor(name, number, value.shape, value.tobytes(), raw=True))
        return self._known[key]

    def integers(self, value: Any) -> str:
        return self.constant(np.asarray(value, np.int64))

    def argument(self, value: Any) -> str:
        """An argument of an operation: `v7`, or a constant."""
        return f"v{value}" if isinstance(value, int) else self.constant(value[None])

    def repeated(self, name: str, argument: Any) -> str:
        """The same, a constant once for each input: its sum with 0·Σx."""
        if isinstance(argument, int):
            return f"v{argument}"
        total = self.node("ReduceSum", "x", self.integers([1]), name=f"{name}_total", keepdims=1)
        nothing = self.node("Mul", total, self.constant(np.zeros((1, 1))), name=f"{name}_zero")
        return self.node("Add", self.constant(argument[None]), nothing, name=f"{name}_constant")

    def flag(self, op: str, *given: str, name: str, size: int) -> str:
        """The sum of an elementwise node of so many lanes, as a column: 0, or NaN where one of them is."""
        values = self.node(op, *given, name=name)
        row = self.node("Reshape", values, self.integers([0, size]), name=f"{name}_row")
        return self.node("ReduceSum", row, self.integers([1]), name=f"{name}_flag", keepdims=1)
