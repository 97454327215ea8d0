"""The words of a formula, and how a mistake in one is shown: reason, line, caret, fix."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from integraph.errors import SourceError

LENGTH = 10_000  # characters of a formula
DIGITS = 400  # of a literal
EXPONENT = 400  # of a literal: 1e400
WINDOW = 70  # characters of a line that a message shows

GREEK = "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ"  # without those that look like Latin letters
NAME = f"[A-Za-z_{GREEK}][A-Za-z0-9_{GREEK}]*"
TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    rf"|(?P<call>{NAME}[ \t]*\()|(?P<name>{NAME})"
    r"|(?P<sign>\*\*|[-+*/^(),])"
)
HINTS = {  # character → what to write
    "−": "write - for minus", "–": "write - for minus", "×": "write * for a product", "·": "write * for a product",
    "⋅": "write * for a product", "÷": "write / for a quotient", "√": "write sqrt(x)", "²": "write ^2",
    "³": "write ^3", "|": "write abs(x)", "[": "write x1, x2 for inputs and ( ) to group", "{": "write ( ) to group",
    "=": "a formula is only the right side of an equation", ";": "outputs are separated by commas",
    "\n": "a formula is one line; outputs are separated by commas", "%": "there is no remainder in a formula",
    '"': "there are no strings in a formula", "'": "there are no strings in a formula",
    ".": "write sin(x), not np.sin(x): a formula has no attributes; a decimal number needs digits, as in 0.5",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is number, name, call (a name with its parenthesis), sign or end."""

    kind: str
    text: str
    start: int

    @property
    def name(self) -> str:
        return self.text.rstrip(" \t(") if self.kind == "call" else self.text

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def tokens(text: str) -> Iterator[Token]:
    """The words from left to right, the end last."""
    place = 0
    while True:
        while text[place : place + 1] in (" ", "\t"):
            place += 1
        if place == len(text):
            yield Token("end", "", place)
            return
        match = TOKEN.match(text, place)
        if match is None:
            raise mistake(
                text, place, place + 1, f"{_character(text[place])} is not part of a formula", _hint(text[place])
            )
        token = Token(str(match.lastgroup), match[0], place)
        _check(text, token)
        yield token
        place = token.end


def _check(text: str, token: Token) -> None:
    if token.kind in ("name", "call") and keyword.iskeyword(token.name):
        raise mistake(
            text,
            token.start,
            token.start + len(token.name),
            f"{token.name!r} is a word of Python, not of a formula",
            HELP,
        )
    if token.kind == "number":
        digits, _, exponent = token.text.lower().partition("e")
        if len(digits) > DIGITS:
            raise mistake(text, token.start, token.end, f"a number of more than {DIGITS} digits", "write fewer")
        if len(exponent) > 6 or abs(int(exponent or 0)) > EXPONENT:
            reason = f"a number with an exponent beyond {EXPONENT}"
            raise mistake(text, token.start, token.end, reason, "float64 ends at 1e308 and 1e-308")


def _character(c: str) -> str:
    """A character with its name, if it is not one that everybody can tell."""
    return repr(c) if c.isascii() else f"{c!r} ({unicodedata.name(c, f'U+{ord(c):04X}')})"


def _hint(c: str) -> str:
    if c in HINTS:
        return HINTS[c]
    plain = unicodedata.normalize("NFKC", c)
    return f"write a plain {plain}" if plain != c and TOKEN.fullmatch(plain) else HELP


HELP = "a formula is made of numbers, names, + - * / ^ ( ) and functions, as 2*sin(x)^2 + exp(-y)"


def mistake(text: str, start: int, end: int, reason: str, fix: str) -> SourceError:
    """What is wrong with text[start:end], the stretch of the formula with a caret under it, and what to do."""
    first = max(0, min(start - WINDOW // 2, len(text) - WINDOW))
    line = "".join(c if c.isprintable() else "?" for c in text[first : first + WINDOW].replace("\t", " "))
    left, right = "… " if first else "", " …" if first + WINDOW < len(text) else ""
    width = max(1, min(end, first + WINDOW) - start)
    caret = " " * (len(left) + start - first) + "^" * width
    return SourceError(f"{reason}, at column {start + 1}", f"  {left}{line}{right}", f"  {caret}", fix)
