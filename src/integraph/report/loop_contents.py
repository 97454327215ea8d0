"""What the report of a closed loop says: the answer, the loop, its pictures, and the cells that are open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from integraph.plot.picture import Picture
from integraph.report.error_summary import card
from integraph.report.markup import facts, table, tag
from integraph.report.page import Section

if TYPE_CHECKING:
    from integraph.certify.loops.result import LoopResult
    from integraph.certify.loops.tube import Tube

ROWS = 50  # cells that are listed
HINT = "Drag across a picture to zoom in, double-click to zoom out. Click a name below a picture to hide or show it."


def loop_contents(result: LoopResult, gallery: dict[str, Picture | str]) -> list[Section]:
    """The sections of the report."""
    drawn = [picture for picture in gallery.values() if isinstance(picture, Picture)]
    missing = [(name, why) for name, why in gallery.items() if isinstance(why, str)]
    shown = Section("Pictures", [HINT, *drawn, *([facts(missing)] if missing else [])])
    return [_answer(result), _loop(result), shown, *_cells(result)]


def _answer(result: LoopResult) -> Section:
    cards = [
        card("Answer", result.answer.value, ""),
        card("Starts proved", f"{result.share:.4g}" if result.share < 1 else "all", "as a share of their box"),
        card("Cells", f"{len(result.proved) + len(result.open):,}", f"{len(result.open):,} open"),
    ]
    asked = facts(("asked", tag("code", clause.text)) for clause in result.spec.clauses)
    return Section("What is proved", [f"{repr(result).capitalize()}.", tag("div", *cards, class_="cards"), asked])


def _loop(result: LoopResult) -> Section:
    loop = result.loop
    known = len(loop.states) - loop.uncertain
    w = loop.disturbance
    rows: list[tuple[object, object]] = [
        ("right-hand sides", tag("code", loop.expression.source) if loop.expression.source else "given as formulas"),
        ("states", ", ".join(loop.states[:known])),
        ("constants in intervals", ", ".join(loop.states[known:]) or "none"),
        ("inputs", ", ".join(loop.inputs)),
        ("disturbances", _ends(w.names, w.low.tolist(), w.high.tolist()) if w else "none"),
        ("time", "discrete" if loop.discrete else f"{loop.steps} periods of {loop.period:g}"),
    ]
    cells = result.proved + result.open or (result.failure,)
    low, high = ([f([getattr(cell, end)[n] for cell in cells]) for n in range(len(loop.states))]
                 for end, f in (("low", min), ("high", max)))  # fmt: skip
    rows.append(("starts", _ends(loop.states, low, high)))
    return Section("The loop", [facts(rows)])


def _ends(names: tuple[str, ...], low: list[float], high: list[float]) -> str:
    return ", ".join(f"{name} in [{a:g}, {b:g}]" for name, a, b in zip(names, low, high, strict=True))


def _cells(result: LoopResult) -> list[Section]:
    if not result.open:
        return []
    rows = [_row(result, cell) for cell in result.open[:ROWS]]
    left = len(result.open) - len(rows)
    more = [f"… and {left:,} more."] if left else []
    head = ("starts", "reaches", "why it is open")
    return [Section("Cells that are open", [table(head, rows, "Cells that are not proved"), *more])]


def _row(result: LoopResult, cell: Tube) -> tuple[object, object, object]:
    reached = f"t = {cell.reached * result.loop.period:.4g}"
    why = cell.reason or f"the boxes do not decide {result.undecided(cell)}"
    return _ends(result.loop.states, cell.low.tolist(), cell.high.tolist()), reached, why
