"""Names that somebody may have put into a file, and a look at all that is said about them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

from integraph.text import INVISIBLE

HOSTILE = (
    "two\nlines",
    "two\\nlines",  # looks like the first once that is clean
    "quotes \"'`",
    "\x1b[2J\x1b]0;title\x07red",
    "\x9b31m",
    "right\u202eleft\u202c\u2066x\u2069",
    "zero\u200bwidth\u200d\ufeff",
    "zerowidth",
    "filler\u3164\u115f\ufe0f\u2800",
    "half \ud800",
    "nul\x00",
    "bell\x07\b\r\t\v\f",
    "line\u2028paragraph\u2029",
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>",
    "[bold red]markup[/] :smile: $\\frac{1}$ {braces} %s %(x)s",
    "long " * 2000,
    "long " * 2000 + "too",
)
ALL = " ".join(HOSTILE)


def texts(found: Any) -> Iterator[str]:
    """All texts of a JSON document."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from (key, *texts(value))
    elif isinstance(found, list | tuple):
        for value in found:
            yield from texts(value)
    elif isinstance(found, str):
        yield found


def check(*said: str, lines: bool = True) -> None:
    """Nothing is there that cannot be seen, but for the ends of lines."""
    for text in said:
        odd = {c for c in text if (unicodedata.category(c)[0] in "CZ" and c != " ") or INVISIBLE.match(c)}
        assert odd <= ({"\n"} if lines else set()), (sorted(odd), text[:300])
