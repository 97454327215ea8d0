"""A table of numbers in a text file: numpy reads it, and if it cannot, every line is looked at to say why.

The first line may be a header. If it names the inputs, in whatever order, columns are taken by name; else in order.
"""

from __future__ import annotations

import csv
import io
import math
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from integraph.cli.screen import waiting
from integraph.errors import FileError

if TYPE_CHECKING:
    from integraph.program.views import Floats

LINES = 100_000  # that are read at once
SEPARATORS = (",", ";", "\t")  # the first that is there, else white space


def read_csv(stream: BinaryIO, name: str, names: tuple[str, ...], size: int | None) -> Floats:
    """(B, d) from UTF-8 text, or a FileError with line and column."""
    import numpy as np

    text = io.TextIOWrapper(stream, encoding="utf-8-sig")
    parts: list[Floats] = []
    order: list[int] | None = None
    separator: str | None = None
    number = 1  # of the first of these lines
    try:
        with waiting(f"reading {name}", size) as bar:
            while lines := list(islice(text, LINES)):
                if number == 1:
                    separator = next((mark for mark in SEPARATORS if mark in lines[0]), None)
                    order = _header(_fields(lines[0].lstrip("#"), separator), names, name)
                    lines[0] = lines[0] if order is None else "\n"
                parts.append(_numbers(lines, separator, names, f"{name}, line ", number))
                number += len(lines)
                bar(sum(map(len, lines)))
    except UnicodeDecodeError as error:
        raise FileError(f"{name}: byte {error.object[error.start]:#x} is not UTF-8: save the table as UTF-8") from None
    finally:
        text.detach()  # the stream belongs to the caller
    found = np.concatenate([np.zeros((0, len(names))), *parts])
    if not len(found):
        raise FileError(f"{name}: there are no points in it: {'it is empty' if number == 1 else 'only a header'}")
    return found if order is None else found[:, order]


def _header(fields: list[str], names: tuple[str, ...], name: str) -> list[int] | None:
    """In which column each input is, if this is a header: a line of words."""
    from integraph.program.wording import counted

    words = [field.strip() for field in fields]
    if not words or any(not word or _value(word) is not None for word in words):
        return None
    if len(words) != len(names):
        raise FileError(f"{name}, line 1: a header of {counted(len(words), 'column')}, and there are {_inputs(names)}")
    if sorted(words) == sorted(names):
        return [words.index(wanted) for wanted in names]
    if set(words) & set(names):
        raise FileError(
            f"{name}, line 1: the header ({', '.join(words)}) names some of the inputs and not all: there are "
            f"{_inputs(names)}"
        )
    return list(range(len(names)))


def _numbers(lines: list[str], separator: str | None, names: tuple[str, ...], where: str, first: int) -> Floats:
    import numpy as np

    filled = [line for line in lines if not line.isspace()]
    if not filled:
        return np.zeros((0, len(names)))
    try:
        found = np.loadtxt(filled, delimiter=separator, comments=None, quotechar='"', ndmin=2)
    except ValueError as reason:
        raise FileError(_fault(lines, separator, names, where, first) or f"{where}{first} …: {reason}") from None
    if found.shape[1] != len(names) or not np.isfinite(found).all():
        raise FileError(str(_fault(lines, separator, names, where, first)))
    return found


def _fault(lines: list[str], separator: str | None, names: tuple[str, ...], where: str, first: int) -> str | None:
    """The first thing that is wrong, in words."""
    from integraph.program.wording import counted

    for number, line in enumerate(lines, first):
        if line.isspace():
            continue
        fields = _fields(line, separator)
        if len(fields) != len(names):
            return f"{where}{number}: {counted(len(fields), 'column')}, and there are {_inputs(names)}"
        for column, (field, name) in enumerate(zip(fields, names, strict=True), 1):
            value = _value(field)
            if value is None or not math.isfinite(value):
                what = "is no number" if value is None else "is not finite"
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
    from integraph.program.wording import counted

    return f"{counted(len(names), 'input')}: {', '.join(names[:6])}{', …' * (len(names) > 6)}"
