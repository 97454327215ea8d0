"""Write files whole or not at all: an interrupted write leaves the old file."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from integraph.errors import FileError

FilePath = str | os.PathLike[str]

PROGRAM = ".integraph"
MARK, BEFORE = b'{"__metadata__":{"format":"integraph program"', 8  # how program files begin, after so many bytes


def check_path(path: object) -> None:
    if not isinstance(path, str | os.PathLike):
        raise FileError(f"a path must be a string or a Path, got {path!r}")


def begins_with(path: object, start: bytes, before: int = 0) -> bool:
    """Whether this is a regular file that begins so, after some bytes; whoever reads it reports what is wrong."""
    try:
        if not isinstance(path, str | os.PathLike) or not Path(path).is_file():
            return False
        with Path(path).open("rb") as file:
            return file.read(before + len(start))[before:] == start
    except (OSError, ValueError):
        return False


def names_program(source: object) -> bool:
    """Whether this is the path of a program, by its name or by its first bytes."""
    if not isinstance(source, str | os.PathLike):
        return False
    return os.fspath(source).strip().endswith(PROGRAM) or begins_with(source, MARK, BEFORE)


@contextmanager
def atomic(path: FilePath) -> Iterator[BinaryIO]:
    """Open a file beside the path that replaces it once everything is written."""
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            raise ValueError("the path exists and is not a file")
        temporary = target.with_name(f".{target.name[:64]}.{secrets.token_hex(8)}.part")
        try:
            with temporary.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot write {os.fspath(path)}: {getattr(error, 'strerror', None) or error}") from None
