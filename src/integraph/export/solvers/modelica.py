"""Modelica: one model, one equation for each register, whose right-hand side changes with time.

Every segment takes one unit of the model's time, and its duration is a factor, so that no switch is at a rounded time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from integraph.export.amplitude import centre
from integraph.export.equations import Equations, Row, Term, equations
from integraph.export.header import commented, header, plain
from integraph.export.notation import Notation

if TYPE_CHECKING:
    from integraph.program import Program

NOTATION = Notation()
TIMING = "Segment n runs from time n - 1 to n, its duration is a factor. The inputs are parameters: x__0 is that of x."


def write(program: Program, name: str) -> str:
    eq = equations(program, avoid=(name,))
    durations = "".join(
        f"  parameter Real duration__{number} = {duration!r}; // {plain(label)}\n"
        for number, (duration, label) in enumerate(zip(eq.durations, eq.labels, strict=True), 1)
    )
    inputs = "".join(
        f"  parameter Real {own}__0 = {value!r};\n  Real {own}(start = {own}__0, fixed = true);\n"
        for own, value in zip(eq.input_names, centre(program).tolist(), strict=True)
    )
    others = "".join(f"  Real {own}(start = 0, fixed = true);\n" for own in eq.names[eq.inputs :])
    outputs = "".join(f"  output Real {own};\n" for own in eq.output_names)
    readout = "".join(
        f"  {own} = {NOTATION.sum(terms, eq.names)};\n"
        for own, (_, terms) in zip(eq.output_names, eq.outputs, strict=True)
    )
    return (
        commented([*header(program, name, exact=True), TIMING], "//")
        + f"model {name}\n{durations}{inputs}{others}{outputs}equation\n"
        + "".join(_derivatives(eq))
        + readout
        + f"  annotation(experiment(StopTime = {len(eq.durations)}, Tolerance = 1e-12));\nend {name};\n"
    )


def _derivatives(eq: Equations) -> list[str]:
    """`der(y) = if time < 1 then … else …`, or 0 for a register that never moves."""
    parts: list[list[tuple[int, list[Term]]]] = [[] for _ in eq.names]
    for number, segment in enumerate(eq.segments, 1):
        for register, terms in segment:
            parts[register].append((number, terms))
    return [f"  der({own}) = {_switched(eq, rows)};\n" for own, rows in zip(eq.names, parts, strict=True)]


def _switched(eq: Equations, rows: list[Row]) -> str:
    text, previous = "", 0
    for number, terms in rows:
        text += f"if time < {number - 1} then 0 else " if number - 1 > previous else ""
        previous = number
        text += f"if time < {number} then duration__{number}*({NOTATION.sum(terms, eq.names)}) else "
    return f"{text}0"
