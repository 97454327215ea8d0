"""The text of an XML file from anywhere: of moderate size and depth, without document types and entities."""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

from integraph.errors import FileError, SourceError

LARGEST = 10_000_000  # bytes
DEPTH = 300  # of elements


def bytes_of(path: Path, largest: int) -> bytes:
    """The bytes of a file that is not longer than a model."""
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except OSError as reason:
        raise FileError(f"cannot read {path.name}: {reason.strerror or reason}") from None
    if len(data) > largest:
        raise FileError(f"{path.name} has more than {largest:,} bytes: a model of this size is not read")
    return data


def xml_text(data: bytes, name: str) -> str:
    """The text, after a parser that expands nothing has seen it to the end."""
    depth = 0

    def enter(tag: str, attributes: object) -> None:
        nonlocal depth
        depth += 1
        if depth > DEPTH:
            raise SourceError(f"{name} has elements more than {DEPTH} deep: no model has")

    def leave(tag: str) -> None:
        nonlocal depth
        depth -= 1

    def declare(*_: object) -> None:
        raise SourceError(f"{name} declares a document type, and a model needs none: entities are not expanded")

    def encoding(version: str, coding: str | None, standalone: int) -> None:
        if coding is not None and coding.lower() not in ("utf-8", "us-ascii", "ascii"):
            raise SourceError(f"{name} is encoded as {coding}: save it as UTF-8")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = enter, leave
    parser.StartDoctypeDeclHandler, parser.XmlDeclHandler = declare, encoding
    try:
        parser.Parse(data, True)
        return data.decode("utf-8-sig")
    except expat.ExpatError as reason:
        raise SourceError(f"{name} is no XML: {reason}") from None
    except UnicodeDecodeError:
        raise SourceError(f"{name} is not text in UTF-8: save it as that") from None
