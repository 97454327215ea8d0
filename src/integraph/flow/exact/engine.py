"""The exact engine: closed forms, state-major chunks that stay in the cache, threads over chunks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from itertools import chain
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from integraph.flow.chunks import over_chunks
from integraph.flow.diagnosis import Diagnosis, diagnose, start
from integraph.flow.exact.affine_steps import compiles
from integraph.flow.exact.binding import advance
from integraph.flow.exact.chunk_size import chunk, padded
from integraph.flow.exact.plan import ExactPlan, Workspace, make
from integraph.flow.exact.rows import Layout, Rows, compiled, interpreted
from integraph.flow.exact.scalars import Scalars
from integraph.flow.exact.trace import trace
from integraph.flow.lost_digits import with_precision_hint
from integraph.gadgets import Gadget
from integraph.numbers.arrays import Floats
from integraph.program import Failure, Flow, Options, Program, Status
from integraph.program.dynamics import switches
from integraph.program.engine import Point, finite

Mask = NDArray[np.bool_]
MANY = 1 << 25  # instructions of a tape, one for each input, from which on it is compiled; that takes up to 0.1 s
IDLE = 1 << 27  # bytes of workspaces that may wait for the next call, besides one


Bound = TypeVar("Bound", Workspace, Rows)


class _Pool(Generic[Bound]):
    """Idle workspaces by size; lists make taking and giving back atomic."""

    def __init__(self, bind: Callable[[int], Bound]) -> None:
        self.bind: Callable[[int], Bound] = bind
        self.idle: dict[int, list[Bound]] = {}

    def take(self, size: int) -> Bound:
        try:
            return self.idle[size].pop()
        except (KeyError, IndexError):
            return self.bind(size)

    def give(self, size: int, workspace: Bound) -> None:
        waiting = self.idle.get(size)
        if waiting is not None and not waiting:  # it was taken from there
            waiting.append(workspace)
            return
        columns = size + sum(n * len(workspaces) for n, workspaces in list(self.idle.items()))
        if 8 * columns * len(workspace.states) > IDLE:
            self.idle = {}
        self.idle.setdefault(size, []).append(workspace)


class _Preparation:
    """The plan of a program, its tape if it has one, and workspaces for both."""

    def __init__(self, program: Program, everything: bool) -> None:
        self.plan: ExactPlan = make(program, everything)
        self.workspaces = _Pool(self.plan.bind)
        self.chunk = self.columns = chunk(self.plan)
        self.code = None if everything else trace(self.plan)
        self.rows: _Pool[Rows] | None = None
        self.carried = 0
        if self.code is not None:
            self._lay(interpreted(self.code))

    def _lay(self, layout: Layout) -> None:
        self.rows, self.columns = _Pool(partial(Rows, layout)), layout.columns

    @cached_property
    def scalars(self) -> Scalars | None:
        """The tape for one input."""
        return None if self.code is None else Scalars(self.code)

    def point(self, x: list[float]) -> Floats | None:
        """One input by the steps."""
        workspace = self.workspaces.take(1)
        outputs = workspace.point(x)
        self.workspaces.give(1, workspace)
        return outputs

    def carry(self, count: int) -> None:
        """Note that so many inputs come. After enough of them a tape is compiled, which changes no bit of a result."""
        if self.code is None:
            return
        before, self.carried = self.carried, self.carried + count
        if before < MANY / max(len(self.code.instructions), 1) <= self.carried and compiles():
            self._lay(compiled(self.code))


class Exact:
    """Ignores `rtol` and `max_steps`: a closed form has no step."""

    name = "exact"

    def __init__(self) -> None:
        self._able: WeakKeyDictionary[Program, bool] = WeakKeyDictionary()

    def can(self, program: Program) -> bool:
        able = self._able.get(program)
        if able is None:
            blocks = (block for s in program.segments for block in s.blocks)
            able = self._able[program] = all(isinstance(b.op, Gadget) and b.op.exact for b in blocks)
        return able

    def run(self, program: Program, x: Floats, options: Options) -> Flow:
        if options.times:
            return self._path(program, x, options)
        prepared = self.prepare(program, options.states)
        outputs = np.empty((len(x), program.outputs))
        states = np.empty((len(x), program.width)) if options.states else None
        if len(x) == 1 and prepared.scalars is not None:
            values = prepared.scalars.run(x[0].tolist())
            if values is not None:
                outputs[0] = values
                return Flow(self.name, outputs, None, None, ())
        work = _ExactRun(program, prepared, x, outputs, states)
        prepared.carry(len(x))
        size = prepared.columns
        if 0 < len(x) <= size:  # a single input should cost microseconds
            failures = work.chunk((0, len(x)))
        else:
            failures = list(chain.from_iterable(over_chunks(work.chunk, len(x), size, options.threads)))
        return Flow(self.name, outputs, states, None, with_precision_hint(program, x, failures) if failures else ())

    def point(self, program: Program) -> Point | None:
        """The quick way for one input: no batch, no `Flow`."""
        prepared = self.prepare(program, False)
        if prepared.scalars is not None:
            return prepared.scalars.point
        return prepared.point if program.scales is None else None

    def prepare(self, program: Program, everything: bool) -> _Preparation:
        """The preparation is stored in the program: a plan refers to its program, so a table here would keep programs
        alive."""
        prepared: dict[bool, _Preparation] = vars(program).setdefault("_exact", {})
        if everything not in prepared:
            prepared[everything] = _Preparation(program, everything)
        return prepared[everything]

    def _path(self, program: Program, x: Floats, options: Options) -> Flow:
        """States at given times: whole segments in order, each time by a closed form from the last switch."""
        states = start(program, x)
        path = np.empty((len(x), len(options.times), program.width))
        times, edges = np.asarray(options.times), switches(program)
        scales = np.ones(program.width) if program.scales is None else program.scales
        with np.errstate(all="ignore"):
            path[:, times == 0] = (states.T / scales)[:, None]
            for number, segment in enumerate(program.segments):
                for index in np.flatnonzero((times > edges[number]) & (times <= edges[number + 1])).tolist():
                    moved = states.copy()
                    for block in segment.blocks:
                        advance(block, moved, (times[index] - edges[number]) * segment.rate)
                    path[:, index] = moved.T / scales
                for block in segment.blocks:
                    advance(block, states, segment.tau)
            final = states.T / scales
            outputs = np.asarray(program.readout @ final.T).T
        suspect = ~(np.isfinite(outputs).all(1) & np.isfinite(final).all(1) & np.isfinite(path).all((1, 2)))
        failures = diagnose(program, [s.blocks for s in program.segments], x, 0).failures
        failures = _with_others(program, failures, suspect, 0)
        for failure in failures:
            outputs[failure.input] = path[failure.input] = final[failure.input] = np.nan
        return Flow(
            self.name, outputs, final if options.states else None, path, with_precision_hint(program, x, failures)
        )


class _ExactRun:
    """One call: where chunks read and write."""

    def __init__(
        self, program: Program, prepared: _Preparation, x: Floats, outputs: Floats, states: Floats | None
    ) -> None:
        self.program, self.prepared, self.x, self.outputs, self.states = program, prepared, x, outputs, states
        self.units = program.scales

    def chunk(self, piece: tuple[int, int]) -> list[Failure]:
        a, b = piece
        pool, size = self.prepared.rows, padded(b - a)
        if pool is None:
            return self._by_steps(a, b)
        rows = pool.take(size)
        with np.errstate(all="ignore"):
            fine = rows.run(self.x[a:b], self.outputs[a:b])
        pool.give(size, rows)
        if fine:
            return []
        step = self.prepared.chunk
        return list(chain.from_iterable(self._by_steps(first, min(first + step, b)) for first in range(a, b, step)))

    def _by_steps(self, a: int, b: int) -> list[Failure]:
        count = b - a
        size = padded(count)
        with np.errstate(all="ignore"):
            inputs = self.x[a:b]
            if self.units is not None:
                inputs = inputs * self.units[: self.program.inputs]
            workspace = self.prepared.workspaces.take(size)
            fine = workspace.run(inputs) and (self.units is None or finite(inputs))
            outputs = workspace.readout()[:, :count]
        self.outputs[a:b] = outputs.T
        fine = fine and finite(outputs)
        if self.states is not None:
            states = workspace.states.T[:count]
            with np.errstate(all="ignore"):
                self.states[a:b] = states if self.units is None else states / self.units
            fine = fine and finite(self.states[a:b])
        self.prepared.workspaces.give(size, workspace)
        return [] if fine else self._failed(a, b)

    def _failed(self, a: int, b: int) -> list[Failure]:
        diagnosis = diagnose(self.program, self.prepared.plan.work(), self.x[a:b], a)
        failures = diagnosis.failures
        self._careful(diagnosis, a)
        suspect = ~np.isfinite(self.outputs[a:b])
        if self.states is not None:
            suspect = np.concatenate([suspect, ~np.isfinite(self.states[a:b])], 1)
        failures = _with_others(self.program, failures, np.logical_or.reduce(suspect, axis=1), a)
        for failure in failures:
            self.outputs[failure.input] = np.nan
            if self.states is not None:
                self.states[failure.input] = np.nan
        return failures

    def _careful(self, diagnosis: Diagnosis, first: int) -> None:
        """The inputs that the closed forms carry to the end, again: alone, a fast step that loses none of them; else
        by what the closed forms found."""
        rows = diagnosis.rows + first
        if not len(rows):
            return
        with np.errstate(all="ignore"):
            inputs = self.x[rows] if self.units is None else self.x[rows] * self.units[: self.program.inputs]
            size = padded(len(rows))
            workspace = self.prepared.workspaces.take(size)
            if not workspace.run(inputs):
                workspace.states[:, : len(rows)] = diagnosis.states
            self.outputs[rows] = workspace.readout().T[: len(rows)]
            if self.states is not None:
                states = workspace.states.T[: len(rows)]
                self.states[rows] = states if self.units is None else states / self.units
        self.prepared.workspaces.give(size, workspace)


def _with_others(program: Program, failures: list[Failure], suspect: Mask, first: int) -> list[Failure]:
    """Also inputs whose states are finite, but not their weighted sum or their values in other units."""
    named = {failure.input for failure in failures}
    last = program.depth - 1
    label = program.segments[last].label if last >= 0 else ""
    others = [row for row in (np.flatnonzero(suspect) + first).tolist() if row not in named]
    failures = failures + [Failure(row, Status.OVERFLOWED, last, label, "read-out", program.horizon) for row in others]
    return sorted(failures, key=lambda failure: failure.input)


EXACT = Exact()
