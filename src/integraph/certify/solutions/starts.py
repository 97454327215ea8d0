"""Starts and times as people give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from integraph.errors import UsageError
from integraph.numbers.arrays import Floats, numbers
from integraph.text import counted

MOST_TIMES = 1_000_000


def start_box(x0: Any, variables: Sequence[str]) -> Floats:
    """The box (n, 2) of a start: for each state and input a number or (low, high), in order or by name."""
    if isinstance(x0, Mapping):
        for name in {*x0} ^ {*variables}:
            what = "is no state and no input" if name in x0 else "is missing"
            raise UsageError(f"{name} {what}: give {', '.join(variables)}", argument="x0")
        sides = [x0[name] for name in variables]
    else:
        sides = list(x0) if isinstance(x0, Sequence) or (isinstance(x0, np.ndarray) and x0.ndim) else [x0]
    if len(sides) != len(variables):
        raise UsageError(
            f"a start has {counted(len(variables), 'value')}, {', '.join(variables)}, each a number or (low, high); "
            f"got {len(sides)}",
            argument="x0",
        )
    return np.array([_side(side, name) for side, name in zip(sides, variables, strict=True)])


def _side(side: Any, name: str) -> Floats:
    ends = numbers(side, f"the start of {name}")
    if ends.shape not in ((), (2,)):
        raise UsageError(f"{name}: give a number or (low, high), not shape {ends.shape}", argument="x0", value=side)
    low, high = np.broadcast_to(ends, (2,)).tolist()
    if not (np.isfinite(ends).all() and low <= high):
        raise UsageError(f"{name}: needs finite ends, low ≤ high", argument="x0", value=side)
    return np.array([low, high])


def moments(T: Any) -> Floats:
    """Times, in order, ≥ 0."""
    times = np.atleast_1d(numbers(T, "T"))
    if times.ndim != 1 or not len(times) or not np.isfinite(times).all() or times[0] < 0 or (np.diff(times) < 0).any():
        raise UsageError("needs a finite time ≥ 0, or several in order", argument="T", value=T)
    if len(times) > MOST_TIMES:
        raise UsageError(f"asks for more than {MOST_TIMES:,} times", argument="T")
    return times
