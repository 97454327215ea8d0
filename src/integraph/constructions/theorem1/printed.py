"""Theorem 1 as printed and as remarked: bootstrap (Lemma 4), then products, then sums.

As printed the logarithms are of ψ_k, and the flow needs `required_bits(c)` bits. As remarked they are of ψ_k + 1, and
float64 does, at the price of Π((ψ + 1) − 1) multiplied out.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from integraph.constructions.theorem1.lemma4 import bootstrap, layout, required_bits
from integraph.constructions.theorem1.local_polynomials import LocalPolynomials
from integraph.constructions.theorem1.plans import Choice
from integraph.constructions.theorem1.products import Products, collect, expand, products
from integraph.constructions.theorem1.task import Task
from integraph.gadgets import affine, ramp
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import below
from integraph.numbers.roundoff import UP, U
from integraph.program import Registers, Segment, View, segment
from integraph.program.engine import DOUBLE

DUST, TINY = 2.0**-200, 1e-200  # of the largest coefficient; of any: e^ln|a| stays a normal number
DELTA = {"paper": 0.5, "remark": 1.25}  # the Remark asks for Δ > 1


def construct(
    task: Task, choice: Choice, polynomials: LocalPolynomials
) -> tuple[Registers, list[Segment], View, int, Floats]:
    """Registers, segments, where the outputs are, the bits the flow needs, and what rounding costs each output."""
    d, m, N = task.function.inputs, task.function.outputs, choice.N
    registers, entry = Registers(), []
    if task.read_in:
        x = registers.variables(task.function.variables)
        alpha = registers.new("alpha", d, label="α_j of Lemma 4, at first x_j")
        entry.append(segment("read in", affine(alpha, x, w=task.cube.scale, b=task.cube.shift)))
    else:
        alpha = registers.variables(task.function.variables)
    at, acc = layout(registers, alpha, N), registers.new("acc", m, label="the sum over terms, which is the output")
    remark, reach = choice.method == "remark", 1.0 + DELTA[choice.method]
    kept, dropped = _without_dust(polynomials.coefficients, reach ** below(d, choice.order).sum(1))
    terms, lost = expand(kept) if remark else (collect(kept), np.zeros((1, m)))
    summed, relative = products(at, acc, terms)
    segments = [*entry, *bootstrap(at, choice.c, DELTA[choice.method], plus_one=remark), *summed]
    if not len(terms):  # f = 0, and the sum is written all the same
        step = segments[len(entry)]
        segments[len(entry)] = replace(step, blocks=(*step.blocks, ramp(acc, b=0.0)))
    if not remark:
        return registers, segments, acc, required_bits(choice.c), dropped + relative * polynomials.size
    powers = reach ** below(d, choice.order).sum(1)
    return registers, segments, acc, DOUBLE, dropped + powers @ lost + _remark(terms, polynomials, choice, d, relative)


def _without_dust(coefficients: Floats, powers: Floats) -> tuple[Floats, Floats]:
    """Without coefficients so small that a lane could not be refilled after them, and what that costs each output."""
    size = np.abs(coefficients)
    dust = size < max(DUST * float(size.max()), TINY)
    cells = tuple(range(coefficients.ndim - 2))
    cost: Floats = UP * (np.where(dust, size, 0.0).sum(cells).T @ powers)
    return np.where(dust, 0.0, coefficients), cost


def _remark(terms: Products, polynomials: LocalPolynomials, choice: Choice, d: int, relative: float) -> Floats:
    """What the rounded controls of step 2 and of the products cost, for every output.

    Step 2 with controls off by U relatively: ‖e^{tA}‖ ≤ 2 and |λ| ≤ 5 on the way, ‖A‖, ‖b‖ ≤ L = ln 2 + H_N, so ψ is
    off by at most 12 L U; ‖B‖, ‖κ‖ ≤ 2L + 3 and their products with c and c γ_k are off by 3U, so μ is not cleared but
    for c (2L + 3)(12 L + 36)U. Together they move ln(ψ_k + 1) by η, that is ψ_k by 2η, and the sum over all cells by
    (1 + 2(N + 1)η)^d − 1, times the largest |P_k|. What is left of μ also stays in the lanes, which do not start at 1
    exactly: a relative error of every term.
    The controls c², 2cγ_k and γ_k² of step 1 are exact, because c/N is a multiple of 1/8.
    """
    L = math.log(2.0) + sum(1.0 / k for k in range(1, choice.N + 1))
    psi, left = 12 * L * U, choice.c * (2 * L + 3) * (12 * L + 36) * U
    moved = math.expm1(d * math.log1p(2 * (choice.N + 1) * (psi + left)))
    reach = 2.0**d * (1.0 + DELTA["remark"]) ** terms.exponents.sum(1)
    everything: Floats = reach @ np.abs(terms.coefficients)
    lanes = math.expm1(2 * left) + relative
    total: Floats = UP * (moved * polynomials.size + lanes * everything)
    return total
