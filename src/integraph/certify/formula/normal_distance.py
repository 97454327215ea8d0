"""A bound of |f − f̂| on a box, from normal forms of the same shape.

Terms that stand for each other are subtracted before anything is bounded: c M − ĉ M̂ = (c − ĉ) M + ĉ (M − M̂), and a
difference of products is carried from factor to factor, |Π a − Π â| ≤ Σ_k |a_k − â_k| Π_{i≠k} max(|a_i|, |â_i|), and
through functions by the mean value theorem, |F(u) − F(û)| ≤ sup |F'| |u − û| between them. So the bound is as small as
the differences of the constants, on a box of any size, and in any dimension.

`NormalBound` also shows what the rewriting requires. The ranges of normal forms are much better than those of the
terms, but hold only where the sums in `positive` are > 0. These are shown one after the other, each from the steps that
need only those before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction

from flint import arb

from integraph.certify.formula.algebra import ONE, SUM, Product, Sum
from integraph.certify.formula.normal_form import NormalForms
from integraph.certify.formula.shapes import Key, ShapeAlgebra
from integraph.certify.formula.symbolic_flow import OutputFormulas
from integraph.certify.problem import Unprovable
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import ZERO, Balls, intersection, size, symmetric
from integraph.numbers.arb.jet_functions import coefficients
from integraph.numbers.arb.jet_powers import power
from integraph.numbers.arb.jets import times

UNBOUNDED = arb.pos_inf()
Groups = list[tuple[arb, Product, list[tuple[arb, Product]]]]


class Constants:
    """What a difference needs of the normal forms on every box, at one precision."""

    def __init__(self, algebra: ShapeAlgebra) -> None:
        self.algebra = algebra
        self._values: dict[int, list[tuple[arb, Product]]] = {}
        self._groups: dict[tuple[int, int], Groups] = {}

    def terms(self, number: int) -> list[tuple[arb, Product]]:
        """A sum as coefficients and products that vary."""
        if number not in self._values:
            grouped = self.algebra.grouped(self.algebra.sums[number])
            self._values[number] = [(self.algebra.constant(c), product) for product, c in grouped.items()]
        return self._values[number]

    def groups(self, f: int, g: int) -> Groups:
        """f − g by shapes: (sum of the coefficients, a product, (coefficient, other product of this shape) …)."""
        if (f, g) not in self._groups:
            algebra = self.algebra
            shapes: dict[Key, dict[Product, Sum]] = {}
            for number, sign in ((f, ONE), (g, -ONE)):
                for product, c in algebra.grouped(algebra.sums[number]).items():
                    same = shapes.setdefault(algebra.key(product), {})
                    same[product] = algebra.add(same.get(product, {}), algebra.scaled(c, sign))
            self._groups[f, g] = [self._group(same) for same in shapes.values()]
        return self._groups[f, g]

    def _group(self, same: Mapping[Product, Sum]) -> tuple[arb, Product, list[tuple[arb, Product]]]:
        total: Sum = {}
        for c in same.values():
            total = self.algebra.add(total, c)
        (first, _), *others = same.items()
        return self.algebra.constant(total), first, [(self.algebra.constant(c), product) for product, c in others]


class BoxEvaluation:
    """Ranges and differences on one box. `known` are ranges of sums, by number, `partners` those numbers by shape."""

    def __init__(self, constants: Constants, box: Balls, known: Mapping[int, arb], partners: Mapping[int, int]) -> None:
        self.constants, self.algebra, self.box = constants, constants.algebra, box
        self.known, self.partners = known, partners
        self._ranges: dict[int, arb] = {}
        self._atoms: dict[int, arb] = {}
        self._apart: dict[tuple[int, int], arb] = {}

    def range(self, number: int) -> arb:
        """Of a sum: from its terms, from what is known of it or of a multiple, and from what has its shape."""
        if number not in self._ranges:
            span = self._from_terms(number)
            for other, c in [(number, ONE), *self.algebra.multiples.get(number, ())]:
                if other in self.known:
                    span = intersection(span, self.known[other] * c.numerator / c.denominator)
                elif (partner := self.partners.get(self.algebra.shape(other))) is not None:
                    near = self.known[partner] + symmetric(self.apart(partner, other))
                    span = intersection(span, near * c.numerator / c.denominator)
            self._ranges[number] = span
        return self._ranges[number]

    def _from_terms(self, number: int) -> arb:
        total = ZERO
        for c, product in self.constants.terms(number):
            total = total + c * self._product(product)
        return total

    def _product(self, product: Product) -> arb:
        check_deadline()
        factor = arb(1)
        for atom, e in product:
            factor = times(factor, self._factor(atom, e))
        return factor

    def _factor(self, atom: int, e: Fraction) -> arb:
        return self.atom(atom) if e == 1 else power(self.atom(atom), e, 0)[0]

    def atom(self, atom: int) -> arb:
        if atom not in self._atoms:
            op, arg = self.algebra.atoms[atom].op, self.algebra.atoms[atom].arg
            if op == "variable":
                span = self.box[arg]
            else:
                span = self.range(arg) if op == SUM else coefficients(op, self.range(arg), 0)[0]
            self._atoms[atom] = span
        return self._atoms[atom]

    def apart(self, f: int, g: int) -> arb:
        """A bound of |f − g|; ∞ where there is none."""
        if f == g:
            return ZERO
        if (f, g) not in self._apart:
            total = ZERO
            for c, first, others in self.constants.groups(f, g):
                if not c.is_zero():
                    total = total + size(c * self._product(first))
                for b, product in others:
                    total = total + size(b) * self._products(product, first)
            self._apart[f, g] = size(total)
        return self._apart[f, g]

    def _products(self, a: Product, b: Product) -> arb:
        """|Π a − Π b| of products of one shape."""
        check_deadline()
        pairs = list(zip(self._sorted(a), self._sorted(b), strict=True))
        moved = [self._factors(*pair) for pair in pairs]
        largest = [self._factor(*x).union(self._factor(*y)) for x, y in pairs]
        total = ZERO
        for k, step in enumerate(moved):
            if not step.is_zero():
                for i, ball in enumerate(largest):
                    step = step * size(ball) if i != k else step
                total = total + step
        return size(total)

    def _sorted(self, product: Product) -> list[tuple[int, Fraction]]:
        """By shape, as keys are."""
        return sorted(product, key=lambda part: (self.algebra.key((part,)), part))

    def _factors(self, a: tuple[int, Fraction], b: tuple[int, Fraction]) -> arb:
        """|x^e − y^d| ≤ |e| sup |ξ^(e−1)| |x − y| + |e − d| sup |y^η ln y|, ξ and η between the two."""
        (x, e), (y, d) = a, b
        total = ZERO
        if x != y:
            total = self._arguments(x, y)
            if e != 1:
                slope = power(self.atom(x).union(self.atom(y)), e - 1, 0)[0]
                total = total * size(slope * e.numerator / e.denominator)
        if e != d:
            base = self.atom(y)
            grown = power(base, e, 0)[0].union(power(base, d, 0)[0]) * coefficients("ln", base, 0)[0]
            total = total + size(grown * (e - d).numerator / (e - d).denominator)
        return size(total)

    def _arguments(self, x: int, y: int) -> arb:
        """|F(u) − F(v)| of atoms of one shape."""
        op, u, v = self.algebra.atoms[x].op, self.algebra.atoms[x].arg, self.algebra.atoms[y].arg
        apart = self.apart(u, v)
        if op == SUM or apart.is_zero():
            return apart
        value, slope = coefficients(op, self.range(u).union(self.range(v)), 1)
        return apart * size(slope) if value.is_finite() else UNBOUNDED


class NormalBound:
    """The bound of |f − f̂|: `first` steps of the tape belong to f, whose outputs are `wanted`, the rest to the
    program."""

    pairs: list[tuple[int, int]] | None  # of outputs; None without normal forms

    def __init__(self, normal: NormalForms, first: int, wanted: Sequence[int], written: OutputFormulas) -> None:
        self.normal, self.first = normal, first
        try:
            outputs = list(zip(map(self._number, wanted), map(self._number, written.outputs), strict=True))
            self.alive = [normal.base(normal.of(step), signed=False)[0] for step in written.alive]
        except Unprovable:
            self.alike, self.pairs = False, None
            return
        self.pairs = outputs
        self.alike = all(normal.shape(a) == normal.shape(b) for a, b in outputs)
        self.steps = [(step, number) for step in range(first) if (number := self._varies(step)) is not None]
        needed = [normal.needed[step] for step, _ in self.steps]
        self.positive = [(number, bisect_right(needed, n)) for n, number in enumerate(normal.positive)]
        self._partners: dict[int, dict[int, int]] = {}
        self._constants: dict[int, Constants] = {}

    def _number(self, step: int) -> int:
        return self.normal.number(self.normal.of(step))

    def _varies(self, step: int) -> int | None:
        """The number of a normal form, if there is one and it is no constant."""
        try:
            normal = self.normal.of(step)
        except Unprovable:
            return None
        return None if self.normal.is_fixed(normal) else self.normal.number(normal)

    def partners(self, count: int) -> dict[int, int]:
        if count not in self._partners:
            self._partners[count] = {self.normal.shape(number): number for _, number in self.steps[:count]}
        return self._partners[count]

    def __call__(self, box: Balls, values: Sequence[arb], bits: int) -> arb:
        """`values` are ranges of the steps of f, all finite; ∞ where there is no bound. `bits` names the precision."""
        if self.pairs is None:
            return UNBOUNDED
        try:
            return self._bound(self.pairs, box, values, bits)
        except RecursionError:  # functions of functions of functions …
            return UNBOUNDED

    def _bound(self, pairs: Sequence[tuple[int, int]], box: Balls, values: Sequence[arb], bits: int) -> arb:
        constants = self._constants.setdefault(bits, Constants(self.normal))
        on: dict[int, BoxEvaluation] = {}

        def knowing(count: int) -> BoxEvaluation:
            if count not in on:
                known: dict[int, arb] = {}
                for step, number in self.steps[:count]:
                    check_deadline()
                    known[number] = intersection(values[step], known.get(number, values[step]))
                on[count] = BoxEvaluation(constants, box, known, self.partners(count))
            return on[count]

        if not all(knowing(count).range(number) > 0 for number, count in self.positive):
            return UNBOUNDED
        whole = knowing(len(self.steps))
        if not all(whole.range(number) > 0 for number in self.alive):
            return UNBOUNDED
        bound = ZERO
        for a, b in pairs:
            bound = bound.max(whole.apart(a, b))
        return size(bound)
