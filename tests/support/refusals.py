"""Readers on damaged input: a result, or an error of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from integraph.errors import IntegraphError


def outcome(read: Callable[[Any], object], source: Any) -> object:
    """What a reader returns, or the error of ours that it raises; any other exception passes."""
    try:
        return read(source)
    except IntegraphError as error:
        return error


def damaged(data: st.DataObject, content: bytes) -> bytes:
    """One to four bytes exchanged."""
    raw = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    return bytes(raw)
