"""A row of the checker: x = p(ξ) + Σ g_n ε_n + [−r, r], for all ξ and ε in [−1, 1]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from flint import arb

from integraph.certify.loops.replay.polynomials import CONSTANT, Polynomial, add_product, norms, span, square, tail
from integraph.numbers.arb.conversion import ZERO

TRIM = 1e-9  # of a row: smaller coefficients become part of the radius
Terms = Iterable[tuple[int, "Row", "Row"]]


@dataclass(eq=False)
class Row:
    """`k` is the degree that products keep; r ≥ 0 is exact, and not finite where nothing is known."""

    k: int
    p: Polynomial
    g: list[arb]
    r: arb

    @cached_property
    def sizes(self) -> list[arb]:
        """Of the coefficients of each degree."""
        return norms(self.p, self.k)

    @cached_property
    def errors(self) -> arb:
        """At least |x − p(ξ)|."""
        return sum(map(abs, self.g), self.r).upper()

    @property
    def finite(self) -> bool:
        return bool(self.errors.is_finite() and all(size.is_finite() for size in self.sizes))

    def range(self) -> tuple[arb, arb]:
        low, high = span(self.p)
        return (low - self.errors).lower(), (high + self.errors).upper()

    def __add__(self, other: Row) -> Row:
        p = dict(self.p)
        for monomial, ball in other.p.items():
            p[monomial] = p[monomial] + ball if monomial in p else ball
        return Row(self.k, p, [a + b for a, b in zip(self.g, other.g, strict=True)], (self.r + other.r).upper())

    def __neg__(self) -> Row:
        return self.scaled(arb(-1))

    def __sub__(self, other: Row) -> Row:
        return self + -other

    def scaled(self, factor: arb, shift: arb = ZERO, radius: arb = ZERO) -> Row:
        """factor·x + shift + [−radius, radius]."""
        p = {monomial: factor * ball for monomial, ball in self.p.items()}
        p[CONSTANT] = p.get(CONSTANT, ZERO) + shift
        return Row(self.k, p, [factor * ball for ball in self.g], (abs(factor) * self.r + radius).upper())


def dot(terms: Terms, divisor: int) -> Row:
    """Σ w·a·b / divisor. A product keeps errors to first order at the constants of its polynomials."""
    p: Polynomial = {}
    g: list[arb] = []
    r, k = ZERO, 0
    for weight, a, b in terms:
        k = a.k
        if a is b:
            for monomial, ball in square(a.p, k).items():
                p[monomial] = p.get(monomial, ZERO) + weight * ball
        else:
            add_product(p, a.p if weight == 1 else {m: weight * ball for m, ball in a.p.items()}, b.p, k)
        a0, b0 = (weight * x.p.get(CONSTANT, ZERO) for x in (a, b))
        g = g or [ZERO] * len(a.g)
        g = [c + b0 * x + a0 * y for c, x, y in zip(g, a.g, b.g, strict=True)]
        at, bt = sum(a.sizes[1:], ZERO), sum(b.sizes[1:], ZERO)
        lost = tail(a.sizes, b.sizes) + at * b.errors + bt * a.errors + a.errors * b.errors
        r += weight * (lost + a.sizes[0] * b.r + b.sizes[0] * a.r)
    return trimmed(Row(k, *_divided(p, g, r, divisor)))


def _divided(p: Polynomial, g: list[arb], r: arb, divisor: int) -> tuple[Polynomial, list[arb], arb]:
    if divisor == 1:
        return p, g, r.upper()
    return {m: ball / divisor for m, ball in p.items()}, [ball / divisor for ball in g], (r / divisor).upper()


def trimmed(row: Row) -> Row:
    """The row without coefficients that are small beside it."""
    limit = (sum(row.sizes[1:], ZERO) + row.errors) * TRIM
    r, small = row.r, []
    for monomial, ball in row.p.items():
        if abs(ball) < limit and monomial != CONSTANT:
            r += ball.abs_upper()
            small.append(monomial)
    if not small:
        return row
    return Row(row.k, {monomial: ball for monomial, ball in row.p.items() if monomial not in small}, row.g, r.upper())


def of_ball(ball: arb, k: int, symbols: int) -> Row:
    """A row of which only a ball is known."""
    known = ball.is_finite()
    return Row(k, {CONSTANT: ball.mid() if known else ZERO}, [ZERO] * symbols, ball.rad() if known else arb.pos_inf())
