"""CORA (MATLAB): a nonlinear system for each segment, reached one after the other from the box of the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from integraph.export.equations import Equations, equations, start_box
from integraph.export.header import commented, header, legend, plain
from integraph.export.notation import Notation

if TYPE_CHECKING:
    from integraph.program import Program

NOTATION = Notation()
RUN = """function reached = {name}_reach()
% {name}_reach  Reachable sets, one for each segment; the sets at its end are reached{{n}}.timePoint.set{{end}}.
  low = [{low}];
  high = [{high}];
  params.R0 = polyZonotope(interval(low, high));
  params.U = zonotope(0);
  options.taylorTerms = 6;
  options.zonotopeOrder = 100;
  options.intermediateOrder = 50;
  options.errorOrder = 20;
  options.alg = 'poly';
  options.tensorOrder = 3;
  segments = {{{handles}}};
  durations = [{durations}];
  reached = cell(numel(segments), 1);
  for n = 1:numel(segments)
    system = nonlinearSys(segments{{n}}, {width}, 1);
    params.tFinal = durations(n);
    options.timeStep = durations(n) / 200;
    reached{{n}} = reach(system, params, options);
    params.R0 = reached{{n}}.timePoint.set{{end}};
  end
end
"""


def write(program: Program, name: str) -> str:
    eq = equations(program)
    places = [f"y({number + 1})" for number in range(len(eq.names))]
    low, high = start_box(program)
    rest = [0.0] * (len(eq.names) - eq.inputs)
    run = RUN.format(
        name=name,
        low="; ".join(map(repr, low + rest)),
        high="; ".join(map(repr, high + rest)),
        handles=", ".join(f"@segment{number + 1}" for number in range(len(eq.segments))),
        durations=", ".join(map(repr, eq.durations)),
        width=len(eq.names),
    )
    about = commented([*header(program, name, exact=True), *legend(program, places)], "%")
    return about + run + "".join(_segment(eq, number, places) for number in range(len(eq.segments)))


def _segment(eq: Equations, number: int, places: list[str]) -> str:
    moving = dict(eq.segments[number])
    rows = [f"  dy({n + 1}, 1) = {NOTATION.sum(moving.get(n, []), places)};\n" for n in range(len(places))]
    return f"\nfunction dy = segment{number + 1}(y, u)\n% {plain(eq.labels[number])}\n{''.join(rows)}end\n"
