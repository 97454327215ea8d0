"""Table I as numbers: what each register should hold after each step of Lemma 4."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping
from typing import Any

from integraph.constructions.theorem1.lemma4 import TABLE_I
from integraph.paper.digits import digits
from integraph.paper.lemma4_equations import Lemma4, gamma, psi

SIGNS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
NAMES = {"alpha": "α_j", "lam0": "λ_{j,0}", "lam": "λ_{j,k}", "beta": "β_j", "mu0": "μ_{j,0}", "mu": "μ_{j,k}"}

SPELLED = {"Delta": "Δ", "psi": "ψ", "z*tanh(z)": "γ tanh(γ)", "(z)": "(γ)", "-": "−"}


def shown() -> list[tuple[str, ...]]:
    """The table as the paper has it, γ for its γ_{j,k}, and the indices of its rows for those of x, γ and ψ."""
    rows = []
    for row, formulas in TABLE_I.items():
        texts = list(formulas)
        for code, sign in SPELLED.items():
            texts = [text.replace(code, sign) for text in texts]
        rows.append((NAMES[row], *texts))
    return rows


def column(lemma: Lemma4, x: tuple[float, ...], step: int) -> dict[str, dict[str, Any]]:
    """By row of the table, the registers that it speaks of and their values."""
    m = digits()
    columns: dict[str, dict[str, Any]] = {row: {} for row in TABLE_I}
    for j, value in enumerate(x):
        common = {"x": m.mpf(value), "Delta": m.mpf(lemma.delta)}
        bumps = psi(lemma.N, lemma.c, value)
        for row, formulas in TABLE_I.items():
            if row in ("alpha", "beta"):
                columns[row][f"{row},{j}"] = evaluated(formulas[step], common)
                continue
            for k in [0] if row.endswith("0") else range(1, lemma.N + 1):
                known = common | {"psi": bumps[k], "z": lemma.c * (m.mpf(value) - gamma(k, lemma.N))}
                columns[row][f"{row.rstrip('0')}{k},{j}"] = evaluated(formulas[step], known)
    return columns


def evaluated(formula: str, known: Mapping[str, Any]) -> Any:
    """A formula of the table in many digits."""
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
        raise ValueError(f"{formula}: no formula of Table I")

    return value(ast.parse(formula, mode="eval").body)
