"""Arguments that several calls take: whole numbers, who does the work, and programs in files."""

from __future__ import annotations

from typing import Any

from integraph.errors import UsageError
from integraph.files import names_program
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


def whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """Refuse what is no integer from `least` to `most`."""
    good = isinstance(value, int) and not isinstance(value, bool) and value >= least
    if not good or (most is not None and value > most):  # type: ignore[operator]
        raise UsageError(
            f"needs an integer, at least {least}{f' and at most {most}' if most else ''}", argument=name, value=value
        )
