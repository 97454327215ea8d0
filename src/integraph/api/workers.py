"""Who may do the work of a search."""

from __future__ import annotations

from integraph.errors import UsageError


def check_workers(workers: int | None, scheduler: str | None) -> None:
    """Who may do the work: processes of this machine, or a cluster."""
    if workers is not None and scheduler is not None:
        raise UsageError(
            f"workers are processes of this machine, and the scheduler {scheduler!r} has its own: give one of the two",
            argument="workers",
            value=workers,
        )
    if workers is not None:
        check_integer("workers", workers, 1)


def check_integer(name: str, value: object, least: int) -> None:
    """An integer, not below the least."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(f"needs an integer, at least {least}", argument=name, value=value)
