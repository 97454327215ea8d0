"""CSV files → columns. What a file does not say (separator, header, decimal comma, encoding) is told from its cells;
where they leave a doubt, the file is refused."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import numpy as np

from integraph.errors import FileError
from integraph.frontends import files
from integraph.frontends.data.cells import CellColumn, is_gap, is_number
from integraph.frontends.data.columns import Columns, check_size
from integraph.text import clean, counted

BYTES = 200_000_000  # of a file
SEPARATORS = (";", "\t", ",", "|")
TRIED = 20  # lines that tell the separator
LINES = 50_000  # that are converted at once
COMMENT = "#"
Line = tuple[int, list[str]]  # its number, and its cells


def read_csv(source: str | Path) -> Columns:
    """The columns of numbers; those of text are left out, and noted."""
    path, _ = files.model_file(source)
    with files.named_errors(path):
        size = path.stat().st_size
        if size > BYTES:
            raise FileError(f"{size / 1e6:,.0f} MB is more than {BYTES / 1e6:g} MB: take every second row, or fewer")
        text, notes = _decoded(path.read_bytes())
        lines = _lines(text, _separator(text))
        first = next(lines, None)
        if first is None:
            raise FileError("there are no rows in it")
        header = not any(map(is_number, first[1])) and not all(map(is_gap, first[1]))
        columns = _columns(lines if header else chain([first], lines), len(first[1]))
        named = first[1] if header else _comment(text, len(first[1]))
        return _numbers(path.name, columns, named, notes)


def _decoded(data: bytes) -> tuple[str, tuple[str, ...]]:
    notes: tuple[str, ...] = ()
    try:
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        text, notes = data.decode("latin-1"), ("it is not UTF-8, and was read as Latin-1",)
    if "\0" in text:
        raise FileError("it holds zero bytes: this is no text")
    return text, notes


def _separator(text: str) -> str:
    """The first that divides the first lines into as many cells each, more than one; else the one with most cells."""
    lines = (line for line in io.StringIO(text) if line.strip() and not line.startswith(COMMENT))
    some = list(islice(lines, TRIED))
    most, best = 0, ","
    for mark in SEPARATORS:
        try:
            widths = [len(cells) for cells in csv.reader(some, delimiter=mark, skipinitialspace=True)]
        except csv.Error:  # which is reported with its line, when all are read
            break
        if widths and min(widths) == max(widths) > 1:
            return mark
        most, best = max((most, best), (min(widths, default=0), mark), key=lambda pair: pair[0])
    if most == 1 and all(is_number(line) or is_gap(line) for line in some[1:]):
        raise FileError("it has one column: data need an input and an output, separated by a comma, semicolon or tab")
    return best


def _lines(text: str, separator: str) -> Iterator[Line]:
    """The lines that hold something; all have as many cells."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    width = 0
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells) or cells[0].startswith(COMMENT):
                continue
            width = width or len(cells)
            if len(cells) != width:
                raise FileError(
                    f"line {reader.line_num} has {counted(len(cells), 'cell')}, the first one {width}: every row needs "
                    "as many"
                )
            yield reader.line_num, cells
    except csv.Error as reason:
        raise FileError(f"line {reader.line_num}: {reason}") from None


def _columns(lines: Iterator[Line], width: int) -> list[CellColumn]:
    columns = [CellColumn() for _ in range(width)]
    rows = 0
    while some := list(islice(lines, LINES)):
        rows += len(some)
        check_size("it", rows, width)
        numbers = [number for number, _ in some]
        for column, cells in zip(columns, zip(*(cells for _, cells in some), strict=True), strict=True):
            column.add(cells, numbers)
    if not rows:
        raise FileError("there is a header, and no row after it")
    return columns


def _comment(text: str, width: int) -> list[str] | None:
    """Names in a comment on the first line, as numpy.savetxt writes them."""
    first = text.split("\n", 1)[0].strip()
    if not first.startswith(COMMENT):
        return None
    for mark in (*SEPARATORS, None):
        words = [word.strip() for word in first.lstrip(f"{COMMENT} ").split(mark)]
        if len(words) == width and all(words):
            return words
    return None


def _numbers(title: str, columns: list[CellColumn], header: list[str] | None, notes: tuple[str, ...]) -> Columns:
    names = [f"column {n + 1}" for n in range(len(columns))]
    names = names if header is None else [cell.strip() or name for cell, name in zip(header, names, strict=True)]
    _check_decimals(columns)
    kept = []
    for n, column in enumerate(columns):
        if not column.filled:
            notes = (*notes, f"{clean(names[n], 60)} is empty, and left out") if header and header[n].strip() else notes
        elif column.is_text:
            notes = (*notes, f"{clean(names[n], 60)} is text, and left out")
        elif column.odd is not None:
            line, cell = column.odd
            raise FileError(
                f"line {line}, {clean(names[n], 60)}: {clean(cell, 40)!r} is not a number: correct it, or leave the "
                "cell empty"
            )
        else:
            kept.append(n)
    if len(kept) < 2:
        raise FileError(
            f"it has {counted(len(kept), 'column')} of numbers: data need an input and an output, separated by a "
            "comma, semicolon or tab"
        )
    values = np.stack([columns[n].values for n in kept], 1)
    return Columns(title, values, None if header is None else tuple(names[n] for n in kept), notes)


def _check_decimals(columns: list[CellColumn]) -> None:
    """Points or commas, not both; and commas that are surely no marks of thousands."""
    numeric = [column for column in columns if not column.is_text]
    point = next((column.point for column in numeric if column.point), "")
    comma = next((column.comma for column in numeric if column.comma), "")
    if comma and (point or not any(column.surely for column in numeric)):
        doubt = f"{point.strip()!r} has a decimal point" if point else "it may be a decimal comma or mark thousands"
        raise FileError(f"what is {comma.strip()!r}? {doubt}: write every number with a decimal point")
