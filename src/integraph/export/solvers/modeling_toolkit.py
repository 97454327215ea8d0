"""Julia, ModelingToolkit.jl: one symbolic system for each segment, solved one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from integraph.export.equations import equations
from integraph.export.header import commented, header, plain
from integraph.export.notation import Notation

if TYPE_CHECKING:
    from integraph.program import Program

NOTATION = Notation()
USED = ("t", "D", "segments", "durations", "solve", "error", "zip", "problem", "solution", "values", "system")
RUN = """
const DURATIONS = {durations}
const STATES = [{states}]

"The outputs for one input, a vector of {inputs}."
function {name}(input; solver = Vern9())
    values = [collect(Float64, input); zeros({rest})]
    for (system, duration) in zip(SEGMENTS, DURATIONS)
        problem = ODEProblem(structural_simplify(system), Dict(STATES .=> values), (0.0, duration))
        solution = solve(problem, solver; reltol = 1e-12, abstol = 1e-14)
        solution.retcode == ReturnCode.Success || error("no solution up to the end of a segment")
        values = [solution[state][end] for state in STATES]
    end
    return [{outputs}]
end
"""


def write(program: Program, name: str) -> str:
    eq = equations(program, avoid=(*USED, name))
    systems = []
    for number, label in enumerate(eq.labels):
        moving = dict(eq.segments[number])
        rows = [f"        D({one}) ~ {NOTATION.sum(moving.get(n, []), eq.names)},\n" for n, one in enumerate(eq.names)]
        own = f"    ], t; name = :segment{number + 1}),\n"
        systems.append(f"    ODESystem([  # {plain(label)}\n{''.join(rows)}{own}")
    values = [f"values[{number + 1}]" for number in range(len(eq.names))]
    run = RUN.format(
        durations=f"[{', '.join(map(repr, eq.durations))}]",
        states=", ".join(eq.names),
        inputs=eq.inputs,
        name=name,
        rest=len(eq.names) - eq.inputs,
        outputs=", ".join(NOTATION.sum(terms, values) for _, terms in eq.outputs),
    )
    return (
        commented(header(program, name, exact=True), "#")
        + "using ModelingToolkit, OrdinaryDiffEq\nusing ModelingToolkit: t_nounits as t, D_nounits as D\n\n"
        + f"@variables {' '.join(f'{one}(t)' for one in eq.names)}\n\n"
        + f"const SEGMENTS = [\n{''.join(systems)}]\n{run}"
    )
