"""What a person sees: text that cannot harm a terminal, and a bar for whoever waits.

Names in files are written by anyone. Control characters in them are shown, not obeyed.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO

from integraph.text import lines

PATIENCE = 0.7  # seconds before a bar appears
WIDE = 160  # columns of a table that goes into a file or a pipe, which have no width of their own


def put(part: Any, stderr: bool = False) -> None:
    """A text as it is, or whatever rich can draw, without a control character that is not rich's own."""
    stream = sys.stderr if stderr else sys.stdout
    if isinstance(part, str):
        stream.write(lines(part) + "\n")
        return
    from rich.segment import Segment, Segments

    screen = console(stderr)
    drawn = (s if s.control else Segment(lines(s.text), s.style) for s in screen.render(part))
    screen.print(Segments(drawn), end="")


def remark(kind: str, style: str, text: str) -> None:
    """`error: …` or `warning: …` on stderr."""
    from rich.text import Text

    with remarking():
        console(stderr=True).print(Text(f"{kind}: ", style=style), Text(lines(text)), sep="", soft_wrap=True)


def console(stderr: bool = False) -> Any:
    """Where a person reads; colours only there."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    screen: Any = Console(
        stderr=stderr, highlight=False, markup=False, emoji=False, width=None if stream.isatty() else WIDE
    )
    screen.on_broken_pipe = _nobody_reads
    return screen


def _nobody_reads() -> NoReturn:
    """Instead of rich's own way, which is to end the process as if something had failed."""
    raise BrokenPipeError


class Bar:
    """`bar(steps)` goes on by so many, `bar.say(text)` says what is done now."""

    def __init__(self, advance: Callable[[float], None], say: Callable[[str], None]) -> None:
        self._advance, self.say = advance, say

    def __call__(self, steps: float) -> None:
        self._advance(steps)


@contextmanager
def waiting(what: str, total: float | None = None) -> Iterator[Bar]:
    """`with waiting("compiling") as bar`: a bar on stderr if it takes longer than a moment and a person waits.

    Whatever has a bar of its own (`load`, `certify`) is not put inside.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield Bar(lambda steps: None, lambda text: None)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from integraph.progress import signals_blocked

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    drawn = Progress(*columns, console=console(stderr=True), transient=True)
    task = drawn.add_task(what, total=total)
    timer = threading.Timer(PATIENCE, drawn.start)
    timer.daemon = True
    with signals_blocked():
        timer.start()
    try:
        yield Bar(lambda steps: drawn.advance(task, steps), lambda text: drawn.update(task, description=lines(text)))
    finally:
        timer.cancel()
        timer.join()
        drawn.stop()


def prepare() -> None:
    """Streams that can be used, whatever the process was started with.

    A closed one is opened on the null device, or the next file would take its place: stdin is empty then, what is said
    on stderr is lost, and stdout can only be read, so that an answer that is lost is an error.
    """
    sys.stdin = sys.stdin or _opened(0, os.O_RDONLY, "r")
    sys.stdout = sys.stdout or _opened(1, os.O_RDONLY, "w")
    sys.stderr = sys.stderr or _opened(2, os.O_WRONLY, "w")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # not where somebody else has put one
            stream.reconfigure(errors="backslashreplace")  # characters that the terminal does not have


def _opened(number: int, flags: int, mode: str) -> TextIO:
    file = os.open(os.devnull, flags)
    if file != number:
        os.dup2(file, number)
        os.close(file)
    return io.TextIOWrapper(io.FileIO(number, mode, closefd=False), encoding="utf-8", write_through=True)


def silence(stream: TextIO) -> None:
    """What is still to be written is lost; or it would fail once more at the end."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


@contextmanager
def remarking() -> Iterator[None]:
    """For writing to stderr; where that fails, there is nobody to tell."""
    try:
        yield
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)
