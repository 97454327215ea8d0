"""Certificates in files: whole or not at all, and none so large that it fills the memory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from integraph.errors import FileError
from integraph.files import FilePath, atomic, check_path

LARGEST = 1 << 27  # bytes
NAME = 200  # characters of a path in a message

Parsed = TypeVar("Parsed")


def load(path: FilePath, parse: Callable[[bytes], Parsed]) -> Parsed:
    """What `parse` makes of the contents of a file; a FileError where that is a ValueError."""
    check_path(path)
    try:
        file = Path(path)
        if file.stat().st_size > LARGEST:
            raise ValueError(f"it has {file.stat().st_size} bytes, more than the limit of {LARGEST}")
        return parse(file.read_bytes())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"cannot read the certificate {os.fspath(path)[:NAME]}: {reason}") from None


def save(path: FilePath, text: str) -> None:
    """Write the JSON file."""
    check_path(path)
    data = text.encode()
    if len(data) > LARGEST:
        raise FileError(f"the certificate has {len(data)} bytes, more than the limit of {LARGEST}")
    with atomic(path) as file:
        file.write(data)


def document(data: bytes, kind: str, version: int, fields: tuple[str, ...]) -> dict[str, Any]:
    """The JSON object of a certificate of this kind, its numbers all integers; or a ValueError."""
    try:
        given = json.loads(data.decode(), parse_float=_refuse, parse_constant=_refuse)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError, ValueError):
        raise ValueError("it is not the JSON of a certificate") from None
    if not isinstance(given, dict) or list(given) != [*fields, "seal"]:
        raise ValueError(f"{kind!r} has the fields {', '.join(fields)} and seal")
    if given["format"] != kind or given["version"] != version:
        raise ValueError(f"this reads {kind!r}, version {version}")
    return given


def _refuse(text: str) -> Any:
    raise ValueError(text)
