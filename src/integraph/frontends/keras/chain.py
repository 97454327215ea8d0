"""A Keras model while it is read: the shape of one input on its way, the steps so far, the notes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.affine import ActivationLayer
from integraph.frontends.chain import Step, dense, scaling
from integraph.frontends.keras.activation_names import Chosen
from integraph.frontends.keras.configuration import LayerConfig
from integraph.frontends.keras.weights import WeightPlace, Weights
from integraph.numbers.arrays import Floats
from integraph.targets.affine_maps import Map

Shape = tuple[int, ...]


@dataclass(slots=True, eq=False)
class Chain:
    """What has been read so far."""

    weights: Weights
    inputs: Shape | None = None
    shape: Shape | None = None
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stored: dict[WeightPlace, list[Floats]] = field(default_factory=dict)
    maps: dict[WeightPlace, Map] = field(default_factory=dict)

    @property
    def features(self) -> int:
        """How many numbers one input is."""
        return math.prod(self.inputs or ())

    def known(self, part: LayerConfig) -> Shape:
        if self.shape is None:
            raise SourceError(f"{part} comes before the shape of the input is known: start the model with keras.Input")
        return self.shape

    def read(self, part: LayerConfig, names: list[str]) -> list[Floats]:
        """Weights of a layer; one that is called twice is read once."""
        key = part.place
        if key not in self.stored:
            self.stored[key] = self.weights.read(part.place, names)
        return self.stored[key]

    def multiply(self, part: LayerConfig, A: Floats, b: Floats) -> None:
        """A z + b; a layer that is called twice is held once."""
        key = part.place
        if key not in self.maps:
            self.maps[key] = dense(A, b, str(part))
        self.steps.append(self.maps[key])

    def bend(self, part: LayerConfig, chosen: Chosen) -> None:
        name, slope = chosen
        if name != "identity":
            self.steps.append(ActivationLayer(name, slope, math.prod(self.known(part))))

    def scale(self, part: LayerConfig, factor: Floats, shift: Floats) -> None:
        """factor · z + shift over the last axis."""
        shape = self.known(part)
        try:
            flat = [np.broadcast_to(given, shape).ravel() for given in (factor, shift)]
        except ValueError:
            raise SourceError(f"{part} has {np.shape(factor)} factors for values of shape {shape}") from None
        self.steps.append(scaling(flat[0], flat[1], str(part)))
