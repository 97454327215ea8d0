"""The normal form of every step of a tape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from integraph.certify.formula.algebra import ONE, UNIT, Product, Sum
from integraph.certify.formula.shapes import ShapeAlgebra
from integraph.certify.formula.symbols import Symbol, SymbolTable
from integraph.certify.problem import Unprovable
from integraph.numbers.balls import rational
from integraph.targets.expression import NUMBER, VARIABLE, Step

HALF = Fraction(1, 2)
ROUNDS = 200  # of a long division
Rule = Callable[[ShapeAlgebra, Sum], Sum]


class NormalForms(ShapeAlgebra):
    """Normal forms of the steps of a symbol table, computed when they are needed."""

    def __init__(self, book: SymbolTable, signs: Mapping[int, int] | None = None) -> None:
        """`signs` are those that some steps seem to have, +1 or −1: where they matter they will have to be shown.
        Without them a normal form needs nothing to be shown."""
        super().__init__(splits=signs is not None)
        self.book, self.signs = book, signs or {}
        self.needed: list[int] = []  # for each step, how many of `positive` its normal form can need
        self._known: list[Sum | str] = []  # or why there is none

    def of(self, step: int) -> Sum:
        """Raises Unprovable where there is no normal form."""
        while len(self._known) <= step:
            try:
                self._known.append(self._step(self.book.tape.steps[len(self._known)]))
            except Unprovable as why:
                self._known.append(str(why))
            self.needed.append(len(self.positive))
        normal = self._known[step]
        if isinstance(normal, str):
            raise Unprovable(normal)
        return normal

    def symbol(self, symbol: Symbol) -> Sum:
        return self.of(symbol.step) if symbol.number is None else {UNIT: symbol.number} if symbol.number else {}

    def _step(self, step: Step) -> Sum:
        if step.op == VARIABLE:
            return self.variable(self.book.tape.variables.index(step.text))
        if step.op == NUMBER:
            return self._number(step.text)
        args = [self.of(n) for n in step.args]
        match step.op:
            case "neg":
                return self.scaled(args[0], -ONE)
            case "add":
                return self.add(args[0], args[1])
            case "sub":
                return self.add(args[0], self.scaled(args[1], -ONE))
            case "mul":
                return self.multiply(args[0], args[1])
            case "div":
                return self.multiply(args[0], self.raised(step.args[1], -ONE))
            case "power" if step.text:
                return self.raised(step.args[0], Fraction(step.text))
            case "sqrt":
                return self.raised(step.args[0], HALF)
            case "power":
                return self.exp(self.multiply(args[1], self.ln(args[0])))
        if step.op in CONDITIONAL and self.splits:
            return CONDITIONAL[step.op](self, args[0], self.signs.get(step.args[0]))
        if step.op not in RULES:
            raise Unprovable(f"{step.op} has no normal form")
        return RULES[step.op](self, args[0])

    def _number(self, text: str) -> Sum:
        exact = rational(text)
        if exact is not None:
            return {UNIT: exact} if exact else {}
        if text == "pi":
            return self.single(self.atom("pi"))
        if text == "e":
            return self.exp({UNIT: ONE})
        raise Unprovable(f"{text} is too large or too small to be compared")

    def raised(self, step: int, a: Fraction) -> Sum:
        """A power of a step, factor by factor of what it multiplies, divides and raises, as programs are compiled."""
        product: Sum = {UNIT: ONE}
        waiting = [(step, a)]
        while waiting:
            n, b = waiting.pop()
            factors = self._factors(self.book.tape.steps[n], b)
            waiting += factors
            if not factors:
                product = self.multiply(product, self.power(self.of(n), b))
        return product

    def _factors(self, step: Step, a: Fraction) -> list[tuple[int, Fraction]]:
        """(u·v)^a = u^a·v^a and (u^b)^a = u^(ab): for whole exponents, or where u and v are > 0."""
        b = Fraction(step.text) if step.op == "power" and step.text else None
        if (a.denominator == 1 and a > 0) or not (step.op in ("mul", "div") or b is not None):
            return []
        bases = step.args if b is None else step.args[:1]
        if a.denominator > 1 or (b is not None and b.denominator > 1):
            if not all(self.signs.get(n) == 1 for n in bases):
                return []
            self.positive.update((self.number(self.of(n)), None) for n in bases)
        if b is not None:
            return [(bases[0], a * b)]
        return [(bases[0], a), (bases[1], a if step.op == "mul" else -a)]

    def plain(self, symbol: Symbol) -> Symbol:
        """A number, if the symbol is one in disguise."""
        try:
            normal = self.symbol(symbol)
        except Unprovable:
            return symbol
        return self.book.symbol(normal.get(UNIT, 0)) if normal.keys() <= {UNIT} else symbol

    def quotient(self, a: Symbol, b: Symbol) -> Symbol | None:
        """q with a = q·b wherever q is defined, if there is one; by long division."""
        f, g = self.symbol(a), self.symbol(b)
        atoms = sorted({atom for h in (f, g) for product in h for atom, _ in product})
        if not g:
            return None

        def order(product: Product) -> tuple[Fraction, ...]:
            exponents = dict(product)
            return tuple(exponents.get(atom, Fraction(0)) for atom in atoms)

        first = max(g, key=order)
        total: Sum = {}
        rest = f
        for _ in range(ROUNDS):
            if not rest:
                return self.written(total)
            lead = max(rest, key=order)
            inverse: Product = tuple((atom, -e) for atom, e in first)
            term = self.multiply({lead: rest[lead] / g[first]}, {inverse: ONE})
            total = self.add(total, term)
            rest = self.add(rest, self.scaled(self.multiply(term, g), -ONE))
        return None

    def written(self, f: Sum) -> Symbol:
        """A sum as a symbol."""
        total = self.book.symbol(0)
        for product, c in f.items():
            term = self.book.symbol(c)
            for atom, e in product:
                term = term * self._written(atom).power(e)
            total = total + term
        return total

    def _written(self, atom: int) -> Symbol:
        op, arg = self.atoms[atom].op, self.atoms[atom].arg
        if op == "variable":
            return self.book.inputs[arg]
        if op == "pi":
            return self.book.pi()
        inner = self.written(self.sums[arg])
        return inner if op in ("sum", "number") else inner.function(op)


def _sine(n: ShapeAlgebra, f: Sum) -> Sum:
    return n.odd("sin", f)


def _cosine(n: ShapeAlgebra, f: Sum) -> Sum:
    return n.odd("cos", f, 1)


def _shifted(n: ShapeAlgebra, f: Sum, c: Fraction = ONE) -> Sum:
    return n.add(f, {UNIT: c})


def _asin(n: ShapeAlgebra, f: Sum, sign: int | None = None) -> Sum:
    """atan(x (1 − x²)^−½), for |x| < 1."""
    rest = _shifted(n, n.scaled(n.multiply(f, f), -ONE))
    n.positive[n.number(rest)] = None
    return n.odd("atan", n.multiply(f, n.power(rest, -HALF)))


def _acos(n: ShapeAlgebra, f: Sum, sign: int | None) -> Sum:
    return n.add(n.scaled(n.single(n.atom("pi")), HALF), n.scaled(_asin(n, f), -ONE))


def _acosh(n: ShapeAlgebra, f: Sum) -> Sum:
    """2 asinh √((x − 1)/2)."""
    half = n.scaled(_shifted(n, f, -ONE), HALF)
    return n.scaled(n.odd("asinh", n.power(half, HALF)), Fraction(2))


def _atanh(n: ShapeAlgebra, f: Sum) -> Sum:
    above, below = n.ln(_shifted(n, f)), n.ln(_shifted(n, n.scaled(f, -ONE)))
    return n.scaled(n.add(above, n.scaled(below, -ONE)), HALF)


def _logarithm(base: int) -> Rule:
    return lambda n, f: n.multiply(n.ln(f), n.power(n.ln({UNIT: Fraction(base)}), -ONE))


def _cbrt(n: ShapeAlgebra, f: Sum, sign: int | None) -> Sum:
    """−(−x)^⅓ of a negative x; for either sign it has no other name."""
    if sign is None:
        return n.odd("cbrt", f)
    return n.scaled(n.power(_size(n, f, sign), Fraction(1, 3)), Fraction(sign))


def _abs(n: ShapeAlgebra, f: Sum, sign: int | None) -> Sum:
    if sign is None:
        raise Unprovable("abs has no normal form where its argument can have either sign")
    return _size(n, f, sign)


def _size(n: ShapeAlgebra, f: Sum, sign: int) -> Sum:
    """|f| of a known sign."""
    size = n.scaled(f, Fraction(sign))
    n.positive[n.number(size)] = None
    return size


RULES: dict[str, Rule] = {
    "exp": lambda n, f: n.exp(f),
    "expm1": lambda n, f: _shifted(n, n.exp(f), -ONE),
    "ln": lambda n, f: n.ln(f),
    "log1p": lambda n, f: n.ln(_shifted(n, f)),
    "log2": _logarithm(2),
    "log10": _logarithm(10),
    "sin": _sine,
    "cos": _cosine,
    "tan": lambda n, f: n.multiply(_sine(n, f), n.power(_cosine(n, f), -ONE)),
    "sinh": lambda n, f: n.odd("sinh", f),
    "cosh": lambda n, f: n.odd("cosh", f, 1),
    "tanh": lambda n, f: n.odd("tanh", f),
    "acosh": _acosh,
    "atanh": _atanh,
    "atan": lambda n, f: n.odd("atan", f),
    "asinh": lambda n, f: n.odd("asinh", f),
    "erf": lambda n, f: n.odd("erf", f),
    "sigmoid": lambda n, f: n.function("sigmoid", f),
    "softplus": lambda n, f: n.function("softplus", f),
}
CONDITIONAL: dict[
    str, Callable[[ShapeAlgebra, Sum, int | None], Sum]
] = {  # of a domain, or by the sign of the argument
    "asin": _asin,
    "acos": _acos,
    "cbrt": _cbrt,
    "abs": _abs,
}
