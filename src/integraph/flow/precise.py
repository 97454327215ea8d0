"""The precise engine: closed forms in as many bits as the program needs, and some more.

For programs that float64 cannot follow, such as Lemma 4 as printed, and a reference for all others. Registers may leave
the range of float64 on the way; what is asked for must fit. Every input runs in two precisions, and in more of them
until two agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from integraph.flow.diagnosis import BadInput
from integraph.flow.exact.plan import make
from integraph.gadgets import Gadget
from integraph.gadgets.functions.multiprecision import PreciseFunctions as Functions
from integraph.gadgets.gadget import arguments
from integraph.numbers.arrays import Floats, Indices
from integraph.program import Block, Failure, Flow, Options, Program, Status
from integraph.program.dynamics import switches
from integraph.program.views import mark

States = NDArray[Any]  # (W, inputs), multi-precision
GUARDS = (64, 128, 256, 1024, 4096)  # bits beyond those that the program asks for, until two runs agree
SURE = 2.0**-50  # of a number: how far two runs that agree may be apart
NOTHING = 2.0**-100  # the same, of 1 or of the largest register, for numbers that are 0 but for rounding
CHUNK = 64  # inputs
TIMED, HALVINGS = 32, 60  # failures whose time is worth finding, and how: each takes so many closed forms


class PreciseEngine:
    """Ignores `rtol`, `max_steps` and `threads`: a closed form has no step, and mpmath runs in Python, on one core."""

    name = "precise"

    def can(self, program: Program) -> bool:
        return all(isinstance(b.op, Gadget) and b.op.exact for s in program.segments for b in s.blocks)

    def run(self, program: Program, x: Floats, options: Options) -> Flow:
        count = len(x)
        outputs = np.full((count, program.outputs), np.nan)
        final = np.full((count, program.width), np.nan)
        path = np.full((count, len(options.times), program.width), np.nan)
        work = make(program, options.states or bool(options.times)).work()
        failures: list[Failure] = []
        for first in range(0, count, CHUNK):
            piece = slice(first, first + CHUNK)
            run = _PreciseRun(program, work, x[piece], options, outputs[piece], final[piece], path[piece])
            failures += run.settle(first)
        for failure in failures:
            outputs[failure.input] = final[failure.input] = path[failure.input] = np.nan
        failures.sort(key=lambda failure: failure.input)
        wanted = final if options.states else None
        return Flow(self.name, outputs, wanted, path if options.times else None, tuple(failures))

    def carries(self, program: Program, x: Floats, bits: int) -> NDArray[np.bool_]:
        """Which inputs reach the end in that many bits."""
        outputs, final = np.empty((len(x), program.outputs)), np.empty((len(x), program.width))
        path, work = np.empty((len(x), 0, program.width)), make(program, False).work()
        run = _PreciseRun(replace(program, bits=bits), work, x, Options(), outputs, final, path, timed=0)
        return ~np.isin(np.arange(len(x)), [failure.input for failure in run.run(0, GUARDS[0])])


@dataclass(slots=True, eq=False)
class _PreciseRun:
    """A chunk: the blocks that count, and where to write. Inputs that fail are dropped on the way."""

    program: Program
    work: list[list[Block]]
    x: Floats
    options: Options
    outputs: Floats
    final: Floats
    path: Floats
    timed: int = TIMED  # failures whose time is found

    def settle(self, first: int) -> list[Failure]:
        """The failures, numbered from `first`; the others are the same in two precisions."""
        failures = self.run(first, GUARDS[0])
        undecided = np.setdiff1d(np.arange(len(self.x)), [failure.input - first for failure in failures])
        for guard in GUARDS[1:]:
            if not len(undecided):
                break
            parts = (self.outputs[undecided], self.final[undecided], self.path[undecided])
            again = replace(self, x=self.x[undecided], outputs=parts[0], final=parts[1], path=parts[2])
            before = again.asked()
            failed = again.run(0, guard)
            failures += [replace(failure, input=first + int(undecided[failure.input])) for failure in failed]
            self.outputs[undecided], self.final[undecided], self.path[undecided] = parts
            agree = _agree(before, again.asked(), parts[1])
            agree[[failure.input for failure in failed]] = True
            undecided = undecided[~agree]
        last = self.program.depth - 1
        label = self.program.segments[last].label if last >= 0 else ""
        lost = [
            Failure(first + n, Status.LOST, last, label, "read-out", self.program.horizon) for n in undecided.tolist()
        ]
        return failures + lost

    def asked(self) -> Floats:
        """A copy of what the caller will see, one row for each input."""
        parts = [self.outputs, self.path.reshape(len(self.x), -1), *([self.final] if self.options.states else [])]
        return np.concatenate(parts, 1)

    def run(self, first: int, guard: int) -> list[Failure]:
        """The failures in so many bits more than the program asks for, numbered from `first`."""
        program, f = self.program, Functions(self.program.bits + guard)
        scales = f.exactly(np.ones(program.width) if program.scales is None else program.scales)[:, None]
        times, edges = np.asarray(self.options.times), switches(program)
        states = f.exactly(np.zeros((program.width, len(self.x))))
        states[: program.inputs] = f.exactly(self.x.T)
        states *= scales
        live = np.arange(len(self.x))
        self.path[:, times == 0] = f.rounded(states / scales).T[:, None]
        failures: list[Failure] = []
        for number, (segment, blocks) in enumerate(zip(program.segments, self.work, strict=True)):
            before = states.copy()
            bad: dict[int, BadInput] = {}
            tau = f.exactly(segment.duration) * segment.rate
            for block in blocks:
                _examine(f, block, advance(f, block, states, tau), states, bad)
            for column, what in sorted(bad.items()):
                moment = math.nan
                if len(failures) < self.timed:
                    within = _when(f, what, before[:, column : column + 1], segment.duration, segment.rate)
                    moment = float(edges[number]) + within
                name, domain = program.registers.name(what.register), getattr(what.block.op, "domain", "")
                failures.append(
                    Failure(first + int(live[column]), what.status, number, segment.label, name, moment, domain)
                )
            good = np.setdiff1d(np.arange(len(live)), list(bad))
            before, states, live = before[:, good], states[:, good], live[good]
            for index in np.flatnonzero((times > edges[number]) & (times < edges[number + 1])).tolist():
                moved = before.copy()
                for block in blocks:
                    advance(f, block, moved, (f.exactly(times[index]) - edges[number]) * segment.rate)
                self.path[live, index] = f.rounded(moved / scales).T
            self.path[live[:, None], np.flatnonzero(times == edges[number + 1])] = f.rounded(states / scales).T[:, None]
        return failures + self._end(f, states / scales, live, first)

    def _end(self, f: Functions, states: States, live: Indices, first: int) -> list[Failure]:
        """Reads out; fails where what was asked for is larger than float64 holds."""
        program, readout = self.program, self.program.readout
        outputs = f.exactly(np.zeros((program.outputs, len(live))))
        rows = np.repeat(np.arange(program.outputs), np.diff(readout.indptr))
        np.add.at(outputs, rows, f.exactly(readout.data)[:, None] * states[readout.indices])
        self.outputs[live], self.final[live] = f.rounded(outputs).T, f.rounded(states).T
        fine = np.logical_and.reduce(np.isfinite(self.asked()), axis=1)
        last = program.depth - 1
        label = program.segments[last].label if last >= 0 else ""
        large = live[~fine[live]].tolist()
        return [Failure(first + n, Status.OVERFLOWED, last, label, "read-out", program.horizon) for n in large]


def _agree(one: Floats, other: Floats, registers: Floats) -> NDArray[np.bool_]:
    """Which rows are the same to float64, or nothing but rounding."""
    with np.errstate(all="ignore"):
        floor = NOTHING * np.minimum(np.abs(registers).max(1, initial=0.0, keepdims=True), 1.0)
        near = np.abs(one - other) <= np.maximum(SURE * np.maximum(np.abs(one), np.abs(other)), floor)
    agree: NDArray[np.bool_] = np.logical_and.reduce(near, axis=1)
    return agree


def advance(f: Functions, block: Block, states: States, t: Any) -> dict[str, Any]:
    """Run the closed form in place; returns what must be > 0, by target."""
    assert isinstance(block.op, Gadget)
    start, operands, tensors = arguments(block, states)
    closed = block.op.closed(f, t, start, operands, {name: f.exactly(tensor) for name, tensor in tensors.items()})
    for ref, end in zip(block.targets, closed.ends, strict=True):
        mark(ref, states, end)
    return dict(closed.alive)


def _examine(f: Functions, block: Block, alive: dict[str, Any], states: States, bad: dict[int, BadInput]) -> None:
    """The first thing wrong in each column, from what a block left behind."""
    for role, ref in zip(block.op.targets, block.targets, strict=True):
        registers = ref.indices().reshape(-1)
        checks = [(Status.OVERFLOWED, "", f.finite(states[registers]))]
        if role in alive:
            quantity = np.broadcast_to(alive[role], ref.shape + states.shape[1:]).reshape(len(registers), -1)
            checks.insert(0, (Status.ESCAPED, role, np.greater(quantity, 0)))
        for status, what, fine in checks:
            for column in np.flatnonzero(~fine.all(0)).tolist():
                known = bad.get(column)
                if known is None or (known.status is Status.OVERFLOWED and status is Status.ESCAPED):
                    bad[column] = BadInput(status, int(registers[np.argmin(fine[:, column])]), block, what)


def _when(f: Functions, bad: BadInput, before: States, duration: float, rate: float) -> float:
    """When it stops, since the segment began: bisection on what must stay positive, or finite."""
    low, high = 0.0, duration
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        states = before.copy()
        alive = advance(f, bad.block, states, f.exactly(middle) * rate)
        good = np.greater(alive[bad.role], 0).all() if bad.role else f.finite(states[bad.register]).all()
        low, high = (middle, high) if good else (low, middle)
    return high


PRECISE = PreciseEngine()
