"""Errors of arguments through a formula: F(x + e) − F(x) = F'(x + θe)·e for some θ in [0, 1], row by row."""

from __future__ import annotations

import numpy as np

from integraph.certify.loops.flow_kernels import row_values
from integraph.certify.loops.rows import ModelRows
from integraph.certify.loops.slopes import slopes
from integraph.certify.loops.tape import FUNCTION, INPUT, Assembler, Operations, operations
from integraph.numbers.arrays import Floats
from integraph.numbers.roundoff import UP
from integraph.targets.expression import Expression


def moved(formula: Expression, x: ModelRows, errors: ModelRows) -> Floats | None:
    """Rows of F(x + e) − F(x), of rows of all variables and of the errors of the first; None where F may have no
    value."""
    tape = _tangent(operations(formula, formula.variables), len(errors.values))
    values = x.values.copy()
    ends = errors.ranges()
    values[: len(ends), -1] += np.abs(ends).max(1) * UP
    values[:, -1] *= UP
    rows = np.concatenate([values, errors.values])
    failed, out = row_values(tape.code, tape.numbers, tape.held, tape.outputs, rows, x.table)
    return out if failed < 0 and np.isfinite(out).all() else None


def _tangent(tape: Operations, errors: int) -> Operations:
    """F'(x)·e as a tape, of x and then e, the errors of the first variables."""
    made = Assembler()
    inputs = [made.add(INPUT, number) for number in range(tape.inputs + errors)]
    places: list[int] = []
    for op, a, b, function in tape.code.tolist():
        number = tape.numbers[len(places)].tolist()
        if op == INPUT:
            places.append(inputs[a])
        elif op == FUNCTION:  # its derivative may come later
            places.append(len(made.code))
            made.code.append([FUNCTION, places[a], b, function])
            made.numbers.append((number[0], number[1]))
        else:
            one, other = (places[arg] if arg >= 0 else arg for arg in (a, b))
            places.append(made.add(op, one, other, number=number))
    for place in places:
        if made.code[place][0] == FUNCTION:
            made.code[place][2] = places[made.code[place][2]]
    along = slopes(made, tape, places, lambda a: inputs[tape.inputs + a] if a < errors else None)
    zero = made.constant(0.0)
    outputs = [zero if (slope := along[n]) is None else slope for n in tape.outputs]
    return made.operations(outputs, [False] * len(inputs))
