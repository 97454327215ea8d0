"""heyoka.py: a Python module with one Taylor integrator for each segment, restarted at every switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from integraph.export.equations import Equations, Term, equations
from integraph.export.header import commented, header, plain
from integraph.export.notation import Notation

if TYPE_CHECKING:
    from integraph.program import Program

NOTATION = Notation()
USED = ("hy", "run", "segments", "durations", "float", "zip", "list", "ArithmeticError")  # by the module itself
RUN = '''

def run(x):
    """The outputs for one input, a list of {inputs} numbers."""
    y = [float(value) for value in x] + [0.0] * {rest}
    for system, duration in zip(SEGMENTS, DURATIONS):
        integrator = hy.taylor_adaptive(system, y, tol=1e-16)
        outcome = integrator.propagate_until(duration)[0]
        if outcome != hy.taylor_outcome.time_limit:
            raise ArithmeticError(f"no solution up to the end of a segment: {{outcome}}")
        y = list(integrator.state)
    return [{outputs}]
'''


def write(program: Program, name: str) -> str:
    eq = equations(program, avoid=USED)
    variables = f"{', '.join(eq.names)} = hy.make_vars({', '.join(map(repr, eq.names))})"
    positions = [f"y[{number}]" for number in range(len(eq.names))]
    outputs = ", ".join(NOTATION.sum(terms, positions) for _, terms in eq.outputs)
    return (
        commented(header(program, name, exact=True), "#")
        + f"import heyoka as hy\n\n{variables}\n\n"
        + "SEGMENTS = [\n"
        + "".join(_segment(eq, number) for number in range(len(eq.segments)))
        + f"]\nDURATIONS = {list(eq.durations)!r}\n"
        + RUN.format(inputs=eq.inputs, rest=len(eq.names) - eq.inputs, outputs=outputs)
    )


def _segment(eq: Equations, number: int) -> str:
    moving = dict(eq.segments[number])
    rows = [f"        ({name}, {_right(eq, moving.get(n, []))}),\n" for n, name in enumerate(eq.names)]
    return f"    [  # {plain(eq.labels[number])}\n{''.join(rows)}    ],\n"


def _right(eq: Equations, terms: list[Term]) -> str:
    right = NOTATION.sum(terms, eq.names)
    return right if any(factors for _, factors in terms) else f"hy.expression({right})"
