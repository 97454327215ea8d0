"""The outputs C y of a program, on balls."""

from __future__ import annotations

import numpy as np
from flint import arb

from integraph.certify.arbs import ZERO, Balls
from integraph.program import Program


def read_out(program: Program, states: Balls) -> Balls:
    matrix = program.readout
    found = [ZERO] * program.outputs
    rows = np.repeat(np.arange(program.outputs), np.diff(matrix.indptr))
    for row, register, value in zip(rows.tolist(), matrix.indices.tolist(), matrix.data.tolist(), strict=True):
        found[row] += arb(value) * states[register]
    return found
