"""The generators of a lift, and their derivatives along the flow.

A generator is a state, an elementary function of a polynomial in other generators, or such a polynomial itself, where
powers of it occur: u = 1 + x with 1/u, √u or u¹². Its derivative is a polynomial in generators again; where that needs
new ones, as arctan does, they are added.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from integraph.constructions.lifting.polynomials import (
    ONE,
    Exponent,
    Monomial,
    Polynomial,
    add,
    constant,
    content,
    generator,
    multiply,
    power,
    ratio,
    scale,
    times,
    total,
)
from integraph.errors import SourceError

STATE, SUM = "state", "sum"
DENOMINATOR = 360  # of an exponent: e^(ax) and e^(bx) are powers of one generator where a/b is simple
FAR = 700  # |c| where e^c is no number of float64: e^(p + c) is a generator of its own
EXPANDED = 200  # terms of a power of a sum that is multiplied out
HALF = Fraction(1, 2)
ERF = Fraction(2 / math.sqrt(math.pi))


@dataclass(frozen=True, slots=True)
class Generator:
    """`op` says what is done to the argument; a state has a name and no argument."""

    op: str
    name: str = ""
    argument: Polynomial | None = None


class Ring:
    """Generators and their derivatives. `expand` multiplies powers of sums out where it can; `complement` makes 1 −
    tanh² and 1 − σ generators, `rates` the derivatives of arguments; `positive` are states that are declared so."""

    def __init__(
        self,
        states: tuple[str, ...],
        positive: tuple[str, ...] = (),
        *,
        expand: bool = False,
        complement: bool = False,
        rates: bool = False,
    ) -> None:
        self.generators = [Generator(STATE, name) for name in states]
        self.states = len(states)
        self.positive = {number for number, name in enumerate(states) if name in positive}
        self.expand = expand
        self.complement = complement
        self.rates: list[int] | None = [] if rates else None
        self.expansions = self.complements = 0  # how often either makes a difference
        self.derivatives: list[Polynomial] = []
        self.texts: dict[int, str] = {}  # of generators, as formulas wrote them

    def close(self, right_sides: list[Polynomial]) -> None:
        """Compute the derivative of every generator, and of those that come up on the way."""
        self.derivatives = list(right_sides)
        while len(self.derivatives) < len(self.generators):
            number = len(self.derivatives)
            one = self.generators[number]
            assert one.argument is not None
            inner = self.derive(one.argument)
            if self.rates is not None and one.op in RATED and len(inner) > 1:
                self.rates.append(self.sum_generator(inner))
                inner = generator(self.rates[-1])
            outer = constant(1) if one.op == SUM else DERIVATIVES[one.op](self, number, one.argument)
            self.derivatives.append(multiply(outer, inner))

    def derive(self, p: Polynomial) -> Polynomial:
        return total(
            (monomial, value * outer)
            for term, outer in p.items()
            for monomial, value in self.derive_monomial(term).items()
        )

    def derive_monomial(self, m: Monomial) -> Polynomial:
        return total(
            (monomial, value)
            for number, exponent in m
            for monomial, value in multiply(self.derivatives[number], {_lowered(m, number): Fraction(exponent)}).items()
        )

    def function(self, op: str, argument: Polynomial) -> Polynomial:
        """op(argument), on a generator that is made once."""
        if op == "exp":
            return self._exponential(argument)
        for number, one in enumerate(self.generators):
            if one.op == op and one.argument is not None:
                c = ratio(argument, one.argument)
                if c == 1 or (c == -1 and op in PARITY):
                    return scale(generator(number), 1 if c == 1 else PARITY[op])
        self.generators.append(Generator(op, argument=argument))
        number = len(self.generators) - 1
        if op in ("sin", "cos"):  # a pair
            self.generators.append(Generator("cos" if op == "sin" else "sin", argument=argument))
        return generator(number)

    def _exponential(self, argument: Polynomial) -> Polynomial:
        """e^p; e^(kp) is a power of it, and e^(kp + c) is e^c times that, with e^c as a float."""
        moving = _moving(argument)
        if not moving:
            return constant(Fraction(math.exp(argument.get(ONE, 0))))
        for number, one in enumerate(self.generators):
            if one.op == "exp" and one.argument is not None:
                k = ratio(moving, _moving(one.argument))
                if k is not None and k.denominator <= DENOMINATOR:
                    shift = argument.get(ONE, Fraction(0)) - k * one.argument.get(ONE, Fraction(0))
                    if abs(shift) > FAR:
                        continue
                    return scale(generator(number, _plain(k)), Fraction(math.exp(shift)))
        self.generators.append(Generator("exp", argument=argument))
        return generator(len(self.generators) - 1)

    def raised(self, base: Polynomial, exponent: Fraction) -> Polynomial:
        """base^exponent, a power of a generator unless the base is a product that may be taken apart."""
        if not base:
            if exponent <= 0:
                raise SourceError("a division by zero: a denominator of the right-hand sides is 0 everywhere")
            return {}
        whole = exponent.denominator == 1
        if len(base) == 1:
            ((monomial, value),) = base.items()
            if whole or self._may_split(monomial, value):
                return {power(monomial, _plain(exponent)): _number_power(value, exponent)}
            return generator(self._sum(base, exact=True)[0], _plain(exponent))
        if whole and exponent >= 1:
            if exponent == 1:
                return base
            if math.comb(len(base) + int(exponent) - 1, int(exponent)) <= EXPANDED:
                self.expansions += 1
                if self.expand:
                    return _repeated(base, int(exponent))
        common = content(base) if whole else ONE
        inner = scale(base, 1, power(common, -1))
        number, c = self._sum(inner, exact=not whole)
        return {_product(power(common, _plain(exponent)), number, _plain(exponent)): _number_power(c, exponent)}

    def _may_split(self, monomial: Monomial, value: Fraction) -> bool:
        """Whether (c·x^a·y^b)^p is c^p·x^(ap)·y^(bp): of positive factors, or of x alone."""
        if value < 0:
            return False
        if all(n in self.positive or self.generators[n].op == "exp" for n, _ in monomial):
            return True
        return len(monomial) == 1 and (monomial[0][1] == 1 or Fraction(monomial[0][1]).denominator % 2 == 0)

    def _sum(self, p: Polynomial, *, exact: bool) -> tuple[int, Fraction]:
        """The generator u and the number c of p = c·u; c = 1 where `exact`."""
        for number, one in enumerate(self.generators):
            if one.op == SUM and one.argument is not None:
                c = ratio(p, one.argument)
                if c is not None and (c == 1 or not exact):
                    return number, c
        self.generators.append(Generator(SUM, argument=p))
        return len(self.generators) - 1, Fraction(1)

    def complement_of(self, number: int, exponent: int) -> Polynomial:
        """1 − g^exponent, as a generator if so chosen."""
        p = add(constant(1), scale(generator(number, exponent), -1))
        self.complements += 1
        return generator(self._sum(p, exact=True)[0]) if self.complement else p

    def is_complement(self, number: int) -> bool:
        p = self.generators[number].argument
        return self.complement and p is not None and any(len(m) == 1 and m[0][0] >= self.states for m in p)

    def sum_generator(self, p: Polynomial) -> int:
        """The number of u = p."""
        return self._sum(p, exact=True)[0]


def _moving(p: Polynomial) -> Polynomial:
    """p without its constant."""
    return {monomial: value for monomial, value in p.items() if monomial}


def _lowered(m: Monomial, number: int) -> Monomial:
    return _product(m, number, -1)


def _product(m: Monomial, number: int, exponent: Exponent) -> Monomial:
    return times(m, ((number, exponent),))


def _plain(value: Fraction) -> Exponent:
    return int(value) if value.denominator == 1 else value


def _number_power(value: Fraction, exponent: Fraction) -> Fraction:
    return value ** int(exponent) if exponent.denominator == 1 else Fraction(float(value) ** float(exponent))


def _repeated(base: Polynomial, exponent: int) -> Polynomial:
    result = base
    for _ in range(exponent - 1):
        result = multiply(result, base)
    return result


def _square(p: Polynomial) -> Polynomial:
    return multiply(p, p)


def _one_plus_square(p: Polynomial, sign: int = 1) -> Polynomial:
    return add(constant(1), scale(_square(p), sign))


Rule = Callable[[Ring, int, Polynomial], Polynomial]
DERIVATIVES: dict[str, Rule] = {  # ring, number of the generator g, its argument → dg/d(argument)
    "exp": lambda ring, g, p: generator(g),
    "ln": lambda ring, g, p: ring.raised(p, Fraction(-1)),
    "sin": lambda ring, g, p: ring.function("cos", p),
    "cos": lambda ring, g, p: scale(ring.function("sin", p), -1),
    "tan": lambda ring, g, p: add(constant(1), generator(g, 2)),
    "tanh": lambda ring, g, p: ring.complement_of(g, 2),
    "sigmoid": lambda ring, g, p: multiply(generator(g), ring.complement_of(g, 1)),
    "softplus": lambda ring, g, p: ring.function("sigmoid", p),
    "atan": lambda ring, g, p: ring.raised(_one_plus_square(p), Fraction(-1)),
    "atanh": lambda ring, g, p: ring.raised(_one_plus_square(p, -1), Fraction(-1)),
    "asin": lambda ring, g, p: ring.raised(_one_plus_square(p, -1), -HALF),
    "acos": lambda ring, g, p: scale(ring.raised(_one_plus_square(p, -1), -HALF), -1),
    "asinh": lambda ring, g, p: ring.raised(_one_plus_square(p), -HALF),
    "acosh": lambda ring, g, p: ring.raised(add(_square(p), constant(-1)), -HALF),
    "erf": lambda ring, g, p: scale(ring.function("exp", scale(_square(p), -1)), ERF),
}
RATED = ("tanh", "sigmoid", "exp", "sin", "cos", "tan")
PARITY = {"sin": -1, "cos": 1, "tan": -1, "tanh": -1, "atan": -1, "atanh": -1, "asin": -1, "asinh": -1, "erf": -1}
