"""CAPD (C++): validated integration of every segment by its Taylor solver, from the box of the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from integraph.export.equations import Equations, equations, start_box
from integraph.export.header import commented, header, plain
from integraph.export.notation import Notation

if TYPE_CHECKING:
    from integraph.program import Program

NOTATION = Notation()
USED = ("var", "fun", "par", "time")
RUN = """
int main() {{
  std::cout.precision(17);
  capd::IVector start({width});
{starts}  capd::C0HORect2Set y(start);
  for (int n = 0; n < {depth}; ++n) {{
    capd::IMap field(SEGMENTS[n]);
    capd::IOdeSolver solver(field, 20);
    capd::ITimeMap advance(solver);
    y.setCurrentTime(0.0);
    advance(DURATIONS[n], y);
  }}
  capd::IVector end = y;
{outputs}}}
"""


def write(program: Program, name: str) -> str:
    eq = equations(program, avoid=USED)
    low, high = start_box(program)
    starts = [f"  start[{n}] = capd::interval({a!r}, {b!r});\n" for n, (a, b) in enumerate(zip(low, high, strict=True))]
    ends = [f"end[{number}]" for number in range(len(eq.names))]
    outputs = [
        f'  std::cout << "{one} in " << {NOTATION.sum(terms, ends)} << std::endl;\n'
        for one, (_, terms) in zip(eq.output_names, eq.outputs, strict=True)
    ]
    run = RUN.format(width=len(eq.names), depth=len(eq.segments), starts="".join(starts), outputs="".join(outputs))
    return (
        commented(header(program, name, exact=True), "//")
        + '#include <iostream>\n#include "capd/capdlib.h"\n\nconst char *const SEGMENTS[] = {\n'
        + "".join(_segment(eq, number) for number in range(len(eq.segments)))
        + f"}};\nconst double DURATIONS[] = {{{', '.join(map(repr, eq.durations))}}};\n{run}"
    )


def _segment(eq: Equations, number: int) -> str:
    moving = dict(eq.segments[number])
    rows = [NOTATION.sum(moving.get(n, []), eq.names) for n in range(len(eq.names))]
    fields = ',"\n    "'.join(rows)
    return f'    // {plain(eq.labels[number])}\n    "var:{",".join(eq.names)};fun:"\n    "{fields};",\n'
