"""A graph as a program, exactly: lower, time, allocate, emit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from integraph.constructions.graph import allocation, emit
from integraph.constructions.graph.forms import Form, constant
from integraph.constructions.graph.runs import Tape, used
from integraph.constructions.graph.timing import timing
from integraph.program import Program, build


def program(tape: Tape, outputs: Sequence[Form], *, free: str, r: float, source: str) -> Program:
    """The program whose outputs are these linear forms of atoms."""
    biased = any(form.b.any() for form in outputs)
    if not tape.runs and not biased:  # nothing to compute: one segment carries the outputs over
        outputs = [tape.sum(form, "output") for form in outputs]
    one = next(iter(tape.sum(constant((), 1.0), "1", "one").atoms)) if biased else None
    needed = frozenset().union(*(form.atoms for form in outputs)) | ({one} if one is not None else set())
    tape = used(tape, needed)
    time = timing(tape, needed)
    found = allocation.allocate(tape, time, needed, free)
    segments = emit.segments(tape, time, found, free, r)
    where = emit.places(tape, found)
    matrix = emit.readout(where, outputs, one, found.width)
    return build(emit.registers(tape, found), segments, matrix, source=source)
