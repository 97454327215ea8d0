"""The constants of a formula, rounded once: 0.1 + 0.2 − 0.3 is 0, and 1/3 is the float64 next to it.

Decimals and their sums, products and quotients are fractions. Other constants, such as π or ln 2, are computed with
more and more digits until two results agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from integraph.errors import SourceError
from integraph.targets.expression import CONSTANTS, NUMBER, Expression, Step
from integraph.targets.float_arithmetic import VALUES

DIGITS = (60, 120, 240, 480, 960)
AGREE = 1e-25
LARGEST = 1.7976931348623157e308
REACH = 400  # decimal digits of magnitude: beyond, float64 has no numbers
LONG = 4096  # bits of a fraction that is still computed with

RATIONAL: dict[str, Callable[..., Fraction]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "abs": abs,
    "min": min,
    "max": max,
}


def constants(expression: Expression) -> dict[int, tuple[float, bool]]:
    """For every step that depends on no variable: the nearest float64, and whether it is the exact value."""
    steps = expression.steps
    fixed: list[int] = []
    for number, step in enumerate(steps):
        if step.op == NUMBER or (step.args and all(n in fixed for n in step.args)):
            fixed.append(number)
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


def _computed(steps: tuple[Step, ...], fixed: list[int], fractions: dict[int, Fraction]) -> dict[int, float]:
    """Constants that are not fractions, by mpmath. Two results that never agree are roundings of 0, or of a pole."""
    import mpmath

    before: dict[int, Any] = {}
    for digits in DIGITS:
        with mpmath.workdps(digits):
            now: dict[int, Any] = {}
            for number in fixed:
                now[number] = _value(mpmath.mp, steps[number], now, fractions.get(number))
            apart = {n for n in fixed if not before or abs(now[n] - before[n]) > abs(now[n]) * AGREE}
        if not apart:
            break
        before = now
    for number in sorted(apart):
        if abs(now[number]) > AGREE:
            raise _no_number(mpmath.mp, steps[number], [now[n] for n in steps[number].args])
        now[number] = 0.0
    return {number: float(value) for number, value in now.items() if number not in fractions}


def _no_number(mp: Any, step: Step, args: list[Any]) -> SourceError:
    return SourceError(
        f"{step.op} of the constants {', '.join(mp.nstr(x, 6) for x in args)} is not a number that float64 can hold"
    )


def _value(mp: Any, step: Step, known: dict[int, Any], fraction: Fraction | None) -> Any:
    if fraction is not None:
        return mp.mpf(fraction.numerator) / fraction.denominator
    if step.op == NUMBER:
        return +getattr(mp, step.text) if step.text in CONSTANTS else mp.mpf(step.text)
    args = [known[n] for n in step.args]
    value = value_of(mp, step.op, step.text, args)
    if not mp.isfinite(value) or mp.im(value) or abs(value) > LARGEST:
        raise _no_number(mp, step, args)
    return mp.re(value)


def value_of(mp: Any, op: str, text: str, args: Sequence[Any]) -> Any:
    """The value in mpmath; `text` is a constant exponent. A pole gives NaN."""
    if op == "power":
        exponent = Fraction(text) if text else None
        if exponent is None:
            return args[0] ** args[1] if args[0] >= 0 else mp.nan
        if exponent.denominator > 1 and args[0] < 0:
            return mp.nan
        return args[0] ** (mp.mpf(exponent.numerator) / exponent.denominator) if args[0] or exponent > 0 else mp.nan
    if op == "cbrt":
        return mp.sign(args[0]) * mp.cbrt(abs(args[0]))
    named: dict[str, Callable[..., Any]] = {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "div": lambda x, y: x / y if y else mp.nan,
        "neg": lambda x: -x,
        "abs": abs,
        "min": min,
        "max": max,
        "ln": lambda x: mp.log(x) if x else mp.nan,
        "log2": lambda x: mp.log(x, 2) if x else mp.nan,
        "log10": lambda x: mp.log10(x) if x else mp.nan,
        "log1p": lambda x: mp.log1p(x) if x != -1 else mp.nan,
        "atanh": lambda x: mp.atanh(x) if abs(x) < 1 else mp.nan,
        "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
        "softplus": lambda x: mp.log1p(mp.exp(x)),
    }
    return (named.get(op) or getattr(mp, op))(*args)
