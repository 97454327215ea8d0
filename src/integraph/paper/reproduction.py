"""The paper reproduced: one table, as text, as data, as a page."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from integraph.files import FilePath
from integraph.paper.rows import FAILS, FLOAT64, HOLDS, MISPRINT, Cells, PaperRow
from integraph.text import counted

COLUMNS = (("item", 22), ("the paper says", 34), ("computed", 40))  # and two spaces between them: 100


@dataclass(frozen=True, repr=False)
class Reproduction:
    """A row for every item and every erratum, in the order of the paper. Printed, it is the table."""

    rows: tuple[PaperRow, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing fails; an erratum that is shown is not a failure."""
        return all(row.verdict != FAILS for row in self.rows)

    @property
    def verdict(self) -> str:
        """In a sentence."""
        verdicts = [row.verdict for row in self.rows]
        holds, misprints, float64, fails = map(verdicts.count, (HOLDS, MISPRINT, FLOAT64, FAILS))
        shown = f"{counted(misprints, 'misprint')} and {counted(float64, 'limit')} of float64 shown"
        return f"{counted(len(verdicts), 'row')}: {holds} hold, {shown}, {fails} fail"

    def data(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {"holds": self.holds, "verdict": self.verdict, "rows": [_data(row) for row in self.rows]}

    def save_html(self, path: FilePath) -> None:
        """Write it as one HTML file that needs nothing else."""
        from integraph.paper.html import save

        save(self, path)

    def __repr__(self) -> str:
        lines = [*_wrapped([name for name, _ in COLUMNS]), *_wrapped(["─" * width for _, width in COLUMNS])]
        for row in self.rows:
            lines += [*_wrapped([f"{row.item}\n  {row.verdict}", row.says, row.computed]), *_grid(row.table), ""]
        return "\n".join([*lines, self.verdict])


def _data(row: PaperRow) -> dict[str, Any]:
    return {
        "item": row.item,
        "label": row.label,
        "erratum": row.erratum,
        "says": row.says,
        "computed": row.computed,
        "verdict": row.verdict,
        "numbers": row.numbers,
        "table": [list(line) for line in row.table],
    }


def _wrapped(cells: list[str]) -> Iterator[str]:
    """The lines of one row of the table."""
    parts = []
    for cell, (_, width) in zip(cells, COLUMNS, strict=True):
        parts.append([line for part in cell.split("\n") for line in textwrap.wrap(part, width, break_on_hyphens=False)])
    for n in range(max(map(len, parts))):
        line = [part[n] if n < len(part) else "" for part in parts]
        yield "  ".join(_padded(text, width) for text, (_, width) in zip(line, COLUMNS, strict=True)).rstrip()


def _padded(text: str, width: int) -> str:
    """Filled with spaces; marks that stand over a letter take no place."""
    return text + " " * (width - sum(not unicodedata.combining(letter) for letter in text))


def _grid(table: Cells) -> Iterator[str]:
    """A table inside the table."""
    if not table:
        return
    yield ""
    widths = [max(len(line[n]) for line in table) for n in range(len(table[0]))]
    for line in table:
        others = [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        yield "  ".join(["  " + line[0].ljust(widths[0]), *others])
