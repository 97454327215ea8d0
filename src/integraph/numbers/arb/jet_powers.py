"""Taylor coefficients of powers of one variable, C(p, k) x^(p−k), k = 0 … n, for all x in a ball.

On each side of 0 they are monotone, so that the ends bound them. Outside of the domain, and where there is no
derivative, coefficients are not finite.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import ZERO, Balls
from integraph.numbers.arb.ranges import UNKNOWN

ROOTS = 64  # roots of a higher order are taken by way of the logarithm


def power(x: arb, p: Fraction, n: int) -> Balls:
    """x^p: of any x if p is a natural number, of x ≠ 0 if it is an integer, of x ≥ 0 otherwise."""
    if not x.is_finite():
        return [UNKNOWN] * (n + 1)
    if p.denominator == 1 and p.numerator >= 0:
        return _natural_power(x, p.numerator, min(n, p.numerator))
    if p.denominator == 1:
        return _from_ends(lambda y, k: _powers(y, y**p.numerator, _ball(p), k), x, n) if x != 0 else [UNKNOWN] * (n + 1)
    return _from_ends(lambda y, k: _fractional_power(y, p, k), x, n)


def real_power(x: arb, p: arb, n: int) -> Balls:
    """x^p for x > 0."""
    return _from_ends(lambda y, k: _powers(y, ranges.exp(y.log() * p), p, k), x, n)


def _ball(p: Fraction) -> arb:
    return arb(p.numerator) / p.denominator


def _natural_power(x: arb, p: int, n: int) -> Balls:
    coefficients, choices = [], 1
    for k in range(n + 1):
        coefficients.append(ranges.power(x, p - k) * choices if p > k else arb(choices))
        choices = choices * (p - k) // (k + 1)
    return coefficients


def _powers(x: arb, value: arb, p: arb, n: int) -> Balls:
    """The coefficients at a number x ≠ 0 whose power is known."""
    powers = [value]
    for k in range(n):
        powers.append(powers[-1] * (p - k) / ((k + 1) * x))
    return powers


def _fractional_power(x: arb, p: Fraction, n: int) -> Balls:
    """Of a number x > 0; at 0 what is left of the powers with an exponent > 0."""
    if x == 0:
        return [ZERO if p > k else UNKNOWN for k in range(n + 1)]
    if not x > 0:
        return [UNKNOWN] * (n + 1)
    value = x.root(p.denominator) ** p.numerator if p.denominator <= ROOTS else (x.log() * _ball(p)).exp()
    return _powers(x, value, _ball(p), n)


def _from_ends(coefficients_at: Callable[[arb, int], Balls], x: arb, n: int) -> Balls:
    """Where every coefficient is monotone."""
    if x.is_exact():
        return coefficients_at(x, n)
    return [
        low.union(high) for low, high in zip(coefficients_at(x.lower(), n), coefficients_at(x.upper(), n), strict=True)
    ]


def cbrt(x: arb, n: int) -> Balls:
    """The odd root, of any x."""
    third = Fraction(1, 3)
    if x < 0:
        return [c if k % 2 else -c for k, c in enumerate(power(-x, third, n))]
    if x >= 0:
        return power(x, third, n)
    below, above = power(-x.lower(), third, 0)[0], power(x.upper(), third, 0)[0]
    return [(-below).union(above)] + [UNKNOWN] * n
