"""Lemma 4, the bootstrap: in 7 segments from x to ones, ln(x_j + Δ) and ln ψ_k(x_j), with step 2 as corrected.

ψ_0 … ψ_N are differences of ½tanh z_k, z_k = c(x − γ_k), γ_k = (2k − 1)/(2N). As printed, ψ_k − 1 is formed, and ψ_k
may be as small as e^{−2c}: that takes `required_bits(c)` bits. As remarked (Δ > 1, ψ_k + 1), float64 suffices and the
logarithms are ln(ψ_k + 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from integraph.gadgets import exp, ln, partition, ramp, tanh
from integraph.numbers.arrays import Floats
from integraph.program import Registers, Segment, View, segment
from integraph.program.views import dense

SPARE = 60  # bits beyond those that ψ − 1 takes away

# Table I: after step 0, 1, …, 7, for k = 1 … N; z = c(x − γ_k), psi = ψ_k(x), or ψ_0(x) in the rows of k = 0
TABLE_I: dict[str, tuple[str, ...]] = {
    "alpha": ("x", "x", "x", "x + Delta - 1", "(x + Delta - 1)/(x + Delta)", "x + Delta - 1", "x + Delta", "1"),
    "lam0": ("0", "1", "psi", "psi - 1", "(psi - 1)/psi", "psi - 1", "psi", "1"),
    "lam": ("0", "tanh(z)", "psi", "psi - 1", "(psi - 1)/psi", "psi - 1", "psi", "1"),
    "beta": ("0", "0", "0", "0", *("ln(x + Delta)",) * 4),
    "mu0": ("0", "0", "0", "0", *("ln(psi)",) * 4),
    "mu": ("0", "z*tanh(z)", "0", "0", *("ln(psi)",) * 4),
}


@dataclass(frozen=True, slots=True)
class Lemma4Layout:
    """The registers of Lemma 4, in this order: α_j, then λ_{j,k} as number d + k·d + j; β_j and μ_{j,k} likewise."""

    alpha: View  # (d,), x at the start
    lam: View  # (N + 1, d)
    beta: View  # (d,)
    mu: View  # (N + 1, d)

    @property
    def ones(self) -> View:
        """α and λ as (N + 2, d): all 1 at the end."""
        return dense(self.alpha.offset, (len(self.lam) + 1, len(self.alpha)))

    @property
    def logs(self) -> View:
        """β and μ as (N + 2, d): ln(x_j + Δ), then ln ψ_k(x_j)."""
        return dense(self.beta.offset, (len(self.mu) + 1, len(self.beta)))


def layout(registers: Registers, alpha: View, N: int) -> Lemma4Layout:
    """Takes the registers behind `alpha`, which must be the last so far."""
    (d,) = alpha.shape
    lam = registers.new("lam", N + 1, d, label="λ_{j,k} of Lemma 4, numbered k + 1, j")
    beta = registers.new("beta", d, label="β_j of Lemma 4, in the end ln(x_j + Δ)")
    mu = registers.new("mu", N + 1, d, label="μ_{j,k} of Lemma 4, numbered k + 1, j, in the end ln ψ_k(x_j)")
    return Lemma4Layout(alpha, lam, beta, mu)


def required_bits(c: float) -> int:
    """What ln ψ_k needs as printed, where ψ_k, as small as e^{−2c}, is a difference of numbers near 1."""
    return math.ceil(2 * c / math.log(2)) + SPARE


def slopes(N: int, c: float) -> tuple[float, Floats]:
    """z_k = c(x − γ_k) as the stored a·x + b_k."""
    return c, -c * np.arange(1, 2 * N, 2) / (2 * N)


def bootstrap(at: Lemma4Layout, c: float, delta: float, *, plus_one: bool) -> tuple[Segment, ...]:
    """The seven segments; `plus_one` is the Remark's ln(ψ_k + 1)."""
    a, b = slopes(len(at.mu) - 1, c)
    lam, mu = at.lam[1:], at.mu[1:]
    return (
        segment("tanh", tanh(lam, mu, at.alpha.broadcast(lam.shape), a=a, b=b[:, None]), ramp(at.lam[0], b=1.0)),
        segment("partition", partition(at.lam.transpose(), mu.transpose(), at.alpha, a=a, b=b)),
        segment("less 1", ramp(at.alpha, b=delta - 1.0), *(() if plus_one else (ramp(at.lam, b=-1.0),))),
        segment("ln", ln(at.ones, at.logs)),
        segment("restore", exp(at.ones, at.logs)),
        segment("plus 1", ramp(at.ones, b=1.0)),
        segment("ones", exp(at.ones, at.logs, a=-1.0)),
    )
