"""Lemma 4's partition of unity: ψ_0 … ψ_N on [0, 1], steep at the midpoints between two nodes k/N.

Printed as differences of tanh. With s = N x and κ = c/N the same functions are, without cancellation,

    ψ_k = σ(2κ(s − k + ½)) σ(−2κ(s − k − ½)) (1 − e^{−2κ}),   σ(u) = 1/(1 + e^{−u}),

without the first factor and the last for k = 0, without the second and the last for k = N. Distances are counted in
cells, s − k, so that neighbours see the same rounded s and the sum is 1 whatever c is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from integraph.errors import UsageError
from integraph.numbers.arrays import Floats, numbers, real


@dataclass(frozen=True, slots=True)
class Partition:
    """N + 1 functions of steepness c. N = 0 is the one function ψ_0 = 1."""

    N: int
    c: float

    def __post_init__(self) -> None:
        whole = isinstance(self.N, int | np.integer) and not isinstance(self.N, bool)
        c = real(self.c, "the steepness c of a partition of unity")
        if not (whole and self.N >= 0 and math.isfinite(c) and c > 0):
            raise UsageError(
                f"a partition of unity needs an integer N ≥ 0 and a finite c > 0, got N = {self.N}, c = {self.c}"
            )

    @property
    def kappa(self) -> float:
        """Steepness in units of a cell."""
        return self.c / max(self.N, 1)

    @property
    def steps(self) -> Floats:
        """γ_1 … γ_N, where one function hands over to the next."""
        result: Floats = np.arange(1.0, 2.0 * self.N, 2.0) / (2.0 * max(self.N, 1))
        return result

    def support(self, k: int) -> tuple[float, float]:
        """The approximate support S_k: outside, ψ_k ≤ δ."""
        if not 0 <= k <= self.N:
            raise UsageError(f"the functions are ψ_0 … ψ_{self.N}", argument="k", value=k)
        return (max(k - 1, 0) / max(self.N, 1), min(k + 1, self.N) / max(self.N, 1)) if self.N else (0.0, 1.0)

    @property
    def delta(self) -> float:
        """δ(c) = ½(1 − tanh(c/2N)), the largest ψ_k outside its approximate support."""
        return math.exp(-self.kappa) / (1.0 + math.exp(-self.kappa)) if self.N else 0.0

    def __call__(self, x: ArrayLike) -> Floats:
        """ψ_0(x) … ψ_N(x), shape (N + 1, …)."""
        points = numbers(x, "the points of a partition of unity")
        return self.some(points, np.arange(self.N + 1).reshape(-1, *(1,) * points.ndim))

    def some(self, x: Floats, k: NDArray[np.int64]) -> Floats:
        """ψ_k(x) for some k only; shapes broadcast."""
        distance = max(self.N, 1) * x - k
        rising = np.where(k > 0, sigmoid(2.0 * self.kappa * (distance + 0.5)), 1.0)
        falling = np.where(k < self.N, sigmoid(-2.0 * self.kappa * (distance - 0.5)), 1.0)
        both = np.where((k > 0) & (k < self.N), -math.expm1(-2.0 * self.kappa), 1.0)
        result: Floats = rising * falling * both
        return result

    def near(self, x: Floats) -> NDArray[np.int64]:
        """The functions that matter at x, (…, as many): all others are below 1e−20 there."""
        reach = math.ceil(0.5 + 46.0 / (2.0 * self.kappa)) if self.N else 1
        many = min(2 * reach, self.N + 1)
        first = np.clip(np.floor(self.N * x).astype(np.int64) - reach + 1, 0, self.N + 1 - many)
        cells: NDArray[np.int64] = first[..., None] + np.arange(many)
        return cells


def steepness(N: int, delta: float) -> float:
    """The paper's c = 2N artanh(1 − 2δ), the smallest with ψ_k ≤ δ outside S_k."""
    return N * math.log1p((1.0 - 2.0 * delta) / delta)


def sigmoid(u: Floats) -> Floats:
    """1/(1 + e^{−u}), relatively accurate on both sides."""
    e = np.exp(-np.abs(u))
    result: Floats = np.where(u >= 0, 1.0, e) / (1.0 + e)
    return result
