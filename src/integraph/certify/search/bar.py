"""A search seen from outside: a bar on stderr, for a person at a terminal, once it takes longer than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from integraph.certify.search.bisection import Values
from integraph.progress import drawn_bar as shown

Show = Callable[[Values, Values, int], None]
AFTER = 1.0  # seconds


@contextmanager
def search_bar(wanted: bool, boxes: int, seconds: float) -> Iterator[Show]:
    """`with watching(True, boxes, seconds) as show: … show(upper, lower, done)`: how much of either budget is spent."""
    if not wanted or sys.stderr is None or not sys.stderr.isatty():
        yield lambda upper, lower, done: None
        return
    begun = time.monotonic()
    with ExitStack() as stack:
        update: Callable[..., None] | None = None

        def show(upper: Values, lower: Values, done: int) -> None:
            nonlocal update
            if update is None:
                if time.monotonic() < begun + AFTER:
                    return
                update = stack.enter_context(_bar())
            spent = max(done / boxes, (time.monotonic() - begun) / seconds)
            update(completed=spent, description=f"proving: ≤ {max(upper):.3g}, ≥ {max(lower):.3g}, {done} boxes")

        yield show


@contextmanager
def _bar() -> Iterator[Callable[..., None]]:
    from rich.console import Console
    from rich.progress import Progress

    with shown(Progress(console=Console(stderr=True), transient=True)) as bar:
        task = bar.add_task("proving", total=1.0)
        yield lambda **shown: bar.update(task, **shown)
