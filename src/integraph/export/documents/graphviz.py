"""Graphviz: a cluster for each segment, in which arrows lead from factors over products to the registers they move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from integraph.export.equations import Equations, equations
from integraph.export.header import commented, header, plain

if TYPE_CHECKING:
    from integraph.program import Program


def write(program: Program, name: str) -> str:
    eq = equations(program)
    parts = [commented(header(program, name, exact=True), "//"), f"digraph {name} {{\n  rankdir=LR; compound=true;\n"]
    parts.append('  node [shape=ellipse, fontname="Helvetica"]; edge [fontname="Helvetica", fontsize=10];\n')
    last = {register: f"input{register}" for register in range(eq.inputs)}
    parts += [f'  input{register} [label="{eq.names[register]}", shape=box];\n' for register in range(eq.inputs)]
    for number in range(len(eq.segments)):
        parts += _segment(eq, number, last)
        last |= {register: f"s{number}_{register}" for register, _ in eq.segments[number]}
    for row, terms in eq.outputs:
        parts.append(f'  out{row} [label="{eq.output_names[row]}", shape=box, peripheries=2];\n')
        parts += [_edge(last[f], f"out{row}", value) for value, (f,) in terms if f in last]
    return "".join(parts) + "}\n"


def _segment(eq: Equations, number: int, last: dict[int, str]) -> Iterator[str]:
    """The registers that move, a point for each product, and what leads there from segments before."""
    rows = eq.segments[number]
    own = {register: f"s{number}_{register}" for register, _ in rows}
    title = f"{plain(eq.labels[number], 60)}, duration {eq.durations[number]!r}"
    yield f'  subgraph cluster{number} {{\n    label="{title}";\n'
    for register, terms in rows:
        constants = "".join(f"\\n{value:+}" for value, factors in terms if not factors)
        yield f'    {own[register]} [label="{eq.names[register]}{constants}"];\n'
        for place, (_, factors) in enumerate(terms):
            if len(factors) == 2:
                yield f"    s{number}_{register}_{place} [shape=point];\n"
    yield "  }\n"
    for register, terms in rows:
        if register in last:
            yield f"  {last[register]} -> {own[register]} [style=dashed, arrowhead=none];\n"
        for place, (value, factors) in enumerate(terms):
            nodes = [own.get(f, last.get(f, "")) for f in factors]
            if not all(nodes):
                continue  # a register that is still 0: the term adds nothing
            target = f"s{number}_{register}_{place}" if len(factors) == 2 else own[register]
            yield from (_edge(node, target, value if len(factors) == 1 else None) for node in nodes)
            if len(factors) == 2:
                yield _edge(target, own[register], value)


def _edge(tail: str, head: str, value: float | None) -> str:
    return f"  {tail} -> {head}" + (f' [label="{value!r}"];\n' if value is not None else " [arrowhead=none];\n")
