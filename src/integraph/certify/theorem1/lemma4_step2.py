"""What the stored controls of step 2 of Lemma 4 leave behind: by how much λ is not ψ and μ is not 0.

λ' and μ' are linear in (λ, 1), those of μ with factors x and 1. One matrix exponential of balls gives λ(1) and ∫λ as
linear forms of the start (1, tanh z_1, …, tanh z_N), whose entries are at most 1 in size. So are what they should be,
ψ_k = ½(λ_k − λ_{k+1}), with −1 behind the last, and −z_kλ_k, which clears μ_k = z_k tanh z_k. The differences of the
forms are bounded entry by entry.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat, ctx

from integraph.certify.problem import Unprovable
from integraph.certify.theorem1.bumps import BallBumps
from integraph.certify.theorem1.cells import Objects
from integraph.clock import check_deadline
from integraph.gadgets.partition import controls
from integraph.numbers.arb.conversion import ONE, ZERO, Balls, matrix, size, symmetric
from integraph.program import ONE as CONSTANT
from integraph.program import Terms

HALF = arb(0.5)
COST, USUAL, GROWTH = 1.2e-7, 192, 1.3  # seconds that an exponential takes per n³ with usual bits, and with more


@dataclass(frozen=True, slots=True, eq=False)
class Step2Remainder:
    """Columns λ_0 … λ_N and 1. Rows are λ_0' … λ_N', and of μ_1' … μ_N' what is times x, and what is not."""

    lam: arb_mat
    times_x: arb_mat
    plain: arb_mat


def stored_controls(terms: Terms, duration: float, lam: list[int], mu: list[int], x: int) -> Step2Remainder:
    """From the terms of eq. (1)."""
    place = {register: column for column, register in enumerate(lam)}
    row = {register: number for registers in (lam, mu) for number, register in enumerate(registers)}
    parts = [np.zeros((rows, len(lam) + 1)) for rows in (len(lam), len(mu), len(mu))]
    mine = np.isin(terms.i, np.array([*lam, *mu]))
    for i, j, k, value in zip(*(part[mine].tolist() for part in (terms.i, terms.j, terms.k, terms.value)), strict=True):
        factors = [register for register in (j, k) if register != CONSTANT]
        part = 0 if i in place else 2
        if part and x in factors:
            factors.remove(x)
            part = 1
        if len(factors) > 1 or not place.keys() >= set(factors):
            raise Unprovable("the controls of step 2 of Lemma 4 are not of its form")
        parts[part][row[i], place[factors[0]] if factors else len(lam)] = value
    return Step2Remainder(*(matrix(part) * arb(duration) for part in parts))


def ideal_controls(a: list[float], b: list[float], bits: int) -> Step2Remainder:
    """From the formulas with z_k = a_k x + b_k, to so many bits, however products with a_k or b_k are rounded."""
    N, fixed = len(a), controls(len(a), bits)
    around = ONE + symmetric(arb((1, 1 - bits)))
    A, B, bias, kappa = ([around * v for v in row] for row in (fixed.A, fixed.B, fixed.b, fixed.kappa))
    lam = [[ZERO] * k + A[: N + 1 - k] + [bias[k]] for k in range(N + 1)]
    rest = [[ZERO] * k + [-v for v in B[: N + 1 - k]] + [kappa[k]] for k in range(1, N + 1)]
    parts = [[[v * factor for v in row] for row, factor in zip(rest, factors, strict=True)] for factors in (a, b)]
    return Step2Remainder(arb_mat(lam), *map(arb_mat, parts))


def remainder(step: Step2Remainder, bumps: BallBumps, t: arb) -> tuple[Balls, Balls]:
    """Balls around λ_k(1) − ψ_k, k = 0 … N, and around μ_k(1), k = 1 … N, for all t of a ball."""
    n = bumps.N + 1
    flow = arb_mat(2 * n + 1, 2 * n + 1)  # of λ, of 1, and of ∫λ
    for k in range(n):
        flow[n + 1 + k, k] = ONE
        for column in range(n + 1):
            flow[k, column] = step.lam[k, column]
    check_deadline(COST * float(2 * n + 1) ** 3 * (ctx.prec / USUAL) ** GROWTH)
    ends = np.array(flow.exp().tolist(), object)[:, : n + 1]
    psi, integral = ends[:n].copy(), ends[n + 1 :]
    for k in range(n):
        psi[k, k] -= HALF
        psi[k, k + 1] += HALF if k < n - 1 else -HALF  # −1 behind the last
    constant = np.array([ZERO] * n + [ONE], object)
    cleared: Balls = []
    for k in range(1, n):
        own = np.array([ONE if column == k else ZERO for column in range(n + 1)], object)
        parts = [
            factor * own + np.array(row[:n], object) @ integral + row[n] * constant
            for factor, row in (
                (arb(bumps.slope), step.times_x.tolist()[k - 1]),
                (arb(bumps.offsets[k - 1]), step.plain.tolist()[k - 1]),
            )
        ]
        cleared.append(t * _form(parts[0]) + _form(parts[1]))
    return [_form(row) for row in psi], cleared


def _form(row: Objects) -> arb:
    """Σ row·(1, tanh, …, tanh, 1)."""
    most = sum((size(ball) for ball in row[1:-1]), arb(0))
    result: arb = row[0] + row[-1] + symmetric(most)
    return result
