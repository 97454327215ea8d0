"""A progress bar on stderr, where the work is long and a person waits at a terminal."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LARGE = 5_000_000  # steps from which a bar is shown


@contextmanager
def progress_bar(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """`with watched(n, "checking") as advance: … advance(steps)`."""
    if total < LARGE or sys.stderr is None or not sys.stderr.isatty():
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with drawn_bar(Progress(console=Console(stderr=True), transient=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)


@contextmanager
def drawn_bar(bar: Any) -> Iterator[Any]:
    """A bar of rich that is drawn by a thread of its own."""
    with signals_blocked():
        bar.start()
    try:
        yield bar
    finally:
        bar.stop()


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Threads that are started inside leave Ctrl-C to the main thread: a system may give it to any thread that takes
    it, and a main thread that sleeps would not hear of it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
