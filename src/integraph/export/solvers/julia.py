"""Julia, OrdinaryDiffEq.jl: in-place right-hand sides, one solve for each segment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from integraph.export.equations import Equations, equations
from integraph.export.header import commented, header, legend, plain
from integraph.export.notation import Notation

if TYPE_CHECKING:
    from integraph.program import Program

NOTATION = Notation()
RUN = """
const SEGMENTS = [{handles}]
const DURATIONS = {durations}

"The outputs for one input, a vector of {inputs}."
function {name}(x; solver = Vern9(), tolerances...)
    y = [collect(Float64, x); zeros({rest})]
    for (f!, duration) in zip(SEGMENTS, DURATIONS)
        problem = ODEProblem(f!, y, (0.0, duration))
        solution = solve(problem, solver; reltol = 1e-12, abstol = 1e-14, save_everystep = false, tolerances...)
        solution.retcode == ReturnCode.Success || error("no solution up to the end of a segment")
        y = solution.u[end]
    end
    return [{outputs}]
end
"""


def write(program: Program, name: str) -> str:
    eq = equations(program)
    places = [f"y[{number + 1}]" for number in range(len(eq.names))]
    run = RUN.format(
        handles=", ".join(f"segment{number + 1}!" for number in range(len(eq.segments))),
        durations=f"[{', '.join(map(repr, eq.durations))}]",
        inputs=eq.inputs,
        name=name,
        rest=len(eq.names) - eq.inputs,
        outputs=", ".join(NOTATION.sum(terms, places) for _, terms in eq.outputs),
    )
    about = commented([*header(program, name, exact=True), *legend(program, places)], "#")
    return f"{about}using OrdinaryDiffEq\n" + "".join(segment_functions(eq, places)) + run


def segment_functions(eq: Equations, places: list[str], before: str = "") -> list[str]:
    """One function for each segment, that fills dy; `before` stands before each."""
    return [
        f"\n{before}function segment{number + 1}!(dy, y, p, t)  # {plain(label)}\n"
        f"{_rows(eq, number, places)}    return nothing\nend\n"
        for number, label in enumerate(eq.labels)
    ]


def _rows(eq: Equations, number: int, places: list[str]) -> str:
    moving = dict(eq.segments[number])
    return "".join(f"    d{place} = {NOTATION.sum(moving.get(n, []), places)}\n" for n, place in enumerate(places))
