"""A page: one HTML file that needs nothing but itself. Reports and `integraph paper --html` are such pages.

Scripts are allowed by their hash and nothing may be fetched, so a text that slipped through as HTML could still do
nothing. The same contents give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from integraph.plot import colours
from integraph.plot.picture import Picture
from integraph.report.markup import Html, escaped, joined, tag
from integraph.report.panel_data import frames

GENERATOR = '<meta name="generator" content="integraph">'  # near the top: by it a page is known as one of these
UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class Section(NamedTuple):
    """A heading and what is below it: a text is a paragraph, `Html` (see `markup`) is taken as it is, a picture is
    drawn, with a slider if it has several frames."""

    title: str
    parts: Sequence[str | Picture]


def page(title: str, sections: Iterable[Section], lead: str = "") -> str:
    """The page with these sections, `lead` under its title. Write it as UTF-8.

    page("Lemmas", [Section("Lemma 1", ["The flow is tanh.", table(head, rows), picture])])
    """
    pieces = list(sections)
    drawn = any(isinstance(part, Picture) for section in pieces for part in section.parts)
    scripts = [_own("chart.js"), _own("page.js")] if drawn else []
    bodies, number = [], 0
    for n, section in enumerate(pieces, 1):
        parts: list[Html] = []
        for part in section.parts:
            if isinstance(part, Picture):
                number += 1
                parts.append(_figure(part, f"picture-{number}"))
            else:
                parts.append(part if isinstance(part, Html) else tag("p", part))
        bodies.append(tag("section", tag("h2", section.title, id=f"title-{n}"), joined(parts), id=f"section-{n}",
                          aria_labelledby=f"title-{n}"))  # fmt: skip
    links = [tag("li", tag("a", section.title, href=f"#section-{n}")) for n, section in enumerate(pieces, 1)]
    nav = tag("nav", tag("ul", *links), aria_label="Sections") if len(pieces) > 1 else Html()
    top = tag("header", tag("h1", title), tag("p", lead, class_="lead") if lead else Html(), nav)
    head = [
        Html('<meta charset="utf-8">'),
        Html(GENERATOR),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{escaped(content_policy(scripts))}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="color-scheme" content="light dark">'),
        tag("title", title),
        tag("style", Html(colour_variables() + _own("page.css"))),
    ]
    need = [tag("noscript", tag("p", "The pictures of this page are drawn by its own JavaScript, which is off."))]
    end = [*need, data(colours.scales(), id="scales"), *(tag("script", Html(text)) for text in scripts)]
    body = tag("body", top, tag("main", joined(bodies)), joined(end if drawn else []))
    return f'<!DOCTYPE html>\n<html lang="en">\n{tag("head", joined(head))}\n{body}\n</html>\n'


def data(value: Any, **attributes: object) -> Html:
    """JSON in a page, for its script. Nothing in it can end the element or begin another."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return tag("script", Html(text.translate(UNSAFE)), type="application/json", **attributes)


def _figure(picture: Picture, name: str) -> Html:
    """The places that the script fills, with what can be read without it."""
    drawn = frames(picture)
    first = drawn[picture.first]
    title = tag("figcaption", tag("h3", picture.title, id=f"{name}-title"), tag("p", picture.says))
    panels = [
        tag("div", tag("p", panel["title"], class_="panel-title"),
            tag("div", class_="plot", role="img", aria_label=panel["alt"]), tag("ul", class_="legend"), class_="panel")
        for panel in first["panels"]
    ]  # fmt: skip
    slider = Html()
    if len(drawn) > 1:
        play = tag("button", "Play", type="button", class_="play") if picture.plays else Html()
        slider = tag("div", tag("label", picture.slider or "Frame", for_=f"{name}-slider"),
                     Html(f'<input type="range" id="{name}-slider" min="0" max="{len(drawn) - 1}" step="1" '
                          f'value="{picture.first}" '
                          'autocomplete="off">'),
                     tag("output", first["label"], for_=f"{name}-slider"), play, class_="slider")  # fmt: skip
    grid = tag("div", *panels, class_="panels stacked" if picture.stacked else "panels")
    return tag("figure", title, slider, grid, data(drawn, class_="frames"), id=name, aria_labelledby=f"{name}-title")


def _own(name: str) -> str:
    return importlib.resources.files("integraph.report").joinpath(name).read_text("utf-8")


def content_policy(scripts: list[str]) -> str:
    """Only these scripts, nothing from outside. Styles are set by the script, and heat maps are data: images."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    allowed = " ".join(f"'sha256-{value}'" for value in hashes) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def colour_variables() -> str:
    """The colours of the page, light and dark."""
    named = {"text": colours.TEXT, "muted": colours.MUTED, "grid": colours.GRID, "level": colours.LEVEL,
             "ground": colours.GROUND, "band": colours.BANDS[0], "accent": colours.PALETTE[0],
             "good": colours.PALETTE[2], "band2": colours.BANDS[1]}  # fmt: skip
    named |= {f"c{number}": pair for number, pair in enumerate(colours.PALETTE)}
    light, dark = ("".join(f"--{key}:{pair[side]};" for key, pair in named.items()) for side in (0, 1))
    return f":root{{{light}}}\n@media (prefers-color-scheme: dark){{@media screen{{:root{{{dark}}}}}}}\n"
