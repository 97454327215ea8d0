"""HTML from texts: whatever is not `Html` already is escaped on its way in."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from integraph.text import lines


class Html(str):
    """A text that is HTML already."""

    __slots__ = ()


def escaped(text: object) -> Html:
    """Any text as HTML that shows it."""
    return text if isinstance(text, Html) else Html(html.escape(lines(str(text)), quote=True))


def tag(name: str, *contents: object, **attributes: object) -> Html:
    """An element. `class_` is the attribute class, `aria_label` is aria-label; one that is True has no value."""
    words = []
    for key, value in attributes.items():
        attribute = key.rstrip("_").replace("_", "-")
        words.append(f" {attribute}" if value is True else f' {attribute}="{escaped(value)}"')
    return Html(f"<{name}{''.join(words)}>{''.join(map(escaped, contents))}</{name}>")


def joined(parts: Iterable[object]) -> Html:
    return Html("\n".join(map(escaped, parts)))


def table(head: Sequence[object], rows: Iterable[Sequence[object]], caption: str = "") -> Html:
    """Rows under a head; the first cell of each row names it. A wide table scrolls inside itself."""
    title = tag("caption", caption) if caption else Html()
    top = tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in head))) if head else Html()
    body = [tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows]
    inner = tag("table", title, top, tag("tbody", joined(body)))
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption or "table")


def facts(rows: Iterable[tuple[object, object]]) -> Html:
    """Names and what there is to say of them."""
    pairs = [tag("div", tag("dt", name), tag("dd", value)) for name, value in rows]
    return tag("dl", joined(pairs), class_="facts")


def code(text: str, label: str) -> Html:
    return tag("pre", tag("code", text), tabindex="0", role="region", aria_label=label)


def details(summary: str, *contents: object) -> Html:
    """Closed until it is opened."""
    return tag("details", tag("summary", summary), *contents)
