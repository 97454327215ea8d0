"""MATLAB files of level 5 (`save -v6` and `-v7`), not trusted: numbers, text, cells and structures, nothing else.

A file is a row of elements, each a tag and its data, some of them packed. Only what is asked for is unpacked, to at
most LARGEST bytes, and an array is made of the bytes that are there, not of the size that is claimed. Objects, function
handles, sparse and complex arrays are refused by name.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from integraph.errors import FileError
from integraph.text import clean

LARGEST = 1 << 28  # bytes of the file, and of all that is unpacked
START, PEEK = 128, 1 << 12  # bytes before the first element; bytes in which the name of a packed variable stands
DEPTH, CELLS = 4, 10_000  # levels of cells in structures in cells; entries of one cell
INT32, MATRIX, PACKED = 5, 14, 15  # elements
CELL, STRUCT, CHAR, DOUBLE, UINT32, OPAQUE = 1, 2, 4, 6, 13, 17  # classes of arrays; numbers are from DOUBLE to UINT32
REFUSED = {
    3: "an object", 5: "a sparse matrix (take full of it)", 14: "of 64-bit integers (take double of it)",
    15: "of 64-bit integers (take double of it)", 16: "a function handle", OPAQUE: "an object",
}  # fmt: skip
STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 16: "u1", 17: "u2"}
COMPLEX = 1 << 11
DAMAGED = "it is cut off or damaged: save it again, with -v7"


@dataclass(frozen=True, slots=True)
class Element:
    kind: int
    data: memoryview


@dataclass(frozen=True, slots=True)
class Header:
    """What an array is; `parts` are the elements that follow."""

    kind: int
    flags: int
    shape: tuple[int, ...]
    name: str
    parts: Iterator[Element]


def variables(path: Path, wanted: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """The variables of these names, structures of which these are fields, and the names of all other variables.

    Numbers are arrays, text is a list of its rows, a cell is a list, a structure a dict of the fields that are wanted.
    """
    size = path.stat().st_size
    if size > LARGEST:
        raise FileError(f"it has {size} bytes, at most {LARGEST} are read: convert the net to .onnx")
    content = memoryview(path.read_bytes())
    orders = {b"IM": "<", b"MI": ">"}
    order = orders.get(bytes(content[START - 2 : START]))
    if order is None:
        raise FileError("it is no MAT-file of level 5 or version 7.3, or cut off: save it with -v7")
    reader = Level5(order, wanted)
    values: dict[str, Any] = {}
    others: list[str] = []
    for element in reader.elements(content[START:]):
        header = reader.variable(element)
        if header.name in wanted or header.kind == STRUCT:
            values[header.name] = reader.value(reader.variable(element, whole=True), clean(header.name), DEPTH)
        elif header.name:
            others.append(clean(header.name))
    return values, others


class Level5:
    """Elements in one order of bytes, and how many bytes may still be unpacked."""

    def __init__(self, order: str, wanted: Collection[str]) -> None:
        self.order, self.wanted, self.left = order, wanted, LARGEST

    def elements(self, data: memoryview) -> Iterator[Element]:
        """Tag after tag; up to four bytes of data stand in the tag itself."""
        place = 0
        while place < len(data):
            kind, size = self._tag(data[place : place + 8])
            small = kind >> 16
            if small:
                kind, size = kind & 0xFFFF, small
            begin = place + (4 if small else 8)
            if begin + size > len(data) or (small and size > 4):
                raise FileError(DAMAGED)
            yield Element(kind, data[begin : begin + size])
            place = place + 8 if small else begin + size + (0 if kind == PACKED else -size % 8)

    def _tag(self, data: memoryview) -> tuple[int, int]:
        if len(data) < 8:
            raise FileError(DAMAGED)
        kind, size = struct.unpack(f"{self.order}II", data)
        return kind, size

    def variable(self, element: Element, whole: bool = False) -> Header:
        """A variable of the file; only its first bytes are unpacked, unless the whole is needed."""
        if element.kind == PACKED:
            start = _inflated(element.data, PEEK)
            kind, size = self._tag(start[:8])
            if whole:
                if size > self.left:
                    raise FileError(f"it unpacks to more than {LARGEST} bytes: convert the net to .onnx")
                self.left -= size
                start = _inflated(element.data, size + 8)
                if len(start) < size + 8:
                    raise FileError(DAMAGED)
            element = Element(kind, start[8:])
        return self.header(element)

    def header(self, element: Element) -> Header:
        parts = self.elements(element.data)
        flags = _next(parts).data
        if element.kind != MATRIX or len(flags) != 8:
            raise FileError(DAMAGED)
        (word,) = struct.unpack(f"{self.order}I", flags[:4])
        shape: tuple[int, ...] = ()
        if word & 0xFF != OPAQUE:
            part = _next(parts)
            if part.kind != INT32 or len(part.data) % 4:
                raise FileError(DAMAGED)
            shape = struct.unpack(f"{self.order}{len(part.data) // 4}i", part.data)
        return Header(word & 0xFF, word, shape, _ascii(_next(parts)), parts)

    def value(self, header: Header, where: str, depth: int) -> Any:
        """An array as what it holds."""
        refused = "a complex array" if header.flags & COMPLEX else REFUSED.get(header.kind)
        if refused:
            raise FileError(f"{where} is {refused}, which is not part of a net")
        if not depth:
            raise FileError(f"{where} is nested deeper than {DEPTH} levels, which no net is")
        if header.kind == CELL:
            if math.prod(header.shape) > CELLS:
                raise FileError(f"{where} is a cell of {math.prod(header.shape)} entries, at most {CELLS} are read")
            items = [
                self.value(self.header(part), f"{where}{{{number}}}", depth - 1)
                for number, part in enumerate(islice(header.parts, CELLS), 1)
            ]
            if len(items) != math.prod(header.shape):
                raise FileError(DAMAGED)
            return items
        if header.kind == STRUCT:
            return self._structure(header, where, depth)
        if header.kind == CHAR:
            codes = np.atleast_2d(self._numbers(header))
            return ["".join(map(chr, row)).rstrip() for row in codes.astype(np.uint16).tolist()]
        if DOUBLE <= header.kind <= UINT32:
            return self._numbers(header).astype(np.float64)
        raise FileError(DAMAGED)

    def _numbers(self, header: Header) -> Any:
        part = _next(header.parts)
        stored = STORED.get(part.kind)
        if stored is None:
            raise FileError(DAMAGED)
        values = np.frombuffer(part.data, f"{self.order}{stored}") if len(part.data) % int(stored[1]) == 0 else None
        if values is None or min(header.shape, default=-1) < 0 or values.size != math.prod(header.shape):
            raise FileError(DAMAGED)
        return values.reshape(header.shape, order="F")

    def _structure(self, header: Header, where: str, depth: int) -> dict[str, Any]:
        """The fields that are wanted; of an array of structures, none."""
        length, names = _next(header.parts), _next(header.parts).data
        width = int.from_bytes(length.data, "little" if self.order == "<" else "big")
        if width < 1 or len(names) % width:
            raise FileError(DAMAGED)
        if math.prod(header.shape) != 1:
            return {}
        fields = [_ascii(Element(1, names[at : at + width])) for at in range(0, len(names), width)]
        return {
            field: self.value(self.header(part), f"{where}.{field}", depth - 1)
            for field, part in zip(fields, header.parts, strict=False)
            if field in self.wanted
        }


def _next(parts: Iterator[Element]) -> Element:
    part = next(parts, None)
    if part is None:
        raise FileError(DAMAGED)
    return part


def _ascii(part: Element) -> str:
    return bytes(part.data).split(b"\0")[0].decode("ascii", "replace")


def _inflated(data: memoryview, most: int) -> memoryview:
    try:
        return memoryview(zlib.decompressobj().decompress(data, most))
    except zlib.error:
        raise FileError(DAMAGED) from None
