"""A gadget that starts slightly off: what is known before it runs, and the bounds of its end.

`starts` are the ranges of the right starts and of the right operands, by role; `off` bounds how far the actual ones are
from them. `known` are ranges of right ends that are known from elsewhere, `lost` bounds the relative error of tensors.
Starts that were computed from the actual argument follow it: `own` bounds how far they are from where they should be
for that one; of the argument itself it is how far it is from the one that they were computed from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from integraph.bounds.perturbation.activation_errors import Sizes
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval, add, intersection, mul
from integraph.numbers.roundoff import UP

Ranges = Mapping[str, Interval]


class PerturbedEnd(NamedTuple):
    """The range of a register's right end, and how far it can end from there; ∞ where nothing can be said."""

    right: Interval
    off: Floats

    @property
    def size(self) -> Floats:
        """The largest possible size."""
        return UP * (self.right.size + self.off)


@dataclass(frozen=True, slots=True, eq=False)
class PerturbedStart:
    starts: Ranges
    off: Sizes
    tensors: Mapping[str, Floats]
    known: Ranges
    lost: float = 0.0
    own: Sizes = field(default_factory=dict)

    def argument(self) -> tuple[Interval, Floats]:
        """a·x + b, and how far that is off."""
        x, off = self.starts["x"], self.off["x"]
        if "a" in self.tensors:
            x, off = mul(point(self.tensors["a"]), x), times(np.abs(self.tensors["a"]), off)
        return (add(x, point(self.tensors["b"])) if "b" in self.tensors else x), off

    def end(self, role: str, right: Interval, off: Floats) -> PerturbedEnd:
        off = np.broadcast_to(off, np.broadcast_shapes(np.shape(off), right.low.shape))
        return PerturbedEnd(self.right(role, right), np.where(off >= 0, UP * off, np.inf))

    def right(self, role: str, ideal: Interval) -> Interval:
        return intersection(ideal, self.known[role]) if role in self.known else ideal


def point(x: Floats) -> Interval:
    return Interval(x, x)


def times(x: Floats, off: Floats) -> Floats:
    """A product of bounds; 0 times anything, even ∞, is 0."""
    return np.where((x == 0) | (off == 0), 0.0, x * off)
