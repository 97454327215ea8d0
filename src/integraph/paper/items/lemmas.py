"""Lemmas 1, 2 and 3 and the remark after Lemma 2: the paper's own terms, integrated, against many digits.

Each lemma three times: its printed terms by the Taylor engine and by DOP853, which know nothing else, and the gadget
by its closed form, if the gadget has just these terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from integraph.gadgets import ln, monomial, tanh
from integraph.numbers.arrays import Floats
from integraph.paper.digits import digits, largest_error
from integraph.paper.equations import Equations, program_terms, same_terms
from integraph.paper.rows import Finding, item, size
from integraph.program import Program, Registers, Status, build, segment

SLOW = 6  # DOP853 takes every so many of the points
ACCURACY = {"taylor": 1e-13, "oracle": 2e-12, "exact": 1e-13}  # DOP853 takes no tolerance below 2.3e-14 a step
NAMES = {"taylor": "Taylor", "oracle": f"DOP853 at every {SLOW}th", "exact": "closed form"}
SLOPES = ((1.0, 0.0), (-2.5, 0.75), (0.0, 1.5), (3.0, -2.0))  # (a, b) of Lemma 1
W, B = (2.0, -0.5, 3.25), -0.75  # of Lemma 3


def lemma_1(a: float, b: float) -> Equations:
    """z = a y₁ + b: ẏ₂ = z − y₂y₃, ẏ₃ = z² − y₃²."""
    ln_item = (("y2", a, "y1"), ("y2", b), ("y2", -1, "y2", "y3"))
    product_item = (("y3", a * a, "y1", "y1"), ("y3", 2 * a * b, "y1"), ("y3", b * b), ("y3", -1, "y3", "y3"))
    return Equations(("y1", "y2", "y3"), ((*ln_item, *product_item),))


LEMMA_2 = Equations(("y1", "y2"), ((("y1", 1, "y2"), ("y2", -1, "y2", "y2")),))


def lemma_3(w: Sequence[float], b: float) -> Equations:
    d = len(w)
    product = f"y{d + 1}"
    rate = tuple((product, value, f"y{j + 1}", product) for j, value in enumerate(w))
    return Equations(tuple(f"y{j + 1}" for j in range(d + 1)), ((*rate, (product, b, product)),))


def ends(program: Program, starts: Floats, engine: str) -> Floats:
    """y(1) of all registers."""
    states = program.flow(starts, engine, rtol=1e-15, states=True).check().states
    assert states is not None
    return states


Case = tuple[Equations, Program, Floats, Sequence[Sequence[Any]]]  # as printed, our gadget, starts, true ends


def engine_errors(cases: Sequence[Case]) -> tuple[dict[str, float], bool]:
    """For each engine the largest error over all cases; and whether all terms agree."""
    errors, alike = dict.fromkeys(ACCURACY, 0.0), True
    for equations, gadget, starts, true in cases:
        printed = equations.program()
        alike = alike and same_terms(program_terms(gadget), equations.terms(0))
        for engine in errors:
            some = slice(None, None, SLOW if engine == "oracle" else 1)
            states = ends(gadget if engine == "exact" else printed, starts[some], engine)
            wanted = [value for row in true[some] for value in row]
            errors[engine] = max(errors[engine], largest_error(states.ravel().tolist(), wanted))
    return errors, alike


def finding(what: str, errors: dict[str, float], alike: bool) -> Finding:
    parts = ", ".join(f"{NAMES[engine]} {size(error)}" for engine, error in errors.items())
    terms = "the gadget has exactly these terms" if alike else "the gadget has OTHER terms"
    good = alike and all(error <= ACCURACY[engine] for engine, error in errors.items())
    return Finding(f"{what}, largest error: {parts}; {terms}", good, dict(errors))


@item(
    "Lemma 1, tanh",
    "$ẏ₁ = 0$, $ẏ₂ = z − y₂y₃$, $ẏ₃ = z² − y₃²$ with $z = a y₁ + b$, from $(ξ, 0, 0)$: $y(1) = (ξ, tanh z, z tanh "
    "z)$ at $z = aξ + b$",
    "lem:tanh",
)
def tanh_item() -> Finding:
    m, xi, cases = digits(), np.linspace(-7.0, 7.0, 57), []
    for a, b in SLOPES:
        r = Registers()
        y1, y2, y3 = (r.inputs(name) for name in ("y1", "y2", "y3"))
        gadget = build(r, [segment("tanh", tanh(y2, y3, y1, a=a, b=b))], y2)
        z = [m.mpf(a) * x + m.mpf(b) for x in xi.tolist()]
        true = [(x, m.tanh(v), v * m.tanh(v)) for x, v in zip(xi.tolist(), z, strict=True)]
        cases.append((lemma_1(a, b), gadget, np.stack([xi, 0 * xi, 0 * xi], 1), true))
    return finding(f"{len(SLOPES)} pairs $(a, b)$, {len(xi)} values $ξ$ in $[−7, 7]$", *engine_errors(cases))


def logarithm() -> Program:
    r = Registers()
    y = r.inputs("y", 2)
    return build(r, [segment("ln", ln(y[1:], y[:1]))], y)


@item("Lemma 2, ln", "$ẏ₁ = y₂$, $ẏ₂ = −y₂²$ from $(0, ξ − 1)$, $ξ > 0$: $y(1) = (ln ξ, (ξ − 1)/ξ)$", "lem:ln")
def ln_item() -> Finding:
    m = digits()
    starts = np.concatenate([-1.0 + 2.0 ** -np.arange(1.0, 7.0), np.linspace(0.0, 3.0, 25), [99.0, 999.0]])  # ξ − 1
    xi = [1 + m.mpf(start) for start in starts.tolist()]
    true = [(m.log(x), (x - 1) / x) for x in xi]
    outcome = engine_errors([(LEMMA_2, logarithm(), np.stack([0 * starts, starts], 1), true)])
    return finding(f"{len(xi)} values $ξ$ from $2^−6$ to 1000", *outcome)


@item(
    "Remark after Lemma 2: escape time; ξ > 1, Δ > 1 and ψ + 1",
    "for $ξ < 1$ the solution of $ẏ₂ = −y₂²$ diverges, but after $t = 1$ as long as $ξ > 0$; for $ξ > 1$ the "
    "escape time is negative. (Theorem 1 has a row for the variant with $Δ > 1$ and $ψ + 1$.)",
)
def escape() -> Finding:
    xi = np.array([-3.0, -1.0, -0.25, 0.25, 0.5, 0.75, 1.5, 3.0])
    program = LEMMA_2.program()
    long = build(program.registers, [segment("ln", program.segments[0].blocks[0], duration=64.0)], program.readout)
    starts = np.stack([0 * xi, xi - 1.0], 1)
    forward, backward = long.flow(starts, "taylor"), long.reverse().flow(starts, "taylor")
    times = {xi[f.input]: f.time for f in forward.failures if f.status is Status.ESCAPED}
    times |= {xi[f.input]: -f.time for f in backward.failures if f.status is Status.ESCAPED and xi[f.input] > 1}
    off = max((abs(times.get(x, np.inf) * (1.0 - x) - 1.0) for x in xi.tolist()), default=np.inf)
    within = [x for x in xi.tolist() if 0 <= times.get(x, np.inf) <= 1]
    return Finding(
        f"escape times of $ξ$ = {', '.join(f'{x:g}' for x in xi)} by integration of the terms: "
        f"{', '.join(f'{times[x]:.4g}' for x in xi.tolist() if x in times)}; they are $1/(1 − ξ)$ up to {size(off)} "
        f"of it; up to $t = 1$ for $ξ$ = {', '.join(f'{x:g}' for x in within) or 'none'}",
        off <= 1e-6 and within == [x for x in xi.tolist() if x <= 0],
        {"largest": off, **{f"xi={x:g}": t for x, t in times.items()}},
    )


@item(
    "Lemma 3, monomials and the inverse flow",
    "$ẏ_{d+1} = (w·y_{1:d} + b) y_{d+1}$ from $(ln ξ, 1)$: $y_{d+1}(1) = e^b ξ₁^w₁ ⋯ ξ_d^w_d$; $−w$ and $−b$ "
    "divide by it",
    "lem:multiply",
)
def product_item() -> Finding:
    m = digits()
    xi = np.random.default_rng(3).uniform(0.01, 1.0, (40, len(W)))
    logs = np.log(xi)
    cases = []
    for sign in (1.0, -1.0):
        w, b = tuple(sign * value for value in W), sign * B
        r = Registers()
        y = r.inputs("y", len(W) + 1)
        gadget = build(r, [segment("monomial", monomial(y[3:], y[:3], w=np.array([w]), b=[b]))], y)
        rates = [m.mpf(b) + m.fdot(w, row) for row in logs.tolist()]  # of the numbers whose logarithms these floats are
        true = [(*row, m.exp(rate)) for row, rate in zip(logs.tolist(), rates, strict=True)]
        cases.append((lemma_3(w, b), gadget, np.concatenate([logs, np.ones((len(xi), 1))], 1), true))
    errors, alike = engine_errors(cases)
    there = ends(lemma_3(W, B).program(), cases[0][2], "taylor")
    back = ends(lemma_3([-value for value in W], -B).program(), there, "taylor")
    returned = largest_error(back.ravel().tolist(), cases[0][2].ravel().tolist())
    outcome = finding(f"$d = 3$, {len(xi)} points $ξ$, $w$ and $−w$", errors, alike)
    return Finding(
        f"{outcome.outcome}; there and back again ends {size(returned)} from where it began",
        outcome.good and returned <= ACCURACY["taylor"],
        {**outcome.numbers, "returned": returned},
    )


ITEMS = (tanh_item, ln_item, escape, product_item)
