"""The time that a computation may take.

Whoever has a budget says `with within(seconds)`; whatever loops inside calls `look`, which ends it with `Late` once it
is spent. Between two looks there is little work, so that a budget is kept to within a moment, whatever is being
computed, and Ctrl-C, which Python answers between two calls, is heard as soon.
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
    """The time is over; nothing is known that was not known before."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """What is inside ends with `Late` after so long, or earlier if that was said around it."""
    before = _end.set(min(now() + seconds, _end.get()))
    try:
        yield
    finally:
        _end.reset(before)


def seconds_left() -> float:
    """Seconds, at least 0."""
    return max(_end.get() - now(), 0.0)


def check_deadline(ahead: float = 0.0) -> None:
    """Raises `Late` if the time is over, or will be after a step of about so many seconds that cannot be divided."""
    if now() + ahead >= _end.get():
        raise DeadlineError
