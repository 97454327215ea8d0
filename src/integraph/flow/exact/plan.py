"""From a program to the steps of the exact engine: dead blocks are skipped, registers that are still 0 are not read.

A block whose solution may escape is never dead: where it does, the flow ends, whether or not its registers are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from integraph.flow.exact.affine_steps import compiles
from integraph.flow.exact.binding import COMPILED, Step, bind
from integraph.flow.exact.multiples import multiple, scaled
from integraph.flow.exact.window_steps import alike, window_step
from integraph.numbers.arrays import Floats
from integraph.program import Block, Program, Ref, View
from integraph.program.engine import finite
from integraph.program.views import mark

Bits = NDArray[np.bool_]
GAP = 256  # registers between two pieces to be cleared that are cheaper cleared too


@dataclass(frozen=True, slots=True, eq=False)
class PlannedBlock:
    """A block that runs: its segment, its time, and what is known about its targets: whether all are still 0, which
    anyone will read, and whether an earlier block has just computed them but for a factor."""

    segment: int
    block: Block
    t: float
    fresh: bool
    live: tuple[bool, ...]
    multiple: tuple[Block, Floats] | None = None

    def bind(self, states: Floats) -> Step:
        if self.multiple is not None:
            return scaled(self.block, self.multiple[0], states, self.multiple[1])
        return bind(self.block, states, self.t, self.fresh, self.live)


@dataclass(frozen=True, slots=True, eq=False)
class ExactPlan:
    """The blocks of a program that matter, in order, and the read-out in the blocks' own units."""

    program: Program
    planned: tuple[PlannedBlock, ...]
    stale: tuple[slice, ...]  # registers that are read as 0 and then written: a second run must clear them

    def work(self) -> list[list[Block]]:
        """The blocks that run, segment by segment."""
        blocks: list[list[Block]] = [[] for _ in self.program.segments]
        for p in self.planned:
            blocks[p.segment].append(p.block)
        return blocks

    def bind(self, count: int) -> Workspace:
        states, quiet = np.zeros((self.program.width, count)), copy_context()
        quiet.run(np.seterr, all="ignore")
        if any(p.block.op.name in COMPILED for p in self.planned):
            compiles()  # loads numba, which steps before these use, too
        steps = [quiet.run(_bound, together, states) for together in _alike(self.planned)]
        return Workspace(states, steps, [states[piece] for piece in self.stale], _Readout(self.program, states), quiet)


def make(program: Program, everything: bool) -> ExactPlan:
    """Plan a program. With `everything` all registers are wanted at the end, else only those of the read-out."""
    live = np.ones(program.width, np.bool_)
    if not everything:
        live[:] = False
        live[program.readout.indices] = True
    kept: list[tuple[int, Block, float, tuple[bool, ...]]] = []
    for number in range(program.depth - 1, -1, -1):
        segment = program.segments[number]
        wanted = [(block, tuple(_any(ref, live) for ref in block.targets)) for block in segment.blocks]
        for block, alive in reversed(wanted):
            if any(alive) or block.op.escapes:
                kept.append((number, block, segment.tau, alive))
        for block, alive in wanted:
            if any(alive) or block.op.escapes:
                for ref in block.refs():
                    _set(ref, live)
    kept.reverse()
    zero = np.ones(program.width, np.bool_)
    zero[: program.inputs] = False
    planned: list[PlannedBlock] = []
    for number, block, tau, alive in sorted(kept, key=lambda plan: (plan[0], -_reads(plan[1]))):
        fresh = all(_all(ref, zero) for ref in block.targets)
        for ref in block.targets:
            _set(ref, zero, False)
        factor = _multiple(number, block, planned) if fresh else None
        planned.append(PlannedBlock(number, block, tau, fresh, alive, factor))
    return ExactPlan(program, tuple(planned), _stale(program, planned))


def _multiple(number: int, block: Block, planned: list[PlannedBlock]) -> tuple[Block, Floats] | None:
    """The block before, or the one of which that is a multiple, and the factor; nothing can have come between."""
    last = planned[-1] if planned else None
    if last is None or last.segment != number or not last.fresh:
        return None
    leader = last.block if last.multiple is None else last.multiple[0]
    factor = multiple(block, leader)
    return None if factor is None else (leader, factor)


def _alike(planned: Sequence[PlannedBlock]) -> list[list[PlannedBlock]]:
    """Blocks that are one step: those of one window, or each alone."""
    steps: list[list[PlannedBlock]] = []
    for p in planned:
        if steps and p.multiple is None and steps[-1][0].segment == p.segment and alike(steps[-1][0].block, p.block):
            steps[-1].append(p)
        else:
            steps.append([p])
    return steps


