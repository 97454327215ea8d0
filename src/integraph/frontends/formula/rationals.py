"""Exact rational values of the constant parts of a formula, so that an exponent is known for what it is."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from integraph.targets.expression import CONSTANTS, NUMBER, Tape

POWER = 1000  # largest constant exponent that front ends take
BITS = 4096  # of a constant that is followed exactly; 1e400 has 1329


class NumberTooLarge(ValueError):
    """A constant power that nobody should compute."""


def rational(op: str, text: str, args: Sequence[Fraction | None]) -> Fraction | None:
    """The value of a step with these arguments, None where it is not rational, or not known, or very long."""
    if op == "number":
        return None if text in CONSTANTS else Fraction(text)
    if op not in ("neg", "add", "sub", "mul", "div", "power") or None in args:
        return None
    known = [a for a in args if a is not None]
    value = _power(*known) if op == "power" else _value(op, *known)
    return value if value is not None and _bits(value) <= BITS else None


def _value(op: str, a: Fraction, b: Fraction = Fraction(0)) -> Fraction:
    if op == "neg":
        return -a
    if op == "div" and not b:
        raise ZeroDivisionError
    return a + b if op == "add" else a - b if op == "sub" else a * b if op == "mul" else a / b


def _power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if exponent.denominator != 1:
        return None
    if _bits(base) * abs(exponent) > BITS:
        raise NumberTooLarge
    if not base and exponent < 0:
        raise ZeroDivisionError
    return Fraction(base ** int(exponent))


def _bits(a: Fraction) -> int:
    return max(abs(a.numerator).bit_length(), a.denominator.bit_length())


def exact_number(value: Fraction, tape: Tape) -> int:
    """p/q, as a decimal literal where there is one, as with binary fractions, else as a quotient."""
    if value < 0:
        return tape.add("neg", exact_number(-value, tape))
    p, q = value.numerator, value.denominator
    if q == 1:
        return tape.add(NUMBER, text=str(p))
    if q & (q - 1) == 0:
        k = q.bit_length() - 1
        return tape.add(NUMBER, text=f"{p * 5**k}e-{k}")
    return tape.add("div", tape.add(NUMBER, text=str(p)), tape.add(NUMBER, text=str(q)))
