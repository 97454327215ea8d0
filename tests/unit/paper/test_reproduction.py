"""`integraph.paper`: every item of the paper and every erratum has a row, and every row holds."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from browser import chromium, visit
from integraph import paper
from integraph.errors import FileError
from integraph.paper import ITEMS, Reproduction, reproduce
from integraph.paper.rows import FAILS, FLOAT64, HOLDS, MISPRINT, Finding, Item, PaperRow, clear_cache, shared
from pages import PAPER, ROOT
from slow import mostly_slow

MAP = (ROOT / "docs" / "paper-map.md").read_text()


@pytest.fixture(scope="module", autouse=True)
def _forgets() -> Iterator[None]:
    yield
    clear_cache()


@mostly_slow("item", ITEMS, quick=4, ids=lambda item: item.name)
def test_every_row_is_reproduced(item: Item) -> None:
    row = item.row()
    numerical = item.name.endswith("numbers")
    assert row.verdict == (FLOAT64 if numerical else MISPRINT if item.erratum else HOLDS), row.computed
    assert (row.item, row.label, row.erratum) == (item.name, item.label, item.erratum)
    assert row.numbers, "a row without a number shows nothing"
    assert all(isinstance(value, int | float) and value == value for value in row.numbers.values())
    assert re.search(r"\d", row.computed)


def test_every_label_has_one_row() -> None:
    assert [item.label for item in ITEMS if item.label] == list(PAPER)


def cells(section: str) -> list[str]:
    """The first column of a table of the paper map, without labels, code marks and what has no label."""
    rows = [re.split(r"(?<!\\)\|", line)[1] for line in section.splitlines() if line.startswith("|")][2:]
    return [re.sub(r" ?\((section II, )?no label\)| `\w+:\w+`|`|\\", "", row).strip() for row in rows]


def test_rows_have_the_names_of_the_paper_map() -> None:
    items, rest = MAP.split("## Errata")
    errata = rest.split("## Proofs")[0]
    named = [name for name in cells(items) if not name.startswith("Beyond the paper")]
    rows = [item.name for item in ITEMS if not item.erratum]
    assert [name for name in rows if name in named] == named
    assert all(name.startswith("Theorem 1, ") for name in set(rows) - set(named))
    assert [item.name for item in ITEMS if item.erratum] == cells(errata)


def quick(good: bool = True, erratum: bool = False, **more: object) -> Item:
    found = Finding("one is 1.25e-16 " * 9, good, {"one": 1}, **more)  # type: ignore[arg-type]
    return Item("Lemma 9, of <b>no</b> paper & W̃", "ẏ = −y² and so on " * 7, lambda: found, "lem:none", erratum)


def test_reproduce_takes_every_item_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    @shared
    def once() -> int:
        calls.append("computed")
        return 1

    one = Item("a", "b", lambda: Finding(f"{once()}", True, {"n": once()}))
    monkeypatch.setattr(paper, "ITEMS", (one, quick(erratum=True), one))
    found = reproduce(calls.append)
    assert calls == ["a", "computed", quick().name, "a"]
    assert [row.verdict for row in found.rows] == [HOLDS, MISPRINT, HOLDS]
    assert found.holds
    reproduce()
    assert calls.count("computed") == 2, "what rows share is forgotten in the end"


def test_one_row_that_fails_is_enough() -> None:
    good, bad, misprint = quick().row(), quick(good=False).row(), quick(erratum=True).row()
    assert Reproduction((good, misprint)).holds
    assert not Reproduction((good, bad, misprint)).holds
    assert quick(good=False, erratum=True).row().verdict == FAILS
    assert (
        Reproduction((good, bad, misprint)).verdict
        == "3 rows: 1 hold, 1 misprint and 0 limits of float64 shown, 1 fail"
    )


def test_what_cannot_be_computed_fails() -> None:
    row = Item("a", "b", lambda: Finding("c", 1 / 0 > 0)).row()
    assert row.verdict == FAILS
    assert row.computed == "not computed: ZeroDivisionError: division by zero"


def test_ctrl_c_is_no_failure() -> None:
    def interrupted() -> Finding:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Item("a", "b", interrupted).row()


def letters(text: str) -> int:
    return sum(not unicodedata.combining(letter) for letter in text)


def test_the_text_is_a_table() -> None:
    rows = [Item(item.name, item.says, lambda: Finding("3.3e-16 " * 20, True)).row() for item in ITEMS]
    rows.append(quick(table=(("", "step 0"), ("α_j", "1.5e-30"))).row())
    lines = repr(Reproduction(tuple(rows))).splitlines()
    assert max(map(letters, lines)) <= 100
    assert lines[-1] == f"{len(rows)} rows: {len(rows)} hold, 0 misprints and 0 limits of float64 shown, 0 fail"
    assert {"  α_j  1.5e-30", "        step 0"} <= set(lines)
    packed = "".join(repr(Reproduction(tuple(rows))).split())
    for column, (start, end) in {"item": (0, 22), "says": (24, 58), "computed": (60, 100)}.items():
        for row in rows[:3]:
            text = "".join(slice_of(line, start, end) for line in lines)
            assert "".join(getattr(row, column).split()) in "".join(text.split()), column
    assert "3.3e-16" in packed


def slice_of(line: str, start: int, end: int) -> str:
    """Columns of a line, where marks over letters take no place."""
    found, at = "", 0
    for letter in line:
        at += not unicodedata.combining(letter)
        found += letter if start < at <= end else ""
    return found + " "


def test_data_is_json() -> None:
    found = Reproduction((quick(table=(("a",), ("b",))).row(), quick(good=False).row()))
    data = json.loads(json.dumps(found.data(), allow_nan=False))
    assert (data["holds"], len(data["rows"])) == (False, 2)
    assert data["rows"][0]["numbers"] == {"one": 1}
    assert data["rows"][0]["table"] == [["a"], ["b"]]
    assert data["rows"][1]["verdict"] == FAILS
    assert set(data["rows"][0]) == set(PaperRow.__dataclass_fields__) - {"statement", "outcome"} | {"says", "computed"}


class Read(HTMLParser):
    """Texts of a page, and the tags that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = ["before"]
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if self.tags[-1] not in ("script", "style"):
            self.texts.append(data)