def _bound(together: Sequence[PlannedBlock], states: Floats) -> Step:
    first = together[0]
    if len(together) > 1:
        return window_step([p.block for p in together], states, first.t, first.fresh)
    return first.bind(states)


def _reads(block: Block) -> int:
    """Terms of a sum: of blocks that add to the same registers, the largest comes first and may overwrite them."""
    return block.operands[0].shape[-1] if block.op.additive and block.operands else 0


def _stale(program: Program, planned: list[PlannedBlock]) -> tuple[slice, ...]:
    """Steps overwrite fresh targets; what else is read before it is written counts as 0, and must be if it is written
    later."""
    stale, written = np.zeros(program.width, np.bool_), np.zeros(program.width, np.bool_)
    written[: program.inputs] = True
    for p in planned:
        for ref in map(once, p.block.operands if p.fresh else p.block.refs()):
            mark(ref, stale, ref.of(stale) | ~ref.of(written))
        for ref in p.block.targets:
            _set(ref, written)
    places = np.flatnonzero(stale & written)
    if not len(places):
        return ()
    ends = np.flatnonzero(np.diff(places) > GAP)
    firsts, lasts = places[np.concatenate([[0], ends + 1])], places[np.concatenate([ends, [len(places) - 1]])]
    return tuple(slice(a, b + 1) for a, b in zip(firsts.tolist(), lasts.tolist(), strict=True))


def once(ref: Ref) -> Ref:
    """The same registers without repetition by broadcasting: a matrix's operand is as many as its columns."""
    if not isinstance(ref, View):
        return ref
    axes = [(n, s) for n, s in zip(ref.shape, ref.strides, strict=True) if s != 0 or n == 0]
    return View(ref.offset, tuple(n for n, _ in axes), tuple(s for _, s in axes))


def _any(ref: Ref, bits: Bits) -> bool:
    return bool(ref.of(bits).any())


def _all(ref: Ref, bits: Bits) -> bool:
    return bool(ref.of(bits).all())


def _set(ref: Ref, bits: Bits, value: bool = True) -> None:
    mark(once(ref), bits, value)


@dataclass(slots=True, eq=False)
class Workspace:
    """States (W, chunk) with steps bound to them. Used by one thread at a time."""

    states: Floats
    steps: list[Step]
    stale: list[Floats]
    readout: _Readout
    quiet: Context

    def run(self, inputs: Floats) -> bool:
        """Load inputs (B, d), B ≤ chunk, and run every step; False if one failed. Unused columns copy the last."""
        count, d = inputs.shape
        self.states[:d, :count] = inputs.T
        if count < self.states.shape[1]:
            self.states[:d, count:] = inputs[-1][:, None]
        return self._steps()

    def point(self, inputs: list[float]) -> Floats | None:
        """The outputs of one input in a workspace for one; None if a step failed. numpy keeps quiet in a context of its
        own, which costs a tenth of `np.errstate`."""
        return self.quiet.run(self._point, inputs)

    def _point(self, inputs: list[float]) -> Floats | None:
        column = self.states[:, 0]
        column[: len(inputs)] = inputs
        if not self._steps():
            return None
        outputs = self.readout()[:, 0]
        return outputs.copy() if finite(outputs) else None

    def _steps(self) -> bool:
        for piece in self.stale:
            piece.fill(0.0)
        fine = True
        for step in self.steps:
            if not step():
                fine = False
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
        matrix = chosen.multiply(unscale[None, :]).tocsr()
        self.plain = _identity(matrix)
        self.matrix = matrix if matrix.nnz * 16 < matrix.shape[0] * matrix.shape[1] else matrix.toarray()

    def __call__(self) -> Floats:
        """Outputs (outputs, chunk)."""
        rows = self.rows if self.rows is not None else self.states[self.used]
        if self.plain:
            return rows
        if rows.shape[1] == 1:
            column: Floats = self.matrix.dot(rows[:, 0])  # a vector is faster than a column
            return column[:, None]
        outputs: Floats = self.matrix @ rows
        return outputs


def _identity(matrix: scipy.sparse.csr_array) -> bool:
    count, columns = matrix.shape
    return matrix.nnz == count == columns and bool(
        (matrix.data == 1).all() and (matrix.indices == np.arange(count)).all() and (np.diff(matrix.indptr) == 1).all()
    )
