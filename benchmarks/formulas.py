"""Formulas compiled exactly, beside Theorem 1.

Every formula of tests/exact_formulas.py: width and depth of the exact program, its largest error relative to the
largest value by closed forms and by the Taylor engine (against mpmath), and what Theorem 1 would need for 1e-6: lean,
and as the paper has it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import integraph
from integraph.errors import IntegraphError
from measure import CONSOLE, show

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from exact_formulas import FORMULAS, Formula, error

EPS = 1e-6
TARGET = 1e-12


def row(formula: Formula) -> tuple[object, ...]:
    """Name, W, D, errors, and W, D, W·D of Theorem 1."""
    box, names = list(formula.box), formula.variables
    program, x = integraph.compile(formula.text, box=box, variables=names), formula.points(20)
    errors = [error(formula.name, x, program(x, engine=engine, rtol=1e-14)) for engine in ("exact", "taylor")]
    size = program.width * program.depth
    lean, paper = (_theorem1(formula, method) for method in ("lean", "paper"))
    return (
        formula.name, program.width, program.depth, *(f"{e:.1e}" for e in errors),
        *(lean or ("–", "–")), "–" if lean is None else f"{lean[0] * lean[1] / size:.0f}",
        "–" if paper is None else f"{paper[0] * paper[1] / size:.1e}",
    )  # fmt: skip


def _theorem1(formula: Formula, method: str) -> tuple[int, int] | None:
    """W and D that its plan has; None where the planner finds no bound, or nothing that fits."""
    try:
        plan = integraph.plan(formula.text, EPS, box=list(formula.box), variables=formula.variables, method=method)
    except IntegraphError:
        return None
    return plan.chosen.width, plan.chosen.depth


def main() -> None:
    rows = [row(formula) for formula in FORMULAS.values()]
    columns = ("formula", "W", "D", "exact", "taylor", "lean W", "D", "W·D ratio", "paper's ratio")
    worst = max(float(str(value)) for r in rows for value in r[3:5])
    show("Formulas, and Theorem 1 at 1e-6", columns, rows, "errors relative to the largest value; ratios of W·D")
    CONSOLE.print(f"largest error {worst:.1e}: {'reached' if worst <= TARGET else 'MISSED'} ({TARGET:g})")


if __name__ == "__main__":
    main()
