"""Properties as text: comparisons of formulas, joined by words.

    property   = clause [implies property]             implies binds least, and groups from the right; not binds most
    clause     = part {or part};  part = fact {and fact}
    fact       = not fact | (property) | comparison
    comparison = formula {sense formula} | formula in [formula, formula]      with <, <=, > or >=: -1 <= y0 <= 1

A formula is what `frontends.formula` reads, of outputs and inputs. Nothing is executed, and numbers keep their
decimals.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from integraph.errors import SourceError, UsageError
from integraph.frontends.files import VNNLIB
from integraph.frontends.formula.rationals import rational
from integraph.frontends.formula.shunting_yard import COMPARISONS, ShuntingYard
from integraph.frontends.formula.statements import Statement, closed
from integraph.frontends.formula.tokens import LENGTH, TOKEN, Line, Token, strange
from integraph.frontends.formula.vocabulary import CALLED, LETTERS, nearest
from integraph.frontends.property.names import WORDS, Names
from integraph.targets.expression import CONDITION, NUMBER, VARIABLE, Expression, Step, pruned
from integraph.targets.property import (
    Clause,
    Property,
    Quantities,
    conjunction,
    disjunction,
    negated,
)

COMPARISON = re.compile(r"[<>]|(?<![A-Za-z0-9_])in\s*\[")
IF = re.compile(r"(?<![A-Za-z0-9_])if\s*\(")  # whose condition a formula may have, too
DEPTH = 50  # of parentheses around clauses
WORD = re.compile(rf"(?:{'|'.join(WORDS)})(?![A-Za-z0-9_])")
HELP = "a property is made of comparisons, as in y0 <= 2 and y1 - y0 > 0.1"
HINTS = {
    "=": "equality of real numbers cannot be proved by enclosures: write y0 >= 1 and y0 <= 1.001, or y0 in [1, 1.001]",
    "=>": "write >= to compare, implies between clauses",
    "=<": "write <=",
    "!": "write not, as in not y0 > 1",
    "&": "write and",
    "|": "write or for clauses, abs(y0) for a size",
    "≤": "write <=",
    "≥": "write >=",
    "→": "write implies",
    "⇒": "write implies",
    "∧": "write and",
    "∨": "write or",
    "¬": "write not",
}
SIGNS = ("=>", "=<")  # of two characters, among them
Shape = tuple[Any, ...]  # a word and parts, which are shapes or numbers of comparisons
Linear = tuple[dict[str, Fraction], Fraction]  # coefficients by name, and the constant


def is_property(given: object) -> bool:
    """Whether this can be nothing but a property: a file of VNN-LIB, or a text with a comparison."""
    if not isinstance(given, str | os.PathLike):
        return False
    text = os.fspath(given).strip()
    return text.lower().endswith(VNNLIB) or (bool(COMPARISON.search(text)) and not IF.search(text))


@dataclass(frozen=True, slots=True)
class _Side:
    """One formula of a comparison: its place among the formulas, and in the text."""

    number: int
    start: int
    end: int


def parse(text: str, names: Names) -> Property:
    """The property that a text states of outputs and inputs with these names."""
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"a property is a text: {HELP}", argument="property", value=text)
    if len(text) > LENGTH:
        raise UsageError(f"a property of {len(text):,} characters: at most {LENGTH:,}", argument="property")
    return _Reader(Line(" ".join(text.splitlines())), names).read()


class _Reader:
    def __init__(self, line: Line, names: Names) -> None:
        self.line, self.names, self.table = line, names, names.table()
        self.words = _words(line)
        self.logical = _groups(line, self.words)
        self.next, self.depth = 0, 0
        self.sides: list[_Side] = []
        self.pairs: list[tuple[_Side, str, _Side]] = []
        self.intervals: list[tuple[_Side, _Side]] = []
        self.quantities = Quantities()

    def read(self) -> Property:
        shape = self._property()
        last = self.words[self.next]
        if last.kind != "end":
            raise self._wrong(last, f"nothing is expected at {last.text!r}", HELP)
        parts = [Statement(self.line, side.start, side.end) for side in self.sides]
        reader = ShuntingYard(tuple(self.table), closed(parts, tuple(self.table), {}, file=False))
        steps = reader.read()
        tape = tuple(
            replace(step, text=self.table[step.text]) if step.op == VARIABLE else step for step in reader.tape.steps
        )
        known = _linear(tape)
        for low, high in self.intervals:
            self._order(known[steps[low.number]], known[steps[high.number]], (low.start, high.end))
        facts = [self._comparison(tape, known, steps[a.number], sense, steps[b.number], (a.start, b.end))
                 for a, sense, b in self.pairs]  # fmt: skip
        clause = _built(shape, facts)
        return Property(self.names.inputs, self.names.outputs, tuple(self.quantities.known), clause)

    def _order(self, low: Linear | None, high: Linear | None, at: tuple[int, int]) -> None:
        if low is not None and high is not None and not low[0] and not high[0] and low[1] > high[1]:
            raise self.line.mistake(*at, "this interval is empty", "write the smaller number first")

    def _comparison(
        self, tape: tuple[Step, ...], known: list[Linear | None], left: int, sense: str, right: int, at: tuple[int, int]
    ) -> Clause:
        a, b = known[left], known[right]
        if a is not None and b is not None:
            terms = {name: a[0].get(name, Fraction(0)) - b[0].get(name, Fraction(0)) for name in a[0] | b[0]}
            if not any(terms.values()):
                raise self.line.mistake(*at, "nothing in this comparison depends on an output or an input", HELP)
            parts = [{int(name[1:]): c for name, c in terms.items() if name[0] == letter} for letter in "yx"]
            linear = self.quantities.linear(parts[0], parts[1], a[1] - b[1], sense)
            if linear is not None:
                return linear
        whole = (*tape, Step("sub", (left, right)))
        needed = pruned(Expression((), whole, (len(tape),)))
        used = sorted({step.text for step in needed.steps if step.op == VARIABLE})
        if not used:
            raise self.line.mistake(*at, "nothing in this comparison depends on an output or an input", HELP)
        return self.quantities.general(replace(needed, variables=tuple(used)), sense)

    def _property(self) -> Shape:
        left: Shape = self._joined("or", lambda: self._joined("and", self._fact))
        if self._takes("implies"):
            self._deeper(self.words[self.next - 1])
            left = ("or", ("not", left), self._property())
            self.depth -= 1
        return left

    def _joined(self, word: str, part: Callable[[], Shape]) -> Shape:
        parts = [part()]
        while self._takes(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else (word, *parts)

    def _fact(self) -> Shape:
        token = self.words[self.next]
        if self._takes("not"):
            self._deeper(token)
            inner = ("not", self._fact())
            self.depth -= 1
            return inner
        if token.text == "(" and self.logical[self.next]:
            self._deeper(token)
            self.next += 1
            inner = self._property()
            self.next += 1  # the pairs of parentheses were checked
            self.depth -= 1
            return inner
        return self._chain()

    def _chain(self) -> Shape:
        sides = [self._side()]
        first = len(self.pairs)
        token = self.words[self.next]
        if self._takes("in"):
            self._needs("[", "write y0 in [0, 1]")
            low = self._side()
            self._needs(",", "write y0 in [0, 1]")
            high = self._side()
            self._needs("]", "write y0 in [0, 1]")
            self.pairs += [(sides[0], ">=", low), (sides[0], "<=", high)]
            self.intervals.append((low, high))
        elif token.text not in COMPARISONS:
            what = "the end" if token.kind == "end" else repr(token.text)
            raise self._wrong(token, f"a comparison is missing before {what}", HELP)
        while self.words[self.next].text in COMPARISONS:
            sense = self.words[self.next].text
            self.next += 1
            sides.append(self._side())
            self.pairs.append((sides[-2], sense, sides[-1]))
        return ("and", *range(first, len(self.pairs)))

    def _side(self) -> _Side:
        """The longest stretch of words that can be a formula."""
        begin, level = self.next, 0
        while True:
            token = self.words[self.next]
            level += token.kind == "call" or token.text == "("
            ends = token.text in (")", ",", "]") and level == 0
            if token.kind in ("word", "end") or token.text in COMPARISONS or token.text == "[" or ends:
                break
            level -= token.text == ")"
            self._name(token)
            self.next += 1
        token = self.words[self.next]
        if begin == self.next:
            what = "the end" if token.kind == "end" else repr(token.text)
            raise self._wrong(token, f"a value is missing before {what}", HELP)
        side = _Side(len(self.sides), self.words[begin].start, self.words[self.next - 1].end)
        self.sides.append(side)
        return side

    def _name(self, token: Token) -> None:
        name = token.text
        if token.kind == "call" and token.name == CONDITION:
            raise self._wrong(token, "a property has no if", "write (a implies b) and (not a implies c)")
        if token.kind != "name" or name in LETTERS or name in CALLED or self.table.get(name):
            return
        if name in self.table:
            other = f"{name}0" if name == "y" else "another name, by variables="
            raise self._wrong(token, f"{name!r} is an input and an output", f"write {other} for the output")
        if name == "y" and self.names.outputs:
            raise self._wrong(token, "y is the name of an only output, and there are several", str(self.names))
        if name.lower() in WORDS:
            raise self._wrong(token, f"unknown name {name!r}", f"write {name.lower()}")
        near = nearest(name, self.table)
        raise self._wrong(token, f"unknown name {name!r}", f"{f'did you mean {near}? ' if near else ''}{self.names}")

    def _takes(self, word: str) -> bool:
        there = self.words[self.next].kind == "word" and self.words[self.next].text == word
        self.next += there
        return there

    def _needs(self, sign: str, fix: str) -> None:
        token = self.words[self.next]
        if token.text != sign:
            what = "the end" if token.kind == "end" else repr(token.text)
            raise self._wrong(token, f"{sign} is missing before {what}", fix)
        self.next += 1

    def _deeper(self, token: Token) -> None:
        self.depth += 1
        if self.depth > DEPTH:
            raise self._wrong(token, f"clauses more than {DEPTH} deep", "write fewer parentheses, not and implies")

    def _wrong(self, token: Token, reason: str, fix: str) -> SourceError:
        return self.line.mistake(token.start, token.end, reason, fix)


def _words(line: Line) -> list[Token]:
    """The words of a property, the end last."""
    text, place = line.text.rstrip(), 0
    words: list[Token] = []
    while True:
        while text[place : place + 1] in (" ", "\t"):
            place += 1
        if place == len(text):
            return [*words, Token("end", "", place, place)]
        word = WORD.match(text, place)
        match = word or TOKEN.match(text, place)
        if match is None and text[place] in "[]":
            words.append(Token("sign", text[place], place, place + 1))
        elif match is None:
            c = next((sign for sign in SIGNS if text.startswith(sign, place)), text[place])
            reason, fix = (f"{c!r} is not part of a property", HINTS[c]) if c in HINTS else strange(c)
            raise line.mistake(place, place + len(c), reason, fix)
        else:
            kind = "word" if word else str(match.lastgroup)
            if text[match.end() : match.end() + 1] == "=" and match[0] in ("<=", ">="):
                raise line.mistake(match.end(), match.end() + 1, "'=' is not part of a property", HINTS["="])
            words.append(Token(kind, match[0], place, match.end()))
        place = words[-1].end


def _groups(line: Line, words: Sequence[Token]) -> dict[int, bool]:
    """For every opening parenthesis, whether it groups clauses, not numbers."""
    logical: dict[int, bool] = {}
    open_: list[int] = []
    for number, token in enumerate(words):
        if token.kind == "call" or token.text in ("(", "["):
            open_.append(number)
            logical[number] = False
        elif token.text in (")", "]"):
            if not open_ or (words[open_[-1]].text == "[") != (token.text == "]"):
                raise line.mistake(token.start, token.end, f"{token.text} closes nothing", "take it away, or open it")
            open_.pop()
        elif token.kind == "word" or token.text in COMPARISONS:
            for group in open_:
                if words[group].text != "(":
                    raise line.mistake(token.start, token.end, f"{token.text!r} inside of a value", HELP)
                logical[group] = True
    if open_:
        token = words[open_[-1]]
        raise line.mistake(token.start, token.end, "a parenthesis is not closed", "write ) after what it groups")
    return logical


def _built(shape: object, facts: Sequence[Clause]) -> Clause:
    if isinstance(shape, int):
        return facts[shape]
    assert isinstance(shape, tuple)
    word, *rest = shape
    parts = [_built(part, facts) for part in rest]
    if word == "not":
        return negated(parts[0])
    return (conjunction if word == "and" else disjunction)(parts)


def _linear(tape: Sequence[Step]) -> list[Linear | None]:
    """Every step as a linear form in the variables, where it is one."""
    values: list[Linear | None] = []
    for step in tape:
        args = [values[n] for n in step.args]
        try:
            values.append(_form(step, args))
        except ZeroDivisionError:
            raise SourceError("the property divides by 0: take that out") from None
    return values


def _form(step: Step, args: Sequence[Linear | None]) -> Linear | None:
    if step.op == VARIABLE:
        return {step.text: Fraction(1)}, Fraction(0)
    known = [None if form is None or form[0] else form[1] for form in args]
    if all(c is not None for c in known):
        value = rational(step.op, step.text if step.op == NUMBER else "", known)
        return None if value is None else ({}, value)
    if any(form is None for form in args):
        return None
    first, second = args[0], args[-1]
    assert first is not None
    assert second is not None
    if step.op == "neg":
        return _combined(first, Fraction(-1), second, Fraction(0))
    if step.op in ("add", "sub"):
        return _combined(first, Fraction(1), second, Fraction(1 if step.op == "add" else -1))
    if step.op == "mul" and known[0] is not None:
        return _combined(second, known[0], first, Fraction(0))
    if step.op in ("mul", "div") and known[1] is not None:
        return _combined(first, known[1] if step.op == "mul" else 1 / known[1], second, Fraction(0))
    return None


def _combined(a: Linear, u: Fraction, b: Linear, v: Fraction) -> Linear:
    names = a[0] | b[0] if v else a[0]
    terms = {name: u * a[0].get(name, Fraction(0)) + v * b[0].get(name, Fraction(0)) for name in names}
    return {name: c for name, c in terms.items() if c}, u * a[1] + v * b[1]
