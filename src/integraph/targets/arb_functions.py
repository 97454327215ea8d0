"""The operations of formulas and graphs on Arb balls, for constants.

A ball that reaches over the edge of a domain is cut off there: asin(sin(pi/2)) is a number, though the ball around its
argument has numbers above 1. A ball outside, or one that a pole is in, gives one that is not finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from flint import arb, fmpq

from integraph.numbers.arb.conversion import ONE, ZERO
from integraph.numbers.arb.ranges import UNKNOWN
from integraph.targets.expression import OPERATORS

Real = Callable[[arb], arb]


def within(f: Real, low: arb | None = None, high: arb | None = None) -> Real:
    """A monotone function, on that part of a ball where it is defined."""

    def of(x: arb) -> arb:
        if not x.is_finite() or (low is not None and x < low) or (high is not None and x > high):
            return UNKNOWN
        ends = x.lower(), x.upper()
        if (low is None or ends[0] >= low) and (high is None or ends[1] <= high):
            return f(x)
        return f(ends[0] if low is None else ends[0].max(low)).union(f(ends[1] if high is None else ends[1].min(high)))

    return of


def cube_root(x: arb) -> arb:
    """Odd, where Arb's power has positive numbers only."""
    root = within(lambda y: y ** fmpq(1, 3), low=ZERO)
    return root(x) if x >= 0 else -root(-x) if x <= 0 else (-root(-x.lower())).union(root(x.upper()))


FUNCTIONS: dict[str, Callable[..., arb]] = OPERATORS | {
    "min": arb.min,
    "max": arb.max,
    "ln": arb.log,
    "log2": lambda x: x.log_base(2),
    "log10": lambda x: x.log_base(10),
    "sqrt": within(arb.sqrt, low=ZERO),
    "cbrt": cube_root,
    "asin": within(arb.asin, -ONE, ONE),
    "acos": within(arb.acos, -ONE, ONE),
    "acosh": within(arb.acosh, low=ONE),
    "sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "softplus": lambda x: x.exp().log1p(),
}


def value(op: str, text: str, args: Sequence[arb]) -> arb:
    """The value of a step; `text` is an exponent that is fixed."""
    if op == "power":
        return fixed_power(args[0], Fraction(text)) if text else power(args[0], args[1])
    function: Callable[..., arb] = FUNCTIONS.get(op) or getattr(arb, op)
    return function(*args)


def fixed_power(x: arb, exponent: Fraction) -> arb:
    if exponent < 0 and x.contains(0):
        return UNKNOWN
    if exponent.denominator == 1:
        return x**exponent.numerator
    return within(lambda y: y ** fmpq(exponent.numerator, exponent.denominator), low=ZERO)(x)


def power(x: arb, y: arb) -> arb:
    """x^y for x ≥ 0."""
    return within(lambda base: base**y, low=ZERO)(x)


def shown(x: arb) -> str:
    return f"{float(x):.6g}" if x.is_finite() else "NaN"
