"""Affine maps and activations in a row, as scikit-learn and Keras store them, each checked as it comes in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.affine import ActivationLayer, layers
from integraph.numbers.arrays import Floats, numbers
from integraph.targets import Layer, Network
from integraph.targets.affine_maps import Map

Step = Map | ActivationLayer


def dense(A: Floats, b: Floats, where: str) -> Map:
    """A z + b."""
    try:
        layer = Layer(A, b)
    except SourceError as error:
        raise SourceError(f"{where}: {error}") from None
    return layer.A, layer.b


def scaling(factor: Floats, shift: Floats, where: str) -> Map:
    """factor · z + shift, each value alone."""
    factors = [numbers(given, f"factors of {where}", SourceError) for given in (factor, shift)]
    if factors[0].ndim != 1 or factors[0].shape != factors[1].shape:
        raise SourceError(f"{where} has {factors[0].shape} factors and {factors[1].shape} shifts: they must agree")
    if not np.isfinite(factors).all():
        raise SourceError(f"{where} has a factor or a shift that is not finite")
    return factors[0], factors[1]


def network(steps: Sequence[Step], inputs: int, source: str, notes: Sequence[str]) -> Network:
    """The steps as layers; a step that does not fit the one before is refused."""
    if all(isinstance(step, tuple) and step[0].ndim == 1 for step in steps):
        raise SourceError("there is no weight matrix and no activation: nothing that is a network")
    width = inputs
    for step in steps:
        takes, gives = (
            (step.units, step.units) if isinstance(step, ActivationLayer) else (step[0].shape[-1], len(step[0]))
        )
        if takes != width:
            raise SourceError(f"a layer takes {takes} values, but {width} come in: they must agree")
        width = gives
    return Network(tuple(layers(steps, inputs)), source, tuple(dict.fromkeys(notes)))
