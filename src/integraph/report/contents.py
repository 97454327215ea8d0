"""What a report says: the program in numbers, its error, its pictures, its segments, and how to make it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from integraph.api.origin import recalled
from integraph.plot.picture import Picture
from integraph.plot.subject import Subject
from integraph.program.box import where
from integraph.program.engine import DOUBLE
from integraph.program.summary import named_box, sizes
from integraph.report.error_summary import card, error_section
from integraph.report.markup import code, details, facts, tag
from integraph.report.page import Section

if TYPE_CHECKING:
    from integraph.certify.certificate.certificate import Certificate
    from integraph.certify.proof import Proof

POINTS = 9  # times in each segment at which the stiffness is looked at
LINES = 400  # of a description that are shown
FEW = 40  # lines of a description that are shown at once
PAIRS = 8  # of a box that are written out
EQUATION = (
    "A quadratic neural ODE, y′ = b + A y + Q(y, y) with b, A and Q constant in each of D segments of time; the W "
    "registers begin as (x, 0, …, 0), and the output is read from them at the end."
)
CARDS = {"width W": "Width W", "depth D": "Depth D", "horizon T": "Horizon T", "terms": "Terms"}


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
    cards = [card(title, rows.pop(name).split()[0], "") for name, title in CARDS.items()]
    origin = "nothing: no source was given, and the program names no formula"
    more: list[tuple[object, object]] = [
        ("source", tag("code", rows.pop("source"))),
        ("compared with", origin if subject.target is None else repr(subject.target)),
        ("box", f"x in {named_box(subject.box.low, subject.box.high)}"),
        *rows.items(),
    ]
    more += [] if program.bits > DOUBLE else [("precision", f"{DOUBLE} bits: float64")]
    more.append(("SHA-256 of the ODE", tag("code", program.digest)))
    return Section("What was compiled", [EQUATION, tag("div", *cards, class_="cards"), facts(more)])


def _pictures(gallery: Mapping[str, Picture | str]) -> Section:
    drawn = [picture for picture in gallery.values() if isinstance(picture, Picture)]
    missing = [(name.replace("_", " "), why) for name, why in gallery.items() if isinstance(why, str)]
    hint = "Drag in a picture to see a part of it, double-click to see all; names below a picture hide and show."
    return Section("Pictures", [hint, *drawn, *([tag("h3", "Not shown"), facts(missing)] if missing else [])])


def _segments(subject: Subject) -> Section:
    lines = subject.program.describe().splitlines()
    shown = "\n".join(lines[:LINES])
    left = len(lines) - LINES
    text = code(shown, "Segments in words and equations")
    parts = [details("In words, and in equations where they are short", text) if len(lines) > FEW else text]
    parts += [tag("p", f"… and {left:,} more lines: program.describe() gives all.")] if left > 0 else []
    return Section("What each segment does", parts if lines else ["There is no segment: the output is the input."])


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
    says = f"The same program, source and proof give the same page, byte by byte, with integraph {__version__}."
    return Section("How to make it again", [says, code("\n".join(lines), "Python")])


def _box(subject: Subject) -> list[str]:
    """The box as an argument, unless it is the one that would be taken anyway."""
    box, own = subject.box, where(subject.program)
    if (box.low == own.low).all() and (box.high == own.high).all():
        return []
    pairs = np.stack([box.low, box.high], 1).tolist()
    if all(pair == pairs[0] for pair in pairs):
        return [f"box={tuple(pairs[0])}"]
    return [f"box={pairs}" if len(pairs) <= PAIRS else "box=..."]
