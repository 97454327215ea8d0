"""Lemma 4's partition of unity of one variable, on balls, with the steps that are stored: z_k = a·t + b_k.

ψ_k = ½(tanh z_k − tanh z_{k+1}) with 1 before the first tanh and −1 behind the last. Whatever the offsets b_1 > b_2 > …
are, no ψ_k is negative and Σψ_k = 1, for every real t. Without cancellation, with σ(u) = 1/(1 + e^{−u}),

    ψ_k = σ(2z_k) σ(−2z_{k+1}) (1 − e^{−2(b_k − b_{k+1})}),   ψ_0 = σ(−2z_1),   ψ_N = σ(2z_N),

and with ℓ_k = ln cosh z_k the logarithms are linear,

    ln ψ_k = ln(½ sinh(b_k − b_{k+1})) − ℓ_k − ℓ_{k+1},   ln ψ_0 = −ln 2 − z_1 − ℓ_1,   ln ψ_N = −ln 2 + z_N − ℓ_N.

ψ_0 falls and ψ_N rises. The others rise to ψ_k = tanh(½(b_k − b_{k+1})), where z_k + z_{k+1} = 0, and fall from there:
their least value on an interval is at an end, and so is the largest, unless the top is inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from flint import arb

from integraph.certify.problem import Unprovable
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import FIRST, ONE, Balls, above, below, precision
from integraph.numbers.arrays import Floats


@dataclass(frozen=True, slots=True)
class BallBumps:
    """ψ_0 … ψ_N of one variable; without offsets, the one function 1."""

    slope: float
    offsets: tuple[float, ...]

    def __post_init__(self) -> None:
        falling = all(a > b for a, b in zip(self.offsets, self.offsets[1:], strict=False))
        if self.offsets and not (self.slope > 0 and falling):
            raise Unprovable("the steps of a partition of unity are not in order: its functions could be negative")

    @property
    def N(self) -> int:
        return len(self.offsets)

    def z(self, t: arb) -> Balls:
        return [arb(self.slope) * t + b for b in self.offsets]

    def gaps(self) -> Balls:
        """b_k − b_{k+1}, k = 1 … N − 1."""
        return [arb(a) - b for a, b in zip(self.offsets, self.offsets[1:], strict=False)]

    def at(self, t: arb) -> Balls:
        """ψ_0 … ψ_N at a number; of a wide ball they would be wide."""
        check_deadline()
        if not self.offsets:
            return [ONE]
        rising = [1 / (1 + (-2 * z).exp()) for z in self.z(t)]
        falling = [1 / (1 + (2 * z).exp()) for z in self.z(t)]
        inner = [-(-2 * gap).expm1() for gap in self.gaps()]
        between = [up * down * rest for up, down, rest in zip(rising, falling[1:], inner, strict=False)]
        return [falling[0], *between, rising[-1]]

    def on_pieces(self, cuts: Sequence[arb]) -> tuple[Floats, Floats]:
        """The least and the largest ψ_0 … ψ_N between one cut and the next, from below and above: (N + 1, pieces)."""
        with precision(FIRST):
            values = [self.at(cut) for cut in cuts]
            low = np.array([[below(value) for value in row] for row in values]).T
            high = np.array([[above(value) for value in row] for row in values]).T
            middles = [[a + b for a, b in pairwise(z)] for z in map(self.z, cuts)]
            sides = np.array([[int(m > 0) - int(m < 0) for m in row] for row in middles]).reshape(len(cuts), -1).T
            tops = np.array([above((gap / 2).tanh()) for gap in self.gaps()])[:, None]
        least, most = np.minimum(low[:, :-1], low[:, 1:]), np.maximum(high[:, :-1], high[:, 1:])
        beside = sides[:, :-1] * sides[:, 1:] > 0  # z_k + z_{k+1} has the same sign at both cuts
        most[1:-1] = np.where(beside, most[1:-1], np.maximum(most[1:-1], tops))
        return np.maximum(least, 0.0), np.minimum(most, 1.0)

    def wide(self, length: arb) -> bool:
        """Whether an interval has more than two cells in it, on the average."""
        return self.N > 1 and bool(length * self.slope * (self.N - 1) > 2 * (arb(self.offsets[0]) - self.offsets[-1]))

    def constants(self) -> Balls:
        """What ln ψ_0 … ln ψ_N are without t and without ℓ."""
        if not self.offsets:
            return [arb(0)]
        ln2 = arb.const_log2()
        inner = [(gap.sinh() / 2).log() for gap in self.gaps()]
        return [-ln2 - self.offsets[0], *inner, self.offsets[-1] - ln2]
