"""Where a program is compared with its source: at inputs that are given, or at the rows of data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from integraph.errors import UsageError
from integraph.frontends import Target
from integraph.numbers.arrays import Floats
from integraph.program import Program
from integraph.program.engine import batch_of
from integraph.targets import Function
from integraph.text import counted

FITTED = "most of these rows were fitted; the summary of the program has the difference on held-out rows"


def placed(program: Program, target: Target, X: ArrayLike | None) -> tuple[Target, Floats, list[str]]:
    """The target with values at x (B, d), x, and notes. Rows outside the box of the program are left out."""
    rows = target.rows if isinstance(target, Function) else None
    if rows is None:
        if X is None:
            raise UsageError("give the inputs to compare at: only data have rows of their own", argument="X")
        return target, batch_of(X, program.inputs), []
    if X is not None:
        raise UsageError("data have values at their own rows only: leave it out", argument="X")
    assert isinstance(target, Function)
    box = program.box
    inside = np.ones(len(rows.x), bool) if box is None else ((rows.x >= box.low) & (rows.x <= box.high)).all(1)
    y, outside = rows.y[inside], int(np.count_nonzero(~inside))
    notes = [f"{counted(outside, 'row')} outside the box of the program left out"] if outside else []
    return replace(target, values=lambda x: y), rows.x[inside], [*rows.notes, *notes, FITTED]
