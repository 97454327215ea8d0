"""A progress bar on stderr, where the work is long and a person waits at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LARGE = 5_000_000  # steps from which a bar is shown


@contextmanager
def watched(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """`with watched(n, "checking") as advance: … advance(steps)`."""
    if total < LARGE or sys.stderr is None or not sys.stderr.isatty():
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)
