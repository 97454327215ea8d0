"""x' = f(x, u) as a tape and a set of starts, written in one of two ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from integraph.certify.loops.rows import SYMBOLS, ModelRows, of_box
from integraph.certify.loops.steps import SOLUTIONS
from integraph.certify.loops.tape import Operations
from integraph.certify.solutions.function_free import function_free, functions, point_values
from integraph.errors import UsageError
from integraph.numbers.arrays import Floats, Indices

MEMORY = 2e9  # bytes that one step may take


@dataclass(frozen=True, slots=True, eq=False)
class VectorField:
    """The tape, rows of all its inputs at the start, and which of them are the states and inputs of the system."""

    tape: Operations
    start: ModelRows
    variables: Indices

    def named(self, rows: ModelRows) -> ModelRows:
        """The rows of the system's own states and inputs."""
        return rows.with_values(rows.values[self.variables])


def written_out(tape: Operations, low: Floats, high: Floats) -> VectorField:
    """Functions are computed where they occur."""
    return _affordable(VectorField(tape, of_box(low, high).fresh(), np.arange(len(low))))


def without_functions(tape: Operations, point: Floats) -> VectorField | None:
    """Functions are states, from one start; None where there are none, or one has no finite value."""
    changing, held = functions(tape)
    if not changing and not held:
        return None
    ends = np.array(point_values(tape, point))
    if not np.isfinite(ends).all():
        return None
    n, exact = len(tape.outputs), np.stack([point, point], 1)
    box = np.concatenate([exact[:n], ends[changing], exact[n:], ends[held]])
    variables = np.concatenate([np.arange(n), np.arange(n + len(changing), len(changing) + len(point))])
    return _affordable(VectorField(function_free(tape), _radii(box), variables))


def _radii(box: Floats) -> ModelRows:
    """Rows of a box that is a point up to rounding: no polynomial, a symbol for each side."""
    middle = 0.5 * box[:, 0] + 0.5 * box[:, 1]
    radius = np.nextafter(np.maximum(box[:, 1] - middle, middle - box[:, 0]), np.inf)
    radius[box[:, 0] == box[:, 1]] = 0.0
    rows = of_box(middle, middle)
    values = rows.values.copy()
    values[:, -1] = radius
    return rows.with_values(values).fresh()


def _affordable(field: VectorField) -> VectorField:
    length = field.start.monomials.count + SYMBOLS + 2 * len(field.tape.outputs)
    needed = 8.0 * len(field.tape.code) * SOLUTIONS.order * length
    if needed > MEMORY:
        raise UsageError(
            f"a step needs {needed / 1e9:.1f} GB, more than {MEMORY / 1e9:g}: start from a point, or enclose fewer "
            "equations",
            argument="x0",
        )
    return field
