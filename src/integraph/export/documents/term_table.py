"""JSON: the whole of eq. (1) as data, for programs of other people. Numbers are decimals that read back exactly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from integraph.export.header import header, plain

if TYPE_CHECKING:
    from integraph.program import Program

FORMAT = "integraph terms"


def write(program: Program, name: str) -> str:
    controls, readout = program.controls(), program.readout.tocoo()
    columns = (part.tolist() for part in (controls.segment, controls.i, controls.j, controls.k, controls.value))
    terms: list[list[tuple[float, ...]]] = [[] for _ in program.segments]
    for segment, *term in zip(*columns, strict=True):
        terms[segment].append(tuple(term))
    document = {
        "format": FORMAT,
        "version": 1,
        "name": name,
        "about": header(program, name, exact=True),
        "registers": [program.registers.name(register) for register in range(program.width)],
        "meanings": {group.name: plain(group.label) for group in program.registers if group.label},
        "inputs": program.inputs,
        "segments": [
            {"label": plain(segment.label), "duration": segment.duration, "terms": own}
            for segment, own in zip(program.segments, terms, strict=True)
        ],
        "readout": [
            list(row) for row in zip(readout.row.tolist(), readout.col.tolist(), readout.data.tolist(), strict=True)
        ],
        "digest": program.digest,
    }
    return json.dumps(document, ensure_ascii=True, allow_nan=False)
