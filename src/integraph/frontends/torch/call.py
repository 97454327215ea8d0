"""One operation of torch with its arguments, as a rule sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.tensor_builder import Array, Operand, TensorBuilder, TensorValue
from integraph.numbers.arrays import Floats

DOUBLE = 2.0**-52


@dataclass(frozen=True, slots=True, eq=False)
class TorchCall:
    """One operation: its arguments by name; what depends on the input is a `TensorValue`, the rest is torch's own.
    `precision` is the distance of 1 to the next number of the type that torch computes in."""

    builder: TensorBuilder
    where: str
    args: Mapping[str, Any]
    notes: list[str]
    precision: float = DOUBLE

    def __getitem__(self, name: str) -> Any:
        return self.args.get(name)

    def operand(self, name: str) -> Operand:
        """A constant as float64; −∞ is for masks."""
        given = self.args[name]
        return given if isinstance(given, TensorValue) else self._checked(name, array(given))

    def traced(self, name: str = "self") -> TensorValue:
        """A constant as if it were computed."""
        return self.builder.lift(self.operand(name), self.where)

    def constant(self, name: str) -> Floats:
        return self._checked(name, array(self.fixed(name)))

    def fixed(self, name: str) -> Any:
        """An argument that does not depend on the input, as torch has it."""
        given = self.args[name]
        if isinstance(given, TensorValue):
            raise SourceError(f"{self.where}: {name} depends on the input, from {given.where}; it must be a constant")
        return given

    def truth(self, name: str) -> Array:
        """A constant array of truth values, or of what it holds else."""
        return np.asarray(dense(self.fixed(name)).numpy())

    def number(self, name: str, default: float) -> float:
        """One number, a constant."""
        return default if self.args.get(name) is None else float(array(self.fixed(name)).reshape(()))

    def _checked(self, name: str, numbers: Floats) -> Floats:
        good = np.isfinite(numbers) | np.isneginf(numbers)
        if not good.all():
            at = [int(n) for n in np.argwhere(~good)[0]]
            raise SourceError(f"{self.where}: entry {at} of {name} is {numbers[tuple(at)]}, it must be finite")
        return numbers

    def axes(self, rank: int, name: str = "dim") -> list[int]:
        """Axes of a tensor; all where none is named."""
        given = self.args.get(name)
        some = [given] if isinstance(given, int) else list(given or range(rank))
        return [range(max(rank, 1))[axis] for axis in some] if rank else []

    def axis(self, rank: int, name: str = "dim") -> int:
        return range(rank)[int(self.args[name])]

    def sizes(self, name: str, count: int, default: int | None = None) -> list[int]:
        """So many sizes, of which one may stand for all."""
        given = self.args.get(name)
        some = [given] if isinstance(given, int) else list(given or ())
        if not some and default is not None:
            some = [default]
        return [int(n) for n in (some * count if len(some) == 1 else some)]


def array(given: Any) -> Floats:
    """A tensor or a number of torch as float64, exactly."""
    return np.asarray(dense(given).double().numpy() if hasattr(given, "detach") else given, np.float64)


def dense(tensor: Any) -> Any:
    """The tensor without its gradient, if it holds its numbers one by one."""
    if tensor.is_complex() or tensor.is_quantized or str(tensor.layout) != "torch.strided":
        raise SourceError(f"a tensor is {tensor.dtype}, {tensor.layout}: weights are real and torch.strided")
    return tensor.detach()
