"""The outputs C y of a program, on balls."""

from __future__ import annotations

from flint import arb

from integraph.numbers.arb.conversion import ZERO, Balls
from integraph.program import Program


def output_weights(program: Program) -> list[list[tuple[int, arb]]]:
    """For each output its registers and their weights."""
    matrix = program.readout
    registers, values = matrix.indices.tolist(), [arb(value) for value in matrix.data.tolist()]
    ends = zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True)
    return [list(zip(registers[a:b], values[a:b], strict=True)) for a, b in ends]


def read_out(program: Program, states: Balls) -> Balls:
    return [sum((weight * states[register] for register, weight in row), ZERO) for row in output_weights(program)]
