"""All solutions from a set of starts, followed as far as they are proved to exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any

import numpy as np

from integraph.certify.loops.flow_kernels import row_values
from integraph.certify.loops.rows import ModelRows
from integraph.certify.loops.tape import Operations, operations
from integraph.certify.solutions.blow_up import latest_existence
from integraph.certify.solutions.enclosure import Enclosure, digits
from integraph.certify.solutions.integration import integrate
from integraph.certify.solutions.starts import moments, start_box
from integraph.certify.solutions.vector_field import VectorField, without_functions, written_out
from integraph.clock import DeadlineError, deadline
from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.errors import UsageError
from integraph.numbers.arrays import Floats, real
from integraph.progress import late_bar
from integraph.targets import float_arithmetic

SECONDS = 60.0  # a set that grows takes ever shorter steps, and has no last one


def enclose(system: QuadraticSystem, x0: Any, T: Any, *, seconds: float = SECONDS, progress: bool = True) -> Enclosure:
    """Boxes of all solutions from a start, or from a box of starts, at a time or at several. From one start functions
    are also integrated as states, and the narrower result is kept. After `seconds`, or Ctrl-C, what is known by then
    is kept."""
    given = system.starts | dict(x0 or {}) if x0 is None or isinstance(x0, Mapping) else x0
    box, times = start_box(given, system.source.variables), moments(T)
    if isinstance(seconds, bool) or not real(seconds, "seconds") > 0:
        raise UsageError("it must be > 0", argument="seconds", value=seconds)
    tape = operations(system.source.expression, system.source.states)
    fields = [written_out(tape, box[:, 0], box[:, 1])]
    _check_defined(system, tape, fields[0].start, box)
    if (box[:, 0] == box[:, 1]).all() and (other := without_functions(tape, box[:, 0])) is not None:
        fields.insert(0, other)
    next(integrate(fields[0], times[times > 0.0]), None)  # compiles, and that takes no time of the budget
    records = [_Record(system, field, box, times) for field in fields]
    with late_bar(progress, "enclosing") as show:
        try:
            with deadline(seconds):
                for number, record in enumerate(records):
                    for time in record.advance():
                        show((number + time / times[-1]) / len(records), f"t = {time:.4g}")
        except (DeadlineError, KeyboardInterrupt):
            pass
    results = [record.result() for record in records]
    return min(results, key=lambda result: (-result.time, float(result.width[np.isfinite(result.width)].sum())))


def _check_defined(system: QuadraticSystem, tape: Operations, rows: ModelRows, box: Floats) -> None:
    """Refuse starts at which a right-hand side has no value."""
    failed, values = row_values(tape.code, tape.numbers, tape.held, tape.outputs, rows.values, rows.table)
    if failed < 0 and np.isfinite(values).all():
        return
    with np.errstate(all="ignore"):
        middle = float_arithmetic.values(system.source.expression, box.mean(1)[None])[0]
    wrong = [name for name, value in zip(system.source.states, middle, strict=True) if not np.isfinite(value)]
    where = f"the derivative of {wrong[0]} has no value" if wrong else "a function may have no value"
    raise UsageError(
        f"{where} on the set of starts: start elsewhere, or from a smaller box", argument="x0", value=box.tolist()
    )


class _Record:
    """What is known of the solutions of one field so far."""

    def __init__(self, system: QuadraticSystem, field: VectorField, box: Floats, times: Floats) -> None:
        self.system, self.field, self.box, self.times = system, field, box, times
        n = len(system.source.states)
        self.ends = np.empty((len(times), n, 2))
        self.ends[:] = -np.inf, np.inf
        self.ends[times == 0.0] = box[:n]
        self.steps, self.over = [0.0], [np.empty((0, n, 2))]
        self.reason = ""
        self.blow_up: float | None = None

    def advance(self) -> Iterator[float]:
        """Integrate; the time after every step."""
        n = len(self.system.source.states)
        for advance in integrate(self.field, self.times[self.times > 0.0]):
            self.steps.append(advance.end)
            self.over.append(advance.over[None, :n])
            first, last = (int(np.searchsorted(self.times, advance.end, side)) for side in ("left", "right"))
            if first < last:
                self.ends[first:last] = self.field.named(advance.rows).tight_ranges()[:n]
            yield advance.end
        if self.steps[-1] < self.times[-1]:
            self._end()

    def _end(self) -> None:
        """Why there is no further step."""
        exist = f"all solutions exist up to t = {digits(self.steps[-1], ROUND_FLOOR)}"
        self.blow_up = latest_existence(self.system, self.box, self.steps, self.over[1:])
        if self.blow_up is not None:
            self.reason = f"{exist}, none at t = {digits(self.blow_up, ROUND_CEILING)}"
        else:
            self.reason = (
                f"{exist}; later they may blow up, or leave where the equations are defined, or the set of starts is "
                "too wide"
            )

    def result(self) -> Enclosure:
        time = self.steps[-1]
        cut = "" if time == self.times[-1] else f"the time to compute was over at t = {digits(time, ROUND_FLOOR)}"
        return Enclosure(
            self.system, self.box, self.times, self.ends[:, :, 0], self.ends[:, :, 1], np.array(self.steps),
            np.concatenate(self.over), self.reason or cut, self.blow_up,
        )  # fmt: skip
