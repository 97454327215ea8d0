"""Disturbances again: |e(t)| ≤ m(t) for the distance e of a disturbed solution from that with w in its middle.

Over a box that neither leaves, |e'| ≤ M|e| + D by the mean value theorem, with M and D from the derivatives of the
plant there. So m' = M m + D, m(0) = 0: m(h) is the last column of exp(h [[M, D], [0, 0]]), and grows with h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, arb_mat

from integraph.certify.loops.disturbance import Disturbance
from integraph.certify.loops.replay.intervals import Ends
from integraph.certify.loops.replay.polynomials import CONSTANT
from integraph.certify.loops.replay.rows import Row
from integraph.certify.loops.replay.series import Ring, Stream, Streams, held
from integraph.numbers.arb.conversion import ONE, ZERO, Balls
from integraph.targets.expression import Expression


@dataclass(frozen=True, slots=True)
class Noise:
    """What disturbances can be: |w − middle| ≤ radius, all of it in `ends`."""

    ends: list[Ends]
    middle: Balls
    radius: Balls

    def rows(self, k: int, symbols: int, wide: bool) -> list[Row]:
        """Their middle as rows; or all that they can be, anew at each time."""
        zero = [ZERO] * symbols
        sides = zip(self.middle, self.radius, strict=True)
        return [Row(k, {CONSTANT: c}, zero, rho if wide else ZERO) for c, rho in sides]


def noise_of(w: Disturbance | None) -> Noise | None:
    if w is None:
        return None
    pairs = [(arb(low), arb(high)) for low, high in zip(w.low.tolist(), w.high.tolist(), strict=True)]
    middle = [((low + high) / 2).mid() for low, high in pairs]
    radius = [(high - c).max(c - low).upper() for (low, high), c in zip(pairs, middle, strict=True)]
    return Noise([Ends(*pair) for pair in pairs], middle, radius)


def drive(ring: Ring, plant: Expression, box: Sequence[Ends], noise: Noise, states: int, h: arb) -> Balls:
    """m(h) of each state, over a box of all variables, the disturbances last."""
    slopes = [
        _slopes(ring, plant, box, axis) for axis in (*range(states), *range(len(box) - len(noise.ends), len(box)))
    ]
    table = []
    for i in range(states):
        sizes = [column[i].size() for column in slopes]
        sizes[i] = slopes[i][i].high.max(ZERO)
        pushed = sum((size * rho for size, rho in zip(sizes[states:], noise.radius, strict=True)), ZERO)
        table += [*(h * size for size in sizes[:states]), h * pushed]
    grown = arb_mat(states + 1, states + 1, [*table, *([ZERO] * (states + 1))]).exp()
    return [grown[i, states].upper() for i in range(states)]


def _slopes(ring: Ring, plant: Expression, box: Sequence[Ends], axis: int) -> list[Ends]:
    """∂f_i/∂x_axis over the box: coefficients of order 1 along the axis."""

    def moving(j: int) -> Any:
        return box[axis] if j == 0 else Ends(ONE, ONE) if j == 1 else None

    inputs = [Stream(moving) if n == axis else held(side) for n, side in enumerate(box)]
    return [stream[1] or Ends(ZERO, ZERO) for stream in Streams(ring).formula(plant, inputs)]
