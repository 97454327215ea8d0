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


def check_path(path: object) -> None:
    if not isinstance(path, str | os.PathLike):
        raise FileError(f"a path must be a string or a Path, got {path!r}")


def begins_with(path: object, start: bytes) -> bool:
    """Whether this is a regular file that begins so; whoever reads it reports what is wrong with it."""
    try:
        if not isinstance(path, str | os.PathLike) or not Path(path).is_file():
            return False
        with Path(path).open("rb") as file:
            return file.read(len(start)) == start
    except (OSError, ValueError):
        return False


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
