"""Theorem 1: its numbers from the formulas and of the compiled program, the difference found, the error proved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from integraph.api import compiler
from integraph.api.certificates import certify
from integraph.api.planning import sobolev_norm
from integraph.bounds.paper import theorem1
from integraph.bounds.paper.partition_of_unity import Partition
from integraph.numbers.arrays import Floats
from integraph.paper.digits import digits
from integraph.paper.rows import Finding, item, shared, size
from integraph.program import Program

if TYPE_CHECKING:
    from integraph.certify.proof import Proof

F, D, ORDER, EPS, GAMMA = "cos(x+y)/2", 2, 5, 2.5e-3, 0.5
MONOMIALS = math.comb(D + ORDER - 1, D)  # M
POINTS = np.concatenate([np.random.default_rng(1).uniform(size=(12, 2)), [[0.0, 0.0], [1.0, 1.0], [0.25, 0.75]]])


@shared
def compiled_program(method: str, eps: float = EPS) -> Program:
    if method == "lean":
        return compiler.compile(F, eps, method=method)
    return compiler.compile(F, eps, method=method, gamma=GAMMA, order=ORDER)


@shared
def method_proof(method: str, eps: float = EPS) -> Proof:
    return certify(compiled_program(method, eps), F, eps, workers=1, progress=False)


def largest_difference(program: Program, engine: str | None = None) -> float:
    """The largest error at the points, f in many digits."""
    m = digits()
    true = [m.cos(m.mpf(x) + m.mpf(y)) / 2 for x, y in POINTS.tolist()]
    values: Floats = program(POINTS, engine)
    return max(float(abs(m.mpf(a) - b)) for a, b in zip(values[:, 0].tolist(), true, strict=True))


def printed_choice() -> dict[str, Any]:
    """N, δ, c, W, D by the formulas of the proof, D for whole batches."""
    m = digits()
    constant = m.mpf(math.factorial(ORDER)) / D**ORDER
    N = int(m.ceil((constant * GAMMA * m.mpf(EPS) / 2**D) ** (-m.mpf(1) / ORDER)))
    delta = constant * (1 - GAMMA) * m.mpf(EPS) / ((N + 1) ** D - 2**D)
    c = 2 * N * m.atanh(1 - 2 * delta)
    lanes, terms = (N + 2) * D, MONOMIALS * (N + 1) ** D
    return {"N": N, "delta": delta, "c": c, "terms": terms, "W": 2 * lanes + 1, "D": 7 + 2 * math.ceil(terms / lanes)}


@item(
    "Theorem 1, Sobolev functions",
    "$‖f‖_{n,∞} ≤ 1$ on $[0, 1]^d$: $N = ⌈(n!/d^n (γε)/2^d)^(−1/n)⌉$, $δ = n!/d^n ((1 − γ)ε)/((N + 1)^d − 2^d)$, $c ≥ "
    "2N artanh(1 − 2δ)$, $W = 2(N + 2)d + 1$ and $M(N + 1)^d$ terms give $sup|f − f̂| ≤ ε$",
    "thm:sobolev",
)
def theorem_1() -> Finding:
    program, said, ours = compiled_program("paper"), printed_choice(), theorem1.paper(D, ORDER, EPS, GAMMA)
    steep, norm = ours.c, sobolev_norm(F, ORDER).norm[1]
    off, proof = largest_difference(program), method_proof("paper")
    agrees = (ours.N, program.width, program.depth) == (said["N"], said["W"], said["D"])
    near = abs(ours.delta / said["delta"] - 1) <= 1e-12 and said["c"] <= steep <= said["c"] * 1.05
    enough = Partition(said["N"], steep).delta <= said["delta"]
    assert program.origin is not None
    named = (program.origin.options["N"], program.origin.options["c"]) == (said["N"], steep)
    return Finding(
        f"{F} with norm ≤ {size(norm)}, $n = {ORDER}$, $ε = {EPS:g}$, $γ = ½$: the formulas give $N = {said['N']}$, "
        f"$δ = {float(said['delta']):.4g}$, $c ≥ {float(said['c']):.4g}$, {said['terms']} terms, $W = {said['W']}$, "
        f"$D = {said['D']}$ (depth as corrected below). Compiled as printed: $c = {steep:g}$, $W = {program.width}$, "
        f"$D = {program.depth}$; largest difference found, with {program.bits} bits, {size(off)}, {proof.status} ≤ "
        f"{size(proof.upper)}",
        norm <= 1
        and agrees
        and bool(near)
        and bool(enough)
        and named
        and off <= proof.upper <= EPS
        and proof.status == "proved",
        {"N": said["N"], "delta": float(said["delta"]), "c": float(said["c"]), "steepness": steep, "W": program.width}
        | {"D": program.depth, "terms": said["terms"], "seen": off, "proven": proof.upper, "bits": program.bits}
        | {"norm": norm},
    )


@item(
    "Theorem 1, orders of growth",
    "$W = O(ε^(−1/n))$ states and $D = O(ε^(−(d − 1)/n))$ segments",
)
def growth() -> Finding:
    slopes = {}
    for d, n in ((1, 4), (2, 4), (3, 6)):
        ends = [theorem1.paper(d, n, eps).N for eps in (1e-16, 1e-20)]
        for name, sizes in (
            ("W", [theorem1.width(d, N) for N in ends]),
            ("D", [theorem1.depth(d, N, math.comb(d + n - 1, d) * (N + 1) ** d) for N in ends]),
        ):
            slopes[f"{name}, d = {d}, n = {n}"] = -math.log(sizes[1] / sizes[0]) / math.log(1e4)
    wanted = {name: -(1 if name[0] == "W" else int(name[7]) - 1) / int(name[-1]) for name in slopes}
    off = max(abs(slopes[name] - wanted[name]) for name in slopes)
    parts = "; ".join(f"{name}: {value + 0.0:.4f}" for name, value in slopes.items())
    return Finding(f"exponents of $ε$ between 1e-16 and 1e-20: {parts}", off <= 5e-3, {**slopes, "largest": off})


@item(
    "Theorem 1, as in the remark after Lemma 2",
    "$Δ > 1$ and the logarithms of $ψ_k + 1$ avoid the escape; more monomials have to be formed",
)
def remark() -> Finding:
    program, N = compiled_program("remark"), printed_choice()["N"]
    off, taylor, proof = largest_difference(program), largest_difference(program, "taylor"), method_proof("remark")
    terms = MONOMIALS * (N + 2) ** D
    depth = 7 + 2 * math.ceil(terms / ((N + 2) * D))
    fits = program.bits == 53 and (program.width, program.depth) == (printed_choice()["W"], depth)
    return Finding(
        f"$Δ = 1.25$, the same $N$: {terms} terms $M(N + 2)^d$, $W = {program.width}$, $D = {program.depth}$, in "
        f"float64. Largest difference found {size(off)} by closed forms, {size(taylor)} by integration of the terms, "
        f"{proof.status} ≤ {size(proof.upper)}",
        fits and max(off, taylor) <= EPS and off <= proof.upper <= EPS and proof.status == "proved",
        {"terms": terms, "D": program.depth, "W": program.width, "seen": off, "taylor": taylor, "proven": proof.upper},
    )


@item(
    "Theorem 1, last sentence: any horizon T by rescaling",
    "multiplying the right-hand sides by $D/T$ gives any horizon $T$",
)
def horizon() -> Finding:
    program = compiled_program("remark")
    offs = {}
    for T in (1.0, 20.0):
        other = program.rescale_time(T)
        offs[T] = float(np.abs(other(POINTS) - program(POINTS)).max()) if other.horizon == T else math.inf
    parts = ", ".join(f"$T = {T:g}$: {size(off)}" for T, off in offs.items())
    return Finding(
        f"the outputs of $T = {program.horizon:g}$ and of others differ by: {parts}",
        max(offs.values()) <= 1e-10,
        {f"T = {T:g}": off for T, off in offs.items()},
    )


@item(
    "Theorem 1, lean (ours)",
    "(not in the paper) the same theorem with fewer registers and segments: $ln ψ_k$ is linear in $ln cosh$, a "
    "cell is one product, $N$ and $c$ come from moments",
)
def lean() -> Finding:
    paper, parts, good = compiled_program("paper"), [], True
    numbers: dict[str, float] = {}
    for name, eps in (("asked", EPS), ("proved", method_proof("paper").upper)):
        program, proof = compiled_program("lean", eps), method_proof("lean", eps)
        ratio = paper.width * paper.depth / (program.width * program.depth)
        parts.append(
            f"within {size(eps)}: $W = {program.width}$, $D = {program.depth}$, {proof.status} ≤ {size(proof.upper)}, "
            f"W·D {ratio:.1f} times smaller"
        )
        numbers |= {f"ratio, {name}": ratio, f"proven, {name}": proof.upper}
        good = good and proof.status == "proved" and proof.upper <= eps and ratio > 1
    return Finding(
        f"as printed $W = {paper.width}$, $D = {paper.depth}$, proved ≤ {size(method_proof('paper').upper)}. Lean "
        + "; ".join(parts),
        good,
        numbers,
    )


ITEMS = (theorem_1, growth, remark, horizon, lean)
