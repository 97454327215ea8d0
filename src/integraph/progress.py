"""Progress bars on stderr, for long work when a person waits at a terminal."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

Values = tuple[float, ...]
Show = Callable[[Values, Values, int], None]
LARGE = 5_000_000  # steps from which a bar is shown
AFTER = 1.0  # seconds from which a search shows one


@contextmanager
def progress_bar(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """`with progress_bar(n, "checking") as advance: … advance(steps)`."""
    if total < LARGE or sys.stderr is None or not sys.stderr.isatty():
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with drawn_bar(Progress(console=Console(stderr=True), transient=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)


@contextmanager
def search_bar(wanted: bool, boxes: int, seconds: float) -> Iterator[Show]:
    """`with search_bar(True, boxes, seconds) as show: … show(upper, lower, done)`: the share spent of either budget, of
    boxes and of seconds."""
    begun = time.monotonic()
    with late_bar(wanted, "proving") as update:

        def show(upper: Values, lower: Values, done: int) -> None:
            spent = max(done / boxes, (time.monotonic() - begun) / seconds)
            update(spent, f"proving: ≤ {max(upper):.3g}, ≥ {max(lower):.3g}, {done} boxes")

        yield show


@contextmanager
def late_bar(wanted: bool, what: str) -> Iterator[Callable[[float, str], None]]:
    """`with late_bar(True, "calling") as update: … update(share, text)`: a bar for work that takes more than a
    second."""
    if not wanted or sys.stderr is None or not sys.stderr.isatty():
        yield lambda share, text: None
        return
    begun = time.monotonic()
    with ExitStack() as stack:
        draw: Callable[..., None] | None = None

        def update(share: float, text: str) -> None:
            nonlocal draw
            if draw is None:
                if time.monotonic() < begun + AFTER:
                    return
                draw = stack.enter_context(_bar(what))
            draw(completed=share, description=text)

        yield update


@contextmanager
def _bar(what: str) -> Iterator[Callable[..., None]]:
    from rich.console import Console
    from rich.progress import Progress

    with drawn_bar(Progress(console=Console(stderr=True), transient=True)) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda **changes: bar.update(task, **changes)


@contextmanager
def drawn_bar(bar: Any) -> Iterator[Any]:
    """A bar of rich, drawn by a thread of its own."""
    with signals_blocked():
        bar.start()
    try:
        yield bar
    finally:
        bar.stop()


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Threads started inside leave Ctrl-C to the main thread: the system may deliver it to any thread that accepts it,
    and a sleeping main thread would not notice."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
