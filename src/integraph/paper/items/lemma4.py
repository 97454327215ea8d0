"""Lemma 4, Table I and Figure 1: the bootstrap, step by step, and its partition of unity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from integraph.bounds.paper.partition_of_unity import Partition
from integraph.constructions.theorem1.lemma4 import TABLE_I, bootstrap, layout, required_bits
from integraph.gadgets.partition import controls
from integraph.paper.digits import digits, largest_error
from integraph.paper.equations import program_terms, same_terms
from integraph.paper.lemma4_equations import NAMES, Lemma4, matrices, psi, table_column
from integraph.paper.rows import Finding, item, shared, size
from integraph.program import Program, Registers, View, build

FIGURE = (3, 20.0)  # N and c of Figure 1
LEMMA = Lemma4(2, *FIGURE, delta=0.5)
X = ((0.3, 0.9), (0.05, 0.5))
BITS = 192  # of the integration; e^(−2c) takes 58 of them, twice
INTEGRATED, COMPILED, ROUNDED = 1e-25, 1e-12, 2.0**-50
RELATIVE = 0.0  # the floor of errors that count relatively however small the number is


def compiled(lemma: Lemma4, *, plus_one: bool = False, bits: int | None = None) -> Program:
    """Our bootstrap alone, all registers read out."""
    r = Registers()
    at = layout(r, r.inputs("alpha", lemma.d), lemma.N)
    segments = bootstrap(at, lemma.c, lemma.delta, plus_one=plus_one)
    name = f"Lemma 4, N = {lemma.N}, c = {lemma.c:g}"
    program = build(r, segments, View(0, (r.width,), (1,)), source=name)
    return replace(program, bits=required_bits(lemma.c) if bits is None else bits)


@shared
def integrated() -> tuple[list[dict[str, Any]], ...]:
    """The states after each step of the paper's terms, for every x."""
    equations = LEMMA.equations()
    return tuple(equations.path(LEMMA.start(x), bits=BITS) for x in X)


@item(
    "Lemma 4, bootstrapping",
    "7 segments of duration 1 steer $2(N + 2)d$ states from $(x, 0)$ to ones, $ln(x_j + Δ)$ and $ln ψ_k(x_j)$; on "
    "the way $e^A$ is bidiagonal with $±½$, and $Σ_k ψ_k = 1$",
    "lem:bootstrap",
)
def lemma_4() -> Finding:
    program, equations = compiled(LEMMA), LEMMA.equations()
    alike = [same_terms(program_terms(program, n), equations.terms(n), ROUNDED) for n in range(7)]
    ended: list[Any] = []
    wanted: list[Any] = []
    sums: list[Any] = []
    for x, path in zip(X, integrated(), strict=True):
        for values in table_column(LEMMA, x, 7).values():
            ended += [path[7][name] for name in values]
            wanted += values.values()
        for j in range(LEMMA.d):
            sums.append(sum(path[2][f"lam{k},{j}"] for k in range(LEMMA.N + 1)))
    end, one = largest_error(ended, wanted, RELATIVE), largest_error(sums, [1] * len(sums))
    exponential = max(_bidiagonal(N) for N in (1, 3, 8))
    fixed = max(_controls(N) for N in (1, 3, 8))
    good = program.width == 2 * (LEMMA.N + 2) * LEMMA.d and program.depth == 7 and all(alike)
    return Finding(
        f"$N = {LEMMA.N}$, $c = {LEMMA.c:g}$, $d = {LEMMA.d}$: $W = {program.width}$, $D = {program.depth}$; the "
        f"terms of {sum(alike)} of 7 segments are the paper's (step 2 as corrected below) up to rounding. Integrated "
        f"with {BITS} bits, the end is off by {size(end)}, $Σψ$ by {size(one)}; $e^A$ by {size(exponential)}, our "
        f"$A$, $b$, $B$, $κ$ by {size(fixed)}",
        good and max(end, one, exponential, fixed) <= INTEGRATED,
        {"W": program.width, "D": program.depth, "end": end, "sum": one, "exponential": exponential, "controls": fixed},
    )


def _bidiagonal(N: int) -> float:
    """How far e^A is from ½ on the diagonal and −½ beside it."""
    exponential = digits().expm(matrices(N).A)
    wanted = [(0.5 if k == n else -0.5 if n == k + 1 else 0.0) for k in range(N + 1) for n in range(N + 1)]
    return largest_error([exponential[k, n] for k in range(N + 1) for n in range(N + 1)], wanted)


