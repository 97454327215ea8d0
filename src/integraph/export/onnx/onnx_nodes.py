"""Nodes and initializers of an ONNX graph, each under a name. Needs the package onnx."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from integraph.errors import UsageError


class Nodes:
    """Constants have the batch as an axis of length 1. Equal ones are stored once."""

    def __init__(self, helper: Any, kind: type) -> None:
        self.helper, self.kind = helper, kind
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._zero = ""  # a column of 0
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

    def factor(self, name: str, value: Any, lanes: tuple[int, ...]) -> str:
        """An argument of a product with these lanes. onnxruntime would fuse a single number with a matrix product, in
        float32: it is a vector, or not constant."""
        if isinstance(value, int) or value.size > 1:
            return self.argument(value)
        axis = int(np.argmax(lanes)) if lanes else 0
        if lanes and lanes[axis] > 1:
            shape = [lanes[axis] if k == axis else 1 for k in range(len(lanes))]
            return self.constant(np.broadcast_to(value, shape)[None])
        column = self.repeated(name, value.reshape(1))
        return self.node("Reshape", column, self.integers([0, *lanes]), name=f"{name}_factor")

    def repeated(self, name: str, argument: Any) -> str:
        """The same for a row, a constant once for each input: its sum with 0·Σx."""
        if isinstance(argument, int):
            return f"v{argument}"
        if not self._zero:
            total = self.node("ReduceSum", "x", self.integers([1]), name="total", keepdims=1)
            self._zero = self.node("Mul", total, self.constant(np.zeros((1, 1))), name="zero")
        return self.node("Add", self.constant(argument[None]), self._zero, name=f"{name}_constant")

    def flag(self, op: str, *given: str, name: str, size: int) -> str:
        """The sum of an elementwise node of so many lanes, as a column: 0, or NaN where one of them is."""
        values = self.node(op, *given, name=name)
        row = self.node("Reshape", values, self.integers([0, size]), name=f"{name}_row")
        return self.node("ReduceSum", row, self.integers([1]), name=f"{name}_flag", keepdims=1)
