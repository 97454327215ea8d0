"""The constants of a formula, rounded once: 0.1 + 0.2 − 0.3 is 0, and 1/3 is the float64 next to it.

Decimals and their sums, products and quotients are fractions. What is not, π or ln 2, is computed on Arb balls, in more
and more bits until they decide the float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from integraph.errors import SourceError
from integraph.targets.expression import CONDITION, CONSTANTS, NUMBER, OPERATORS, Expression, Step
from integraph.targets.float_arithmetic import VALUES

if TYPE_CHECKING:
    from flint import arb

BITS = (200, 400, 800, 1600, 3200)
NOTHING = 1e-25  # a ball around 0 that no precision brings away from it
REACH = 400  # decimal digits of magnitude: beyond, float64 has no numbers
LONG = 4096  # bits of a fraction that is still computed with

RATIONAL: dict[str, Callable[..., Fraction]] = OPERATORS | {"min": min, "max": max}


def constants(expression: Expression) -> dict[int, tuple[float, bool]]:
    """For every step that depends on no variable: the nearest float64, and whether it is the exact value."""
    steps = expression.steps
    fixed: dict[int, None] = {}
    for number, step in enumerate(steps):
        if step.op == NUMBER or (step.args and step.op != CONDITION and all(n in fixed for n in step.args)):
            fixed[number] = None
    fractions: dict[int, Fraction] = {}
    for number in fixed:
        fraction = _fraction(steps[number], fractions)
        if fraction is not None:
            fractions[number] = fraction
    rounded = _computed(steps, fixed, fractions) if any(_needs_digits(steps[n], n in fractions) for n in fixed) else {}
    return {number: _nearest(steps[number], number, fractions, rounded) for number in fixed}


def _needs_digits(step: Step, known: bool) -> bool:
    return not known and step.op != NUMBER


def _fraction(step: Step, known: dict[int, Fraction]) -> Fraction | None:
    """The value as a fraction of moderate length, if it is one."""
    if step.op == NUMBER:
        number = None if step.text in CONSTANTS else Decimal(step.text)
        return Fraction(number) if number is not None and abs(number.adjusted()) <= REACH else None
    if not all(n in known for n in step.args) or (step.op == "div" and not known[step.args[1]]):
        return None
    args = [known[n] for n in step.args]
    if step.op in RATIONAL:
        fraction = RATIONAL[step.op](*args)
    elif step.op == "power" and step.text and Fraction(step.text).denominator == 1 and abs(int(step.text)) <= 64:
        if not args[0] and int(step.text) < 0:
            return None
        fraction = args[0] ** int(step.text)
    else:
        return None
    return fraction if max(fraction.numerator.bit_length(), fraction.denominator.bit_length()) <= LONG else None


def _nearest(step: Step, number: int, fractions: dict[int, Fraction], rounded: dict[int, float]) -> tuple[float, bool]:
    if number in fractions:
        try:
            value = float(fractions[number])
        except OverflowError:
            return math.inf, False
        return value, Fraction(value) == fractions[number]
    if number in rounded:
        return rounded[number], False
    return (VALUES[step.text] if step.text in VALUES else float(step.text)), False


def _computed(steps: tuple[Step, ...], fixed: Iterable[int], fractions: dict[int, Fraction]) -> dict[int, float]:
    """What is no fraction, by Arb. A ball that never leaves 0 is 0."""
    from integraph.numbers.arb.conversion import precision, rounded
    from integraph.targets.arb_functions import shown

    for bits in BITS:
        with precision(bits):
            balls = _balls(steps, fixed, fractions)
            floats = {number: rounded(ball) for number, ball in balls.items()}
        if None not in floats.values():
            break
    results: dict[int, float] = {}
    for number, ball in balls.items():
        value = 0.0 if ball.contains(0) and abs(ball) < NOTHING else floats[number]
        if value is None or math.isinf(value):
            args = ", ".join(shown(balls[n]) for n in steps[number].args)
            raise SourceError(f"{steps[number].op} of the constants {args} is not a number that float64 can hold")
        results[number] = value
    return {number: value for number, value in results.items() if number not in fractions}


def _balls(steps: tuple[Step, ...], fixed: Iterable[int], fractions: dict[int, Fraction]) -> dict[int, arb]:
    from flint import arb, fmpq

    from integraph.targets.arb_functions import value

    balls: dict[int, arb] = {}
    named = {"pi": arb.pi, "e": arb.const_e}
    for number in fixed:
        step, fraction = steps[number], fractions.get(number)
        if fraction is not None:
            balls[number] = arb(fmpq(fraction.numerator, fraction.denominator))
        elif step.op == NUMBER:
            balls[number] = named[step.text]() if step.text in CONSTANTS else arb(step.text)
        else:
            balls[number] = value(step.op, step.text, [balls[n] for n in step.args])
    return balls
