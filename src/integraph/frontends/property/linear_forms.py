"""Terms of VNN-LIB: sums and multiples of X_0, X_1, … and Y_0, Y_1, …, with exact numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from integraph.frontends.formula.tokens import too_long
from integraph.frontends.property.s_expressions import List, Text, Word

NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
VARIABLE = re.compile(r"([XY])_(0|[1-9]\d{0,6})", re.ASCII)
BITS = 4096  # of a sum or a product; 1e400 has 1329
LINEAR = "terms are linear: numbers, X_i, Y_j, (+ a b), (- a b), (* 2 Y_0)"


@dataclass(frozen=True, slots=True)
class Form:
    """Σ coefficients of inputs and outputs, by letter and number, plus a constant."""

    constant: Fraction = Fraction(0)
    terms: dict[tuple[str, int], Fraction] = field(default_factory=dict)

    def plus(self, other: Form, factor: Fraction = Fraction(1)) -> Form:
        return _total([(self, Fraction(1)), (other, factor)])


class _TooLong(ValueError):
    """A sum or a product with more digits than anybody means."""


def _total(parts: Iterable[tuple[Form, Fraction]]) -> Form:
    """The sum of multiples of forms."""
    constant, terms = Fraction(0), dict[tuple[str, int], Fraction]()
    for part, factor in parts:
        if part.constant:
            constant = _short(constant + factor * part.constant)
        for name, c in part.terms.items():
            terms[name] = _short(terms.get(name, Fraction(0)) + factor * c)
    return Form(constant, terms)


def _short(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > BITS:
        raise _TooLong
    return value


def form(text: Text, node: Word | List, declared: set[tuple[str, int]]) -> Form:
    """The linear form that a term is."""
    if isinstance(node, Word):
        return _word(text, node, declared)
    if node.head not in ("+", "-", "*", "/") or len(node.parts) < 2:
        raise text.mistake(node, f"{node.head[:40] or '()'!r} is no operation of a term", LINEAR)
    args = [form(text, part, declared) for part in node.parts[1:]]
    try:
        return _computed(text, node, args)
    except _TooLong:
        raise text.mistake(node, "its coefficients have too many digits", "write fewer") from None


def _computed(text: Text, node: List, args: list[Form]) -> Form:
    if node.head in ("+", "-"):
        sign = Fraction(1 if node.head == "+" else -1)
        first = sign if len(args) == 1 else Fraction(1)
        return _total((part, first if n == 0 else sign) for n, part in enumerate(args))
    total = args[0]
    for part, place in zip(args[1:], node.parts[2:], strict=True):
        if node.head == "/":
            if part.terms or not part.constant:
                raise text.mistake(place, "a division by something that is not a number, or is 0", LINEAR)
            total = Form().plus(total, 1 / part.constant)
        elif part.terms and total.terms:
            raise text.mistake(node, "a product of two variables", LINEAR)
        else:
            total = Form().plus(part, total.constant) if part.terms else Form().plus(total, part.constant)
    return total


def _word(text: Text, word: Word, declared: set[tuple[str, int]]) -> Form:
    variable = VARIABLE.fullmatch(word.text)
    if variable is not None:
        name = variable[1], int(variable[2])
        if name not in declared:
            raise text.mistake(word, f"{word.text} is not declared", f"write (declare-const {word.text} Real) before")
        return Form(terms={name: Fraction(1)})
    if NUMBER.fullmatch(word.text) is None:
        raise text.mistake(word, f"{word.text[:40]!r} is neither a number nor X_i or Y_j", LINEAR)
    excess = too_long(word.text)
    if excess is not None:
        raise text.mistake(word, *excess)
    return Form(Fraction(word.text))
