"""Whether recorded arrays are equal as linear forms of what else was recorded: seen at random values, since two linear
maps that agree there are the same map."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from integraph.flow.closed_forms.operations import Operation
from integraph.flow.closed_forms.recorder import Array, Recorder, Symbol, constant

DIGITS = 1e-12  # to which constants were rounded, and sums of them


class LinearForms:
    """Values of recorded arrays where all that is not linear has random values."""

    def __init__(self, recorder: Recorder, seed: int = 0) -> None:
        self.recorder, self.random = recorder, np.random.default_rng(seed)
        self.values: dict[int, NDArray[np.float64]] = {}

    def equal(self, one: Array, other: Array, scale: Array) -> bool:
        """To the digits of numbers as large as `scale`."""
        away = np.abs(self.value(one) - self.value(other)).max(initial=0.0)
        return bool(away <= DIGITS * np.abs(self.value(scale)).max(initial=0.0))

    def quotient(self, one: Array, other: Array) -> float | None:
        """The number k for which one = k·other, if there is one: the same at other random values."""
        k = float(np.median(self.value(one) / self.value(other)))
        return k if LinearForms(self.recorder, 1).equal(one, k * other, one) else None

    def value(self, x: Array) -> NDArray[np.float64]:
        if not isinstance(x, Symbol):
            return constant(x)
        stack = [x.index]
        while stack:
            number = stack[-1]
            if number in self.values:
                stack.pop()
                continue
            own = self.recorder.operations[number]
            wanted = [a for a in own.arguments if isinstance(a, int)] if _linear(own) else []
            missing = [a for a in wanted if a not in self.values]
            stack += missing
            if not missing:
                self.values[number] = self._value(own) if _linear(own) else self.random.uniform(1.0, 2.0, own.lanes)
        return self.values[x.index]

    def _value(self, own: Operation) -> NDArray[np.float64]:
        given = [self.values[a] if isinstance(a, int) else a for a in own.arguments]
        if own.op in ELEMENTWISE:
            return np.asarray(ELEMENTWISE[own.op](*given))
        if own.op in ("reshape", "broadcast"):
            return given[0].reshape(own.lanes) if own.op == "reshape" else np.broadcast_to(given[0], own.lanes)
        if own.op == "gather":
            return np.asarray(given[0].reshape(-1)[own.indices])
        if own.op == "concatenate":
            return np.concatenate(given)
        return np.asarray(given[0].sum(-1) if own.op == "sum" else given[0] @ given[1])


ELEMENTWISE = {"add": np.add, "subtract": np.subtract, "negate": np.negative, "multiply": np.multiply}
LINEAR = {"add", "subtract", "negate", "reshape", "broadcast", "gather", "concatenate", "sum", "matmul"}


def _linear(own: Operation) -> bool:
    """Of what depends on the inputs; a multiple by a parameter is not seen as one."""
    return own.op in LINEAR or (own.op == "multiply" and any(not isinstance(a, int) for a in own.arguments))
