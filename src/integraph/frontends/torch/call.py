"""One operation of torch with its arguments, as a rule sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.tracer import TracedValue, Tracer
from integraph.numbers.arrays import Floats


@dataclass(frozen=True, slots=True)
class TorchCall:
    """One operation: its arguments by name, tensors and numbers as they are, computed ones `Traced`."""

    tracer: Tracer
    where: str
    args: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> Any:
        return self.args.get(name)

    def operand(self, name: str) -> Any:
        """Traced as it is, anything else as an array."""
        given = self.args[name]
        return given if isinstance(given, TracedValue) else array(given)

    def traced(self, name: str = "self") -> TracedValue:
        given = self.args[name]
        if not isinstance(given, TracedValue):
            raise SourceError(f"{self.where}: {name} is a constant, only other arguments depend on the input")
        return given

    def constant(self, name: str) -> Floats:
        given = self.args[name]
        if isinstance(given, TracedValue):
            raise SourceError(
                f"{self.where}: {name} depends on the input, from {given.where}; in a feedforward net it is a constant"
            )
        return array(given)


def array(given: Any) -> Floats:
    """A tensor or a number of torch as float64, exactly."""
    return np.asarray(dense(given).double().numpy() if hasattr(given, "detach") else given, np.float64)


def dense(tensor: Any) -> Any:
    """The tensor without its gradient, if it holds its numbers one by one."""
    if tensor.is_complex() or tensor.is_quantized or str(tensor.layout) != "torch.strided":
        raise SourceError(f"a tensor is {tensor.dtype}, {tensor.layout}: weights are real and torch.strided")
    return tensor.detach()
