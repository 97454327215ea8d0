"""JuliaReach, ReachabilityAnalysis.jl: `@taylorize` right-hand sides, and flowpipes from the box of the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from integraph.export.equations import equations, start_box
from integraph.export.header import commented, header, legend
from integraph.export.solvers.julia import segment_functions

if TYPE_CHECKING:
    from integraph.program import Program

RUN = """
const SEGMENTS = [{handles}]
const DURATIONS = {durations}
const LOW = {low}
const HIGH = {high}

"One flowpipe for each segment, the first from the box of the inputs."
function {name}(; alg = TMJets(abstol = 1e-12, orderT = 8, orderQ = 2))
    start, flowpipes = Hyperrectangle(low = LOW, high = HIGH), []
    for (f!, duration) in zip(SEGMENTS, DURATIONS)
        problem = InitialValueProblem(BlackBoxContinuousSystem(f!, {width}), start)
        push!(flowpipes, solve(problem, tspan = (0.0, duration), alg = alg))
        start = set(overapproximate(flowpipes[end](duration), Hyperrectangle))
    end
    return flowpipes
end
"""


def write(program: Program, name: str) -> str:
    eq = equations(program)
    low, high = start_box(program)
    rest = [0.0] * (len(eq.names) - eq.inputs)
    places = [f"y[{number + 1}]" for number in range(len(eq.names))]
    run = RUN.format(
        handles=", ".join(f"segment{number + 1}!" for number in range(len(eq.segments))),
        durations=f"[{', '.join(map(repr, eq.durations))}]",
        low=repr(low + rest),
        high=repr(high + rest),
        name=name,
        width=len(eq.names),
    )
    about = commented([*header(program, name, exact=True), *legend(program, places)], "#")
    return f"{about}using ReachabilityAnalysis\n" + "".join(segment_functions(eq, places, "@taylorize ")) + run
