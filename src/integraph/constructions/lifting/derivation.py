"""Derivatives of monomials along the flow, written in as few different monomials as the generators allow.

A sum u = p makes monomials ambiguous: x/(1 + x) is 1 − 1/(1 + x), and (x v + y w)/r² is s/r² where s = x v + y w is a
generator. A rule replaces one monomial t of p by u and the rest of p, so that such terms meet and cancel. Sine and
cosine are ambiguous too: cos² is 1 − sin².
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

from integraph.clock import check_deadline
from integraph.constructions.lifting.polynomials import ONE, Monomial, Polynomial, content, power, scale, times
from integraph.constructions.lifting.ring import SUM, Generator, Ring

REPLACEMENTS = 5_000  # in one derivative: rules that go round in circles are given up
LONG = 4096  # bits of a coefficient: those of rules that go round in circles grow, too


class CircularRulesError(ValueError):
    """Rules that replace each other's results for ever, or by ever longer numbers."""


@dataclass(frozen=True, slots=True)
class Rule:
    """t → (u − (p − c t))/c, wherever u has a negative or fractional exponent, or `always` beside other generators;
    the square of a sine or cosine, everywhere."""

    t: Monomial
    replacement: Polynomial
    always: bool


class Derivation:
    """The derivation of a closed ring, with rules for some of its sums. Where these are `shallow`, x²/(1 + x)² stays:
    it is a square already."""

    def __init__(self, ring: Ring, rules: Mapping[int, Rule], *, shallow: bool = False) -> None:
        self.ring, self.rules, self.shallow = ring, rules, shallow
        self._known: dict[Monomial, Polynomial] = {}
        self._order = {number: place for place, number in enumerate(rules)}
        self._always = [number for number, rule in rules.items() if rule.always]

    def __call__(self, m: Monomial) -> Polynomial:
        derivative = self._known.get(m)
        if derivative is None:
            derivative = self._known[m] = self.normal(self.ring.derive_monomial(m))
        return derivative

    def normal(self, p: Polynomial) -> Polynomial:
        """The same polynomial after all rules."""
        if not self.rules:
            return p
        waiting = dict(p)
        done: dict[Monomial, Fraction] = {}
        for _ in range(REPLACEMENTS):
            check_deadline()
            if not waiting:
                return {monomial: value for monomial, value in done.items() if value}
            monomial, value = waiting.popitem()
            if value.denominator.bit_length() > LONG:
                raise CircularRulesError
            rule = self._rule(monomial) if value else None
            if rule is None:
                done[monomial] = done.get(monomial, Fraction(0)) + value
                continue
            for other, factor in scale(rule.replacement, value, times(monomial, power(rule.t, -1))).items():
                waiting[other] = waiting.get(other, Fraction(0)) + factor
        raise CircularRulesError

    def _rule(self, monomial: Monomial) -> Rule | None:
        exponents = dict(monomial)
        if self.shallow and any(e < -1 and self.ring.generators[n].op == SUM for n, e in monomial):
            return None
        numbers = {*self._always, *(number for number in exponents if number in self.rules)}
        for number in sorted(numbers, key=self._order.__getitem__):
            rule = self.rules[number]
            if any(exponents.get(n, 0) < e for n, e in rule.t):
                continue
            own = exponents.get(number, 0)
            if rule.t == ((number, 2),) or own < 0 or Fraction(own).denominator > 1:
                return rule
            if rule.always and any(n >= self.ring.states for n, _ in times(monomial, power(rule.t, -1))):
                return rule
        return None


def rule_of(ring: Ring, number: int, choice: int, *, always: bool) -> Rule | None:
    """The rule of a sum that replaces its monomial of this number, counted without the constant and from the last;
    those that have negative exponents are replaced by none."""
    p = ring.generators[number].argument
    assert p is not None
    usable = [m for m in p if m and all(Fraction(e).denominator == 1 and e > 0 for _, e in m)]
    if not usable:
        return None
    t = usable[-1 - choice % len(usable)]
    rest = {monomial: -value / p[t] for monomial, value in p.items() if monomial != t}
    return Rule(t, {((number, 1),): 1 / p[t], **rest}, always)


def square_rules(ring: Ring, op: str) -> dict[int, Rule]:
    """The rules that replace the squares of sines by those of cosines, or the other way."""
    other = {"sin": "cos", "cos": "sin"}[op]
    partners = {_key(one): number for number, one in enumerate(ring.generators) if one.op == other}
    return {
        number: Rule(((number, 2),), {ONE: Fraction(1), ((partners[_key(one)], 2),): Fraction(-1)}, True)
        for number, one in enumerate(ring.generators)
        if one.op == op
    }


def _key(one: Generator) -> frozenset[tuple[Monomial, Fraction]]:
    assert one.argument is not None
    return frozenset(one.argument.items())


def derived_sums(ring: Ring, derivative: Polynomial) -> list[Polynomial]:
    """Polynomials in states that stand, with other factors, in a derivative: candidates for new generators, without
    what divides them."""
    groups: dict[Monomial, dict[Monomial, Fraction]] = {}
    for monomial, value in derivative.items():
        outer = tuple(pair for pair in monomial if pair[0] >= ring.states)
        inner = tuple(pair for pair in monomial if pair[0] < ring.states)
        groups.setdefault(outer, {})[inner] = value
    primitive = [scale(group, 1, power(content(group), -1)) for group in groups.values() if len(group) > 1]
    return [p for p in primitive if any(len(m) + sum(e for _, e in m) > 2 for m in p)]


def sums(ring: Ring) -> list[int]:
    return [number for number, one in enumerate(ring.generators) if one.op == SUM]


def is_affine(ring: Ring, number: int, beside: Collection[int] = ()) -> bool:
    """Whether a sum is affine in the states, and in these generators beside."""
    p = ring.generators[number].argument
    return p is not None and all(
        m == ONE or (len(m) == 1 and m[0][1] == 1 and (m[0][0] < ring.states or m[0][0] in beside)) for m in p
    )
