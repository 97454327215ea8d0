"""Failures that are rounding: float64 loses an input on its way that more digits carry to the end.

A base x that is 1e-24 of what it can be on the box is 0 after x/s − 1 + 1, and a product can overflow before
a factor brings it back. The exact flow has a value there, so the failure says that, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from integraph.flow.precise import PRECISE, closed_forms
from integraph.numbers.arrays import Floats
from integraph.program import Failure, Program
from integraph.program.engine import Status

FEW = 4  # failures that are worth a second run; each takes milliseconds
SMALL = 20_000  # registers times segments, and terms, of a program that more digits can follow at once
REMEDY = (
    "float64 loses the digits of this input on the way, more digits carry it to the end: use engine='precise', or "
    "compile on a smaller box, where values differ less in size"
)


def with_precision_hint(program: Program, x: Floats, failures: Sequence[Failure]) -> tuple[Failure, ...]:
    """The same failures; the first of them know whether they are rounding."""
    first = list(failures[:FEW])
    waiting = [n for n, failure in enumerate(first) if failure.status is not Status.STEP_LIMIT]
    if not waiting or not _small(program) or not closed_forms(program):
        return tuple(failures)
    inputs = np.array([first[n].input for n in waiting], np.int64)
    for n in np.flatnonzero(PRECISE.carries(program, x[inputs])).tolist():
        first[waiting[n]] = replace(first[waiting[n]], remedy=REMEDY)
    return *first, *failures[FEW:]


def _small(program: Program) -> bool:
    return program.width * program.depth <= SMALL and program.terms <= SMALL
