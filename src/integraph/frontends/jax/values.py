"""What a variable of a jaxpr stands for: an array that is known, a node of the graph, or a part.

A part has no node, only something larger has: x − max(x) is a part, softmax(x), in which the largest cancels, has one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from integraph.errors import SourceError
from integraph.targets.graph_builder import Builder

Known = np.ndarray[Any, Any]


class PartialValue(ABC):
    """`plain` is its node, if it has one after all; `moved` is the part after its entries were moved about."""

    @abstractmethod
    def plain(self, at: PrimitiveCall) -> int: ...

    @abstractmethod
    def moved(self, move: Callable[[Any], Any]) -> PartialValue: ...

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]: ...


Value = Known | int | PartialValue


@dataclass(frozen=True, slots=True)
class PrimitiveCall:
    """An equation of a jaxpr: `where` is its primitive with the user's line, `compute` what it is of known arrays."""

    build: Builder
    name: str
    params: Mapping[str, Any]
    where: str
    compute: Callable[..., list[Known]]
    largest: dict[Any, int]  # the maxima that were met, by what they are of

    def node(self, value: Value) -> int:
        if isinstance(value, PartialValue):
            return value.plain(self)
        return self.build.constant(value, self.where) if isinstance(value, np.ndarray) else value

    def shape(self, value: Value) -> tuple[int, ...]:
        return self.build.nodes[value].shape if isinstance(value, int) else value.shape

    def joint(self, *values: Value) -> tuple[int, ...]:
        return np.broadcast_shapes(*map(self.shape, values))

    def apply(self, op: str, *values: Value, data: tuple[Any, ...] = ()) -> int:
        return self.build.apply(op, *map(self.node, values), data=data, text=self.where)

    def reshape(self, x: int, shape: tuple[int, ...]) -> int:
        return x if self.shape(x) == shape else self.apply("reshape", x, data=(shape,))

    def broadcast(self, x: int, shape: tuple[int, ...]) -> int:
        return x if self.shape(x) == shape else self.apply("broadcast", x, data=(shape,))

    def spread(self, x: Value, shape: tuple[int, ...]) -> Value:
        """Any value broadcast to a shape."""
        if isinstance(x, int) or self.shape(x) == shape:
            return self.broadcast(x, shape) if isinstance(x, int) else x
        if isinstance(x, PartialValue):
            return x.moved(lambda part: self.spread(part, shape))
        return np.broadcast_to(x, shape)

    def transpose(self, x: int, order: tuple[int, ...]) -> int:
        return x if order == tuple(range(len(order))) else self.apply("transpose", x, data=order)


def uniform(value: Value) -> float | None:
    """The one number that all entries are, if they are known and equal."""
    if not isinstance(value, np.ndarray) or not value.size or not (value == value.flat[0]).all():
        return None
    return float(value.flat[0])


def same(x: Value, y: Value) -> bool:
    """Whether two values are equal wherever they are: the same node, or equal numbers up to broadcasting."""
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        return bool((x == y).all())
    return isinstance(x, int) and isinstance(y, int) and x == y


@dataclass(frozen=True, slots=True, eq=False)
class MaskComparison(PartialValue):
    """left > right and the like; a choice by it may be a maximum."""

    op: str
    left: Value
    right: Value
    where: str

    @property
    def shape(self) -> tuple[int, ...]:
        self.refuse()

    def plain(self, at: PrimitiveCall) -> int:
        self.refuse()

    def moved(self, move: Callable[[Any], Any]) -> PartialValue:
        return MaskComparison(self.op, move(self.left), move(self.right), self.where)

    def refuse(self) -> NoReturn:
        raise SourceError(
            f"{self.where}: a choice that depends on the inputs is not analytic, nor is the derivative of relu, abs or "
            "max. Read are continuous choices by one number, as jax.nn.elu; choose smoothly, as with jax.nn.sigmoid, "
            "or differentiate something smooth, as jax.nn.silu"
        )


@dataclass(frozen=True, slots=True, eq=False)
class MaskedValue(PartialValue):
    """x where the mask is true, else −∞, to which a softmax gives no weight."""

    x: int
    mask: Known
    where: str

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.mask.shape)

    def plain(self, at: PrimitiveCall) -> int:
        raise SourceError(f"{self.where}: −inf may go to a softmax only, and goes to {at.where}")

    def moved(self, move: Callable[[Any], Any]) -> PartialValue:
        return MaskedValue(move(self.x), move(self.mask), self.where)
