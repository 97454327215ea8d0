"""Lemma 5: how far Lemma 1's flow can end from (ξ, tanh ξ, ξ tanh ξ) when each start is off by at most δ.

The paper bounds it by (4K+2) e^(4K+2) δ/(4K+2 − 9(e^(4K+2) − 1)δ) for |ξ| ≤ K. The flow has a closed form, so the
truth is at hand. With M = ξ + η₁ and s = sech M,

    y₂ − tanh M = s (η₂ − η₃(1 − s)/M)/(1 + η₃ tanh(M)/M),      y₃ − M tanh M = s² η₃/(1 + η₃ tanh(M)/M)

so that no constant depends on K: y₁ is off by δ, y₂ by δ + (1 + 0.236)δ/(1 − δ), y₃ by 1.2δ + δ/(1 − δ).
"""

from __future__ import annotations

import math

from integraph.bounds.perturbation.activation_errors import KAPPA
from integraph.errors import UsageError
from integraph.numbers.arrays import real
from integraph.numbers.roundoff import U

BEND = 1.1997  # > sup |(M tanh M)'| = sup (tanh M + M sech² M)
ABOVE = 1 + 64 * U  # over the roundings of the formula


def paper(K: float, delta: float) -> float:
    """The printed bound for |ξ| ≤ K; infinite where δ is not sufficiently small."""
    _checked(K, delta)
    a = 4.0 * K + 2.0
    log_growth = a + math.log(delta) if delta else -math.inf  # e^a δ, which leaves float64 first
    left = 1.0 - 9.0 / a * (math.exp(min(log_growth, 709.0)) - delta)
    if left <= 0:
        return math.inf
    return math.exp(log_growth) / left * ABOVE


def tight(K: float, delta: float) -> float:
    """The same quantity, by the closed form: about 2.24 δ, whatever K is."""
    _checked(K, delta)
    if delta >= 1:
        return math.inf
    return max((1.0 + (1.0 + KAPPA) / (1.0 - delta)) * delta, (BEND + 1.0 / (1.0 - delta)) * delta) * ABOVE


def _checked(K: float, delta: float) -> None:
    for name, value in (("K", K), ("delta", delta)):
        if not (math.isfinite(real(value, name)) and value >= 0):
            raise UsageError("needs a finite number ≥ 0", argument=name, value=value)
