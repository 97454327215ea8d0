"""MATLAB and Octave: a function file that integrates segment after segment with an ODE solver of the language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from integraph.errors import UsageError
from integraph.export.equations import Equations, equations
from integraph.export.header import commented, header, legend, plain
from integraph.export.notation import Notation

if TYPE_CHECKING:
    from integraph.program import Program

NOTATION = Notation()
SOLVERS = ("ode45", "ode15s", "ode23s", "ode78", "ode89", "ode113")
RUN = """function out = {name}(x)
% {name}  The outputs for one input, a vector of {inputs}.
  y = [reshape(x, {inputs}, 1); zeros({rest}, 1)];
  tolerances = odeset('RelTol', 1e-12, 'AbsTol', 1e-13);
  segments = {{{handles}}};
  durations = {durations};
  for n = 1:numel(segments)
    f = segments{{n}};
    [times, states] = {solver}(@(t, y) f(y), [0, durations(n)], y, tolerances);
    if ~(times(end) >= (1 - 1e-14) * durations(n)) || any(~isfinite(states(end, :)))
      error('{name}: no solution up to the end of segment %d', n);
    end
    y = states(end, :).';
  end
  out = [{outputs}];
end
"""


def write(program: Program, name: str, *, solver: str = "ode45") -> str:
    eq = equations(program)
    places = [f"y({number + 1})" for number in range(len(eq.names))]
    handles = ", ".join(f"@segment{number + 1}" for number in range(len(eq.segments)))
    run = RUN.format(
        name=name,
        inputs=eq.inputs,
        rest=len(eq.names) - eq.inputs,
        handles=handles,
        durations=f"[{', '.join(map(repr, eq.durations))}]",
        solver=_solver(solver),
        outputs="; ".join(NOTATION.sum(terms, places) for _, terms in eq.outputs),
    )
    about = commented([*header(program, name, exact=True), *legend(program, places)], "%")
    return about + run + "".join(_segment(eq, number, places) for number in range(len(eq.segments)))


def _solver(name: str) -> str:
    if name not in SOLVERS:
        raise UsageError(f"a solver is one of {', '.join(SOLVERS)}", argument="solver", value=name)
    return name


def _segment(eq: Equations, number: int, places: list[str]) -> str:
    rows = "".join(f"  dy({n + 1}) = {NOTATION.sum(terms, places)};\n" for n, terms in eq.segments[number])
    head = f"\nfunction dy = segment{number + 1}(y)\n% {plain(eq.labels[number])}\n"
    return f"{head}  dy = zeros({len(eq.names)}, 1);\n{rows}end\n"
