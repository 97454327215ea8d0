"""A row of the checker: x = p(ξ) + Σ g_n ε_n + [−r, r], for all ξ and ε in [−1, 1]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, arb_mat

from integraph.certify.loops.replay.polynomials import CONSTANT, Polynomial, span
from integraph.certify.loops.replay.products import (
    Flat,
    combined,
    exact,
    flat,
    polynomial,
    sum_of_products,
    variables,
    without_small,
)
from integraph.numbers.arb.conversion import ZERO
from integraph.numbers.arrays import Floats

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
    def variables(self) -> int:
        return variables(self.p)

    @cached_property
    def flat(self) -> Flat:
        """The polynomial in floats."""
        return flat(self.p, self.variables, self.k)

    @cached_property
    def sizes(self) -> list[arb]:
        """Of the coefficients of each degree."""
        return [(size + self.flat.missed).upper() for size in self.flat.norms]

    @cached_property
    def errors(self) -> arb:
        """At least |x − p(ξ)|."""
        return sum(map(abs, self.g), self.r).upper()

    @property
    def finite(self) -> bool:
        return bool(self.errors.is_finite() and all(size.is_finite() for size in self.sizes))

    def over(self, d: int) -> Flat:
        """The polynomial in floats, as one of d variables."""
        return self.flat if d == self.variables else flat(self.p, d, self.k)

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
    terms = list(terms)
    k, d = terms[0][1].k, max(row.variables for _, *pair in terms for row in pair)
    values, r = sum_of_products([(weight, a.over(d), b.over(d)) for weight, a, b in terms], d, k)
    g: list[arb] = []
    for weight, a, b in terms:
        a0, b0 = (weight * x.p.get(CONSTANT, ZERO) for x in (a, b))
        g = g or [ZERO] * len(a.g)
        g = [c + b0 * x + a0 * y for c, x, y in zip(g, a.g, b.g, strict=True)]
        at, bt = sum(a.sizes[1:], ZERO), sum(b.sizes[1:], ZERO)
        lost = at * b.errors + bt * a.errors + a.errors * b.errors
        r += weight * (lost + a.sizes[0] * b.r + b.sizes[0] * a.r)
    made = of_values(values, d, k, g, r.upper())
    return made if divisor == 1 else made.scaled(arb(1) / divisor)


def merged(row: Row, symbols: int) -> Row:
    """The row with its first symbols alone, the others in its radius."""
    return Row(row.k, row.p, row.g[:symbols], (row.r + sum((abs(x) for x in row.g[symbols:]), ZERO)).upper())


def linear(A: Floats, rows: Sequence[Row]) -> list[Row]:
    """A x."""
    k, d, count = rows[0].k, max(row.variables for row in rows), len(rows[0].g)
    values, missed = combined(A, [row.over(d) for row in rows])
    table = arb_mat(len(rows), count, [x for row in rows for x in row.g])
    entries = (arb_mat(len(A), len(rows), A.ravel().tolist()) * table).entries()
    made = []
    for n, weights in enumerate(A.tolist()):
        r = sum((row.r * abs(weight) for weight, row in zip(weights, rows, strict=True)), missed[n])
        made.append(of_values(values[n], d, k, entries[n * count : (n + 1) * count], r.upper()))
    return made


def of_values(values: Floats, d: int, k: int, g: list[arb], r: arb) -> Row:
    """A row whose coefficients are these floats, those that are small beside it as a part of its radius."""
    errors = sum(map(abs, g), r).upper()
    whole = exact(values, d, k)
    values, lost = without_small(values, float((sum(whole.norms[1:], ZERO) + errors) * TRIM))
    row = Row(k, polynomial(values, d, k), g, (r + lost).upper())
    row.flat = whole if lost.is_zero() else exact(values, d, k)
    row.variables, row.errors = d, (errors + lost).upper()
    return row


def trimmed(row: Row) -> Row:
    """The row without coefficients that are small beside it."""
    limit = float((sum(row.sizes[1:], ZERO) + row.errors) * TRIM)
    small = {monomial for monomial, ball in row.p.items() if abs(float(ball)) < limit and monomial != CONSTANT}
    if not small:
        return row
    r = sum((row.p[monomial].abs_upper() for monomial in small), row.r)
    return Row(row.k, {monomial: ball for monomial, ball in row.p.items() if monomial not in small}, row.g, r.upper())


def of_ball(ball: arb, k: int, symbols: int) -> Row:
    """A row of which only a ball is known."""
    known = ball.is_finite()
    return Row(k, {CONSTANT: ball.mid() if known else ZERO}, [ZERO] * symbols, ball.rad() if known else arb.pos_inf())
