"""The time that a computation may take.

A caller with a budget writes `with deadline(seconds)`; loops inside call `check_deadline`, which raises `DeadlineError`
once the budget is spent. There is little work between two such calls, so a budget is kept to within a moment, whatever
is being computed, and Ctrl-C, which Python answers between two calls, works as fast.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf

now = time.monotonic
_end: ContextVar[float] = ContextVar("the end of the time budget", default=inf)


class DeadlineError(Exception):
    """The time is over. What was computed before still holds."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """End the block with `DeadlineError` after so many seconds, or earlier if an outer deadline says so."""
    before = _end.set(min(now() + seconds, _end.get()))
    try:
        yield
    finally:
        _end.reset(before)


def seconds_left() -> float:
    """Seconds, at least 0."""
    return max(_end.get() - now(), 0.0)


def check_deadline(ahead: float = 0.0) -> None:
    """Raise `DeadlineError` if the time is over, or will be after an indivisible step of about so many seconds."""
    if now() + ahead >= _end.get():
        raise DeadlineError
