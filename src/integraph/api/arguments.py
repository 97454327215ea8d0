"""Arguments that several calls take: numbers, who does the work, and programs in files."""

from __future__ import annotations

import math
from typing import Any

from integraph.errors import UsageError
from integraph.files import names_program
from integraph.numbers.arrays import real, whole
from integraph.program import load


def opened(source: Any) -> Any:
    """The program in a file, where the path of one is given; anything else as it is."""
    return load(source) if names_program(source) else source


def check_workers(workers: int | None, scheduler: str | None) -> None:
    """Who may do the work: processes of this machine, or a cluster."""
    if workers is not None and scheduler is not None:
        raise UsageError(
            f"workers are processes of this machine, and the scheduler {scheduler!r} has its own: give one of the two",
            argument="workers",
            value=workers,
        )
    if workers is not None:
        whole("workers", workers, 1)
    if scheduler is not None and (not isinstance(scheduler, str) or not scheduler):
        raise UsageError("give its address, such as tcp://host:8786", argument="scheduler", value=scheduler)


def positive(name: str, value: Any) -> None:
    """Refuse what is no finite number > 0."""
    if isinstance(value, bool) or not 0 < real(value, name) < math.inf:
        raise UsageError("it must be finite and > 0", argument=name, value=value)
