"""The shape of a normal form: the form with its numbers rounded to a few digits.

A formula and what is compiled from it differ in the last bits of their constants. Their shapes are the same, and
tell which part of one stands for which part of the other. Nothing that is proved depends on that: parts that are paired
wrongly, or not at all, have a large difference.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction
from functools import lru_cache

from flint import arb

from integraph.certify.formula.algebra import NUMBER, ONE, SUM, UNIT, Algebra, Product, Sum
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import precision
from integraph.numbers.arb.jet_functions import coefficients
from integraph.numbers.arb.jet_powers import power

DIGITS = 9  # that a rounded number keeps
TINY = 1e-12  # share of the largest coefficient below which a term is none
BITS = 192  # with which constants are rounded
Key = tuple[tuple[int, str], ...]


class ShapeAlgebra(Algebra):
    def __init__(self, splits: bool = True) -> None:
        super().__init__(splits)
        self._shapes: dict[Hashable, int] = {}
        self._of_atom: dict[int, int] = {}
        self._of_sum: dict[int, int] = {}

    def atom(self, op: str, arg: int = -1) -> int:
        """The shape is computed at once, when those of its parts are known: no deep recursion."""
        number = super().atom(op, arg)
        if not self.fixed[number]:
            self.shape_of_atom(number)
        return number

    def _shape(self, key: Hashable) -> int:
        return self._shapes.setdefault(key, len(self._shapes))

    def split(self, product: Product) -> tuple[Product, Product]:
        """What varies, and what does not."""
        varies = tuple(part for part in product if not self.fixed[part[0]])
        return varies, tuple(part for part in product if self.fixed[part[0]])

    def grouped(self, f: Sum) -> dict[Product, Sum]:
        """For each product that varies its coefficient, a sum of constants."""
        groups: dict[Product, Sum] = {}
        for product, c in f.items():
            varies, fixed = self.split(product)
            groups.setdefault(varies, {})[fixed] = c
        return groups

    def constant(self, f: Sum) -> arb:
        """The value of a sum of constants at the precision of the moment."""
        total = arb(0)
        for product, c in f.items():
            value = arb(c.numerator) / c.denominator
            for atom, e in product:
                value = value * power(self._value(atom), e, 0)[0]
            total = total + value
        return total

    def _value(self, atom: int) -> arb:
        check_deadline()
        op, arg = self.atoms[atom].op, self.atoms[atom].arg
        if op == "pi":
            return arb.pi()
        inner = self.constant(self.sums[arg])
        return inner if op in (SUM, NUMBER) else coefficients(op, inner, 0)[0]

    def _sizes(self, f: Sum) -> dict[Product, float]:
        """The coefficients, roughly; terms that are nothing beside others are left out."""
        check_deadline()
        with precision(BITS):
            sizes = {product: float(self.constant(c).mid()) for product, c in self.grouped(f).items()}
        most = max((abs(c) for c in sizes.values() if math.isfinite(c)), default=0.0)
        return {product: c for product, c in sizes.items() if TINY * most < abs(c) < math.inf}

    def shape(self, number: int) -> int:
        """Of a sum."""
        if number not in self._of_sum:
            sizes = self._sizes(self.sums[number])
            key = frozenset((self.key(product), _rounded(c)) for product, c in sizes.items())
            self._of_sum[number] = self._shape((SUM, key))
        return self._of_sum[number]

    def key(self, product: Product) -> Key:
        """The shape of a product that varies."""
        return tuple(sorted((self.shape_of_atom(atom), _exponent(e)) for atom, e in product))

    def shape_of_atom(self, atom: int) -> int:
        if atom not in self._of_atom:
            op, arg = self.atoms[atom].op, self.atoms[atom].arg
            self._of_atom[atom] = self._shape((op, arg if op == "variable" else self.shape(arg)))
        return self._of_atom[atom]

    def leading(self, f: Sum) -> Fraction:
        """The coefficient of the last product, by its shape, of those that matter: what it is, or near it if it is no
        fraction."""
        sizes, groups = self._sizes(f), self.grouped(f)
        last = max(sizes, key=lambda product: (self.key(product), product), default=None)
        if last is None:
            return ONE
        exact = groups[last].get(UNIT) if len(groups[last]) == 1 else None
        return exact or Fraction(sizes[last])

    def odd(self, op: str, f: Sum, sign: int = -1) -> Sum:
        """F(f) of an odd function, or of an even one (sign = 1), whose argument is made to lead with a plus."""
        if not f or self.leading(f) > 0:
            return self.single(self.atom(op, self.number(f)))
        mirrored = self.single(self.atom(op, self.multiple(f, Fraction(-1))))
        return self.scaled(mirrored, Fraction(sign))


@lru_cache(maxsize=4096)
def _exponent(e: Fraction) -> str:
    return _rounded(float(e))


def _rounded(c: float) -> str:
    return format(c, f".{DIGITS}e")
