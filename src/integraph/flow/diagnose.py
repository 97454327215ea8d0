"""What went wrong, where and when: a slow, careful second run of the inputs of a chunk that did not come through."""

from __future__ import annotations

import numpy as np

from integraph.flow.steps import advance
from integraph.gadgets import Gadget
from integraph.program import Block, Failure, Program, Status
from integraph.program.dynamics import switches
from integraph.program.views import Floats


def start(program: Program, inputs: Floats) -> Floats:
    """y(0) = (x, 0, …) in the blocks' own units, state-major."""
    states = np.zeros((program.width, len(inputs)))
    states[: program.inputs] = inputs.T
    if program.scales is not None:
        states *= program.scales[:, None]
    return states


def diagnose(program: Program, inputs: Floats, first: int) -> list[Failure]:
    """The failures among `inputs`, numbered from `first`."""
    states = start(program, inputs)
    numbers = np.arange(len(inputs))
    found: list[Failure] = []
    for number, segment in enumerate(program.segments):
        if states.shape[1] == 0:
            break
        before = states.copy()
        with np.errstate(all="ignore"):
            alive = [(block, advance(block, states, segment.tau)) for block in segment.blocks]
        bad: dict[int, tuple[Status, int, Block | None, str]] = {}
        for block, quantities in alive:
            for role, quantity in quantities.items():
                lane, column = np.nonzero(~(quantity.reshape(-1, states.shape[1]) > 0))
                registers = block.targets[block.op.targets.index(role)].indices().ravel()
                for l, c in zip(lane.tolist(), column.tolist(), strict=True):
                    bad.setdefault(c, (Status.ESCAPED, int(registers[l]), block, role))
        register, column = np.nonzero(~np.isfinite(states))
        for r, c in zip(register.tolist(), column.tolist(), strict=True):
            bad.setdefault(c, (Status.OVERFLOWED, r, _owner(program, number, r), ""))
        for column_, (status, r, owner, role) in sorted(bad.items()):
            moment = float(switches(program)[number + 1])
            if owner is not None:
                moment = _when(program, number, owner, role, r, before[:, column_ : column_ + 1])
            domain = owner.op.domain if owner is not None and isinstance(owner.op, Gadget) else ""
            found.append(
                Failure(
                    first + int(numbers[column_]),
                    status,
                    number,
                    segment.label,
                    program.registers.name(r),
                    moment,
                    domain,
                )
            )
        if bad:
            good = np.setdiff1d(np.arange(states.shape[1]), list(bad))
            states, numbers = states[:, good], numbers[good]
    return sorted(found, key=lambda failure: failure.input)


def _owner(program: Program, number: int, register: int) -> Block | None:
    """The block of a segment that writes a register."""
    for block in program.segments[number].blocks:
        if any((ref.indices() == register).any() for ref in block.targets):
            return block
    return None


def _when(program: Program, number: int, block: Block, role: str, register: int, before: Floats) -> float:
    """When it stops: bisection on the quantity that must stay positive, or on the register's being a float."""
    segment = program.segments[number]
    low, high = 0.0, segment.duration
    with np.errstate(all="ignore"):
        for _ in range(60):
            middle = (low + high) / 2
            states = before.copy()
            alive = advance(block, states, middle * segment.rate)
            good = (alive[role] > 0).all() if role else np.isfinite(states[register]).all()
            low, high = (middle, high) if good else (low, middle)
    return float(switches(program)[number]) + high
