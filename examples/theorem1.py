"""Theorem 1 in a few lines: a formula, the plan for it, the program, what it promises, and the difference found.

Run it with a formula and a tolerance of your own: `python examples/theorem1.py "exp(-x^2)*cos(5*y)" 1e-4`.
"""

from __future__ import annotations

import sys

import numpy as np

import integraph

FORMULA = "sin(3*x)*exp(-y)/(1 + x*y)"
EPS = 1e-3


def report(formula: str = FORMULA, eps: float = EPS) -> str:
    """Compiled, run at 10 000 points by closed forms and at 100 from the terms alone, compared with the formula."""
    f = integraph.function(formula)
    program = integraph.compile(f, eps, method="lean")
    assert f.values is not None
    x = np.random.default_rng(0).uniform(size=(10_000, f.inputs))
    wanted = f.values(x)
    lines = [repr(program)]
    for engine, count in (("exact", 10_000), ("taylor", 100)):
        error = float(np.max(np.abs(program(x[:count], engine=engine) - wanted[:count])))
        lines.append(f"    {engine:7} max |ODE − formula| = {error:.2e} at {count:,} points")
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    formula, eps = arguments[0] if arguments else FORMULA, float(arguments[1]) if len(arguments) > 1 else EPS
    print(integraph.plan(formula, eps))
    print()
    print(report(formula, eps))


if __name__ == "__main__":
    main(sys.argv[1:])
