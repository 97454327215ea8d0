"""Lemma 4 as the paper writes it: its functions, its matrices, its seven segments as terms, and Table I, in many
digits.

Registers are in our order, λ_{j,k} as number d + k·d + j, because the printed numbers collide. Steps 2 and 3 are the
corrected ones, or on request the printed ones.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from integraph.constructions.theorem1.lemma4 import TABLE_I
from integraph.paper.digits import digits
from integraph.paper.equations import Equation, Equations

SIGNS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
NAMES = {"alpha": "α_j", "lam0": "λ_{j,0}", "lam": "λ_{j,k}", "beta": "β_j", "mu0": "μ_{j,0}", "mu": "μ_{j,k}"}
SPELLED = {"Delta": "Δ", "psi": "ψ", "z*tanh(z)": "γ tanh(γ)", "(z)": "(γ)", "-": "−"}


class Matrices(NamedTuple):
    """Of step 2: A and b as printed, B and κ of the correction."""

    A: Any
    b: Any
    B: Any
    kappa: Any


def matrices(N: int) -> Matrices:
    m = digits()
    A = np.array([[_entry(other - k) for other in range(N + 1)] for k in range(N + 1)], object)
    v = np.array([m.mpf(0)] * N + [m.mpf(0.5)], object)
    one = np.array([[m.mpf(k == other) for other in range(N + 1)] for k in range(N + 1)], object)
    inverted = m.inverse(m.expm(A) - one)
    b = A @ inverted @ v
    return Matrices(A, b, A @ inverted, inverted @ (v - b))


def _entry(ahead: int) -> Any:
    """−ln 2, −1, −1/2, −1/3, … from the diagonal on."""
    m = digits()
    return -m.ln(2) if ahead == 0 else m.mpf(-1) / ahead if ahead > 0 else m.mpf(0)


def psi(N: int, c: float, x: Any) -> list[Any]:
    """ψ_0(x) … ψ_N(x), printed as differences of tanh."""
    m = digits()
    steps = [m.tanh(c * (m.mpf(x) - gamma(k, N))) for k in range(1, N + 1)]
    return [(left - right) / 2 for left, right in pairwise([m.mpf(1), *steps, m.mpf(-1)])]


def gamma(k: int, N: int) -> Any:
    return digits().mpf(2 * k - 1) / (2 * N)


@dataclass(frozen=True)
class Lemma4:
    """d inputs, N + 1 functions of steepness c; `step_2` and `step_3` may be "printed"."""

    d: int
    N: int
    c: float
    delta: float
    step_2: str = "corrected"
    step_3: str = "corrected"

    def equations(self) -> Equations:
        lanes = [[self._step(number, f"{j}") for j in range(self.d)] for number in range(1, 8)]
        return Equations(self.registers, tuple(tuple(e for lane in step for e in lane) for step in lanes))

    @property
    def registers(self) -> tuple[str, ...]:
        """α_j, λ_{j,k}, β_j, μ_{j,k}; j from 0."""
        rows = ["alpha", *(f"lam{k}" for k in range(self.N + 1)), "beta", *(f"mu{k}" for k in range(self.N + 1))]
        return tuple(f"{row},{j}" for row in rows for j in range(self.d))

    def start(self, x: tuple[float, ...]) -> dict[str, Any]:
        return {f"alpha,{j}": value for j, value in enumerate(x)}

    def _step(self, number: int, j: str) -> Iterator[Equation]:
        alpha, beta = f"alpha,{j}", f"beta,{j}"
        lam, mu = ([f"{name}{k},{j}" for k in range(self.N + 1)] for name in ("lam", "mu"))
        pairs = [(alpha, beta), *zip(lam, mu, strict=True)]
        if number == 1:
            yield from self._tanh(alpha, lam, mu)
        elif number == 2:
            yield from self._partition(alpha, lam, mu)
        elif number == 3:
            yield alpha, self.delta - 1.0
            yield from ((y, -1) for y in (lam[:-1] if self.step_3 == "printed" else lam))
        elif number == 4:
            for y, log in pairs:
                yield from ((y, -1, y, y), (log, 1, y))
        elif number == 6:
            yield from ((y, 1) for y, _ in pairs)
        else:
            yield from ((y, 1 if number == 5 else -1, log, y) for y, log in pairs)

    def _tanh(self, alpha: str, lam: list[str], mu: list[str]) -> Iterator[Equation]:
        """z = cα − cγ_k: λ̇ = z − λμ, μ̇ = z² − μ²."""
        yield lam[0], 1
        for k in range(1, self.N + 1):
            a, b = digits().mpf(self.c), -self.c * gamma(k, self.N)
            yield from ((lam[k], a, alpha), (lam[k], b), (lam[k], -1, lam[k], mu[k]))
            yield from ((mu[k], a * a, alpha, alpha), (mu[k], 2 * a * b, alpha), (mu[k], b * b))
            yield mu[k], -1, mu[k], mu[k]

    def _partition(self, alpha: str, lam: list[str], mu: list[str]) -> Iterator[Equation]:
        """λ̇ = Aλ + b; μ̇_k = z Σ a_{k−1,ℓ} λ_ℓ as printed, μ̇_k = −z[(Bλ)_k − κ_k] as corrected."""
        fixed, printed = matrices(self.N), self.step_2 == "printed"
        for k in range(self.N + 1):
            yield from ((lam[k], fixed.A[k, other], lam[other]) for other in range(k, self.N + 1))
            yield lam[k], fixed.b[k]
        for k in range(1, self.N + 1):
            a, b = digits().mpf(self.c), -self.c * gamma(k, self.N)
            row = [fixed.A[k - 1, other] if printed else -fixed.B[k, other] for other in range(self.N + 1)]
            for weight, other in zip(row, lam, strict=True):
                yield from ((mu[k], a * weight, alpha, other), (mu[k], b * weight, other)) if weight else ()
            if not printed:
                yield from ((mu[k], a * fixed.kappa[k], alpha), (mu[k], b * fixed.kappa[k]))


def printed_table() -> list[tuple[str, ...]]:
    """The table as the paper has it, γ for its γ_{j,k}, and the indices of its rows for those of x, γ and ψ."""
    rows = []
    for row, formulas in TABLE_I.items():
        texts = list(formulas)
        for code, sign in SPELLED.items():
            texts = [text.replace(code, sign) for text in texts]
        rows.append((NAMES[row], *texts))
    return rows


def table_column(lemma: Lemma4, x: tuple[float, ...], step: int) -> dict[str, dict[str, Any]]:
    """The values of the registers after a step, by row of the table."""
    m = digits()
    columns: dict[str, dict[str, Any]] = {row: {} for row in TABLE_I}
    for j, value in enumerate(x):
        common = {"x": m.mpf(value), "Delta": m.mpf(lemma.delta)}
        bumps = psi(lemma.N, lemma.c, value)
        for row, formulas in TABLE_I.items():
            if row in ("alpha", "beta"):
                columns[row][f"{row},{j}"] = evaluate(formulas[step], common)
                continue
            for k in [0] if row.endswith("0") else range(1, lemma.N + 1):
                known = common | {"psi": bumps[k], "z": lemma.c * (m.mpf(value) - gamma(k, lemma.N))}
                columns[row][f"{row.rstrip('0')}{k},{j}"] = evaluate(formulas[step], known)
    return columns


def evaluate(formula: str, known: Mapping[str, Any]) -> Any:
    """The value of a formula of the table, in many digits."""
    m = digits()
    functions = {"ln": m.ln, "tanh": m.tanh}

    def value(node: ast.expr) -> Any:
        match node:
            case ast.Constant(number):
                return m.mpf(number)
            case ast.Name(name):
                return known[name]
            case ast.BinOp(left, sign, right):
                return SIGNS[type(sign)](value(left), value(right))
            case ast.Call(ast.Name(name), [argument]):
                return functions[name](value(argument))
        raise ValueError(f"{formula!r} is not a formula of Table I")

    return value(ast.parse(formula, mode="eval").body)
