"""Generalised polynomials: sums of products of powers of generators, with rational exponents of either sign.

A monomial is a tuple of pairs (generator, exponent), sorted, without exponents 0; a polynomial maps monomials to
rational coefficients, without coefficients 0. Neither is ever changed in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from integraph.clock import check_deadline
from integraph.errors import SourceError

Exponent = int | Fraction
Monomial = tuple[tuple[int, Exponent], ...]
Polynomial = Mapping[Monomial, Fraction]

ONE: Monomial = ()
PRODUCTS = 1_000_000  # of terms
TERMS = 20_000  # of a polynomial: longer ones come from products that nobody writes out


def constant(value: Fraction | int) -> Polynomial:
    return {ONE: Fraction(value)} if value else {}


def generator(number: int, exponent: Exponent = 1) -> Polynomial:
    return {((number, exponent),): Fraction(1)}


def times(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    exponents: dict[int, Exponent] = dict(a)
    for number, exponent in b:
        exponents[number] = exponents.get(number, 0) + exponent
    return tuple(sorted((number, exponent) for number, exponent in exponents.items() if exponent))


def power(a: Monomial, exponent: Exponent) -> Monomial:
    return tuple((number, each * exponent) for number, each in a) if exponent else ONE


def total(parts: Iterable[tuple[Monomial, Fraction]]) -> Polynomial:
    """The sum of terms, equal monomials together."""
    terms: dict[Monomial, Fraction] = {}
    for monomial, value in parts:
        terms[monomial] = terms[monomial] + value if monomial in terms else value
        if len(terms) > TERMS:
            raise _too_long()
    return {monomial: value for monomial, value in terms.items() if value}


def _too_long() -> SourceError:
    return SourceError(
        f"a right-hand side has more than {TERMS:,} terms when it is multiplied out: define parts of it as states of "
        "their own"
    )


def add(p: Polynomial, q: Polynomial) -> Polynomial:
    return total([*p.items(), *q.items()])


def scale(p: Polynomial, by: Fraction | int, shift: Monomial = ONE) -> Polynomial:
    """p times a number and a monomial."""
    return {times(monomial, shift): value * by for monomial, value in p.items()} if by else {}


def multiply(p: Polynomial, q: Polynomial) -> Polynomial:
    check_deadline()
    if len(p) * len(q) > PRODUCTS:
        raise _too_long()
    return total((times(a, b), u * v) for a, u in p.items() for b, v in q.items())


def content(p: Polynomial) -> Monomial:
    """The largest monomial that divides every term."""
    least: dict[int, Exponent] | None = None
    for monomial in p:
        exponents = dict(monomial)
        if least is None:
            least = exponents
        else:
            numbers = least.keys() | exponents.keys()
            least = {n: min(least.get(n, 0), exponents.get(n, 0)) for n in numbers}
    return tuple(sorted((n, e) for n, e in (least or {}).items() if e))


def ratio(p: Polynomial, q: Polynomial) -> Fraction | None:
    """c where p = c·q, if there is one."""
    if p.keys() != q.keys() or not p:
        return None
    first = next(iter(p))
    c = p[first] / q[first]
    return c if all(value == c * q[monomial] for monomial, value in p.items()) else None
