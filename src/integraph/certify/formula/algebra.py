"""Sums of products of atoms, with fractions as coefficients: a normal form in which equal formulas mostly are equal.

A product is a tuple of (atom, exponent), sorted; a sum is a table product → coefficient. Atoms are variables, functions
of sums, e^sum (at most one in a product: e^a·e^b is e^(a+b)), sums of several terms as bases of powers, and numbers
under roots. Atoms and sums are numbered, and equal ones have one number.

Every rewriting holds wherever both sides are defined, if the sums in `positive` are > 0: (x·y)^½ = x^½·y^½ needs that
of x and of y. Each needs at most those before it. A user of a normal form must prove all that, or avoid such
rewritings (`splits` is False).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from integraph.certify.problem import Unprovable
from integraph.clock import check_deadline

Product = tuple[tuple[int, Fraction], ...]
Sum = dict[Product, Fraction]
TERMS = 1000  # of a sum
WORK = 2_000_000  # terms that are added and multiplied in all
LONG = 16_384  # bits of a coefficient
ONE = Fraction(1)
UNIT: Product = ()
SUM, EXP, NUMBER = "sum", "exp", "number"


@dataclass(frozen=True, slots=True)
class AlgebraAtom:
    """`op` is a function, SUM, EXP, NUMBER, "pi", or "variable" with the number of an input as its argument."""

    op: str
    arg: int = -1


class Algebra(ABC):
    def __init__(self, splits: bool = True) -> None:
        self.splits = splits
        self.atoms: list[AlgebraAtom] = []
        self.sums: list[Sum] = []
        self.fixed: list[bool] = []  # atoms that no variable has a part in
        self.positive: dict[int, None] = {}  # numbers of sums, in the order in which they were needed
        self.multiples: dict[int, list[tuple[int, Fraction]]] = {}  # sums that are a factor times others
        self._work = 0
        self._atoms: dict[AlgebraAtom, int] = {}
        self._sums: dict[frozenset[tuple[Product, Fraction]], int] = {}

    def atom(self, op: str, arg: int = -1) -> int:
        key = AlgebraAtom(op, arg)
        number = self._atoms.get(key)
        if number is None:
            number = self._atoms[key] = len(self.atoms)
            self.atoms.append(key)
            self.fixed.append(op == "pi" or (op != "variable" and self.is_fixed(self.sums[arg])))
        return number

    def is_fixed(self, f: Sum) -> bool:
        return all(self.fixed[a] for product in f for a, _ in product)

    def number(self, f: Sum) -> int:
        """The number of a sum."""
        key = frozenset(f.items())
        number = self._sums.get(key)
        if number is None:
            number = self._sums[key] = len(self.sums)
            self.sums.append(f)
        return number

    def single(self, atom: int, exponent: Fraction = ONE) -> Sum:
        return {((atom, exponent),): ONE}

    def variable(self, i: int) -> Sum:
        return self.single(self.atom("variable", i))

    def function(self, op: str, f: Sum) -> Sum:
        """An atom."""
        return self.single(self.atom(op, self.number(f)))

    def add(self, f: Sum, g: Sum) -> Sum:
        self._worked(len(f) + len(g))
        merged = dict(f)
        for product, c in g.items():
            total = merged.get(product, 0) + c
            if total:
                merged[product] = total
            else:
                merged.pop(product, None)
        return self._small(merged)

    def scaled(self, f: Sum, c: Fraction) -> Sum:
        return self._small({product: c * b for product, b in f.items()} if c else {})

    def multiply(self, f: Sum, g: Sum) -> Sum:
        self._worked(len(f) * len(g))
        terms: Sum = {}
        for a, b in f.items():
            for c, d in g.items():
                terms = self._into(terms, self._joined(a, c), b * d)
        return self._small({product: c for product, c in terms.items() if c})

    def _into(self, total: Sum, more: Sum, c: Fraction) -> Sum:
        for product, b in more.items():
            total[product] = total.get(product, Fraction(0)) + c * b
        return total

    def _joined(self, a: Product, b: Product) -> Sum:
        """The product of two products: one exponential, no powers of sums or numbers that can be computed."""
        exponents: dict[int, Fraction] = {}
        grown: Sum = {}
        for atom, e in a + b:
            if self.atoms[atom].op == EXP:
                grown = self.add(grown, self.scaled(self.sums[self.atoms[atom].arg], e))
            else:
                exponents[atom] = exponents.get(atom, Fraction(0)) + e
        if grown:
            exponents[self.atom(EXP, self.number(grown))] = ONE
        computed = [atom for atom, e in exponents.items() if self._computes(atom, e)]
        rest = tuple(sorted((atom, e) for atom, e in exponents.items() if e and atom not in computed))
        product: Sum = {rest: ONE}
        for atom in computed:
            product = self.multiply(product, self.power(self.sums[self.atoms[atom].arg], exponents[atom]))
        return product

    def _computes(self, atom: int, e: Fraction) -> bool:
        op = self.atoms[atom].op
        return e.denominator == 1 and e != 0 and (op == NUMBER or (op == SUM and e > 0 and self._expands(atom, int(e))))

    def _expands(self, atom: int, n: int) -> bool:
        return comb(len(self.sums[self.atoms[atom].arg]) + n - 1, n) <= TERMS

    def power(self, f: Sum, a: Fraction) -> Sum:
        """f^a, where the rewritings hold (see the top of the file)."""
        if a == 0:
            return {UNIT: ONE}
        if not f:
            if a < 0:
                raise Unprovable("0 is raised to a negative power")
            return {}
        if len(f) == 1:
            ((product, c),) = f.items()
            return self._power_of_term(product, c, a)
        if a.denominator == 1 and a > 0 and comb(len(f) + int(a) - 1, int(a)) <= TERMS:
            power = {UNIT: ONE}
            for _ in range(int(a)):
                power = self.multiply(power, f)
            return power
        base, c = self.base(f, signed=a.denominator == 1)
        return self.multiply(self.number_power(c, a), self.single(self.atom(SUM, base), a))

    def _power_of_term(self, product: Product, c: Fraction, a: Fraction) -> Sum:
        power = self.number_power(c, a)
        if a.denominator > 1 and product and not self.splits:
            return self.multiply(power, self.single(self.atom(SUM, self.number({product: ONE})), a))
        for atom, e in product:
            if self.atoms[atom].op == EXP:
                grown = self.scaled(self.sums[self.atoms[atom].arg], a)
                power = self.multiply(power, self.function(EXP, grown))
                continue
            if a.denominator > 1:
                self.positive[self.number(self.single(atom))] = None
            power = self.multiply(power, {((atom, e * a),): ONE})
        return power

    def number_power(self, c: Fraction, a: Fraction) -> Sum:
        if a.denominator == 1 and c:
            if abs(a) * max(c.numerator.bit_length(), c.denominator.bit_length()) > LONG:
                raise Unprovable(f"a number of the formula has more than {LONG} bits")
            return {UNIT: c ** int(a)}
        if c <= 0:
            raise Unprovable(f"{float(c):g} is raised to the power {a}")
        return {UNIT: ONE} if c == 1 else self.single(self.atom(NUMBER, self.number({UNIT: c})), a)

    def base(self, f: Sum, signed: bool) -> tuple[int, Fraction]:
        """(number of f/c, c), such that what differs by a factor has one base; c > 0 unless it is `signed`."""
        c = self.leading(f)
        c = c if signed else abs(c)
        return self.multiple(f, 1 / c), c

    def multiple(self, f: Sum, c: Fraction) -> int:
        """The number of c·f, recorded as a multiple of f."""
        number = self.number(self.scaled(f, c))
        self.multiples.setdefault(number, []).append((self.number(f), c))
        return number

    @abstractmethod
    def leading(self, f: Sum) -> Fraction:
        """The coefficient that is made 1, or nearly 1."""

    def ln(self, f: Sum) -> Sum:
        """Of a product the sum of the logarithms, of a sum up to a factor."""
        if not f:
            raise Unprovable("the logarithm of 0")
        if len(f) > 1 or next(iter(f.values())) < 0 or not self.splits:
            base, c = self.base(f, signed=False)
            return self.add(self._ln_number(c), self.single(self.atom("ln", base)))
        ((product, c),) = f.items()
        logarithm = self._ln_number(c)
        for atom, e in product:
            kind, inner = self.atoms[atom], self.single(atom)
            if kind.op == EXP:
                logarithm = self.add(logarithm, self.scaled(self.sums[kind.arg], e))
                continue
            if kind.op == "sigmoid":  # is > 0 everywhere, and its logarithm at x is −softplus(−x)
                below = self.function("softplus", self.scaled(self.sums[kind.arg], -ONE))
                logarithm = self.add(logarithm, self.scaled(below, -e))
                continue
            self.positive[self.number(inner)] = None
            argument = self.number(inner) if kind.op != SUM else kind.arg
            logarithm = self.add(logarithm, self.scaled(self.single(self.atom("ln", argument)), e))
        return logarithm

    def _ln_number(self, c: Fraction) -> Sum:
        return {} if c == 1 else self.single(self.atom("ln", self.number({UNIT: c})))

    def exp(self, f: Sum) -> Sum:
        return self.function(EXP, f) if f else {UNIT: ONE}

    def _worked(self, terms: int) -> None:
        check_deadline()
        self._work += terms
        if self._work > WORK:
            raise Unprovable(f"a normal form takes more than {WORK} operations")

    def _small(self, f: Sum) -> Sum:
        if len(f) > TERMS:
            raise Unprovable(f"a sum of {len(f)} terms, at most {TERMS} are compared")
        if any(c.numerator.bit_length() + c.denominator.bit_length() > LONG for c in f.values()):
            raise Unprovable(f"a number of the formula has more than {LONG} bits")
        return f
