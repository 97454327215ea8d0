"""Lines and numbers of a text that is not trusted: a refusal names the line, what belongs there and the fix."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from integraph.errors import FileError
from integraph.numbers.arrays import Floats
from integraph.text import clean, counted

LARGEST = 1 << 26  # bytes of a text, some millions of numbers
SHOWN = 40  # characters of a word
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
UNENDED = "the last line has no end: if the file is cut off there, its last number is wrong"
WHOLE = re.compile(r"\d{1,9}", re.ASCII)


def text(path: Path, most: int = LARGEST) -> str:
    """All of a file of at most so many bytes, as UTF-8."""
    size = path.stat().st_size
    if size > most:
        raise FileError(f"it has {size} bytes, at most {most} are read as text: convert it to .onnx")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        raise FileError(
            f"byte {reason.start} is not UTF-8: this is not a text file, or it has to be saved as UTF-8"
        ) from None


def cut_notes(content: str) -> list[str]:
    """A note if the last line does not end: nobody can tell whether its last number does."""
    return [] if content.endswith("\n") else [UNENDED]


def shown(word: str) -> str:
    """A word of the file, as a message quotes it."""
    return repr(clean(word, SHOWN))


def floats(words: Sequence[str], where: Callable[[int], str]) -> Floats:
    """Decimal numbers as float64; `where` says where a word stands."""
    for place, word in enumerate(words):
        if NUMBER.fullmatch(word) is None:
            raise FileError(f"{where(place)}: expected a decimal number, got {shown(word)}")
    values = np.array([float(word) for word in words])
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        raise FileError(f"{where(place)}: {shown(words[place])} is larger than float64 holds")
    return values


class TextLines:
    """The lines of a text in order. `expected` says in words what belongs into a line."""

    def __init__(self, content: str) -> None:
        self.notes = cut_notes(content)
        self._lines = content.rstrip().split("\n")
        self._next = 0

    @property
    def where(self) -> str:
        """The line that was taken last."""
        return f"line {self._next}"

    def starts_with(self, mark: str) -> bool:
        return self._next < len(self._lines) and self._lines[self._next].lstrip().startswith(mark)

    def skip(self, *words: str) -> bool:
        """Whether the next line is one of these; if so, it is taken."""
        there = self._next < len(self._lines) and self._lines[self._next].strip() in words
        self._next += there
        return there

    def take(self, expected: str) -> str:
        """The next line."""
        return self._taken(1, expected)[0]

    def _taken(self, count: int, expected: str) -> list[str]:
        if (left := len(self._lines) - self._next) < count:
            more = f" in {count} more lines, and there are {left}" if count > 1 else ""
            raise FileError(
                f"it ends after line {len(self._lines)}: expected {expected}{more}; the file is cut "
                "off, or the sizes at its beginning are wrong"
            )
        self._next += count
        return [line.strip() for line in self._lines[self._next - count : self._next]]

    def fields(self, expected: str, count: int) -> list[str]:
        """The next line, as so many fields between commas; a comma at its end is allowed."""
        fields = [field.strip() for field in self.take(expected).split(",")]
        if len(fields) > 1 and not fields[-1]:
            fields.pop()
        if len(fields) != count:
            raise FileError(
                f"{self.where}: expected {expected}, {counted(count, 'value')} with commas between them, got "
                f"{len(fields)}"
            )
        return fields

    def whole_numbers(self, expected: str, count: int) -> list[int]:
        """The next line, as so many whole numbers from 1."""
        return [self._size(field, expected, 1) for field in self.fields(expected, count)]

    def whole_number(self, expected: str, least: int = 1) -> int:
        """The next line, as one whole number."""
        return self._size(self.take(expected), expected, least)

    def _size(self, word: str, expected: str, least: int) -> int:
        if WHOLE.fullmatch(word) is None or int(word) < least:
            raise FileError(f"{self.where}: expected {expected}, a whole number from {least}, got {shown(word)}")
        return int(word)

    def floats(self, expected: str, count: int) -> Floats:
        """The next line, as so many numbers with commas between them."""
        return floats(self.fields(expected, count), lambda place: f"{self.where}, value {place + 1} ({expected})")

    def rows(self, expected: str, count: int, length: int) -> Floats:
        """The next lines, as so many rows of so many numbers."""
        return np.array([self.floats(expected, length) for _ in range(count)])

    def column(self, expected: str, count: int) -> Floats:
        """The next lines, as so many numbers, one in each."""
        first = self._next + 1
        return floats(self._taken(count, expected), lambda place: f"line {first + place} ({expected})")

    def end(self) -> None:
        """A FileError if something follows."""
        if self._next < len(self._lines):
            raise FileError(
                f"line {self._next + 1}: expected the end, got {shown(self._lines[self._next])}; the sizes at the "
                "beginning are wrong"
            )
