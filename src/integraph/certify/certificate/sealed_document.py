"""What every certificate is: data with one canonical text, which carries a seal, in files whole or not at all.

A certificate is JSON without decimals. A byte that is altered breaks the seal; false contents under a new seal are for
`replay` to find. No file is read or written that would fill the memory.
"""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from integraph.certify.certificate.exact_values import SHOWN
from integraph.errors import FileError
from integraph.files import FilePath, atomic, check_path

LARGEST = 1 << 27  # bytes, which hold a tree of four million leaves
NAME = 200  # characters of a path in a message


@dataclass(frozen=True, slots=True)
class SealedDocument(ABC):
    seal: str = field(default="", kw_only=True)

    @abstractmethod
    def _contents(self) -> dict[str, Any]:
        """What the text holds before the seal, by name: texts, integers, lists of them."""

    def sealed(self) -> Self:
        return replace(self, seal=hashlib.sha256(_text(self._contents(), "").encode()).hexdigest())

    @property
    def intact(self) -> bool:
        """Whether the seal matches the contents."""
        return self.seal == self.sealed().seal

    def __str__(self) -> str:
        return _text(self._contents(), self.seal)

    @property
    def _seal_row(self) -> tuple[str, str]:
        """The row of a table that says whether it was altered."""
        return "seal", self.seal if self.intact else f"{self.seal or 'none'}: it does NOT match the contents"

    def save(self, path: FilePath) -> None:
        """Write the JSON file, whole or not at all."""
        check_path(path)
        data = str(self).encode()
        if len(data) > LARGEST:
            raise FileError(f"the certificate has {len(data)} bytes, more than the limit of {LARGEST}: use fewer boxes")
        with atomic(path) as file:
            file.write(data)


Read = TypeVar("Read")
ReadDocument = TypeVar("ReadDocument", bound=SealedDocument)


def load(path: FilePath, parse: Callable[[bytes], Read]) -> Read:
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


def parsed(
    data: bytes,
    kind: str,
    version: int,
    fields: Sequence[str],
    decoded: Callable[[dict[str, Any]], ReadDocument],
    fault: Callable[[ReadDocument], str],
) -> ReadDocument:
    """Exactly what `str` wrote and `fault` finds nothing wrong with; or a ValueError."""
    given = _json(data, kind, version, fields)
    try:
        document = decoded(given)
    except (TypeError, KeyError, IndexError, OverflowError, RecursionError, ValueError) as error:
        raise ValueError(f"it is malformed: {error}") from None
    if str(document).encode() != data:
        raise ValueError("it is not in canonical form: it was altered")
    if not document.intact:
        raise ValueError("its checksum does not match its contents: it was altered")
    if wrong := fault(document):
        raise ValueError(wrong)
    return document


def _json(data: bytes, kind: str, version: int, fields: Sequence[str]) -> dict[str, Any]:
    try:
        given = json.loads(data.decode(), parse_float=_refuse, parse_constant=_refuse)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError, ValueError):
        raise ValueError("it is not the JSON of a certificate") from None
    if not isinstance(given, dict) or list(given) != [*fields, "seal"]:
        raise ValueError(f"{kind!r} has the fields {', '.join(fields)} and seal")
    if given["format"] != kind or given["version"] != version:
        named = ", ".join(f"{name} {given[name]!r:.{SHOWN}}" for name in ("format", "version"))
        raise ValueError(f"{named}: this reads {kind!r}, version {version}")
    return given


def _refuse(text: str) -> Any:
    raise ValueError(text)


def _text(contents: dict[str, Any], seal: str) -> str:
    return json.dumps({**contents, "seal": seal}, separators=(",", ":"))
