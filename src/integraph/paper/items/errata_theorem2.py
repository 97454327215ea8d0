"""Misprints of Theorem 2."""

from __future__ import annotations

import math

import numpy as np

from integraph.api import compiler
from integraph.bounds.paper import theorem2
from integraph.numbers.arrays import Floats
from integraph.paper.digits import digits
from integraph.paper.integrator import Term, integrate
from integraph.paper.items.theorem2 import EPS, SIZES, constants, net
from integraph.paper.rows import Finding, erratum, size
from integraph.program import ONE


@erratum(
    "Theorem 2, step 2",
    "printed: the perturbation is at most $Kδ_k$, $K = M(W̃ + 1)$. Step 1 leaves up to $(M W̃ + 1)δ_k$, which is "
    "more where $M < 1$: take $max(M, 1)$",
)
def small_weights() -> Finding:
    width, M, delta, r = 8, 0.1, 1e-3, 30
    left = after_step_1(width, M, delta, r) / delta
    printed, corrected = M * (width + 1), max(M, 1.0) * (width + 1)
    return Finding(
        f"$W̃ = {width}$, $M = {M:g}$, all starts off by $δ = {delta:g}$: step 1, integrated, leaves ${left:.6g} δ$, "
        f"where the proof allows $K δ = {printed:.3g} δ$; with $max(M, 1)$ it allows ${corrected:.3g} δ$",
        printed < left <= corrected,
        {"left": left, "printed": printed, "corrected": corrected},
    )


def after_step_1(width: int, M: float, delta: float, r: int) -> float:
    """How far μ_1 is from (Aξ + b)_1 after α̇ = −rα, μ̇ = r/(1 − e^−r) Aα + b from (ξ + δ, δ, δ), A = M everywhere."""
    m = digits()
    xi, bias = m.mpf(1) / 2, m.mpf(M)
    gain = r / (1 - m.exp(-r)) * m.mpf(M)
    mu = width
    terms: list[Term] = [(j, ONE, j, -r) for j in range(width)]
    terms += [*((mu, ONE, j, gain) for j in range(width)), (mu, ONE, ONE, bias)]
    end = integrate(terms, [xi + m.mpf(delta)] * width + [m.mpf(delta)])
    return float(end[mu] - (width * m.mpf(M) * xi + bias))


@erratum(
    "Theorem 2, numbers",
    "printed: $δ₀$, and rates from it. $δ₀$ underflows float64 for nets of common size; in logarithms only $r₁$ "
    "and $r₃ = −ln(…)$ remain",
    numerical=True,
)
def underflow() -> Finding:
    M, width, depth, norm, m = 2.0, 64, 2, 1.0, digits()
    K, a1, a2, a3, delta = constants(M, width, depth, norm, EPS)
    power = float(m.log10(delta))
    after = a1 * delta / (a3 - a2 * delta)
    true = [float(-m.log((M * width + 1) * delta / (1 + delta))), float(-m.log(after / (K + after)))]
    ours = theorem2.rates(M, width, depth, 1.0, norm, EPS)[0]
    off = max(abs(ours.r1 / true[0] - 1), abs(ours.r3 / true[1] - 1))
    return Finding(
        f"$W̃ = {width}$, $M = {M:g}$, $D̃ = {depth}$, $‖c‖₁ = {norm:g}$, $ε = {EPS:g}$: $δ₀$ = 10^{power:.1f}, in "
        f"float64 {float(delta):g}; $r₁ = {true[0]:.5g}$, $r₃ = {true[1]:.5g}$ of the first layer in many digits, in "
        f"logarithms the same up to {size(off)}",
        float(delta) == 0.0 and off <= 1e-12,
        {"power": power, "r1": ours.r1, "r3": ours.r3, "difference": off},
    )


@erratum(
    "Theorem 2, recurrence",
    "printed: $z(k + 1) = tanh(A_k z(k) + b_k)$ for $k = 1, …, D̃$, with $z(0) = x$ and $f = c·z(D̃)$. Then "
    "nothing defines $z(1)$, and $z(D̃ + 1)$ is never read; $k = 0, …, D̃ − 1$ is meant",
)
def recurrence() -> Finding:
    network, x = net(), np.random.default_rng(7).uniform(size=(200, SIZES[0]))
    depth = len(SIZES) - 1
    program = compiler.compile(network, EPS)(x)
    off = {}
    for which, made in (("printed", range(1, depth + 1)), ("corrected", range(depth))):
        z: dict[int, Floats] = {0: x}
        for k in made:
            layer = network.layers[k - made[0]]
            before = z.get(k, x)  # as printed z(1) can only be x
            z[k + 1] = np.tanh(before @ layer.A.T + layer.b)
        last = z.get(depth)
        off[which] = math.inf if last is None else float(np.abs(last @ network.layers[-1].A.T - program).max())
    return Finding(
        f"$D̃ = {depth}$: $c·z(D̃)$ and the compiled net differ by {off['printed']:.3g} with $k = 1, …, D̃$ and $z(1) "
        f"= x$, which is a layer less, and by {size(off['corrected'])} with $k = 0, …, D̃ − 1$",
        off["printed"] > 0.1 and off["corrected"] <= EPS,
        off,
    )


ITEMS = (small_weights, underflow, recurrence)
