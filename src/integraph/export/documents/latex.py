"""LaTeX: the equations of every segment, aligned and broken into lines, with a legend of the registers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from integraph.export.equations import Term, equations
from integraph.export.header import commented, header, plain
from integraph.export.notation import Notation

if TYPE_CHECKING:
    from integraph.program import Program

GREEK = {"lam": "lambda"} | {
    one: one for one in ("alpha", "beta", "gamma", "lambda", "mu", "nu", "phi", "psi", "sigma")
}
LINE = 62  # characters of a line, as they are printed
ROWS = 40  # lines of one display; more do not fit a page
ESCAPED = {"_": r"\_", "^": r"\^{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
START = r"""\documentclass{article}
\usepackage[a4paper,margin=2cm]{geometry}
\usepackage{amsmath}
\allowdisplaybreaks
\begin{document}
"""


def number(value: float) -> str:
    """A decimal that reads back as the same float64: 1.5 or 1.5\\cdot 10^{-7}."""
    digits, _, exponent = repr(value).partition("e")
    return digits.removesuffix(".0") + (rf"\cdot 10^{{{int(exponent)}}}" if exponent else "")


NOTATION = Notation(number=number, times=r"\,", plus="+", minus="-", square="{0}^2")


def symbol(name: str, accent: str = "") -> str:
    """`v_{1}` of v1, `\\lambda_{2,1}` of lam2_1; the accent stands above the letters."""
    match = re.fullmatch(r"([A-Za-z]+?)_?(\d+(?:_\d+)*)?", name)
    stem, index = (name, "") if match is None else (match[1], (match[2] or "").replace("_", ","))
    letters = rf"\{GREEK[stem]}" if stem in GREEK else stem if len(stem) == 1 else rf"\mathit{{{_text(stem)}}}"
    if accent:
        letters = rf"{accent}{{{letters}}}"
    return letters + (f"_{{{index}}}" if index else "")


def write(program: Program, name: str) -> str:
    eq = equations(program)
    symbols = [symbol(one) for one in eq.names]
    parts = [commented(header(program, name, exact=True), "%"), START, rf"\section*{{{_text(name)}}}", "\n"]
    parts += [_line(_text(line)) for line in header(program, name, exact=True)[1:-3]]
    parts += [r"\subsection*{Registers}", "\n", *_legend(program)]
    for label, duration, rows in zip(eq.labels, eq.durations, eq.segments, strict=True):
        parts.append(rf"\subsection*{{{_text(plain(label))}, duration ${number(duration)}$}}" + "\n")
        parts += _display([(symbol(eq.names[register], r"\dot"), terms) for register, terms in rows], symbols)
    parts.append("\\subsection*{Outputs}\n")
    parts += _display([(rf"\mathrm{{out}}_{{{row + 1}}}", terms) for row, terms in eq.outputs], symbols)
    return "".join(parts) + "\\end{document}\n"


def _display(rows: Sequence[tuple[str, list[Term]]], symbols: Sequence[str]) -> Iterator[str]:
    lines = [line for left, terms in rows for line in _lines(left, terms, symbols)]
    for first in range(0, len(lines), ROWS):
        yield "\\begin{align*}\n" + " \\\\\n".join(lines[first : first + ROWS]) + "\n\\end{align*}\n"


def _lines(left: str, terms: list[Term], symbols: Sequence[str]) -> Iterator[str]:
    """`left &= …`, and lines that go on with it."""
    line, length = f"{left} &= ", 0
    for position, term in enumerate(terms or [(0.0, ())]):
        text = NOTATION.sum([term], symbols)
        text = text if position == 0 or text.startswith("-") else f"+{text}"
        printed = len(re.sub(r"\\cdot ?|\\mathit|\\[a-z]+ ?|[{}_^\\,]", "", text)) + 4
        if length and length + printed > LINE:
            yield line
            line, length = r"&\quad {}", 0
        line, length = f"{line} {text}", length + printed
    yield line


def _legend(program: Program) -> Iterator[str]:
    for group in program.registers:
        first = symbol(group.element(0))
        last = rf", \dots, {symbol(group.element(group.view.size - 1))}" if group.view.size > 1 else ""
        inputs = "input" if group.view.offset < program.inputs else "starts at 0"
        yield _line(f"${first}{last}$: {inputs}" + (f", {_text(plain(group.label, 120))}" if group.label else ""))


def _line(text: str) -> str:
    return rf"\noindent {text}\par" + "\n"


def _text(text: str) -> str:
    """Plain text in TeX; long words may be broken after signs."""
    escaped = "".join(ESCAPED.get(letter, letter) for letter in text)
    return re.sub(r"([*/+=,)])(?=\S)", r"\1\\allowbreak{}", escaped)
