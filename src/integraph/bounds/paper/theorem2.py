"""Theorem 2: the decay rates that its proof chooses. δ₀ underflows float64 already for W̃ = 64, M = 2, so all of it is
in logarithms; only r₁ and r₃ enter the ODE.

    K = M(W̃R + 1),  a₁ = a₃ e^{a₃} K,  a₂ = 9(e^{a₃} − 1)K,  a₃ = 4K + 2
    δ₀ = a₃^D̃ ε / (a₁^D̃ ‖c‖₁ + a₂(a₁ + a₃)^D̃ ε),   δ_{k+1} = a₁δ_k / (a₃ − a₂δ_k)
    r₁ = −ln((M W̃ + 1)δ_k / (R + δ_k)),   r₃ = −ln(δ_{k+1} / (K + δ_{k+1}))

Two corrections: M is at least 1, because step 1 perturbs by (M W̃ + 1)δ and step 2 assumes Kδ; and R = max(1, |box|)
is the size of the inputs, 1 on the paper's cube. Where r₁ comes out below 0 (W̃ large, δ large) nothing has to decay:
r₁ = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DecayRates:
    """r₁ and r₃ of one layer, and ln δ behind it."""

    r1: float
    r3: float
    log_delta: float


def rates(M: float, width: int, depth: int, size: float, readout: float, eps: float) -> tuple[DecayRates, ...]:
    """One pair for each of `depth` layers; `readout` is ‖c‖₁, `size` is R."""
    M, size = max(M, 1.0), max(size, 1.0)
    K = M * (width * size + 1.0)
    a3 = 4.0 * K + 2.0
    log_a1, log_a2 = math.log(a3) + a3 + math.log(K), math.log(9.0 * K) + a3 + math.log1p(-math.exp(-a3))
    log_a3, log_eps = math.log(a3), math.log(eps)
    below = _add(depth * log_a1 + math.log(max(readout, 1e-300)), log_a2 + depth * _add(log_a1, log_a3) + log_eps)
    log_delta = depth * log_a3 + log_eps - below
    rate_list = []
    for _ in range(depth):
        after = log_a1 + log_delta - (log_a3 + math.log1p(-math.exp(log_a2 + log_delta - log_a3)))
        r1 = _add(math.log(size), log_delta) - (math.log(M * width + 1.0) + log_delta)
        r3 = _add(math.log(K), after) - after
        rate_list.append(DecayRates(max(r1, 0.0), r3, after))
        log_delta = after
    return tuple(rate_list)


def _add(a: float, b: float) -> float:
    """ln(e^a + e^b)."""
    high, low = max(a, b), min(a, b)
    return high + math.log1p(math.exp(low - high))
