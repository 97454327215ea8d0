"""Text that should be numbers: gaps, decimal commas, and what is neither."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from integraph.numbers.arrays import Floats

NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
COMMA = re.compile(r"\s*[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?\s*", re.ASCII)  # 3,5: a decimal comma
THOUSANDS = re.compile(r"\s*[+-]?\d{1,3},\d{3}\s*", re.ASCII)  # 1,234: or is it one?
GAPS = frozenset(("", "nan", "na", "n/a", "#n/a", "null", "none", "-", "--", "?", "inf", "-inf", "+inf"))


class CellColumn:
    """A column that is read part by part."""

    def __init__(self) -> None:
        self.parts: list[Floats] = []
        self.filled = self.text = 0
        self.odd: tuple[int, str] | None = None  # the first cell that is no number: its line, and what it says
        self.point = self.comma = ""  # a number with a decimal point, and one with a comma
        self.surely = False  # a decimal comma that cannot separate thousands

    def add(self, cells: Sequence[str], lines: Sequence[int]) -> None:
        values = _at_once(cells)
        if values is None:
            values = np.array([self._value(cell, line) for cell, line in zip(cells, lines, strict=True)])
        else:
            self.filled += len(cells)
            self.point = self.point or next((cell for cell in cells if "." in cell), "")
        self.parts.append(values)

    @property
    def is_text(self) -> bool:
        """Whether most of what it says is no number."""
        return 2 * self.text > self.filled

    @property
    def values(self) -> Floats:
        return np.concatenate(self.parts)

    def _value(self, cell: str, line: int) -> float:
        if is_gap(cell):
            return np.nan
        self.filled += 1
        if NUMBER.fullmatch(cell):
            self.point = self.point or (cell if "." in cell else "")
            return float(cell)
        if COMMA.fullmatch(cell):
            self.comma = self.comma or cell
            self.surely = self.surely or not THOUSANDS.fullmatch(cell)
            return float(cell.replace(",", "."))
        self.text += 1
        self.odd = self.odd or (line, cell)
        return np.nan


def _at_once(cells: Sequence[str]) -> Floats | None:
    """All of them, if every one is a plain number: most files have no other."""
    together = "".join(cells)
    if not together.isascii() or "_" in together:
        return None
    try:
        values = np.array(cells).astype(np.float64)
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def is_gap(cell: str) -> bool:
    return cell.strip().lower() in GAPS


def is_number(cell: str) -> bool:
    return bool(NUMBER.fullmatch(cell) or COMMA.fullmatch(cell))
