"""The search for new variables, as a problem over whole numbers.

A monomial is one integer: exponents, times a common denominator, in fields of equal width, so that a product is a sum.
Wanted are as few monomials as possible such that every monomial in the derivatives of states and new variables is a
product of at most two of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from integraph.constructions.lifting.polynomials import Monomial, Polynomial

SPLITS = 4_000  # ways to write a monomial as a product that are all tried
ROOM = 10  # bits of a field beside those of the largest exponent
MARGIN = 3  # how far exponents of new variables may lie outside those of the equations, as a factor, or one whole power


class Node(NamedTuple):
    """A set of variables, the products of two of them, and what of their derivatives is no such product."""

    variables: list[int]
    products: set[int]
    missing: set[int]


class Problem:
    """`derivative` is that of a monomial; `known` are the monomials that cost nothing, `given` products that cost
    nothing although they are not products of two of them; `signed` are generators that are never 0."""

    def __init__(
        self,
        generators: int,
        derivative: Callable[[Monomial], Polynomial],
        known: Iterable[Monomial],
        given: Iterable[Monomial] = (),
        signed: Iterable[int] = (),
        states: int = 0,
    ) -> None:
        known, given, self.derivative = list(known), list(given), derivative
        first = [m for v in known if v for m in derivative(v)]
        atoms: list[Monomial] = [((n, 1),) for n in range(states, generators)]
        first += [m for v in atoms for m in derivative(v)]
        seen = [*known, *given, *first, *(m for w in first for m in derivative(w))]
        self.count = generators
        self.scales = [1] * generators
        largest = [1] * generators
        for each in seen:
            for number, exponent in each:
                self.scales[number] = lcm(self.scales[number], Fraction(exponent).denominator)
        self.signed = set(signed)
        for m in first:
            for number, exponent in m:
                if exponent < 0 or Fraction(exponent).denominator > 1:
                    self.signed.add(number)
                largest[number] = max(largest[number], int(abs(Fraction(exponent)) * self.scales[number]))
        self.limit = [max(MARGIN * size, size + one) for size, one in zip(largest, self.scales, strict=True)]
        self.bits = max(self.limit).bit_length() + ROOM
        self.half, self.mask = 1 << (self.bits - 1), (1 << self.bits) - 1
        self.guard = self.half >> 3  # no exponent of a new variable is larger, so that no field overflows
        self.complete = not self.signed  # then all products of non-negative powers are tried
        self.known = [self.pack(m) for m in known]
        self.given = {self.pack(m) for m in given}
        self._needs: dict[int, frozenset[int]] = {}
        self._splits: dict[int, tuple[tuple[int, int], ...]] = {}
        self._factors: dict[int, frozenset[int]] = {}
        self._allowed: dict[int, bool] = {}

    def root(self) -> Node:
        """What is known, and nothing new."""
        products = self.given | {a + b for a in self.known for b in self.known}
        return Node(list(self.known), products, set().union(*(self.needs(v) for v in self.known)) - products)

    def extended(self, node: Node, new: Iterable[int]) -> Node:
        """The same with new variables."""
        variables, products, missing = list(node.variables), set(node.products), set(node.missing)
        for w in new:
            variables.append(w)
            products.update([w + v for v in variables])
            missing |= self.needs(w)
        missing -= products
        return Node(variables, products, missing)

    def pack(self, m: Monomial) -> int:
        return sum(int(e * self.scales[n]) << (self.bits * n) for n, e in m)

    def exponents(self, packed: int) -> list[int]:
        fields = []
        for _ in range(self.count):
            field = ((packed + self.half) & self.mask) - self.half
            fields.append(field)
            packed = (packed - field) >> self.bits
        return fields

    def monomial(self, packed: int) -> Monomial:
        fields = (Fraction(e, s) for e, s in zip(self.exponents(packed), self.scales, strict=True))
        return tuple((n, int(e) if e.denominator == 1 else e) for n, e in enumerate(fields) if e)

    def needs(self, packed: int) -> frozenset[int]:
        """The monomials of the derivative."""
        needs = self._needs.get(packed)
        if needs is None:
            needs = self._needs[packed] = frozenset(map(self.pack, self.derivative(self.monomial(packed))))
        return needs

    def allowed(self, packed: int) -> bool:
        """Whether it may be a new variable: negative powers only of what is never 0, and nothing gigantic."""
        allowed = self._allowed.get(packed)
        if allowed is None:
            fields = self.exponents(packed)
            if self.complete and max(fields) > self.guard:
                self.complete = False
            allowed = self._allowed[packed] = all(
                (n in self.signed or (e >= 0 and e % self.scales[n] == 0))
                and abs(e) <= (self.guard if self.complete else self.limit[n])
                for n, e in enumerate(fields)
            )
        return allowed

    def splits(self, packed: int) -> tuple[tuple[int, int], ...]:
        """Pairs of allowed monomials whose product it is, each between 1 and it in every exponent."""
        splits = self._splits.get(packed)
        if splits is None:
            ranges = [self._between(n, e) for n, e in enumerate(self.exponents(packed))]
            ways = 1
            for each in ranges:
                ways *= len(each)
            if ways > SPLITS:
                self.complete = False
                ranges = [sorted({each[0], each[-1]}) for each in ranges]
            halves = (
                {sum(e << (self.bits * n) for n, e in enumerate(fields)) for fields in itertools.product(*ranges)}
                if ways <= SPLITS or 2 ** len([r for r in ranges if len(r) > 1]) <= SPLITS
                else {0}
            )
            splits = self._splits[packed] = tuple(
                sorted(
                    {
                        (min(a, packed - a), max(a, packed - a))
                        for a in halves
                        if self.allowed(a) and self.allowed(packed - a)
                    }
                )
            )
        return splits

    def hardness(self, packed: int) -> tuple[int, int]:
        """Few splits come first, then the smaller integer."""
        return len(self.splits(packed)), packed

    def factors(self, packed: int) -> frozenset[int]:
        """All that stands in its splits."""
        factors = self._factors.get(packed)
        if factors is None:
            factors = self._factors[packed] = frozenset(itertools.chain(*self.splits(packed)))
        return factors

    def _between(self, number: int, exponent: int) -> list[int]:
        step = self.scales[number]
        whole = range(0, exponent, step if exponent > 0 else -step)
        return sorted({*whole, *(exponent - e for e in whole), exponent})
