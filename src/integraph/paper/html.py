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
from integraph.report.markup import Html, table, tag
from integraph.report.page import Section, page

if TYPE_CHECKING:
    from integraph.paper.reproduction import Reproduction

TITLE = "Expressivity of Quadratic Neural ODEs, computed"
LEAD = (
    "J. Hanson and M. Raginsky, Expressivity of Quadratic Neural ODEs: every equation with a label, lemma, theorem, "
    "remark, table and figure, and every misprint that we know of. Each number below was computed when this page was "
    "written."
)
STYLE = """
.rows td:last-child { white-space: nowrap; font-weight: 600; color: var(--good); }
.rows td .fails { color: var(--level); }
@media (max-width: 760px) {
  .rows thead { display: none; }
  .rows tr { display: block; border-bottom: 1px solid var(--grid); padding: 0.7rem 0; }
  .rows th, .rows td { display: block; border: 0; padding: 0.15rem 0; overflow-wrap: anywhere; }
  .rows th { font-weight: 600; }
  .rows td:nth-child(2) { color: var(--muted); }
}
"""
UNBROKEN = re.compile(r"(\de-)(?=\d)")  # 1e-16 stays on one line
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
    meaning = "Shown means: what is printed fails by the number given, and what we put in its place holds."
    parts = [
        Section("The paper, item by item", [style, f"{reproduction.verdict}.", _rows(items, "Items of the paper")]),
        Section("Table 1", [part for row in items if row.table for part in _table_1(row)]),
        Section("Figure 1", [figure(Partition(*FIGURE))]),
        Section("Errata", [meaning, _rows(errata, "What is printed and is not so")]),
    ]
    return [section for section in parts if section.parts]


def _table_1(row: PaperRow) -> list[str]:
    head, *errors = row.table
    return [
        "What the registers of Lemma 4 should hold after each step, with γ = c(x − (2k − 1)/2N).",
        table(head, printed_table(), "As printed"),
        "How far the paper's terms, integrated, are from it: relatively, or absolutely where it is 0.",
        table(head, errors, "Errors"),
    ]


def _rows(rows: Iterable[PaperRow], caption: str) -> Html:
    """A table where there is room for one, else one item below the other."""
    cells = [(row.item, row.says, UNBROKEN.sub("\\1\u2060", row.computed), _verdict(row)) for row in rows]
    return tag("div", table(HEAD, cells, caption), class_="rows")


def _verdict(row: PaperRow) -> Html:
    return tag("span", row.verdict, class_="fails" if row.verdict == FAILS else "good")
