"""A tape without functions: the value of each function is a state of its own.

y = F(a) has y' = D·a', D being a value on the same tape, so only sums and products are left, whose errors are rounding
errors. The start of y is computed once, to the last bit, where values of functions on every step are not.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from integraph.certify.loops.interval_kernels import ATAN, COS, ERF, EXP, LN, POWER, RECIPROCAL, SIN, TAN, TANH
from integraph.certify.loops.slopes import slopes
from integraph.certify.loops.tape import ADD, CONSTANT, FUNCTION, INPUT, NEG, SCALE, SUB, Assembler, Operations
from integraph.numbers.arb.conversion import above, below, precision
from integraph.numbers.arrays import Floats

BITS = 128
VALUES: dict[int, Callable[[arb], arb]] = {
    EXP: arb.exp, LN: arb.log, SIN: arb.sin, COS: arb.cos, TAN: arb.tan, TANH: arb.tanh, ATAN: arb.atan,
    RECIPROCAL: lambda x: 1 / x, ERF: arb.erf,
}  # fmt: skip


def function_free(tape: Operations) -> Operations:
    """The tape whose inputs are the states, the functions of them, the held inputs, and the functions of those."""
    made, n = Assembler(), len(tape.outputs)
    changing, held = functions(tape)
    inputs = [*range(n), *range(n + len(changing), len(changing) + tape.inputs)]
    own = dict(zip(changing, range(n, n + len(changing)), strict=True))
    own |= dict(zip(held, range(len(changing) + tape.inputs, len(changing) + len(held) + tape.inputs), strict=True))
    places: list[int] = []
    for number, (op, a, b, _) in enumerate(tape.code.tolist()):
        if op in (INPUT, FUNCTION):
            places.append(made.add(INPUT, inputs[a] if op == INPUT else own[number]))
        else:
            one, other = (places[arg] if arg >= 0 else arg for arg in (a, b))
            places.append(made.add(op, one, other, number=tape.numbers[number].tolist()))
    rates = slopes(made, tape, places, lambda a: places[tape.outputs[a]] if a < n else None)
    zero = made.constant(Fraction(0))
    outputs = [places[s] for s in tape.outputs]
    for number in changing:
        rate = rates[number]
        outputs.append(zero if rate is None else rate)
    constant = [False] * (n + len(changing)) + [True] * (tape.inputs - n + len(held))
    return made.operations(outputs, constant)


def functions(tape: Operations) -> tuple[list[int], list[int]]:
    """The numbers of functions that change in time, and of those that do not."""
    every = [s for s, op in enumerate(tape.code[:, 0].tolist()) if op == FUNCTION]
    return [s for s in every if not tape.held[s]], [s for s in every if tape.held[s]]


def point_values(tape: Operations, point: Floats) -> list[tuple[float, float]]:
    """The ends of every value of a tape at a point."""
    with precision(BITS):
        values: list[arb] = []
        for (op, a, b, function), (number, off) in zip(tape.code.tolist(), tape.numbers.tolist(), strict=True):
            if op == CONSTANT:
                value = arb(number, off)
            elif op == INPUT:
                value = arb(point[a])
            elif op == SCALE:
                value = arb(number, off) * values[a]
            elif op == FUNCTION:
                value = values[a] ** arb(number) if function == POWER else VALUES[function](values[a])
            elif op == NEG:
                value = -values[a]
            else:
                one, other = values[a], values[b]
                value = one + other if op == ADD else one - other if op == SUB else one * other
            values.append(value)
        return [(below(value), above(value)) for value in values]
