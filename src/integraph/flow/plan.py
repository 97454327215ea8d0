"""From a program to the steps of the exact engine: what is dead is skipped, what is still 0 is not read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from integraph.flow.steps import Step, bind
from integraph.program import Block, Index, Program, Ref
from integraph.program.views import Floats

Bits = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """A block that runs: its segment, its time, and what is known about its targets."""

    segment: int
    block: Block
    t: float
    fresh: bool
    live: tuple[bool, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The blocks of a program that matter, in order, and the read-out in the blocks' own units."""

    program: Program
    planned: tuple[Planned, ...]

    def work(self) -> list[list[Block]]:
        """The blocks that run, segment by segment."""
        found: list[list[Block]] = [[] for _ in self.program.segments]
        for p in self.planned:
            found[p.segment].append(p.block)
        return found

    def bind(self, count: int) -> Workspace:
        states = np.zeros((self.program.width, count))
        steps = [bind(p.block, states, p.t, p.fresh, p.live) for p in self.planned]
        return Workspace(states, steps, _Readout(self.program, states))


def make(program: Program, everything: bool) -> Plan:
    """`everything`: all registers are wanted at the end, else only those of the read-out."""
    live = np.ones(program.width, np.bool_)
    if not everything:
        live[:] = False
        live[program.readout.indices] = True
    kept: list[tuple[int, Block, float, tuple[bool, ...]]] = []
    for number in range(program.depth - 1, -1, -1):
        segment = program.segments[number]
        wanted = [(block, tuple(_any(ref, live) for ref in block.targets)) for block in segment.blocks]
        for block, alive in reversed(wanted):
            if any(alive):
                kept.append((number, block, segment.tau, alive))
        for block, alive in wanted:
            if any(alive):
                for ref in block.refs():
                    _set(ref, live)
    zero = np.ones(program.width, np.bool_)
    zero[: program.inputs] = False
    planned = []
    for number, block, tau, alive in reversed(kept):
        fresh = all(_all(ref, zero) for ref in block.targets)
        for ref in block.targets:
            _set(ref, zero, False)
        planned.append(Planned(number, block, tau, fresh, alive))
    return Plan(program, tuple(planned))


def _any(ref: Ref, bits: Bits) -> bool:
    return bool(ref.of(bits).any())


def _all(ref: Ref, bits: Bits) -> bool:
    return bool(ref.of(bits).all())


def _set(ref: Ref, bits: Bits, value: bool = True) -> None:
    if isinstance(ref, Index):
        bits[ref.registers] = value
    else:
        ref.of(bits)[...] = value


@dataclass(slots=True, eq=False)
class Workspace:
    """States (W, chunk) with steps bound to them. Used by one thread at a time."""

    states: Floats
    steps: list[Step]
    readout: _Readout

    def run(self, inputs: Floats) -> bool:
        """Load inputs (B, d), B ≤ chunk, and run every step; False if one failed. Unused columns copy the last."""
        count, d = inputs.shape
        self.states[:d, :count] = inputs.T
        if count < self.states.shape[1]:
            self.states[:d, count:] = inputs[-1][:, None]
        self.states[d:] = 0.0
        fine = True
        for step in self.steps:
            fine &= step()
        return fine


class _Readout:
    """C y as a slice, a gather or a matrix product, whichever the read-out allows."""

    def __init__(self, program: Program, states: Floats) -> None:
        readout = program.readout
        used = np.unique(readout.indices)
        used = used if len(used) else np.zeros(1, np.int64)
        low, high = int(used[0]), int(used[-1]) + 1
        self.rows = states[low:high] if high - low <= 2 * len(used) else None
        self.used = used
        self.states = states
        chosen = readout[:, low:high] if self.rows is not None else readout[:, used]
        scales = np.ones(program.width) if program.scales is None else program.scales
        unscale = 1.0 / (scales[low:high] if self.rows is not None else scales[used])
        sparse = chosen.nnz * 16 < chosen.shape[0] * chosen.shape[1]
        self.matrix = chosen.multiply(unscale[None, :]).tocsr() if sparse else chosen.toarray() * unscale

    def __call__(self) -> Floats:
        """Outputs (outputs, chunk)."""
        rows = self.rows if self.rows is not None else self.states[self.used]
        if rows.shape[1] == 1:
            rows = rows[:, 0]  # a vector is faster than a column
        found: Floats = self.matrix @ rows
        return found.reshape(len(found), -1)
