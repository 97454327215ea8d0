"""The units of a model: columns of a table become numbers of size 1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from integraph.errors import UsageError
from integraph.numbers.arrays import Floats

FURTHEST = 2.0  # that an input of the table may be from 0: a quadratic ODE squares what stands out, segment by segment
LARGEST = 1e100  # number of a table, and one over the smallest deviation: their squares must be numbers, too


class Scaling(NamedTuple):
    """Models see (x − centre)/spread, and give (y − offset)/gain."""

    centre: Floats
    spread: Floats
    offset: Floats
    gain: Floats


def standard(columns: Floats, what: str) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column; 1 for one that is constant."""
    size = np.abs(columns).max(0)
    _check(size > LARGEST, size, what, f"below {LARGEST:g}")
    unit = np.ldexp(1.0, np.frexp(size)[1])  # a power of 2: no digit changes
    share = (columns / unit).std(0)
    moves = share > 1e-14 * (size / unit)
    _check(moves & (size < 1.0 / LARGEST), size, what, f"above {1.0 / LARGEST:g}")
    return columns.mean(0), np.where(moves, share * unit, 1.0)


def _check(wrong: NDArray[np.bool_], size: Floats, what: str, where: str) -> None:
    if wrong.any():
        column = int(np.argmax(wrong))
        raise UsageError(
            f"column {column} of {what} has numbers of size {size[column]:.3g}, whose squares float64 may not hold: "
            f"give it in other units, {where}",
            argument=what,
        )


def bounded(columns: Floats, what: str) -> tuple[Floats, Floats]:
    """The same, with a spread so large that no row is further than FURTHEST from the mean: a pixel that is nearly
    always 0 would be large where it is not."""
    centre, spread = standard(columns, what)
    return centre, np.maximum(spread, np.abs(columns - centre).max(0) / FURTHEST)
