"""The words of a line, and how a mistake in one is shown: reason, line, caret, fix."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from integraph.errors import SourceError
from integraph.targets.expression import CONDITION

LENGTH = 10_000  # characters of a formula
DIGITS = 400  # of a literal
EXPONENT = 400  # of a literal: 1e400
WINDOW = 70  # characters of a line that a message shows
END, STRANGE = "end", "strange"  # kinds of words that nothing follows

GREEK = "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ"  # without those that look like Latin letters
NAME = f"[A-Za-z_{GREEK}][A-Za-z0-9_{GREEK}]*"
TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    rf"|(?P<call>{NAME}[ \t]*\()|(?P<name>{NAME})"
    r"|(?P<sign>\*\*|<=|>=|[-+*/^(),<>])"
)
HINTS = {  # character → what to write
    "−": "write - for minus", "–": "write - for minus", "×": "write * for a product", "·": "write * for a product",
    "⋅": "write * for a product", "÷": "write / for a quotient", "√": "write sqrt(x)", "²": "write ^2",
    "³": "write ^3", "|": "write abs(x)", "[": "write x1, x2 for inputs and ( ) to group", "{": "write ( ) to group",
    "=": "a formula is only the right side of an equation; a definition ends with ; as in u = x*y; sin(u) + u",
    ";": "outputs are separated by commas; only a definition ends with ; as in u = x*y; sin(u) + u",
    "\n": "a formula is one line; outputs are separated by commas", "%": "there is no remainder in a formula",
    '"': "there are no strings in a formula", "'": "there are no derivatives and no strings in a formula",
    ".": "write sin(x), not np.sin(x): a formula has no attributes; a decimal number needs digits, as in 0.5",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text; `number` is its place in a file, 0 elsewhere, and `written` what somebody wrote, as long as the
    text, where that differs."""

    text: str
    number: int = 0
    written: str = ""

    def mistake(self, start: int, end: int, reason: str, fix: str) -> SourceError:
        """What is wrong with text[start:end], the stretch of the line with a caret under it, and what to do."""
        text = (self.written or self.text).rstrip()
        first = max(0, min(start - WINDOW // 2, len(text) - WINDOW))
        line = "".join(c if c.isprintable() else "?" for c in text[first : first + WINDOW].replace("\t", " "))
        left, right = "… " if first else "", " …" if first + WINDOW < len(text) else ""
        width = max(1, min(end, first + WINDOW) - start)
        caret = " " * (len(left) + start - first) + "^" * width
        place = f"in line {self.number}, at column {start + 1}" if self.number else f"at column {start + 1}"
        return SourceError(f"{reason}, {place}", f"  {left}{line}{right}", f"  {caret}", fix)


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is number, name, call (a name with its parenthesis), sign, end, or strange: a character that no formula
    has."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def name(self) -> str:
        return self.text.rstrip(" \t(") if self.kind == "call" else self.text

    def moved(self, by: int) -> Token:
        return Token(self.kind, self.text, self.start + by, self.end + by)


def tokens(line: Line, start: int = 0, stop: int | None = None) -> Iterator[Token]:
    """The words of a line between two columns, from left to right; the last is the end, or what is strange."""
    text = line.text[:stop].rstrip()
    place = min(start, len(text))
    while True:
        while text[place : place + 1] in (" ", "\t"):
            place += 1
        if place == len(text):
            yield Token(END, "", place, place)
            return
        match = TOKEN.match(text, place)
        if match is None:
            yield Token(STRANGE, text[place], place, place + 1)
            return
        token = Token(str(match.lastgroup), match[0], place, match.end())
        _check(line, token)
        yield token
        place = token.end


def _check(line: Line, token: Token) -> None:
    condition = token.kind == "call" and token.name == CONDITION
    if token.kind in ("name", "call") and keyword.iskeyword(token.name) and not condition:
        reason = f"{token.name!r} is a word of Python, not of a formula"
        raise line.mistake(token.start, token.start + len(token.name), reason, HELP)
    if token.kind == "number":
        excess = too_long(token.text)
        if excess is not None:
            raise line.mistake(token.start, token.end, *excess)


def too_long(number: str) -> tuple[str, str] | None:
    """What is said about a literal with more digits than anybody means, and what to write instead; None of others."""
    digits, _, exponent = number.lower().partition("e")
    if len(digits) > DIGITS:
        return f"a number of more than {DIGITS} digits", "write fewer"
    if len(exponent) > 6 or abs(int(exponent or 0)) > EXPONENT:
        return f"a number with an exponent beyond {EXPONENT}", "float64 ends at 1e308 and 1e-308"
    return None


def strange(c: str) -> tuple[str, str]:
    """What is said about a character that no formula has, and what to write instead."""
    if c in HINTS:
        hint = HINTS[c]
    else:
        plain = unicodedata.normalize("NFKC", c)
        hint = f"write a plain {plain}" if plain != c and TOKEN.fullmatch(plain) else HELP
    shown = repr(c) if c.isascii() else f"{c!r} ({unicodedata.name(c, f'U+{ord(c):04X}')})"
    return f"{shown} is not part of a formula", hint


HELP = "a formula is made of numbers, names, + - * / ^ ( ) and functions, as 2*sin(x)^2 + exp(-y)"
