"""All solutions from a set of starts, followed as far as they are proved to exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from integraph.certify.loops.flow_kernels import row_values
from integraph.certify.loops.rows import ModelRows
from integraph.certify.loops.tape import Operations, operations
from integraph.certify.solutions.cell import Cell
from integraph.certify.solutions.division import divide, merged
from integraph.certify.solutions.enclosure import Enclosure
from integraph.certify.solutions.integration import integrate
from integraph.certify.solutions.starts import moments, start_box
from integraph.certify.solutions.vector_field import without_functions, written_out
from integraph.clock import DeadlineError, deadline
from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.errors import UsageError
from integraph.numbers.arrays import Floats, real
from integraph.progress import late_bar
from integraph.targets import float_arithmetic

SECONDS = 60.0  # a set that grows takes ever shorter steps, and has no last one
CELLS = 256


def enclose(
    system: QuadraticSystem, x0: Any, T: Any, *, seconds: float = SECONDS, cells: int = CELLS, progress: bool = True
) -> Enclosure:
    """Boxes of all solutions from a start, or from a box of starts, at a time or at several. From one start functions
    are also integrated as states, and the narrower result is kept. A box that is too wide is divided into `cells` at
    most. After `seconds`, or Ctrl-C, what is known by then is kept."""
    given = system.starts | dict(x0 or {}) if x0 is None or isinstance(x0, Mapping) else x0
    box, times = start_box(given, system.source.variables), moments(T)
    if isinstance(seconds, bool) or not real(seconds, "seconds") > 0:
        raise UsageError("it must be > 0", argument="seconds", value=seconds)
    if not isinstance(cells, int) or isinstance(cells, bool) or cells < 1:
        raise UsageError("it must be a whole number ≥ 1", argument="cells", value=cells)
    tape = operations(system.source.expression, system.source.states)
    fields = [written_out(tape, box[:, 0], box[:, 1])]
    _check_defined(system, tape, fields[0].start, box)
    if (box[:, 0] == box[:, 1]).all() and (other := without_functions(tape, box[:, 0])) is not None:
        fields.insert(0, other)
    next(integrate(fields[0], times[times > 0.0]), None)  # compiles, and that takes no time of the budget
    tries = [Cell(system, field, box, times) for field in fields]
    parts = tries[-1:]

    def follow(half: Floats) -> Cell:
        cell = Cell(system, written_out(tape, half[:, 0], half[:, 1]), half, times)
        for _ in cell.advance():
            pass
        return cell

    with late_bar(progress, "enclosing") as show:
        try:
            with deadline(seconds):
                for number, cell in enumerate(tries):
                    for time in cell.advance():
                        show((number + time / times[-1]) / len(tries), f"t = {time:.4g}")
                for parts in divide(tries[-1], follow, cells):
                    reached = min(cell.time for cell in parts)
                    show(len(parts) / cells, f"{len(parts)} cells, all reach t = {reached:.4g}")
        except (DeadlineError, KeyboardInterrupt):
            pass
    results = [cell.result() for cell in tries[:-1]] + [merged(parts, box)]
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
