"""From a tape to code: what the outputs and the guards need, in an order that keeps few values waiting.

Simple instructions run together where they can, because a run of them can be compiled: others are numpy's, one by one.
A phase is a run of simple instructions and then the others that have all they need. A simple one waits for the phase
that reads its value, and within a phase operands come just before what reads them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from integraph.flow.exact.tape import OPERATIONS, Argument, Instruction, Node, Tape

FINITE = (-math.inf, math.inf)


class Guard(NamedTuple):
    """low < value < high, or the code says nothing about an input."""

    value: int
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """Inputs are the values 0 … inputs − 1, instructions the next ones."""

    inputs: int
    instructions: tuple[Instruction, ...]
    guards: tuple[Guard, ...]
    outputs: tuple[Argument, ...]


def schedule(tape: Tape, outputs: Sequence[Any]) -> Code:
    """The code for outputs that must be finite."""
    for value in outputs:
        tape.guard(value)
    ends = [a.index if isinstance(a, Node) else float(a) for a in outputs]
    implied = _implied(tape)
    guards = {n: bounds for n, bounds in tape.guards.items() if bounds != FINITE or not implied[n]}
    instructions = _merged(tape, [*(a for a in ends if isinstance(a, int)), *guards])
    nothing: list[list[int]] = [[]] * tape.inputs
    operands = nothing + [[a for a in i.arguments if isinstance(a, int)] for i in instructions]
    order = _operands_first([*(a for a in ends if isinstance(a, int)), *guards], operands)
    phases = _phases(tape.inputs, instructions, order, operands)
    position = {value: n for n, value in enumerate(order)}
    inside = [value for value in order if value >= tape.inputs]
    kept = [*range(tape.inputs), *sorted(inside, key=lambda value: (phases[value], position[value]))]
    place = {value: n for n, value in enumerate(kept)}

    def moved(argument: Argument) -> Argument:
        return place[argument] if isinstance(argument, int) else argument

    chosen = [instructions[value - tape.inputs] for value in kept[tape.inputs :]]
    return Code(
        tape.inputs,
        tuple(Instruction(op, tuple(map(moved, arguments))) for op, arguments in chosen),
        tuple(sorted(Guard(place[value], *bounds) for value, bounds in guards.items())),
        tuple(map(moved, ends)),
    )


def _implied(tape: Tape) -> list[bool]:
    """Which values are finite if later ones that are checked are."""
    implied = [False] * (tape.inputs + len(tape.instructions))
    for n in range(len(tape.instructions) - 1, -1, -1):
        if implied[tape.inputs + n] or tape.inputs + n in tape.guards:
            op, arguments = tape.instructions[n]
            for argument, carries in zip(arguments, OPERATIONS[op].carries, strict=True):
                if carries and isinstance(argument, int):
                    implied[argument] = True
    return implied


def _merged(tape: Tape, ends: Sequence[int]) -> list[Instruction]:
    """The instructions, with sums of a product that nothing else reads in one: a pass less over memory, the same
    roundings."""
    reads = Counter([*ends, *(a for i in tape.instructions for a in i.arguments if isinstance(a, int))])
    products = {
        value: instruction.arguments
        for value, instruction in enumerate(tape.instructions, tape.inputs)
        if instruction.op == "multiply" and reads[value] == 1
    }
    merged = list(tape.instructions)
    for n, (op, arguments) in enumerate(tape.instructions):
        for product, other in (arguments, arguments[::-1]) if op == "add" else ():
            if isinstance(product, int) and product in products:
                merged[n] = Instruction("multiply_add", (*products[product], other))
    return merged


def _operands_first(ends: Sequence[int], operands: Sequence[Sequence[int]]) -> list[int]:
    """All that the ends need, each value right after its last operand."""
    order: dict[int, None] = {}
    waiting = [(end, False) for end in reversed(ends)]
    while waiting:
        value, ready = waiting.pop()
        if ready:
            order[value] = None
        elif value not in order:
            waiting += [(value, True), *((operand, False) for operand in reversed(operands[value]))]
    return list(order)


def _phases(
    inputs: int, instructions: Sequence[Instruction], order: Sequence[int], operands: Sequence[Sequence[int]]
) -> dict[int, tuple[int, bool]]:
    """(phase, whether it is one of the others) of each value."""
    phases: dict[int, tuple[int, bool]] = {}
    for value in order:
        other = value >= inputs and not OPERATIONS[instructions[value - inputs].op].simple
        phases[value] = max((phases[a][0] + phases[a][1] for a in operands[value]), default=0), other
    last = max((phase for phase, _ in phases.values()), default=0) + 1
    latest = dict.fromkeys(order, last)
    for value in reversed(order):
        phase, other = phases[value]
        phases[value] = phase if other else latest[value], other
        for operand in operands[value]:
            latest[operand] = min(latest[operand], phases[value][0])
    return phases
