"""Where a Keras file keeps the weights of a layer: the two ways, seen alike.

`.keras` (model.weights.h5): groups are numbered class names, `layers/dense_1/vars/0`, whatever the layer is called;
a model inside is `layers/sequential/layers/dense/vars/0`. Variables are numbered in the order they were made.

`.h5`: groups are layer names, `model_weights/my_layer/…/my_layer/kernel`, with `:0` from tf.keras. A model inside
is one group, and its layers are told apart by the last two parts of the path.

A layer that is made of others, as attention is, keeps the weights of each in a group inside its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from integraph.errors import FileError
from integraph.frontends.keras.hdf5 import Hdf5Group
from integraph.numbers.arrays import Floats
from integraph.text import NAME, clean


@dataclass(frozen=True, slots=True)
class WeightPlace:
    """A layer, by the names of groups and by its own name and those of the models that it is in.

    `inner` is a layer inside of it: the attribute that holds it, and its name.
    """

    groups: tuple[str, ...]
    names: tuple[str, ...]
    inner: tuple[str, str] | None = None

    def __str__(self) -> str:
        return clean("/".join((*self.names, *self._inner_name)), NAME)

    @property
    def group(self) -> str:
        """Of its variables, in a `.keras` file."""
        attribute = self.inner[:1] if self.inner else ()
        return "/".join((*(f"layers/{name}" for name in self.groups), *attribute, "vars"))

    @property
    def tail(self) -> tuple[str, ...]:
        """How the path of its variables ends, in an `.h5` file."""
        return (self.names[-1], *self._inner_name)

    def within(self, attribute: str, name: str) -> WeightPlace:
        return replace(self, inner=(attribute, name))

    @property
    def _inner_name(self) -> tuple[str, ...]:
        return self.inner[1:] if self.inner else ()


class Weights(Protocol):
    """Weights of the layer at `place`, one for each of the names of its variables."""

    def read(self, place: WeightPlace, variables: Sequence[str]) -> list[Floats]: ...


@dataclass(frozen=True, slots=True, eq=False)
class NumberedWeights:
    """`.keras`."""

    root: Hdf5Group

    def read(self, place: WeightPlace, variables: Sequence[str]) -> list[Floats]:
        group = self.root.open(place.group)
        said = group and group.text("name")
        if said and said != place.tail[-1]:
            raise FileError(
                f"{self.root.name}: {place.group} belongs to layer {clean(said, NAME)!r}, not to {str(place)!r}"
            )
        arrays = [group.array(str(number)) if group else None for number in range(len(variables))]
        return [_there(array, self.root, place, name) for array, name in zip(arrays, variables, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class NamedWeights:
    """`.h5`."""

    root: Hdf5Group
    paths: dict[str, list[str]] = field(default_factory=dict)  # of data sets, for each group

    def read(self, place: WeightPlace, variables: Sequence[str]) -> list[Floats]:
        group = self.root.open(f"model_weights/{place.names[0]}")
        arrays = [self._one(group, place, name) if group else None for name in variables]
        if any(_variable(path).startswith("lora_") for path in self.paths.get(place.names[0], ())):
            raise FileError(
                f"layer {str(place)!r} has LoRA weights beside its kernel: save as .keras, which joins them"
            )
        return [_there(array, self.root, place, name) for array, name in zip(arrays, variables, strict=True)]

    def _one(self, group: Hdf5Group, place: WeightPlace, name: str) -> Floats | None:
        if place.names[0] not in self.paths:
            self.paths[place.names[0]] = group.arrays()
        paths = self.paths[place.names[0]]
        matches = [path for path in paths if _variable(path) == name]
        if len(place.names) > 1 or len(matches) > 1:
            tail = "/".join(place.tail)
            matches = [path for path in matches if f"/{path}".endswith(f"/{tail}/{path.split('/')[-1]}")]
        if len(matches) > 1:
            raise FileError(f"{self.root.name}: several weights {name!r} of layer {str(place)!r}: {matches[:4]}")
        return group.array(matches[0]) if matches else None


def _variable(path: str) -> str:
    return path.split("/")[-1].split(":")[0]


def _there(array: Floats | None, root: Hdf5Group, place: WeightPlace, name: str) -> Floats:
    if array is None:
        raise FileError(f"{root.name} has no weights {name!r} of layer {str(place)!r}: was the model built?")
    return array
