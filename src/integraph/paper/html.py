"""The reproduction as a page, with Table 1 and Figure 1."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from integraph.bounds.paper.partition_of_unity import Partition
from integraph.files import FilePath, atomic, check_path
from integraph.paper.items.lemma4 import FIGURE
from integraph.paper.lemma4_equations import printed_table
from integraph.paper.rows import FAILS, PaperRow
from integraph.plot.partition import figure
from integraph.report.markup import Html, escaped, table, tag
from integraph.report.mathml import math, prose
from integraph.report.page import Section, page

if TYPE_CHECKING:
    from integraph.paper.reproduction import Reproduction

TITLE = "Expressivity of Quadratic Neural ODEs, computed"
LEAD = (
    "J. Hanson and M. Raginsky, Expressivity of Quadratic Neural ODEs: every equation with a label, lemma, theorem, "
    "remark, table and figure, and every erratum that we know of. Each number below was computed when this page was "
    "written."
)
STYLE = """
.rows td:last-child { white-space: nowrap; font-weight: 600; color: var(--good); }
.number { white-space: nowrap; }
.rows td .fails { color: var(--level); }
@media (max-width: 760px) {
  .rows thead { display: none; }
  .rows tr { display: block; border-bottom: 1px solid var(--grid); padding: 0.7rem 0; }
  .rows th, .rows td { display: block; border: 0; padding: 0.15rem 0; overflow-wrap: anywhere; }
  .rows th { font-weight: 600; }
  .rows td:nth-child(2) { color: var(--muted); }
}
"""
NUMBER = re.compile(r"(\d+(?:\.\d+)?e-\d+)")
HEAD = ("item", "the paper says", "computed", "verdict")


def save(reproduction: Reproduction, path: FilePath) -> None:
    check_path(path)
    text = page(TITLE, sections(reproduction), LEAD)
    with atomic(path) as file:
        file.write(text.encode())


def sections(reproduction: Reproduction) -> list[Section]:
    items = [row for row in reproduction.rows if not row.erratum]
    errata = [row for row in reproduction.rows if row.erratum]
    style = tag("style", Html(STYLE))
    meaning = (
        "A misprint is shown if what is printed fails, by the number given, and our correction holds. At a limit of "
        "float64 the paper is right, and the row says what its formulas need in the arithmetic of computers."
    )
    parts = [
        Section("The paper, item by item", [style, f"{reproduction.verdict}.", _rows(items, "Items of the paper")]),
        Section("Table 1", [part for row in items if row.table for part in _table_1(row)]),
        Section("Figure 1", [figure(Partition(*FIGURE))]),
        Section("Errata", [meaning, _rows(errata, "Errata, and what is meant")]),
    ]
    return [section for section in parts if section.parts]


def _table_1(row: PaperRow) -> list[str]:
    head, *errors = row.table
    return [
        tag("p", prose("What the registers of Lemma 4 should hold after each step, with $γ = c(x − (2k − 1)/(2N))$.")),
        table(head, [[math(cell) for cell in line] for line in printed_table()], "As printed"),
        "The error of the paper's terms, integrated: relative, or absolute where the exact value is 0.",
        table(head, [[math(line[0]) if "_" in line[0] else line[0], *line[1:]] for line in errors], "Errors"),
    ]


def _rows(rows: Iterable[PaperRow], caption: str) -> Html:
    """A table where there is room for one, else one item below the other."""
    cells = [(row.item, prose(row.statement), _typeset(row.outcome), _verdict(row)) for row in rows]
    return tag("div", table(HEAD, cells, caption), class_="rows")


def _typeset(text: str) -> Html:
    """Formulas between dollars; and 1e-16 stays on one line."""
    parts = text.split("$")
    return Html("".join(math(part) if n % 2 else _unbroken(part) for n, part in enumerate(parts)))


def _unbroken(text: str) -> Html:
    parts = NUMBER.split(text)
    return Html("".join(tag("span", part, class_="number") if n % 2 else escaped(part) for n, part in enumerate(parts)))


def _verdict(row: PaperRow) -> Html:
    return tag("span", row.verdict, class_="fails" if row.verdict == FAILS else "good")
