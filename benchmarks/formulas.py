"""Formulas compiled exactly, beside Theorem 1.

Every formula of tests/support/exact_formulas.py: width and depth of the exact program, its largest error relative to
the largest value by closed forms and by the Taylor engine (against mpmath), and what the lean construction of Theorem
1 needs for 1e-6.
"""

from __future__ import annotations

import sys
from pathlib import Path

import integraph
from integraph.errors import IntegraphError
from measure import CONSOLE, show

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from exact_formulas import FORMULAS, Formula, error

EPS = 1e-6
TARGET = 1e-12


def row(formula: Formula) -> tuple[object, ...]:
    """Name, W, D, errors, and W, D of Theorem 1."""
    box, names = list(formula.box), formula.variables
    program, x = integraph.compile(formula.text, box=box, variables=names), formula.points(20)
    errors = [error(formula.name, x, program(x, engine=engine, rtol=1e-14)) for engine in ("exact", "taylor")]
    size = program.width * program.depth
    lean = _theorem1(formula)
    return (
        formula.name, program.width, program.depth, *(f"{e:.1e}" for e in errors),
        *(lean or ("–", "–")), "–" if lean is None else f"{lean[0] * lean[1] / size:.0f}",
    )  # fmt: skip


def _theorem1(formula: Formula) -> tuple[int, int] | None:
    """W and D that its plan has; None where the planner finds no bound, or nothing that fits."""
    try:
        plan = integraph.plan(formula.text, EPS, box=list(formula.box), variables=formula.variables, method="lean")
    except IntegraphError:
        return None
    return plan.chosen.width, plan.chosen.depth


def main() -> None:
    rows = [row(formula) for formula in FORMULAS.values()]
    columns = ("formula", "W", "D", "exact", "taylor", "Theorem 1: W", "D", "ratio of W·D")
    worst = max(float(str(value)) for r in rows for value in r[3:5])
    show(
        "Formulas, and Theorem 1 at 1e-6",
        columns,
        rows,
        "errors relative to the largest value; –: no bound of the derivatives, or more terms than are built",
    )
    CONSOLE.print(f"largest error {worst:.1e}: {'reached' if worst <= TARGET else 'MISSED'} ({TARGET:g})")


if __name__ == "__main__":
    main()
