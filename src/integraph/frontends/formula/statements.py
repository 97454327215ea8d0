"""Lines as people write them → one closed text, as it is recorded: definitions first, parameters replaced by values.

    u = a*x; sin(u), u^2            with a = 1.5:            u = 1.5*x; sin(u), u^2

The closed text can be read again without parameters and files. A mistake in it is shown where it was written: every
stretch of it knows its line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from integraph.errors import SourceError, UsageError
from integraph.frontends.formula.tokens import NAME, Line, Token, strange, tokens
from integraph.frontends.formula.vocabulary import nearest, taken

COMMA, SEMICOLON = ", ", "; "  # between outputs, and after a definition
DEFINITION = re.compile(rf"[ \t]*(?P<name>{NAME})[ \t]*=(?!=)[ \t]*")
EQUATION = re.compile(  # x' = …, x''(t) = …, dx/dt = …, d^2x/dt^2 = …
    rf"[ \t]*(?P<left>(?P<primed>{NAME})[ \t]*['′’]+[ \t]*(\([ \t]*t[ \t]*\))?"
    rf"|d(\^?[0-9²])?[ \t]*(?P<of>{NAME})?(\([ \t]*t[ \t]*\))?[ \t]*/[ \t]*dt(\^?[0-9²])?)[ \t]*=(?!=)"
)
DIFFERENTIAL = (
    "a formula is a function of its inputs. `integraph.lift` takes differential equations; their right sides "
    "alone, as functions of the state, compile too: for x' = v, v' = -x write \"v, -x\" with the inputs x, v"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A stretch of a line: what a name is defined as, or, without a name, outputs."""

    line: Line
    start: int
    stop: int
    name: str = ""
    named_at: int = 0

    def words(self) -> Iterator[Token]:
        return tokens(self.line, self.start, self.stop)

    def mistake(self, reason: str, fix: str) -> SourceError:
        """A mistake of the name."""
        return self.line.mistake(self.named_at, self.named_at + len(self.name), reason, fix)


def statements(line: Line, last_may_define: bool) -> list[Statement]:
    """The definitions of a line, which end with semicolons, and what comes last."""
    parts, start = [], 0
    while True:
        end = line.text.find(";", start)
        last = end < 0
        stop = len(line.text) if last else end
        equation = EQUATION.match(line.text, start, stop)
        if equation is not None:
            left = equation["left"].strip()
            reason = f"{left} = … is a differential equation, not a formula"
            raise line.mistake(equation.start("left"), equation.start("left") + len(left), reason, DIFFERENTIAL)
        match = DEFINITION.match(line.text, start, stop)
        if match is not None and (last_may_define or not last):
            stop = len(line.text[:stop].rstrip())
            parts.append(Statement(line, match.end(), max(stop, match.end()), match["name"], match.start("name")))
        elif last and match is not None:
            equals = line.text.index("=", start)
            raise line.mistake(equals, equals + 1, *strange("="))
        elif last:
            parts.append(Statement(line, _after_blanks(line.text, start) if start else 0, stop))
        else:
            raise line.mistake(end, end + 1, *strange(";"))
        if last:
            return parts
        start = end + 1


def _after_blanks(text: str, start: int) -> int:
    return len(text) - len(text[start:].lstrip(" \t"))


def check_names(parts: Sequence[Statement], inputs: Collection[str], parameters: Collection[str]) -> set[str]:
    """The names of the definitions that a later part uses; a name means one thing only, and is defined before."""
    used: set[str] = set()
    defined: dict[str, Statement] = {}
    needed: set[str] = set()
    for part in parts:
        words = {token.name for token in part.words() if token.kind in ("name", "call")}
        used |= words
        needed |= words & defined.keys()
        if not part.name:
            continue
        if what := taken(part.name):
            raise part.mistake(f"{part.name!r} is the {what}", "choose another name")
        for others, what in ((inputs, "an input"), (parameters, "a parameter"), (defined, "defined already")):
            if part.name in others:
                raise part.mistake(f"{part.name!r} is {what}", "choose another name")
        if part.name in used:
            raise part.mistake(f"{part.name!r} is used before it is defined", "move the definition up, or rename it")
        defined[part.name] = part
    return needed


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the closed text, and where it was written; `verbatim` if letter by letter."""

    start: int
    line: Line
    low: int
    high: int
    verbatim: bool = True


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of a definition or of outputs, at their places in the closed text."""

    name: str
    words: list[Token]
    start: int
    end: int


@dataclass(slots=True)
class ClosedText:
    """The text that is recorded, in sentences."""

    text: str = ""
    sentences: list[Sentence] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)

    def add(self, part: Statement, name: str, values: Mapping[str, str]) -> None:
        """A statement, with these values of parameters, under this name or as outputs."""
        if self.text:
            self.text += SEMICOLON if self.sentences[-1].name else COMMA
        self.text += f"{name} = " if name else ""
        begin, cursor = len(self.text), part.start
        words: list[Token] = []
        for token in part.words():
            if token.kind == "name" and token.text in values:
                self._written(part.line, cursor, token.start)
                value = values[token.text]
                words += [word.moved(len(self.text)) for word in tokens(Line(value))][:-1]
                self.stretches.append(Stretch(len(self.text), part.line, token.start, token.end, verbatim=False))
                self.text += value
                cursor = token.end
            else:
                words.append(token.moved(len(self.text) - cursor))
        self._written(part.line, cursor, part.stop, always=len(self.text) == begin)
        self.sentences.append(Sentence(name, words, begin, len(self.text)))

    def _written(self, line: Line, start: int, stop: int, always: bool = False) -> None:
        if stop > start or always:
            self.stretches.append(Stretch(len(self.text), line, start, stop))
            self.text += line.text[start:stop]

    def mistake(self, start: int, end: int, reason: str, fix: str) -> SourceError:
        """What is wrong with text[start:end], shown where it was written."""
        first, last = self._stretch(start), self._stretch(max(start, end - 1))
        low = first.low + min(start - first.start, first.high - first.low) if first.verbatim else first.low
        high = last.low + end - last.start if last.verbatim else last.high
        return first.line.mistake(low, high, reason, fix)

    def _stretch(self, place: int) -> Stretch:
        return self.stretches[bisect_right(self.stretches, place, key=lambda one: one.start) - 1]


def closed(parts: Sequence[Statement], inputs: Collection[str], values: Mapping[str, str], file: bool) -> ClosedText:
    """Definitions first, then outputs. In a file, a name that nothing uses later is the name of an output."""
    needed = check_names(parts, inputs, values)
    occurring = {token.name for part in parts for token in part.words()}
    for name in values:
        if name not in occurring:
            near = nearest(name, occurring - {""})
            hint = f"did you mean {near}? " if near else ""
            raise UsageError(
                f"{name} does not occur in the formula: {hint}leave it out", argument="parameters", value=name
            )
    for part in parts:
        if part.name and part.name not in needed and not file:
            raise part.mistake(f"{part.name!r} is defined and not used", "an output is only the right side")
    text = ClosedText()
    for part in sorted(parts, key=lambda part: part.name not in needed):
        text.add(part, part.name if part.name in needed else "", values)
    return text
