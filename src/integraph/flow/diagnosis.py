"""Diagnose failures: a slow, careful second run of a chunk with failed inputs says what went wrong, where and when.

It uses only the closed forms, which multiply in another order than the fast steps and may carry an input to its end
that a fast step has lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from integraph.flow.exact.binding import advance, positive
from integraph.numbers.arrays import Floats, Indices
from integraph.program import Block, Failure, Program, Status
from integraph.program.dynamics import switches

TIMED = 32  # failures of a chunk whose time is worth finding; each takes milliseconds


def start(program: Program, inputs: Floats) -> Floats:
    """y(0) = (x, 0, …) in the blocks' own units, state-major."""
    states = np.zeros((program.width, len(inputs)))
    states[: program.inputs] = inputs.T
    if program.scales is not None:
        with np.errstate(all="ignore"):  # what is not finite is found later
            states *= program.scales[:, None]
    return states


Work = Sequence[Sequence[Block]]  # for each segment, the blocks that count


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    failures: list[Failure]
    rows: Indices  # of the inputs that reach the end
    states: Floats  # where they do, in the blocks' own units, state-major


def diagnose(program: Program, work: Work, inputs: Floats, first: int) -> Diagnosis:
    """The failures among `inputs`, numbered from `first`, and the ends of the others."""
    states = start(program, inputs)
    failures = _outside(program, states, first)
    numbers = np.setdiff1d(np.arange(len(inputs)), [failure.input - first for failure in failures])
    states = states[:, numbers]
    for number, (segment, blocks) in enumerate(zip(program.segments, work, strict=True)):
        if states.shape[1] == 0:
            break
        before = states.copy()
        bad: dict[int, BadInput] = {}
        with np.errstate(all="ignore"):
            for block in blocks:
                _examine(block, advance(block, states, segment.tau), states, bad)
        for column, what in sorted(bad.items()):
            timed = len(failures) < TIMED
            moment = _when(program, number, what, before[:, column : column + 1]) if timed else math.nan
            name, domain = program.registers.name(what.register), getattr(what.block.op, "domain", "")
            index = first + int(numbers[column])
            failures.append(Failure(index, what.status, number, segment.label, name, moment, domain))
        if bad:
            good = np.setdiff1d(np.arange(states.shape[1]), list(bad))
            states, numbers = states[:, good], numbers[good]
    return Diagnosis(sorted(failures, key=lambda failure: failure.input), numbers, states)


def _outside(program: Program, states: Floats, first: int) -> list[Failure]:
    """Inputs that are not finite in the blocks' own units."""
    lost = ~np.isfinite(states[: program.inputs])
    label = program.segments[0].label if program.depth else ""
    return [
        Failure(first + n, Status.OVERFLOWED, 0, label, program.registers.name(int(np.argmax(lost[:, n]))), 0.0)
        for n in np.flatnonzero(lost.any(0)).tolist()
    ]


@dataclass(frozen=True, slots=True)
class BadInput:
    """What went wrong with one input."""

    status: Status
    register: int
    block: Block
    role: str  # whose quantity stopped being positive; none for an overflow


def _examine(block: Block, alive: dict[str, Floats], states: Floats, bad: dict[int, BadInput]) -> None:
    """The first thing wrong in each column, from what a block left behind."""
    for role, ref in zip(block.op.targets, block.targets, strict=True):
        registers = ref.indices().reshape(-1)
        checks = [(Status.OVERFLOWED, "", np.isfinite(states[registers]))]
        if role in alive:
            quantity = alive[role].reshape(len(registers), -1)
            checks = [(Status.ESCAPED, role, quantity > 0), (Status.OVERFLOWED, role, quantity < np.inf), *checks]
        for status, what, fine in checks:
            columns = np.flatnonzero(~fine.all(0))
            lanes = np.argmin(fine[:, columns], axis=0)
            for column, register in zip(columns.tolist(), registers[lanes].tolist(), strict=True):
                known = bad.get(column)
                if known is None or (known.status is Status.OVERFLOWED and status is Status.ESCAPED):
                    bad[column] = BadInput(status, register, block, what)


def _when(program: Program, number: int, bad: BadInput, before: Floats) -> float:
    """The time of the failure: bisection on the quantity that must stay positive, or on whether the register is
    finite."""
    segment = program.segments[number]
    low, high = 0.0, segment.duration
    with np.errstate(all="ignore"):
        for _ in range(60):
            middle = (low + high) / 2
            states = before.copy()
            alive = advance(bad.block, states, middle * segment.rate)
            good = positive(alive[bad.role]) if bad.role else np.isfinite(states[bad.register]).all()
            low, high = (middle, high) if good else (low, middle)
    return float(switches(program)[number]) + high
