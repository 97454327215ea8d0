"""CSV: one line for each term, in the canonical order; index −1 is the constant 1. Durations and read-out come last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from integraph.export.header import commented, header

if TYPE_CHECKING:
    from integraph.program import Program

COLUMNS = "kind,segment,i,j,k,value"


def write(program: Program, name: str) -> str:
    controls, readout = program.controls(), program.readout.tocoo()
    columns = (part.tolist() for part in (controls.segment, controls.i, controls.j, controls.k, controls.value))
    rows = [f"term,{s},{i},{j},{k},{value!r}" for s, i, j, k, value in zip(*columns, strict=True)]
    rows += [f"duration,{number},,,,{segment.duration!r}" for number, segment in enumerate(program.segments)]
    weights = zip(readout.row.tolist(), readout.col.tolist(), readout.data.tolist(), strict=True)
    rows += [f"readout,,{output},,{register},{value!r}" for output, register, value in weights]
    about = commented(header(program, name, exact=True), "#")
    return f"{about}{COLUMNS}\n" + "".join(f"{row}\n" for row in rows)
