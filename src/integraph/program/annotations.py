"""What a construction knows of its program besides eq. (1): where a value can be seen, and how large the error can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from integraph.program.views import Floats, Ref


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """After segment number `segment`, scale · registers + shift is the named value of the source."""

    label: str
    segment: int
    ref: Ref
    scale: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Budget:
    """A bound of |source − exact flow of the stored controls| for every x with low ≤ x ≤ high, in its three parts."""

    low: Floats
    high: Floats
    approximation: float  # of functions that no flow gives exactly
    residue: float  # of registers that were forgotten by decay
    rounding: float  # of controls, to float64

    @property
    def total(self) -> float:
        return float(np.nextafter(self.approximation + self.residue + self.rounding, np.inf))
