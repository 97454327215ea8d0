"""Lists in parentheses, as SMT-LIB writes them, from a text that is not trusted: no recursion, and every word knows its
place."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from integraph.errors import SourceError
from integraph.frontends.formula.tokens import Line

WORD = re.compile(r"[()]|[^\s();]+")
COMMENT = re.compile(r";[^\n]*")
WORDS = 2_000_000  # of a file, parentheses included
DEPTH = 100  # of lists in each other


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class List:
    parts: tuple[Word | List, ...]
    start: int

    @property
    def head(self) -> str:
        """The word that it begins with, or nothing."""
        first = self.parts[0] if self.parts else None
        return first.text if isinstance(first, Word) else ""


class Text:
    """A text, and where its lines begin."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def mistake(self, at: Word | List, reason: str, fix: str) -> SourceError:
        """What is wrong with a word, or with the list that begins there: line, column and caret."""
        number = bisect_right(self._starts, at.start)
        begin = self._starts[number - 1]
        end = self.text.find("\n", begin)
        line = Line(self.text[begin : len(self.text) if end < 0 else end], number)
        width = len(at.text) if isinstance(at, Word) else 1
        return line.mistake(at.start - begin, at.start - begin + width, reason, fix)

    def lists(self) -> Iterator[List]:
        """The lists that are in no other, in order."""
        open_: list[tuple[int, list[Word | List]]] = []
        for word in self._words():
            if word.text == "(":
                if len(open_) >= DEPTH:
                    raise self.mistake(word, f"lists more than {DEPTH} deep", "write flatter ones")
                open_.append((word.start, []))
            elif not open_:
                raise self.mistake(word, f"{word.text[:40]!r} stands outside of a list", "write (assert …)")
            elif word.text == ")":
                start, parts = open_.pop()
                closed = List(tuple(parts), start)
                if not open_:
                    yield closed
                else:
                    open_[-1][1].append(closed)
            else:
                open_[-1][1].append(word)
        if open_:
            raise self.mistake(Word("(", open_[-1][0]), "a parenthesis is not closed", "write ) after what it groups")

    def _words(self) -> Iterator[Word]:
        text = COMMENT.sub(lambda match: " " * len(match[0]), self.text)
        for count, match in enumerate(WORD.finditer(text)):
            word = Word(match[0], match.start())
            if count >= WORDS:
                raise self.mistake(word, f"more than {WORDS:,} words", "divide the file")
            yield word
