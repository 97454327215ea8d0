"""What is known of a clause from ranges of its quantities: that it holds, that it does not, or how far it is from
that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from integraph.numbers.arrays import Floats
from integraph.targets.property import Clause, Comparison, comparisons, fold

Truths = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """A clause with its thresholds between two float64: the largest that is not above, the smallest that is not
    below."""

    clause: Clause
    ends: dict[Fraction, tuple[float, float]]

    def holds(self, low: Floats, high: Floats) -> tuple[Truths, Truths]:
        """Where the clause surely holds, and where it surely does not, for quantities between low and high, (…, Q)."""

        def one(c: Comparison) -> tuple[Truths, Truths]:
            floor, ceiling = self.ends[c.threshold]
            a, b = low[..., c.quantity], high[..., c.quantity]
            if c.sense in (">=", "<"):
                yes, no = a >= ceiling, b < ceiling
            else:
                yes, no = a > floor, b <= floor
            return (yes, no) if c.sense in (">=", ">") else (no, yes)

        return fold(
            self.clause,
            one,
            lambda parts: (np.logical_and.reduce([p[0] for p in parts]), np.logical_or.reduce([p[1] for p in parts])),
            lambda parts: (np.logical_or.reduce([p[0] for p in parts]), np.logical_and.reduce([p[1] for p in parts])),
        )

    def margin(self, low: Floats, high: Floats) -> Floats:
        """A number that is > 0 where the clause holds and < 0 where it does not, or a lower bound of it."""

        def one(c: Comparison) -> Floats:
            threshold = self.ends[c.threshold][0]
            above = low[..., c.quantity] - threshold
            return above if c.sense in (">=", ">") else threshold - high[..., c.quantity]

        margin = fold(self.clause, one, np.minimum.reduce, np.maximum.reduce)
        return np.where(np.isnan(margin), -np.inf, margin)


def decision(clause: Clause) -> Decision:
    return Decision(clause, {c.threshold: _between(c.threshold) for c in comparisons(clause)})


def _between(value: Fraction) -> tuple[float, float]:
    try:
        near = float(value)
    except OverflowError:
        largest = float(np.finfo(float).max)
        return (largest, math.inf) if value > 0 else (-math.inf, -largest)
    if near == value:
        return near, near
    return (near, math.nextafter(near, math.inf)) if near < value else (math.nextafter(near, -math.inf), near)
