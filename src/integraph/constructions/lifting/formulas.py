"""Generators and monomials as formulas: text for people, LaTeX, and steps of an expression that computes them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from integraph.constructions.lifting.polynomials import Exponent, Monomial, Polynomial
from integraph.constructions.lifting.ring import STATE, SUM, Ring
from integraph.errors import SourceError
from integraph.targets.expression import NUMBER, VARIABLE, Expression, Tape

LONGEST = 100_000  # characters of a formula: definitions that use the one before twice double it
DIGITS = 10**17  # a denominator beyond: the number was a float


def number_text(value: Fraction) -> str:
    """The shortest text that a reader needs: 3, 0.25, 1/3."""
    if value.denominator == 1:
        return str(value.numerator) if abs(value) < DIGITS else repr(float(value))
    short = repr(float(value))
    if Fraction(short) == value or value.denominator >= 1000:
        return short
    return f"{value.numerator}/{value.denominator}"


def monomial_text(ring: Ring, m: Monomial) -> str:
    """x^2/(y*z): negative powers below the line."""
    above = [_power_text(_generator_text(ring, n), e) for n, e in m if e > 0]
    below = [_power_text(_generator_text(ring, n), -e) for n, e in m if e < 0]
    top, bottom = "*".join(above) or "1", "*".join(below)
    return top if not below else f"{top}/({bottom})" if len(below) > 1 else f"{top}/{bottom}"


def polynomial_text(ring: Ring, p: Polynomial) -> str:
    return sum_text([(value, monomial_text(ring, m) if m else "") for m, value in p.items()])


def sum_text(parts: Sequence[tuple[Fraction, str]]) -> str:
    """1 - 2*x: numbers with what they multiply, which is empty for 1."""
    text = ""
    for value, factor in parts:
        size = number_text(abs(value))
        if factor and "/" in size:
            size = f"({size})"
        if not factor or size == "1":
            term = factor or size
        else:
            term = f"{size}{factor[1:]}" if factor.startswith("1/") else f"{size}*{factor}"
        text += (" - " if value < 0 else " + ") + term
    return text.removeprefix(" + ").replace(" - ", "-", 1) if text.startswith(" -") else text.removeprefix(" + ") or "0"


def _generator_text(ring: Ring, number: int) -> str:
    if number not in ring.texts:
        ring.texts[number] = _written(ring, number)
    return ring.texts[number]


def _written(ring: Ring, number: int) -> str:
    one = ring.generators[number]
    if one.op == STATE:
        return one.name
    assert one.argument is not None
    inner = polynomial_text(ring, one.argument)
    if len(inner) > LONGEST:
        raise SourceError(
            f"a formula of a new variable has more than {LONGEST:,} characters: define parts of the right-hand sides "
            "as states of their own"
        )
    return f"({inner})" if one.op == SUM else f"{one.op}({inner})"


def _power_text(base: str, exponent: Exponent) -> str:
    if exponent == 1:
        return base
    return f"{base}^{exponent}" if isinstance(exponent, int) else f"{base}^({exponent})"


def expression_of(ring: Ring, variables: Sequence[str], monomials: Sequence[Monomial]) -> Expression:
    """The values of monomials as functions of the states."""
    tape = Tape(variables)
    known: dict[int, int] = {}
    outputs = [_monomial_step(ring, tape, m, known) for m in monomials]
    source = ", ".join(monomial_text(ring, m) for m in monomials)
    return tape.expression(outputs, source)


def _monomial_step(ring: Ring, tape: Tape, m: Monomial, known: dict[int, int]) -> int:
    step = None
    for number, exponent in m:
        factor = _generator_step(ring, tape, number, known)
        if exponent != 1:
            factor = tape.add("power", factor, _number_step(tape, Fraction(exponent)), text=str(exponent))
        step = factor if step is None else tape.add("mul", step, factor)
    return _number_step(tape, Fraction(1)) if step is None else step


def _generator_step(ring: Ring, tape: Tape, number: int, known: dict[int, int]) -> int:
    if number not in known:
        one = ring.generators[number]
        if one.op == STATE:
            known[number] = tape.add(VARIABLE, text=one.name)
        else:
            assert one.argument is not None
            inner = _polynomial_step(ring, tape, one.argument, known)
            known[number] = inner if one.op == SUM else tape.add(one.op, inner)
    return known[number]


def _polynomial_step(ring: Ring, tape: Tape, p: Polynomial, known: dict[int, int]) -> int:
    total = None
    for m, value in p.items():
        if not m:
            step, sign = _number_step(tape, abs(value)), value < 0
        else:
            step, sign = _monomial_step(ring, tape, m, known), value < 0
            if abs(value) != 1:
                step = tape.add("mul", _number_step(tape, abs(value)), step)
        if total is None:
            total = tape.add("neg", step) if sign else step
        else:
            total = tape.add("sub" if sign else "add", total, step)
    return _number_step(tape, Fraction(0)) if total is None else total


def _number_step(tape: Tape, value: Fraction) -> int:
    if value < 0:
        return tape.add("neg", _number_step(tape, -value))
    short = repr(float(value))
    if value.denominator == 1 and value.numerator < DIGITS:
        return tape.add(NUMBER, text=str(value.numerator))
    if Fraction(short) == value or value.denominator >= DIGITS:
        return tape.add(NUMBER, text=short)
    return tape.add("div", tape.add(NUMBER, text=str(value.numerator)), tape.add(NUMBER, text=str(value.denominator)))
