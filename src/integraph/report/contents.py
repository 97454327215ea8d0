"""What a report says: the program in numbers, its error, its pictures, its segments, and how to make it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from integraph.api.origin import recalled
from integraph.plot.picture import Picture
from integraph.plot.subject import Subject
from integraph.program.box import where
from integraph.program.description import SegmentDescription, described, legend, outputs
from integraph.program.engine import DOUBLE
from integraph.program.summary import inputs_in, sizes
from integraph.report.error_summary import card, error_section
from integraph.report.markup import Html, code, details, escaped, facts, table, tag
from integraph.report.mathml import equations, math, prose
from integraph.report.page import Section

if TYPE_CHECKING:
    from integraph.certify.certificate.certificate import Certificate
    from integraph.certify.proof import Proof
    from integraph.program import Program

POINTS = 9  # times in each segment at which the stiffness is looked at
LINES = 400  # lines of a description, as the terminal prints it, that are shown
FEW = 40  # lines that are shown without unfolding
PAIRS = 8  # of a box that are written out
GROUPS = 100  # rows of the legend
EQUATION = ("y' = b + A y + Q(y, y)", "y(0) = (x, 0, …, 0)")
MEANING = (
    "A quadratic neural ODE: $b$, $A$ and $Q$ are constant in each of $D$ segments of time. The $W$ registers $y$ "
    "start with the input $x$ and zeros; the output is read from them at the end."
)
CARDS = {"width W": "Width W", "depth D": "Depth D", "horizon T": "Horizon T", "terms": "Terms"}  # by their rows


def contents(
    subject: Subject, gallery: Mapping[str, Picture | str], proof: Proof | Certificate | None
) -> list[Section]:
    """The sections of a report; the gallery is every picture by name, or why there is none."""
    return [
        _compiled(subject),
        error_section(subject, proof),
        _pictures(gallery),
        _segments(subject),
        _again(subject, proof),
    ]


def _compiled(subject: Subject) -> Section:
    program = subject.program
    rows = dict(sizes(program, POINTS))
    numbers = (f"{program.width:,}", f"{program.depth:,}", f"{program.horizon:g}", f"{program.terms:,}")
    cards = [card(title, number, "") for title, number in zip(CARDS.values(), numbers, strict=True)]
    origin = "nothing: no source was given, and the program does not name a formula"
    more: list[tuple[object, object]] = [
        ("source", tag("code", rows.pop("source"))),
        ("compared with", origin if subject.target is None else repr(subject.target)),
        ("box", inputs_in(subject.box.low, subject.box.high, subject.input_names)),
        *(row for row in rows.items() if row[0] not in CARDS),
    ]
    more += [] if program.bits > DOUBLE else [("precision", f"{DOUBLE} bits: float64")]
    more.append(("SHA-256 of the ODE", tag("code", program.digest)))
    return Section(
        "What was compiled",
        [equations(EQUATION), tag("p", prose(MEANING)), tag("div", *cards, class_="cards"), facts(more)],
    )


def _pictures(gallery: Mapping[str, Picture | str]) -> Section:
    drawn = [picture for picture in gallery.values() if isinstance(picture, Picture)]
    missing = [(name.replace("_", " "), why) for name, why in gallery.items() if isinstance(why, str)]
    hint = (
        "Drag across a picture to zoom in, double-click to zoom out. Click a name below a picture to hide or show it."
    )
    return Section("Pictures", [hint, *drawn, *([tag("h3", "Not shown"), facts(missing)] if missing else [])])


def _segments(subject: Subject) -> Section:
    """The legend, then each segment: its equations, what its blocks compute."""
    program = subject.program
    if not program.depth:
        return Section("What each segment does", ["There is no segment: the output is the input."])
    shown, lines = [], 0
    for number in range(program.depth):
        segment = described(program, number)
        lines += len(segment.lines())
        if lines > LINES:
            break
        shown.append(_segment(segment))
    left = program.depth - len(shown)
    more = [tag("p", f"… and {left:,} more segments, which program.describe() prints.")] if left else []
    output = outputs(program)
    read = [tag("div", equations(output), class_="scroll equations", tabindex="0", role="region", aria_label="Output")]
    parts = [*shown, *more, *([tag("h3", "Output"), *read] if output else [])]
    return Section(
        "What each segment does",
        [_legend(program), *([details("Equations and sentences", *parts)] if lines > FEW else parts)],
    )


def _segment(segment: SegmentDescription) -> Html:
    drawn = tag("div", equations(segment.equations), class_="scroll equations", tabindex="0", role="region",
                aria_label=f"Equations of {segment.title}")  # fmt: skip
    sentences = [tag("li", sentence) for sentence in segment.sentences]
    return tag("div", tag("h3", segment.title), drawn, tag("ul", *sentences), class_="segment")


def _legend(program: Program) -> Html:
    rows = legend(program)
    cells = [(math(names.replace(" … ", ", …, ")), tag("code", names), meaning) for names, meaning in rows[:GROUPS]]
    left = len(rows) - GROUPS
    cells += [(escaped("…"), escaped(""), f"{left:,} more, which program.describe() prints")] if left > 0 else []
    return table(("symbol", "name", "meaning"), cells, "Symbols, as they are typeset here and named in files")


def _again(subject: Subject, proof: Proof | Certificate | None) -> Section:
    """Lines that make the page again; what cannot be written in a line is named."""
    from integraph import __version__

    named = subject.target is None or repr(recalled(subject.program)) == repr(subject.target)
    arguments = ["program", '"report.html"']
    arguments += [] if named else ["source"]
    arguments += _box(subject)
    arguments += [] if proof is None else ['proof="proof.json"']
    lines = [
        "import integraph",
        "",
        'program = integraph.load("program.integraph")',
        f'assert program.digest == "{subject.program.digest}"',
        *([] if named else [f"source = ...  # {subject.target!r}"]),
        f"integraph.report({', '.join(arguments)})",
    ]
    says = f"The same program, source and proof give the same page, byte for byte, with Integraph {__version__}."
    return Section("How to reproduce this page", [says, code("\n".join(lines), "Python")])


def _box(subject: Subject) -> list[str]:
    """The box as an argument, unless it is the one that would be taken anyway."""
    box, own = subject.box, where(subject.program)
    if (box.low == own.low).all() and (box.high == own.high).all():
        return []
    pairs = np.stack([box.low, box.high], 1).tolist()
    if all(pair == pairs[0] for pair in pairs):
        return [f"box={tuple(pairs[0])}"]
    return [f"box={pairs}" if len(pairs) <= PAIRS else "box=..."]
