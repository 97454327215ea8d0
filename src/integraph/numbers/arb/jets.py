"""Taylor coefficients of a formula, proved: all of degree ≤ n at once, over a point or a whole box.

A jet is the value and the homogeneous parts of degree 1, 2, …; a part is a polynomial in one variable, in which x^α has
the exponent Σ α_i (n+1)^i without the last variable, whose exponent the degree tells. Products of parts then are
products of polynomials, dense ones of Arb if they are short enough, and nothing is cut off. A function of a jet
is a composition: its own coefficients, those of one variable over the value of the jet, with the powers of what moves
(Horner). So the value of a step is always the range of the function over the value of its argument, however wide the
box is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

from flint import arb, arb_poly, ctx

from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import ONE, ZERO, Balls, hull
from integraph.numbers.arb.jet_functions import coefficients, thin
from integraph.numbers.arb.jet_powers import power, real_power
from integraph.numbers.arb.ranges import UNKNOWN, abs_
from integraph.numbers.balls import rational
from integraph.numbers.multi_index import of_degree

Part = Any  # arb_poly or Sparse, which add, multiply and answer alike
Parts = list[Part]
DENSE = 64  # coefficients per degree up to which a dense polynomial is faster
SQUARE, INVERSE = Fraction(2), Fraction(-1)
TINY = arb(0, 1e-300)  # holds every literal below 1e-400


class Operation(Protocol):
    """A step of a formula: the name of an operation, and the text of an exponent that is a number."""

    @property
    def op(self) -> str: ...
    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """A polynomial with few nonzero coefficients, {exponent: coefficient}, and what jets need of `arb_poly`."""

    terms: dict[int, arb]

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __getitem__(self, exponent: int) -> arb:
        return self.terms.get(exponent, ZERO)

    def __neg__(self) -> Sparse:
        return Sparse({exponent: -x for exponent, x in self.terms.items()})

    def __add__(self, other: Sparse) -> Sparse:
        terms = dict(self.terms)
        for exponent, x in other.terms.items():
            terms[exponent] = terms[exponent] + x if exponent in terms else x
        return Sparse(terms)

    def __mul__(self, other: Sparse) -> Sparse:
        terms: dict[int, arb] = {}
        for i, x in self.terms.items():
            check_deadline()
            for j, y in other.terms.items():
                if i + j in terms:
                    terms[i + j] += x * y
                else:
                    terms[i + j] = x * y
        return Sparse(terms)


@dataclass(frozen=True, slots=True, eq=False)
class Jet:
    """`parts` of degree 1, 2, …, all above are 0; from degree `known` on nothing is known, whatever the parts say."""

    value: arb
    parts: Parts
    known: int


@lru_cache(maxsize=1024)
def exponents_of(d: int, degree: int, n: int) -> tuple[int, ...]:
    weights = [(n + 1) ** i for i in range(d - 1)]
    return tuple(sum(int(a) * w for a, w in zip(alpha, weights, strict=False)) for alpha in of_degree(d, degree))


@lru_cache(maxsize=1024)
def _number(text: str, bits: int) -> arb:
    """What a literal means, at the current precision, which is `bits`: "0.1" is a tenth."""
    exact = rational(text)
    if exact is not None:
        return arb(exact.numerator) / exact.denominator
    if text in ("pi", "e"):
        return arb.pi() if text == "pi" else arb.const_e()
    return TINY if Decimal(text).adjusted() < 0 else UNKNOWN


class Jets:
    """The arithmetic of jets in d variables of degree ≤ n, for `targets.expression.evaluate`."""

    def __init__(self, d: int, n: int) -> None:
        self.d, self.n = d, n
        self.dense = (n + 1) ** (d - 2) <= DENSE

    def monomial(self, exponent: int, ball: arb) -> Part:
        return arb_poly([0] * exponent + [ball]) if self.dense else Sparse({exponent: ball})

    def jet(self, value: arb, parts: Parts, known: int) -> Jet:
        return Jet(value, parts, known if value.is_finite() else 0)

    def variable(self, i: int, ball: arb) -> Jet:
        exponent = (self.n + 1) ** i if i < self.d - 1 else 0
        return self.jet(ball, [self.monomial(exponent, ONE)] if self.n else [], self.n + 1)

    def number(self, text: str) -> Jet:
        return self.jet(_number(text, ctx.prec), [], self.n + 1)

    def apply(self, step: Operation, args: Sequence[Jet]) -> Jet:
        check_deadline()
        u, v = args[0], args[-1]
        match step.op:
            case "neg":
                return negated(u)
            case "add":
                return self.added(u, v)
            case "sub":
                return self.added(u, negated(v))
            case "mul":
                return self.power(u, SQUARE) if u is v else self.product(u, v)
            case "div":
                return self.product(u, self.power(v, INVERSE))
            case "power":
                return self.power(u, Fraction(step.text)) if step.text else self.general_power(u, v)
            case "if":
                return self.condition(u, args[1], v)
            case "abs":
                return self.chosen(u, negated(u), u.value, abs_(u.value))
            case "max":
                return self.chosen(u, v, u.value - v.value, u.value.max(v.value))
            case "min":
                return self.chosen(u, v, v.value - u.value, u.value.min(v.value))
        return self.function(step.op, u)

    def added(self, u: Jet, v: Jet) -> Jet:
        if len(u.parts) < len(v.parts):
            u, v = v, u
        both = [a + b for a, b in zip(u.parts, v.parts, strict=False)]
        return self.jet(u.value + v.value, both + u.parts[len(both) :], min(u.known, v.known))

    def product(self, u: Jet, v: Jet) -> Jet:
        a, b = self.monomial(0, u.value), self.monomial(0, v.value)
        parts = self.convolved([a, *u.parts], [b, *v.parts], self.n)
        return self.jet(times(u.value, v.value), parts[1:], min(u.known, v.known))

    def convolved(self, a: Parts, b: Parts, n: int) -> Parts:
        """The first n + 1 parts of a product."""
        parts: Parts = [arb_poly([]) if self.dense else Sparse({})] * min(len(a) + len(b) - 1, n + 1)
        for j, left in enumerate(a):
            if left:
                check_deadline()
                for k, right in enumerate(b[: n + 1 - j], j):
                    if right:
                        parts[k] = parts[k] + left * right
        return parts

    def function(self, name: str, u: Jet) -> Jet:
        return self.composed(coefficients(name, u.value, self.degree(u)), u)

    def power(self, u: Jet, p: Fraction) -> Jet:
        return self.composed(power(u.value, p, self.degree(u)), u)

    def general_power(self, u: Jet, v: Jet) -> Jet:
        """u^v = e^(v ln u) for u > 0."""
        if v.parts:
            return self.function("exp", self.product(v, self.function("ln", u)))
        return self.composed(real_power(u.value, v.value, self.degree(u)), u)

    def degree(self, u: Jet) -> int:
        """The degree up to which a function of u needs coefficients: 0 for a constant."""
        return self.n if u.parts else 0

    def condition(self, g: Jet, u: Jet, v: Jet) -> Jet:
        """u where g < 0, v where it is not; where both are possible the value alone is known."""
        if not g.known or g.value < 0 or g.value >= 0:
            return g if not g.known else u if g.value < 0 else v
        return self.jet(u.value.union(v.value), u.parts or v.parts, min(u.known, v.known, 1))

    def chosen(self, u: Jet, v: Jet, first: arb, value: arb) -> Jet:
        """u where `first` > 0, v where it is < 0; where the sign is uncertain only the value is known."""
        known = min(u.known, v.known)
        if first > 0 or first < 0:
            return self.jet(value, (u if first > 0 else v).parts, known)
        parts = u.parts or v.parts
        return self.jet(value, parts, min(known, 1) if parts else known)

    def composed(self, F: Balls, u: Jet) -> Jet:
        """Σ F_k w^k, where w is u without its value. An F_k that is not finite hides all that it may move."""
        parts = [self.monomial(0, F[-1])]
        for k in range(len(F) - 2, -1, -1):
            parts = [self.monomial(0, F[k]), *self.convolved(parts, u.parts, self.n - k - 1)]
        finite = next((k for k, ball in enumerate(F) if not ball.is_finite()), self.n + 1)
        return self.jet(F[0], parts[1:], min(u.known, finite))


def negated(u: Jet) -> Jet:
    return Jet(-u.value, [-part for part in u.parts], u.known)


def times(x: arb, y: arb) -> arb:
    """The range of a product: of wide balls from the ends."""
    if thin(x) or thin(y) or not (x.is_finite() and y.is_finite()):
        return x * y
    a, b, c, d = x.lower(), x.upper(), y.lower(), y.upper()
    if a >= 0 and c >= 0:
        return (a * c).union(b * d)
    return hull(a * c, a * d, b * c, b * d)
