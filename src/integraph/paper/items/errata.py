"""Misprints of Lemmas 3 and 4 and Theorem 1: the number that shows each, and that of its correction."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from integraph.bounds.paper import theorem1
from integraph.constructions.theorem1.lemma4 import required_bits
from integraph.errors import UsageError
from integraph.paper.digits import digits, largest_error
from integraph.paper.equations import program_terms
from integraph.paper.integrator import Escape, integrate
from integraph.paper.items.lemma4 import compiled
from integraph.paper.items.lemmas import B, W, lemma_3
from integraph.paper.items.theorem1 import MONOMIALS, D, compiled_program, printed_choice
from integraph.paper.lemma4_equations import Lemma4, psi
from integraph.paper.rows import Finding, erratum, size
from integraph.program import Program

SMALL = (3, 4.0, 0.3)  # N, c and x at which steps 2 and 3 are shown
INTEGRATED = 1e-25


@erratum(
    "Lemma 4 and Theorem 1, indices",
    "printed: $λ_{j,k} = y_{d+(k+1)j}$ and the like. These numbers are not all different; $d + k·d + j$ are",
)
def indices() -> Finding:
    d, N = 2, 3
    pairs = [(j, k) for j in range(1, d + 1) for k in range(N + 1)]
    printed = {(j, k): d + (k + 1) * j for j, k in pairs}
    ours = {(j, k): d + k * d + j for j, k in pairs}
    first = next((a, b) for n, a in enumerate(pairs) for b in pairs[n + 1 :] if printed[a] == printed[b])
    r = compiled(Lemma4(d, N, 4.0, 0.5)).registers
    named = {r.name(number - 1) for number in ours.values()}
    return Finding(
        f"$d = {d}$, $N = {N}$: {len(pairs)} states $λ$ have {len(set(printed.values()))} different printed numbers "
        f"($(j, k)$ = {first[0]} and {first[1]} are both $y_{printed[first[0]]}$); ours have {len(set(ours.values()))}",
        len(set(printed.values())) < len(pairs) == len(set(ours.values())) == len(named),
        {"states": len(pairs), "printed": len(set(printed.values())), "ours": len(set(ours.values()))},
    )


@erratum(
    "Lemma 4, step 2",
    "printed: $μ̇_k = c(α − γ_k) Σ_ℓ a_{k−1,ℓ} λ_ℓ$ drives $μ$ to 0. Corrected: $μ̇_k = −c(α − γ_k)[(Bλ)_k − "
    "κ_k]$, $B = A(e^A − I)⁻¹$, $κ = (e^A − I)⁻¹(v − b)$, $v = (0, …, 0, ½)$",
)
def step_2() -> Finding:
    N, c, x = SMALL
    left, bumps = {}, 0.0
    for which in ("printed", "corrected"):
        lemma = Lemma4(1, N, c, 1.0, step_2=which)
        states = lemma.equations().path(lemma.start((x,)), steps=2)[2]
        left[which] = [float(states[f"mu{k},0"]) for k in range(1, N + 1)]
        bumps = max(bumps, largest_error([states[f"lam{k},0"] for k in range(N + 1)], psi(N, c, x)))
    wrong, right = (max(map(abs, left[which])) for which in ("printed", "corrected"))
    shown = ", ".join(f"{value:.3f}" for value in left["printed"])
    return Finding(
        f"$N = {N}$, $c = {c:g}$, $x = {x:g}$, integrated: printed, $μ(2)$ = {shown}; corrected, $|μ(2)| ≤ "
        f"{size(right)}$; $λ(2) = ψ$ up to {size(bumps)} in both",
        wrong > 0.1 and max(right, bumps) <= INTEGRATED,
        {**{f"mu {k}": value for k, value in enumerate(left["printed"], 1)}, "corrected": right, "psi": bumps},
    )


@erratum(
    "Lemma 4, step 3",
    "printed: $λ̇_{j,k} = −1$ for $k = 0, …, N − 1$. Then $λ_N$ is not $ψ_N − 1$, and its logarithm is that of "
    "$ψ_N + 1$. Corrected: $k = 0, …, N$",
)
def step_3() -> Finding:
    N, c, x = SMALL
    off = {}
    true = digits().log(psi(N, c, x)[N])
    for which in ("printed", "corrected"):
        lemma = Lemma4(1, N, c, 1.0, step_3=which)
        states = lemma.equations().path(lemma.start((x,)), steps=4)[4]
        off[which] = float(abs(states[f"mu{N},0"] - true))
    return Finding(
        f"$N = {N}$, $c = {c:g}$, $x = {x:g}$, integrated: $μ_N(4)$ should be $ln ψ_N = {float(true):.3f}$; printed "
        f"it is off by {off['printed']:.3f}, corrected by {size(off['corrected'])}",
        off["printed"] > 0.1 and off["corrected"] <= INTEGRATED,
        dict(off),
    )


@erratum(
    "Theorem 1, depth",
    "printed: $D = 7 + ⌈2M(N + 1)^d/((N + 2)d)⌉$. A batch takes two segments, full or not: $7 + 2⌈M(N + 1)^d/((N "
    "+ 2)d)⌉$",
)
def depth() -> Finding:
    said, program = printed_choice(), compiled_program("paper")
    lanes = (said["N"] + 2) * D
    printed, true = 7 + math.ceil(2 * said["terms"] / lanes), theorem1.depth(D, said["N"], said["terms"])
    cases = [
        (d, N, math.comb(d + n - 1, d) * (N + 1) ** d) for d in (1, 2, 3) for n in range(1, 9) for N in range(1, 33)
    ]
    differ = sum(7 + math.ceil(2 * terms / ((N + 2) * d)) != theorem1.depth(d, N, terms) for d, N, terms in cases)
    return Finding(
        f"the example of Theorem 1, {said['terms']} terms in batches of {lanes}: printed {printed}, corrected {true}, "
        f"and the program has {program.depth}. They differ in {differ} of {len(cases)} cases $d ≤ 3$, $n ≤ 8$, $N ≤ "
        f"32$",
        printed < true == program.depth,
        {"printed": printed, "corrected": true, "program": program.depth, "differ": differ, "cases": len(cases)},
    )


@erratum(
    "Theorem 1, b_new ← ln|a| − b_old",
    "printed: the difference to the last increment. What a lane (a register that holds one term after the other) "
    "has got is the sum of all increments, so the new one is $ln|a|$ minus that sum",
)
def increments() -> Finding:
    m, coefficients = digits(), (5.0, 0.25, 3.0, 0.5)
    errors = {}
    for which in ("printed", "corrected"):
        lane, last, total = m.mpf(1), m.mpf(0), m.mpf(0)
        for a in coefficients:
            step = m.log(a) - (last if which == "printed" else total)
            lane = integrate([(0, -1, 0, step)], [lane])[0]
            last, total = step, total + step
        errors[which] = float(abs(lane / coefficients[-1] - 1))
    return Finding(
        f"a lane that is refilled with $|a|$ = {', '.join(f'{a:g}' for a in coefficients)}, by Lemma 3, integrated: "
        f"at the end it is wrong by a relative {errors['printed']:.3g} as printed, {size(errors['corrected'])} as "
        f"corrected",
        errors["printed"] > 0.1 and errors["corrected"] <= INTEGRATED,
        errors,
    )


@erratum(
    "Theorem 1, supports",
    "printed: a point of $[0, 1]$ lies in at most 2 approximate supports. At $x = k/N$ it lies in 3 closed ones; "
    "with half-open ones in 2, and there the third function is at most $δ$",
)
def supports() -> Finding:
    N, c = 4, 34.0
    sides = [(Fraction(max(k - 1, 0), N), Fraction(min(k + 1, N), N)) for k in range(N + 1)]
    points = [Fraction(n, 8 * N) for n in range(8 * N + 1)]
    closed = [sum(low <= x <= high for low, high in sides) for x in points]
    half = [sum(low < x <= high or x == low == 0 for low, high in sides) for x in points]
    m = digits()
    third = max(psi(N, c, m.mpf(k) / N)[k + 1] for k in range(1, N))
    delta = (1 - m.tanh(m.mpf(c) / (2 * N))) / 2
    return Finding(
        f"$N = {N}$: {closed.count(3)} of {len(points)} points lie in 3 closed supports, {half.count(3)} in 3 "
        f"half-open ones; with $c = {c:g}$ the function left out there is at most ${float(third / delta):.9g}·δ(c)$, "
        f"$δ(c) = {float(delta):.3g}$",
        max(closed) == 3 and max(half) == 2 and closed.count(3) == N - 1 and third <= delta * (1 + m.mpf(2) ** -300),
        {"closed": max(closed), "half-open": max(half), "points": closed.count(3), "third": float(third)}
        | {"delta": float(delta)},
    )


@erratum(
    "Theorem 1, numbers",
    "printed: form $ψ_k − 1$, then its logarithm by $λ̇ = −λ²$. $ψ_k$ is as small as $e^(−2c)$, so this takes "
    "about $2c/ln(2) + 60$ bits; $ψ_k + 1$, the remark's, is stable in float64 and costs $M(N + 2)^d$ terms, not "
    "$2^d·M(N + 1)^d$",
    numerical=True,
)
def numbers() -> Finding:
    lemma, x, m = Lemma4(1, 7, 28.0, 0.5), 0.05, digits()
    bits, bumps = required_bits(lemma.c), psi(lemma.N, lemma.c, x)
    rounded = compiled(lemma, bits=53)
    early = 1 - escape(rounded, x)
    precise = largest_error(compiled(lemma)([x])[-len(bumps) :].tolist(), [m.log(value) for value in bumps])
    plus = compiled(lemma, plus_one=True, bits=53)([x], "taylor")[-len(bumps) :]
    remark = largest_error(plus.tolist(), [m.log(1 + value) for value in bumps])
    refused = [engine for engine in ("exact", "taylor", "oracle") if _refuses(compiled(lemma), x, engine)]
    N = printed_choice()["N"]
    terms, printed = MONOMIALS * (N + 2) ** D, 2**D * MONOMIALS * (N + 1) ** D
    return Finding(
        f"$N = 7$, $c = 28$, $x = {x:g}$: with controls rounded to float64 the exact flow of step 4 escapes "
        f"{size(float(early))} before it ends. {len(refused)} of 3 float64 engines refuse; with {bits} bits $ln ψ$ is "
        f"right up to {size(precise)}. The remark's $ln(ψ + 1)$, integrated in float64: {size(remark)}; terms of the "
        f"example of Theorem 1: {terms}, not {printed}",
        early > 0 and len(refused) == 3 and max(precise, remark) <= 1e-12 and terms < printed,
        {"early": float(early), "bits": bits, "precise": precise, "remark": remark, "terms": terms, "printed": printed},
    )


def escape(program: Program, x: float) -> Any:
    """When, since step 4 began, the first register of the stored equations escapes; at 2 if none does before the "
    "end."""
    states: list[Any] = [x, *[0] * (program.width - 1)]
    for number in range(3):
        states = integrate(program_terms(program, number), states)
    cases = []
    for register in range(program.width // 2):  # α and λ, each by itself: their equations see no other
        try:
            integrate([term for term in program_terms(program, 3) if term[0] == register], states)
        except Escape as end:
            cases.append(end.time)
    return min(cases, default=2)


def _refuses(program: Program, x: float, engine: str) -> bool:
    try:
        program([x], engine)
    except UsageError:
        return True
    return False


@erratum(
    "Lemma 3, proof", "printed: $y_{m+1}$ holds the product. There is no $m$; it is $y_{d+1}$, as in the statement"
)
def product() -> Finding:
    m, d = digits(), len(W)
    xi = [m.mpf(n) / 7 for n in range(1, d + 1)]
    equations = lemma_3(W, B)
    path = equations.path({f"y{j + 1}": m.log(value) for j, value in enumerate(xi)} | {f"y{d + 1}": 1})
    end = list(path[-1].values())
    wanted = m.exp(B) * m.fprod(value ** m.mpf(w) for value, w in zip(xi, W, strict=True))
    holds = [n + 1 for n, value in enumerate(end) if abs(value - wanted) <= INTEGRATED]
    return Finding(
        f"$d = {d}$, integrated: of {len(end)} registers, $y_{', y_'.join(map(str, holds))}$ holds $e^b Π ξ^w = "
        f"{float(wanted):.6g}$, up to {size(float(abs(end[d] - wanted)))}",
        holds == [d + 1],
        {"register": holds[0] if holds else 0, "d": d, "error": float(abs(end[d] - wanted))},
    )


ITEMS = (product, indices, step_2, step_3, depth, increments, supports, numbers)
