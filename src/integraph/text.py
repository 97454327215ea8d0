"""Text that is shown: names in files, labels, paths and formulas from outside, made visible; numbers with nouns.

`clean` is used where text enters (the names of registers, the labels of segments and probes, the sources of programs,
the nodes, names and notes of targets) and where it leaves in an error; `lines` where it leaves for a screen. What has
no shape of its own on a page (control characters, escapes of terminals, marks that turn the direction of writing round,
letters without width, halves of letters) is written out as in Python: `\\n`, `\\x1b`, `\\u202e`. So what is shown is
one line, and what cannot be seen tells no two names apart. Whoever writes HTML, TeX or the markup of a terminal escapes
that besides: it is made of visible characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
NAME = 200  # characters of a name that are kept
FORMULA = 60  # and of a formula that names itself
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)  # letters and marks that print nothing, although Python calls them printable


def clean(text: str, most: int | None = None) -> str:
    """One line of visible characters, of `most` at most. What is clean stays as it is."""
    text = shortened(text, most)
    if not text.isprintable() or (not text.isascii() and INVISIBLE.search(text)):
        text = "".join(map(_visible, text))
    return shortened(text, most)


def lines(text: str) -> str:
    """Clean lines: what is written in several on purpose."""
    return "\n".join(map(clean, text.split("\n")))


def shortened(text: str, most: int | None) -> str:
    """The beginning of a text that is longer than that."""
    return text if most is None or len(text) <= most else text[: most - 1] + "…"


def joined(parts: Iterable[str], by: str, most: int) -> str:
    """All of them, or the first and the last of more than `most`."""
    some = list(parts)
    if len(some) > most:
        some[most // 2 : -(most // 2)] = [f"… {len(some) - 2 * (most // 2)} more …"]
    return by.join(some)


def counted(n: int, noun: str) -> str:
    """`1 term`, `3,080 terms`, `2 boxes`."""
    plural = "" if n == 1 else "es" if noun.endswith("x") else "s"
    return f"{n:,} {noun}{plural}"


def _visible(letter: str) -> str:
    if letter.isprintable() and not INVISIBLE.match(letter):
        return letter
    if letter in SHORT:
        return SHORT[letter]
    number = ord(letter)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 65536 else f"\\U{number:08x}"


class DistinctNames:
    """Names that are clean, and each another one: the second `a` is `a #2`."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}

    def __call__(self, name: str, most: int = NAME) -> str:
        shown = label = clean(name, most)
        while label in self._taken:
            count = self._counts[shown] = self._counts.get(shown, 1) + 1
            label = f"{shown} #{count}"
        self._taken.add(label)
        return label

    def copy(self) -> DistinctNames:
        other = DistinctNames()
        other._taken, other._counts = set(self._taken), dict(self._counts)
        return other
