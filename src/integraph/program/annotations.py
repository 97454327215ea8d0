"""What a construction knows of its program besides eq. (1): where values of the source are, and a bound of the error.

What depends on the program (numbers of registers, segments and inputs) is checked by `spec`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from integraph.errors import SpecError
from integraph.numbers.arrays import Floats, numbers, real
from integraph.program.block import tensor
from integraph.program.views import Index, Ref, View
from integraph.text import NAME, clean

PARTS = ("approximation", "residue", "rounding")


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """After segment number `segment`, scale · registers + shift is the named value of the source: of a network, the
    values of layer number `layer`, counted from 1."""

    label: str
    segment: int
    ref: Ref
    scale: float = 1.0
    shift: float = 0.0
    layer: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.label, str):
            raise SpecError(f"the label of a probe is a text, got {self.label!r}")
        object.__setattr__(self, "label", clean(self.label, NAME))
        where = f"probe {self.label!r}"
        if not isinstance(self.segment, int | np.integer) or isinstance(self.segment, bool):
            raise SpecError(f"{where}: the segment is a number, counted from 0, got {self.segment!r}")
        if not isinstance(self.ref, View | Index):
            raise SpecError(f"{where}: registers are given by a view or Index(...), got {self.ref!r}")
        object.__setattr__(self, "segment", int(self.segment))
        if self.layer is not None:
            if not isinstance(self.layer, int | np.integer) or isinstance(self.layer, bool) or self.layer < 1:
                raise SpecError(f"{where}: the layer is a number, counted from 1, or None, got {self.layer!r}")
            object.__setattr__(self, "layer", int(self.layer))
        for name in ("scale", "shift"):
            value = real(getattr(self, name), f"the {name} of {where}", SpecError)
            if not math.isfinite(value):
                raise SpecError(f"{where}: the {name} must be finite, got {value}")
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """The box low ≤ x ≤ high that a program was made for, where nothing is promised of its error."""

    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        _check_box(self, "domain")

    def __reduce__(self) -> tuple[Any, ...]:
        return Domain, (self.low, self.high)


@dataclass(frozen=True, slots=True, eq=False)
class Budget:
    """A bound of |source − exact flow of the stored controls| for every x with low ≤ x ≤ high, in its three parts.

    Where the flow needs more than 53 bits, the controls are meant to as many, not as float64 stores them."""

    low: Floats
    high: Floats
    approximation: float  # of functions that no flow gives exactly
    residue: float  # what decay leaves in registers that are used again
    rounding: float  # of controls, to float64

    def __post_init__(self) -> None:
        _check_box(self, "budget")
        for name in PARTS:
            part = real(getattr(self, name), f"budget: {name}", SpecError)
            if not (math.isfinite(part) and part >= 0):
                raise SpecError(f"budget: {name} must be finite and ≥ 0, got {part}")
            object.__setattr__(self, name, part)
        if not math.isfinite(self.approximation + self.residue + self.rounding):
            raise SpecError("budget: the sum of its parts must be finite: it is larger than float64 holds")

    def __reduce__(self) -> tuple[Any, ...]:
        return Budget, (self.low, self.high, self.approximation, self.residue, self.rounding)

    @property
    def total(self) -> float:
        """The sum of the parts, rounded up."""
        parts = [self.approximation, self.residue, self.rounding]
        total = math.fsum(parts)
        return total if math.fsum([*parts, -total]) <= 0 else math.nextafter(total, math.inf)


def _check_box(box: Domain | Budget, what: str) -> None:
    """low and high become tensors of one length."""
    for name in ("low", "high"):
        array = numbers(getattr(box, name), f"{what}: {name}", SpecError)
        if not np.isfinite(array).all():
            raise SpecError(f"{what}: {name} holds {array[~np.isfinite(array)][0]}: the box must be finite")
        object.__setattr__(box, name, tensor(array))
    if box.low.ndim != 1 or box.low.shape != box.high.shape:
        raise SpecError(
            f"{what}: low has shape {box.low.shape}, high {box.high.shape}: both need one number for each input"
        )
    wrong = np.flatnonzero(box.low > box.high)
    if len(wrong):
        n = int(wrong[0])
        raise SpecError(f"{what}: input {n} has low = {box.low[n]} > high = {box.high[n]}: swap them")
