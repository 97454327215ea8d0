"""One call of a layer, as its rule sees it: operands, settings and weights, each checked when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from integraph.errors import FileError, SourceError
from integraph.frontends.feedforward import Scaling
from integraph.frontends.keras.arguments import show
from integraph.frontends.keras.configuration import LayerConfig
from integraph.frontends.keras.weights import WeightPlace, Weights
from integraph.frontends.tensor_builder import Operand, TensorBuilder, TensorValue
from integraph.numbers.arrays import Floats, immutable, numbers

FARTHEST = 1 << 31  # no size or index of a setting reaches it


@dataclass(slots=True, eq=False)
class Reading:
    """What all calls share: the graph that is drawn, the weights, and what was rounded. A layer that is called twice
    is read once."""

    builder: TensorBuilder
    weights: Weights
    notes: list[str] = field(default_factory=list)
    stored: dict[WeightPlace, list[Floats]] = field(default_factory=dict)
    scalings: dict[int, Scaling] = field(default_factory=dict)  # nodes that are maps of each value alone


@dataclass(frozen=True, slots=True, eq=False)
class LayerCall:
    """Tensors have the batch as their first axis, of size 1, so that axes are numbered as in Keras."""

    part: LayerConfig
    args: Sequence[Any]
    kwargs: dict[str, Any]
    reading: Reading

    @property
    def builder(self) -> TensorBuilder:
        return self.reading.builder

    @property
    def where(self) -> str:
        return str(self.part)

    def note(self, text: str) -> None:
        self.reading.notes.append(text)

    def operand(self, number: int = 0) -> Operand:
        """A tensor, or a constant as an array."""
        given = self.args[number] if number < len(self.args) else None
        if isinstance(given, TensorValue | np.ndarray):
            return given
        if type(given) in (int, float) or isinstance(given, list):
            return numbers(given, f"an argument of {self.where}", SourceError)
        raise SourceError(f"{self.where} is called with {show(given)} where a tensor belongs")

    def tensor(self, number: int = 0) -> TensorValue:
        """One that depends on the input, or is drawn as if it did."""
        return self.builder.lift(self.operand(number), self.where)

    def operands(self) -> list[Operand]:
        """Of a layer that takes a list of tensors, or a layer that takes one."""
        given = self.args[0] if len(self.args) == 1 and isinstance(self.args[0], list) else self.args
        if not given:
            raise FileError(f"{self.where} is called without tensors")
        return [LayerCall(self.part, given, {}, self.reading).operand(k) for k in range(len(given))]

    def get(self, key: str, default: Any = None) -> Any:
        value = self.part.config.get(key)
        return default if value is None else value

    def number(self, key: str, default: float | None = None) -> float:
        value = self.get(key, default)
        if type(value) not in (int, float):
            raise FileError(f"{key} of {self.where} is {show(value)}: needs a number")
        result = float(numbers(value, f"{key} of {self.where}", FileError))
        if not math.isfinite(result):
            raise FileError(f"{key} of {self.where} is {result}: it must be finite")
        return result

    def flag(self, key: str, default: bool) -> bool:
        value = self.get(key, default)
        if type(value) is not bool:
            raise FileError(f"{key} of {self.where} is {show(value)}: needs true or false")
        return value

    def whole(self, key: str, default: int | None = None) -> int:
        return self._whole(self.get(key, default), key)

    def wholes(self, key: str, count: int, default: int | None = None) -> list[int]:
        """As many as there are axes; one number stands for all."""
        value = self.get(key, default)
        given = value if isinstance(value, list) else [value] * count
        if len(given) != count:
            raise FileError(f"{key} of {self.where} is {show(value)}: needs {count} numbers")
        return [self._whole(part, key) for part in given]

    def choice(self, key: str, *names: str) -> str:
        """One of these, the first unless another is given."""
        value = self.get(key, names[0])
        if value not in names:
            raise SourceError(f"{key} of {self.where} is {show(value)}: known are {', '.join(names)}")
        return str(value)

    def axes(self, rank: int, default: int | None = -1, key: str = "axis") -> list[int]:
        """Axes, none of them the batch."""
        value = self.get(key, default)
        given = value if isinstance(value, list) else [value]
        return self.inner_axes([self._whole(part, key) for part in given], rank)

    def inner_axes(self, axes: Sequence[int], rank: int) -> list[int]:
        counted = [axis % rank if -rank <= axis < rank else rank for axis in axes]
        if rank in counted or len(set(counted)) < len(counted):
            raise SourceError(f"{self.where} has axis {list(axes)}: the tensor has {rank} axes")
        if 0 in counted:
            raise SourceError(f"{self.where} has axis {list(axes)}: the first one is the batch, whose rows do not meet")
        return counted

    def array(self, key: str) -> Floats:
        """Numbers of the configuration."""
        value = numbers(self.part.config.get(key), f"{key} of {self.where}", SourceError)
        return self._finite(value, key)

    def weights(self, *names: str, inner: tuple[str, str] | None = None) -> list[Floats]:
        """Variables of the layer, or of one inside, in the order in which it makes them."""
        place = self.part.place if inner is None else self.part.place.within(*inner)
        if place not in self.reading.stored:
            arrays = self.reading.weights.read(place, names)
            self.reading.stored[place] = [self._finite(a, name) for a, name in zip(arrays, names, strict=True)]
        return self.reading.stored[place]

    def fitting(self, array: Floats, shape: tuple[int, ...], what: str) -> Floats:
        """Weights, which must have this shape."""
        if array.shape != shape:
            raise FileError(f"{self.where} has {what} of shape {array.shape} in the file: it needs {shape}")
        return array

    def room(self, shape: Sequence[int]) -> None:
        """Refuse what is too large, before it is made."""
        self.builder.spend(math.prod(max(size, 0) for size in shape), self.where)

    def _whole(self, value: Any, key: str) -> int:
        if type(value) is not int or abs(value) >= FARTHEST:
            raise FileError(f"{key} of {self.where} is {show(value)}: needs a whole number below {FARTHEST}")
        return value

    def _finite(self, array: Floats, name: str) -> Floats:
        if not np.isfinite(array).all():
            at = [int(n) for n in np.argwhere(~np.isfinite(array))[0]]
            raise SourceError(f"{self.where}: {name} {at} is {array[tuple(at)]}: it is not finite")
        if not immutable(array):
            array.flags.writeable = False
        return array
