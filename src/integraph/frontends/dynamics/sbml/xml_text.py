"""Text of XML from anywhere: of moderate depth, without document types and entities."""

from __future__ import annotations

from xml.parsers import expat

from integraph.errors import SourceError

LARGEST = 10_000_000  # bytes
DEPTH = 300  # of elements


def check_xml(text: str, name: str) -> None:
    """Refuse a text that a parser which expands nothing does not read to its end."""
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
        parser.Parse(text.encode(), True)
    except expat.ExpatError as reason:
        raise SourceError(f"{name} is no XML: {reason}") from None
