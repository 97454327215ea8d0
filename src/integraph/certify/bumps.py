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

from dataclasses import dataclass

from flint import arb

from integraph.certify.arbs import ONE, Balls, above, below
from integraph.certify.problem import Unprovable


@dataclass(frozen=True, slots=True)
class Bumps:
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
        if not self.offsets:
            return [ONE]
        rising = [1 / (1 + (-2 * z).exp()) for z in self.z(t)]
        falling = [1 / (1 + (2 * z).exp()) for z in self.z(t)]
        inner = [-(-2 * gap).expm1() for gap in self.gaps()]
        between = [up * down * rest for up, down, rest in zip(rising, falling[1:], inner, strict=False)]
        return [falling[0], *between, rising[-1]]

    def between(self, low: arb, high: arb) -> list[tuple[float, float]]:
        """Floats around ψ_0 … ψ_N on low ≤ t ≤ high, which are numbers."""
        pairs = list(zip(self.at(low), self.at(high), strict=True))
        found = [(max(min(below(p), below(q)), 0.0), min(max(above(p), above(q)), 1.0)) for p, q in pairs]
        first, last = self.z(low), self.z(high)
        for k, gap in enumerate(self.gaps(), 1):
            outside = first[k - 1] + first[k] > 0 or last[k - 1] + last[k] < 0
            if not outside:
                found[k] = found[k][0], min(above((gap / 2).tanh()), 1.0)
        return found

    def constants(self) -> Balls:
        """What ln ψ_0 … ln ψ_N are without t and without ℓ."""
        if not self.offsets:
            return [arb(0)]
        ln2 = arb.const_log2()
        inner = [(gap.sinh() / 2).log() for gap in self.gaps()]
        return [-ln2 - self.offsets[0], *inner, self.offsets[-1] - ln2]