def _controls(N: int) -> float:
    """How far the controls of our step 2 are from the matrices of the paper, relatively."""
    ours, true = controls(N, 200), matrices(N)
    rows = ((ours.A, true.A[0, :]), (ours.B, true.B[0, :]), (ours.b, true.b), (ours.kappa, true.kappa))
    return max(largest_error(row.tolist(), list(wanted), RELATIVE) for row, wanted in rows)


@item(
    "Table 1, the state after each step of Lemma 4",
    "what $α$, $λ$, $β$ and $μ$ hold after steps 0 … 7",
    "tab:bootstrap_summary",
)
def table_1() -> Finding:
    flow = compiled(LEMMA).flow(X, engine="precise", times=np.arange(8.0)).check()
    assert flow.path is not None
    errors = np.zeros((2, len(TABLE_I), 8))
    for step in range(8):
        for x, path, run in zip(X, integrated(), flow.path, strict=True):
            for row, values in enumerate(table_column(LEMMA, x, step).values()):
                float64 = dict(zip(LEMMA.registers, run[step].tolist(), strict=True))
                for which, states in enumerate((path[step], float64)):
                    off = largest_error([states[name] for name in values], values.values(), RELATIVE)
                    errors[which, row, step] = max(errors[which, row, step], off)
    terms, program = errors.max(axis=(1, 2)).tolist()
    head = ("", *(f"step {step}" for step in range(8)))
    body = [(NAMES[row], *map(size, errors[0, n])) for n, row in enumerate(TABLE_I)]
    return Finding(
        f"$N = {LEMMA.N}$, $c = {LEMMA.c:g}$, $Δ = {LEMMA.delta:g}$, {len(X) * LEMMA.d} values $x$: over all 8 "
        f"columns the paper's terms, integrated with {BITS} bits, are within {size(terms)} of the table, and our "
        f"compiled program with float64 controls within {size(program)}, relatively",
        terms <= INTEGRATED and program <= COMPILED,
        {"terms": terms, "program": program},
        (head, *body, ("largest", *map(size, errors[0].max(0)))),
    )


@item(
    "Figure 1, the partition of unity for N = 3, c = 20",
    "$ψ_0$ … $ψ_3$: bumps with peaks at $k/N$ that hand over at $γ_k = (2k − 1)/(2N)$; outside its support, $[(k "
    "− 1)/N, (k + 1)/N]$, $ψ_k ≤ δ(c) = ½(1 − tanh(c/(2N)))$",
    "fig:ac",
)
def figure_1() -> Finding:
    m, (N, c) = digits(), FIGURE
    ours = Partition(N, c)
    x = np.linspace(0.0, 1.0, 481)
    true = np.array([psi(N, c, value) for value in x.tolist()]).T
    off = largest_error(ours(x).ravel().tolist(), true.ravel().tolist(), RELATIVE)
    one = largest_error(ours(x).sum(0).tolist(), [1] * len(x))
    delta = (1 - m.tanh(m.mpf(c) / (2 * N))) / 2
    outside = max(
        true[k, n] for k in range(N + 1) for n, v in enumerate(x) if not ours.support(k)[0] <= v <= ours.support(k)[1]
    )
    peaks = [float(psi(N, c, m.mpf(k) / N)[k]) for k in range(N + 1)]
    middle = largest_error([psi(N, c, (m.mpf(2 * k - 1)) / (2 * N))[k] for k in range(1, N + 1)], [0.5] * N)
    named = largest_error([ours.delta], [delta], RELATIVE)
    good = max(off, one) <= COMPILED and outside <= delta and named <= COMPILED and middle <= 1e-2
    return Finding(
        f"$δ = {float(delta):.6f}$, largest $ψ_k$ found outside its support {float(outside):.6f}; peaks $ψ_k(k/N)$ = "
        f"{', '.join(f'{v:.4f}' for v in peaks)}; $ψ_k(γ_k)$ is ½ up to {size(middle)}. Our formula, without "
        f"differences of tanh, agrees at {len(x)} points up to {size(off)} relatively; $Σψ − 1$ is at most {size(one)}",
        good,
        {"delta": float(delta), "outside": float(outside), "formula": off, "sum": one}
        | {f"peak {k}": value for k, value in enumerate(peaks)},
    )


ITEMS = (lemma_4, figure_1, table_1)
