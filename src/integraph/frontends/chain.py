"""Affine maps and activations in a row, as scikit-learn and Keras store them, each checked as it comes in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.affine import Function, layers
from integraph.program.numbers import numbers
from integraph.program.views import Floats
from integraph.targets import Layer, Network
from integraph.targets.merge import Map

Step = Map | Function
LARGEST = 1 << 29  # numbers, 4 GB, in square matrices of what acts on each value alone


def dense(A: Floats, b: Floats, where: str) -> Map:
    """A z + b."""
    try:
        layer = Layer(A, b)
    except SourceError as error:
        raise SourceError(f"{where}: {error}") from None
    return layer.A, layer.b


def scaling(factor: Floats, shift: Floats, where: str) -> Map:
    """factor · z + shift, each value alone."""
    found = [numbers(given, f"factors of {where}", SourceError) for given in (factor, shift)]
    if found[0].ndim != 1 or found[0].shape != found[1].shape:
        raise SourceError(f"{where} has {found[0].shape} factors and {found[1].shape} shifts: they must agree")
    if not np.isfinite(found).all():
        raise SourceError(f"{where} has a factor or a shift that is not finite")
    return found[0], found[1]


def network(steps: Sequence[Step], inputs: int, source: str, notes: Sequence[str]) -> Network:
    """The steps as layers; a step that does not fit the one before is refused."""
    width, square = inputs, 0
    for before, step in zip([None, *steps], steps, strict=False):
        takes, gives = _sizes(step)
        if takes != width:
            raise SourceError(f"a layer takes {takes} values, but {width} come in: they must agree")
        follows = isinstance(step, Function) and isinstance(before, tuple)  # its layer is there already
        square += 0 if follows or _is_matrix(step) else width**2
        width = gives
    if square > LARGEST:
        raise SourceError(
            f"normalisations and activations that are layers of their own need up to {square} numbers: at most "
            f"{LARGEST} are accepted, put them into the weights first"
        )
    return Network(tuple(layers(steps, inputs)), source, tuple(dict.fromkeys(notes)))


def _sizes(step: Step) -> tuple[int, int]:
    """How many values go in and come out."""
    if isinstance(step, Function):
        return step.units, step.units
    A = step[0]
    return A.shape[-1], len(A)


def _is_matrix(step: Step) -> bool:
    return isinstance(step, tuple) and step[0].ndim == 2
