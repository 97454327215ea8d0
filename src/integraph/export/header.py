"""What every exported file says of itself, as lines of plain ASCII that no language can take for anything else.

Sources, labels and names are texts from outside. In a comment they could end it, continue it on the next line or name
a command of the tool that reads it, so all but harmless letters are replaced.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from integraph.program import summary
from integraph.text import joined, shortened
from integraph.version import VERSION

if TYPE_CHECKING:
    from integraph.program import Program

TYPOGRAPHY = str.maketrans({
    "−": "-", "–": "-", "—": "-", "·": "*", "×": "x", "…": "...", "≤": "<=", "≥": ">=", "→": "->", "′": "'", '"': "'",
    "ε": "eps", "λ": "lambda", "π": "pi", "²": "^2", "³": "^3", "√": "sqrt", "∈": "in", "Σ": "sum",
})  # fmt: skip
UNSAFE = re.compile(r"[^A-Za-z0-9 .,:()\[\]=+*/^_<>'|!-]")
SPLIT = re.compile(r"(\*(?=/)|/(?=[*/])|-(?=-)|<(?=[!/])|=(?==)|\](?=\])|\^(?=\^))")  # begin or end a comment somewhere
LONGEST = 300  # characters of a line
NAMES = 6  # inputs that are named


def plain(text: str, most: int = LONGEST) -> str:
    """The text in harmless letters of ASCII, in one line."""
    ascii_text = unicodedata.normalize("NFKD", text.translate(TYPOGRAPHY))
    ascii_text = "".join(letter for letter in ascii_text if not unicodedata.combining(letter))
    harmless = UNSAFE.sub("?", ascii_text)
    while (apart := SPLIT.sub(r"\1 ", harmless)) != harmless:
        harmless = apart
    return shortened(harmless, most).replace("…", "...").strip()


def header(program: Program, name: str, exact: bool) -> list[str]:
    """Name, source, box, sizes, what is known of the error, whether the numbers are exact, and the digest."""
    sizes = (
        f"W = {program.width} registers, D = {program.depth} segments, T = {program.horizon!r}, {program.terms} terms"
    )
    known = [plain(part) for part in summary.errors(program)]
    return [
        f"{name}: a quadratic ODE, y' = b + A y + Q(y, y) on each segment, y(0) = (x, 0, ...)",
        f"source: {plain(program.source)}",
        f"inputs: {program.inputs} ({_inputs(program)}), outputs: {program.outputs}",
        sizes,
        *known,
        "Bounds are for the exact flow of these controls; the tool that integrates them adds an error of its own.",
        "Every number in this file is that of the program, to the last bit."
        if exact
        else "Not bit-exact: this format rounds numbers of the program.",
        f"digest of the program: sha256 {program.digest}",
        f"written by integraph {VERSION}",
    ]


def _inputs(program: Program) -> str:
    names = [program.registers.name(register) for register in range(program.inputs)]
    box = program.box
    return plain(joined(names, ", ", NAMES) if box is None else summary.inputs_in(box.low, box.high, names))


def meanings(program: Program) -> list[str]:
    """What each register means, where there is anything to say."""
    return [text for group in program.registers for text in [plain(group.label)] * group.view.size]


def legend(program: Program, places: Sequence[str]) -> list[str]:
    """What stands at each place of a state vector, where the place does not say it: register and meaning."""
    names = map(program.registers.name, range(program.width))
    rows = zip(places, names, meanings(program), strict=True)
    return [
        (place if place == name else f"{place} is {name}") + (f": {meaning}" if meaning else "")
        for place, name, meaning in rows
        if meaning or place != name
    ]


def commented(lines: list[str], mark: str) -> str:
    """Each line after the sign of a comment that ends with the line."""
    return "".join(f"{mark} {line}\n" for line in lines)
