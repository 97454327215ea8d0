"""The three streams of a process: any of them may be closed, full, or a pipe that nobody reads."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO


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
    """What is inside writes to stderr; if it cannot, there is nobody to tell."""
    try:
        yield
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)
