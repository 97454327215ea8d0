"""Derivatives of the values of a tape along a direction, as further operations: sums, products and the chain rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from integraph.certify.loops.tape import ADD, FUNCTION, INPUT, MUL, NEG, SCALE, SUB, Assembler, Operations


def slopes(
    made: Assembler, tape: Operations, places: Sequence[int], of_input: Callable[[int], int | None]
) -> list[int | None]:
    """The derivative of every value of the tape, whose values are at these places; None where it is 0."""
    found: list[int | None] = []
    for number, (op, a, b, _) in enumerate(tape.code.tolist()):
        slope: int | None = None
        if op == INPUT:
            slope = of_input(a)
        elif op == MUL:
            slope = _sum(made, ADD, _times(made, found[a], places[b]), _times(made, found[b], places[a]))
        elif op == FUNCTION:
            slope = _times(made, found[a], places[b])
        elif op in (ADD, SUB):
            slope = _sum(made, op, found[a], found[b])
        elif op in (NEG, SCALE) and (inner := found[a]) is not None:
            slope = made.add(op, inner, number=tape.numbers[number].tolist())
        found.append(slope)
    return found


def _times(made: Assembler, slope: int | None, by: int) -> int | None:
    return None if slope is None else made.mul(slope, by)


def _sum(made: Assembler, op: int, a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return a if b is None else (made.add(NEG, b) if op == SUB else b)
    return made.add(op, a, b)
