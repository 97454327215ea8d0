"""Theorem 1 as the paper counts: N, δ and c for a tolerance, the bound they give, and the size of the ODE.

For ‖f‖_{n,∞} ≤ 1 on the unit cube; γ ∈ (0, 1) is how ε is shared between the two parts of the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from integraph.bounds.moments import FLATTEST
from integraph.bounds.paper.partition_of_unity import Partition, steepness
from integraph.errors import UsageError
from integraph.numbers.roundoff import UP

LARGEST_N = 10**7
STEP = 8  # c/N is a multiple of 1/8, so that c and c·γ_k are exact in float64


@dataclass(frozen=True, slots=True)
class PaperBound:
    """What the theorem chooses for order n in d dimensions."""

    d: int
    n: int
    N: int
    delta: float
    c: float

    @property
    def bound(self) -> float:
        """d^n/n! (2^d N^−n + ((N+1)^d − 2^d) δ(c)), with the δ that c really has."""
        inside = 2.0**self.d * float(self.N) ** -self.n
        outside = ((self.N + 1.0) ** self.d - 2.0**self.d) * Partition(self.N, self.c).delta
        return UP * _constant(self.d, self.n) * (inside + outside)


def paper(d: int, n: int, eps: float, gamma: float = 0.5) -> PaperBound:
    """N = ⌈(n!/d^n · γε/2^d)^{−1/n}⌉, δ = n!/d^n (1 − γ)ε/((N+1)^d − 2^d), c = 2N artanh(1 − 2δ), rounded up."""
    if not 0 < gamma < 1:
        raise UsageError("the share of the tolerance must be between 0 and 1", argument="gamma", value=gamma)
    constant = _constant(d, n)
    cells = (gamma * eps / (2.0**d * constant)) ** (-1.0 / n)
    if not cells <= LARGEST_N:
        raise UsageError(
            f"eps = {eps:g}, order {n}: Theorem 1 would need N = {cells:.3g} cells in each direction: ask for less"
        )
    N = max(1, math.ceil(cells))
    while constant * 2.0**d * float(N) ** -n > gamma * eps:  # the root was rounded down
        N += 1
    others = (N + 1.0) ** d - 2.0**d
    delta = min((1 - gamma) * eps / (constant * others), 0.25) if others else 0.25
    kappa = max(steepness(N, delta) / N, FLATTEST)
    c = N * math.ceil(STEP * kappa * (1 + 1e-12)) / STEP
    return PaperBound(d, n, N, delta, c)


def _constant(d: int, n: int) -> float:
    return float(d) ** n / math.factorial(n)


def width(d: int, N: int, outputs: int = 1) -> int:
    """W = 2(N + 2)d + 1, one register more for every other output."""
    return 2 * (N + 2) * d + outputs


def depth(d: int, N: int, terms: int) -> int:
    """D = 7 + 2⌈terms/((N + 2)d)⌉; the paper has M(N + 1)^d terms, its remark M(N + 2)^d."""
    return 7 + 2 * -(-terms // ((N + 2) * d))
