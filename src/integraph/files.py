"""Files that are written whole or not at all: an interrupted write leaves what was there."""

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
        raise FileError(f"a path is a text or a Path, got {path!r}")


@contextmanager
def atomic(path: FilePath) -> Iterator[BinaryIO]:
    """A file beside the path that takes its place when all is written."""
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            raise ValueError("there is something that is not a file")
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
