"""A table of numbers in a text file: numpy reads it, and if it cannot, every line is looked at to say why.

The first line may be a header. If it names the inputs, in whatever order, columns are taken by name; else in order.
Empty lines and those that begin with # are no points; before the first point, one with # may be the header too.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, BinaryIO

from integraph.cli.terminal import waiting
from integraph.errors import FileError
from integraph.text import counted

if TYPE_CHECKING:
    from integraph.numbers.arrays import Floats

LINES = 100_000  # that are read at once
LONGEST, ROOM = 1_000_000, 100  # characters of a line, or so many for each input if that is more
COMMENT = "#"
SEPARATORS = (",", ";", "\t")  # the first that is there, else white space


def read_csv(stream: BinaryIO, name: str, names: tuple[str, ...], size: int | None) -> tuple[Floats, tuple[str, ...]]:
    """(B, d) from UTF-8 text, and warnings; or a FileError with line and column."""
    import numpy as np

    text = io.TextIOWrapper(stream, encoding="utf-8-sig")
    parts: list[Floats] = []
    try:
        with waiting(f"reading {name}", size) as bar:
            lines = _lines(text, name, max(LONGEST, ROOM * len(names)))
            full = ((n, line) for n, line in enumerate(lines, 1) if not _empty(line) or _named(line, names))
            number, first = next(full, (0, ""))
            separator = _separator(first)
            order, warnings = _header(_words(first), names, f"{name}, line {number}")
            if order is None:
                lines = chain([first] if number else [], lines)
            else:
                number += 1
            while some := list(islice(lines, LINES)):
                parts.append(_numbers(some, separator, names, f"{name}, line ", number))
                number += len(some)
                bar(sum(map(len, some)))
    except UnicodeDecodeError as error:
        raise FileError(f"{name}: byte {error.object[error.start]:#x} is not UTF-8: save the table as UTF-8") from None
    finally:
        text.detach()  # the stream belongs to the caller
    table = np.concatenate([np.zeros((0, len(names))), *parts])
    if not len(table):
        raise FileError(f"{name}: there are no points in it: {'it is empty' if order is None else 'only a header'}")
    return table if order is None else table[:, order], warnings


def _lines(text: io.TextIOWrapper, name: str, longest: int) -> Iterator[str]:
    for number, line in enumerate(iter(lambda: text.readline(longest), ""), 1):
        if len(line) == longest and not line.endswith("\n"):
            raise FileError(f"{name}, line {number}: more than {longest:,} characters: this is not a table of points")
        yield line


def _empty(line: str) -> bool:
    return line.isspace() or line.lstrip().startswith(COMMENT)


def _named(line: str, names: tuple[str, ...]) -> bool:
    """Whether a line, be it a comment, names all inputs, as the headers that numpy.savetxt writes."""
    return sorted(_words(line)) == sorted(names)


def _words(line: str) -> list[str]:
    return [word.strip() for word in _fields(line.lstrip(f"{COMMENT} "), _separator(line))]


def _separator(line: str) -> str | None:
    return next((mark for mark in SEPARATORS if mark in line), None)


def _header(words: list[str], names: tuple[str, ...], where: str) -> tuple[list[int] | None, tuple[str, ...]]:
    """In which column each input is, if this is a header, a line of words; and a warning if it names none of them."""
    if not words or any(not word or _value(word) is not None for word in words):
        return None, ()
    if len(words) != len(names):
        raise FileError(f"{where}: a header of {counted(len(words), 'column')}, and there are {_inputs(names)}")
    if sorted(words) == sorted(names):
        return [words.index(wanted) for wanted in names], ()
    shown = ", ".join(words[:6]) + ", …" * (len(words) > 6)
    if set(words) & set(names):
        raise FileError(
            f"{where}: the header ({shown}) names some of the inputs and not all: there are {_inputs(names)}"
        )
    return list(range(len(names))), (f"{where}: the header ({shown}) names none of the inputs, so columns are taken in "
                                     f"order: {_inputs(names)}",)  # fmt: skip


def _numbers(lines: list[str], separator: str | None, names: tuple[str, ...], where: str, first: int) -> Floats:
    import numpy as np

    filled = [line for line in lines if not _empty(line)]
    if not filled:
        return np.zeros((0, len(names)))
    try:
        table = np.loadtxt(filled, delimiter=separator, comments=None, quotechar='"', ndmin=2)
    except ValueError as reason:
        raise FileError(_fault(lines, separator, names, where, first) or f"{where}{first} …: {reason}") from None
    if table.shape[1] != len(names) or not np.isfinite(table).all():
        raise FileError(str(_fault(lines, separator, names, where, first)))
    return table


def _fault(lines: list[str], separator: str | None, names: tuple[str, ...], where: str, first: int) -> str | None:
    """The first thing that is wrong, in words."""
    for number, line in enumerate(lines, first):
        if _empty(line):
            continue
        fields = _fields(line, separator)
        if len(fields) != len(names):
            return f"{where}{number}: {counted(len(fields), 'column')}, and there are {_inputs(names)}"
        for column, (field, name) in enumerate(zip(fields, names, strict=True), 1):
            value = _value(field)
            if value is None or not math.isfinite(value):
                what = "is not a number" if value is None else "is not finite"
                return f"{where}{number}, column {column}: {field.strip()[:40]!r} {what}: needed is a value of {name}"
    return None


def _fields(line: str, separator: str | None) -> list[str]:
    line = line.strip("\r\n")
    if separator is None or '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator, skipinitialspace=True))
    except csv.Error:
        return line.split(separator)


def _value(field: str) -> float | None:
    try:
        return None if "_" in field else float(field)
    except ValueError:
        return None


def _inputs(names: tuple[str, ...]) -> str:
    return f"{counted(len(names), 'input')}: {', '.join(names[:6])}{', …' * (len(names) > 6)}"