def test_the_page(tmp_path: Path) -> None:
    table = (("", "step 0"), ("α_j", "1.5e-30"))
    rows = (quick(table=table).row(), quick(good=False, erratum=True).row())
    path = tmp_path / "paper.html"
    Reproduction(rows).save_html(path)
    read = Read(path.read_text("utf-8"))
    text = " ".join(read.texts)
    assert text.count(rows[0].item) == 2, "names are escaped, not taken for HTML"
    assert "b" not in read.tags
    assert "1.5e-30" in text
    assert "x+Δ−1x+Δ" in "".join(text.split()), "a fraction of Table I"
    assert "mfrac" in read.tags
    assert "Partition of unity, N = 3, c = 20" in text
    assert read.texts.count(FAILS) == 1
    assert read.tags.count("figure") == 1
    again = tmp_path / "again.html"
    Reproduction(rows).save_html(again)
    assert again.read_bytes() == path.read_bytes()


def test_what_was_computed_is_typeset(tmp_path: Path) -> None:
    """Formulas between dollars: MathML in the page, the same text without dollars everywhere else."""
    row = Item("a", "b", lambda: Finding("they are $1/(1 − ξ)$ up to 1.2e-10, not <i>", True)).row()
    found = Reproduction((row,))
    assert row.computed == found.data()["rows"][0]["computed"] == "they are 1/(1 − ξ) up to 1.2e-10, not <i>"
    found.save_html(tmp_path / "paper.html")
    page = (tmp_path / "paper.html").read_text("utf-8")
    cell = page[page.index("they are") : page.index("not &lt;i&gt;")]
    assert "<mfrac>" in cell
    assert '<span class="number">1.2e-10</span>' in cell
    assert "$" not in cell


@mostly_slow("width", [1280, 400], quick=1)
def test_the_page_in_a_browser(tmp_path: Path, width: int) -> None:
    """Drawn, quiet, and nowhere wider than the window; below 760 pixels the items stand below each other."""
    table = (("", *(f"step {n}" for n in range(8))), ("α_j", *("1.5e-30",) * 8))
    rows = [Item(item.name, item.says, lambda: Finding("is 3.3e-16 " * 20, True)).row() for item in ITEMS]
    path = tmp_path / "paper.html"
    Reproduction((*rows, quick(table=table).row(), quick(good=False, erratum=True).row())).save_html(path)
    with chromium() as browser, visit(browser, path, width=width, scheme="dark") as seen:
        assert seen.run("document.querySelectorAll('figure .plot svg').length") >= 2
        assert seen.run("document.documentElement.scrollWidth <= window.innerWidth")
        cells = "[...document.querySelector('.rows tbody tr').children].map(cell => cell.getBoundingClientRect().left)"
        assert len(set(seen.run(cells))) == (4 if width == 1280 else 1)
        assert seen.run("[...document.querySelectorAll('.fails')].map(e => getComputedStyle(e).color).length") == 1
        assert seen.quiet, (seen.said, seen.asked, seen.dialogs)


def test_a_page_without_table_1(tmp_path: Path) -> None:
    Reproduction((quick(good=False).row(),)).save_html(tmp_path / "paper.html")
    assert ">Table 1<" not in (tmp_path / "paper.html").read_text("utf-8")


def test_a_page_that_cannot_be_written(tmp_path: Path) -> None:
    found = Reproduction((quick().row(),))
    with pytest.raises(FileError, match="cannot write"):
        found.save_html(tmp_path / "no such folder" / "paper.html")
    with pytest.raises(FileError, match="a path must be a string"):
        found.save_html(3)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
