"""What a notebook shows: small tables without scripts or colours, so that light and dark pages can be read."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING

from integraph.program.description import describe
from integraph.program.engine import DOUBLE
from integraph.program.summary import errors
from integraph.text import counted, lines

if TYPE_CHECKING:
    from integraph.program.program import Program

SPELLED, SEGMENTS = 150, 12  # terms and segments of a program whose equations are shown
PRE = '<pre style="white-space:pre-wrap">'
CELL = "text-align:left;vertical-align:top;padding:2px 10px 2px 0"


def of_program(program: Program) -> str:
    """Sizes and errors, and the equations if they are short."""
    width = f"W = {counted(program.width, 'register')}"
    size = f"{width}, D = {counted(program.depth, 'segment')}"
    rows = [
        ("source", program.source),
        ("maps", f"{program.inputs:,} → {program.outputs:,}"),
        ("size", f"{size}, T = {program.horizon:g}, {counted(program.terms, 'term')}"),
        *([("precision", f"needs {program.bits} bits")] if program.bits > DOUBLE else []),
        *(("error", text) for text in errors(program)),
    ]
    short = program.depth <= SEGMENTS and program.terms <= SPELLED
    return table("Program", rows, describe(program) if short else "")


def table(title: str, rows: Iterable[tuple[str, str]], more: str = "") -> str:
    """Names and texts in two columns, and a text to unfold. Everything is escaped."""
    cells = "".join(
        f'<tr><th scope="row" style="{CELL}">{safe(name)}</th><td style="{CELL}">{safe(text)}</td></tr>'
        for name, text in rows
    )
    unfold = f"<details><summary>segments and equations</summary>{PRE}{safe(more)}</pre></details>" if more else ""
    head = f'<caption style="text-align:left;font-weight:bold">{safe(title)}</caption>'
    return f'<div><table style="border-collapse:collapse">{head}<tbody>{cells}</tbody></table>{unfold}</div>'


def safe(text: str) -> str:
    """Text that HTML takes as text: no markup, and no control characters but the ends of lines."""
    return html.escape(lines(text))
