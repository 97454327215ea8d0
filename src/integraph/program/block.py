"""A block: one operation applied to many registers at once. The operation itself is defined in `gadgets/`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from integraph.errors import SpecError
from integraph.numbers.arrays import Indices, immutable, numbers
from integraph.program.plugins import GADGETS, load_layer
from integraph.program.terms import Terms
from integraph.program.views import Ref

Tensor = NDArray[Any]


class Op(ABC):
    """What `program/` must know of an operation: its roles, its rules and its terms. Gadgets are its only children."""

    name: ClassVar[str]
    targets: ClassVar[tuple[str, ...]]
    operands: ClassVar[tuple[str, ...]] = ()
    tensors: ClassVar[tuple[str, ...]] = ()  # names a block may carry
    integers: ClassVar[tuple[str, ...]] = ()  # those of them that hold indices
    additive: ClassVar[bool] = False  # only adds to its targets: other additive blocks may write them too
    restores: ClassVar[bool] = False  # its inverse flow returns to the start without loss of digits
    escapes: ClassVar[bool] = False  # from some starts its solution ends before the segment does

    def __reduce__(self) -> tuple[Any, ...]:
        return operation, (self.name,)

    @abstractmethod
    def check(self, block: Block) -> None:
        """Raise SpecError unless shapes and values fit."""

    def idle(self, block: Block) -> tuple[str, ...]:
        """Tensors that weigh nothing, whatever they hold: a block does not keep them."""
        return ()

    @abstractmethod
    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        """The terms of the targets at flat positions `lanes` of target `role`, row after row."""

    @abstractmethod
    def per_lane(self, block: Block, role: int) -> int | Indices:
        """At most so many terms for each register of target `role`: one number for all lanes, or one for each."""

    @abstractmethod
    def count(self, block: Block) -> int | None:
        """The exact number of canonical terms, or None where only lowering can tell."""

    @abstractmethod
    def derivatives(self, block: Block) -> list[tuple[str, str]]:
        """Each target and its derivative, in the letters of roles and tensors."""

    @abstractmethod
    def words(self, block: Block) -> str:
        """One sentence in the same letters: what the block does."""


_OPS: dict[str, Op] = {}


def register(op: Op) -> Op:
    """Make an operation known by name, so that files can refer to it."""
    if op.name in _OPS:
        raise SpecError(f"two operations are called {op.name!r}: rename one")
    _OPS[op.name] = op
    return op


def operation(name: str) -> Op:
    """The operation of that name."""
    load_layer(GADGETS)
    if name not in _OPS:
        raise SpecError(f"unknown operation {name!r}: known are {', '.join(sorted(_OPS))}")
    return _OPS[name]


def operations() -> Iterator[Op]:
    """All that are registered, in order."""
    load_layer(GADGETS)
    yield from _OPS.values()


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """`op` applied to `targets`, reading `operands`, with weights in `tensors` (shared arrays are stored once)."""

    op: Op
    targets: tuple[Ref, ...]
    operands: tuple[Ref, ...] = ()
    tensors: Mapping[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        op = self.op
        for what, have, need in (("targets", self.targets, op.targets), ("operands", self.operands, op.operands)):
            if len(have) != len(need):
                raise SpecError(f"{op.name} has {len(need)} {what} {need}, got {len(have)}")
        for role, ref in zip(op.targets, self.targets, strict=True):
            if ref.size == 0:
                raise SpecError(f"{op.name}: target {role!r} has shape {ref.shape}, which holds no register")
        unknown = set(self.tensors) - set(op.tensors)
        if unknown:
            raise SpecError(f"{op.name} takes the tensors {op.tensors}, not {sorted(unknown)}")
        frozen = {k: tensor(v, np.int64 if k in op.integers else np.float64) for k, v in self.tensors.items()}
        object.__setattr__(self, "tensors", MappingProxyType(frozen))
        op.check(self)
        if idle := op.idle(self):
            kept = {name: value for name, value in frozen.items() if name not in idle}
            object.__setattr__(self, "tensors", MappingProxyType(kept))

    def __reduce__(self) -> tuple[Any, ...]:
        return Block, (self.op, self.targets, self.operands, dict(self.tensors))

    def __repr__(self) -> str:
        return f"<block: {self.op.words(self)}>"

    def refs(self) -> tuple[Ref, ...]:
        return self.targets + self.operands


def tensor(array: Any, dtype: type[np.generic] = np.float64) -> Tensor:
    """A read-only array; the same object if nobody can write it any more, so that what is shared is stored once."""
    if isinstance(array, np.ndarray) and array.dtype == dtype and immutable(array):
        return array
    given = numbers(array, "a tensor", SpecError)
    if dtype is np.int64 and (given != np.floor(given)).any():
        raise SpecError(f"a tensor of indices must hold integers, got {given[given != np.floor(given)].ravel()[0]}")
    frozen = np.array(given, dtype, order="C")
    frozen.flags.writeable = False
    return frozen
