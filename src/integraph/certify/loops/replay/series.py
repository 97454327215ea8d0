"""Taylor coefficients in time of a formula along solutions of x' = f(x, u), over any arithmetic: rows or intervals.

A stream computes its coefficients when they are asked for, from those of its arguments; None is 0. A function y = F(a)
with y' = D·a' has y_j = Σ (i/j) a_i D_(j−i), D being another stream, of which only orders below j are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from flint import arb

from integraph.certify.problem import Unprovable
from integraph.numbers.arb.conversion import ONE
from integraph.targets.expression import CONSTANTS, NUMBER, VARIABLE, Expression, Step

INVERSE = Fraction(-1)
MOST = 64  # the highest power that is a product


@dataclass(frozen=True, slots=True)
class Ring:
    """What an arithmetic does beyond +, − and `scaled`."""

    number: Callable[[arb], Any]
    dot: Callable[[Any, int], Any]
    function: Callable[[str | Fraction, Any], Any]


class Stream:
    """Coefficients 0, 1, … of a value."""

    def __init__(self, rule: Callable[[int], Any]) -> None:
        self.rule = rule
        self.known: list[Any] = []

    def __getitem__(self, j: int) -> Any:
        while len(self.known) <= j:
            self.known.append(self.rule(len(self.known)))
        return self.known[j]


def held(value: Any) -> Stream:
    """A value that does not change in time."""
    return Stream(lambda j: value if j == 0 else None)


@dataclass(slots=True)
class Streams:
    """Streams over a ring; equal functions of one argument are computed once."""

    ring: Ring
    cache: dict[tuple[str | Fraction, int], Stream] = field(default_factory=dict)
    kept: list[Stream] = field(default_factory=list)  # so that no id is used twice

    def number(self, ball: arb) -> Stream:
        return Stream(lambda j: self.ring.number(ball) if j == 0 else None)

    def add(self, a: Stream, b: Stream) -> Stream:
        return Stream(lambda j: a[j] if b[j] is None else b[j] if a[j] is None else a[j] + b[j])

    def scale(self, factor: arb, a: Stream) -> Stream:
        return Stream(lambda j: None if a[j] is None else a[j].scaled(factor))

    def neg(self, a: Stream) -> Stream:
        return Stream(lambda j: None if a[j] is None else -a[j])

    def mul(self, a: Stream, b: Stream) -> Stream:
        def rule(j: int) -> Any:
            if a is b:
                terms = [(2 if 2 * i < j else 1, a[i], a[j - i]) for i in range(j // 2 + 1)]
            else:
                terms = [(1, a[i], b[j - i]) for i in range(j + 1)]
            return self._dot(terms, 1)

        return Stream(rule)

    def _dot(self, terms: Sequence[tuple[int, Any, Any]], divisor: int) -> Any:
        kept = [(w, x, y) for w, x, y in terms if x is not None and y is not None]
        return self.ring.dot(kept, divisor) if kept else None

    def function(self, name: str | Fraction, a: Stream, slope: Callable[[Stream], Stream]) -> Stream:
        """F(a), with D from F(a)."""
        key = name, id(a)
        if key not in self.cache:
            slopes: list[Stream] = []

            def rule(j: int) -> Any:
                if j == 0:
                    return self.ring.function(name, a[0])
                if not slopes:
                    slopes.append(slope(y))
                return self._dot([(i, a[i], slopes[0][j - i]) for i in range(1, j + 1) if a[i] is not None], j)

            y = self.cache[key] = Stream(rule)
            self.kept.append(a)
        return self.cache[key]

    def inverse(self, a: Stream) -> Stream:
        return self.function(INVERSE, a, lambda y: self.neg(self.mul(y, y)))

    def power(self, a: Stream, exponent: Fraction) -> Stream:
        if exponent.denominator == 1 and 0 <= exponent <= MOST:
            return self._product(a, int(exponent))
        factor = arb(exponent.numerator) / exponent.denominator
        return self.function(exponent, a, lambda y: self.scale(factor, self.mul(y, self.inverse(a))))

    def _product(self, a: Stream, times: int) -> Stream:
        if times < 2:
            return a if times else self.number(ONE)
        half = self._product(a, times // 2)
        square = self.mul(half, half)
        return self.mul(square, a) if times % 2 else square

    def named(self, name: str, a: Stream) -> Stream:
        """A function of one argument."""
        one = self.number(ONE)

        def again(other: str, sign: int = 1) -> Callable[[Stream], Stream]:
            return lambda y: self.scale(arb(sign), self.named(other, a))

        def square(y: Stream) -> Stream:
            return self.mul(y, y)

        def inverse_root(x: Stream) -> Stream:
            return self.power(x, Fraction(-1, 2))

        rules: dict[str, Callable[[Stream], Stream]] = {
            "exp": lambda y: y,
            "expm1": lambda y: self.add(y, one),
            "ln": lambda y: self.inverse(a),
            "log1p": lambda y: self.inverse(self.add(a, one)),
            "log2": lambda y: self.scale(1 / arb(2).log(), self.inverse(a)),
            "log10": lambda y: self.scale(1 / arb(10).log(), self.inverse(a)),
            "sin": again("cos"),
            "cos": again("sin", -1),
            "sinh": again("cosh"),
            "cosh": again("sinh"),
            "tan": lambda y: self.add(one, square(y)),
            "tanh": lambda y: self.add(one, self.neg(square(y))),
            "atan": lambda y: self.inverse(self.add(one, square(a))),
            "asin": lambda y: inverse_root(self.add(one, self.neg(square(a)))),
            "acos": lambda y: self.neg(inverse_root(self.add(one, self.neg(square(a))))),
            "asinh": lambda y: inverse_root(self.add(one, square(a))),
            "acosh": lambda y: inverse_root(self.add(square(a), self.neg(one))),
            "atanh": lambda y: self.inverse(self.add(one, self.neg(square(a)))),
            "erf": lambda y: self.scale(2 / arb.pi().sqrt(), self.named("exp", self.neg(square(a)))),
            "sigmoid": lambda y: self.add(y, self.neg(square(y))),
            "softplus": again("sigmoid"),
        }
        if name in ("sqrt", "cbrt"):
            return self.power(a, Fraction(1, 2 if name == "sqrt" else 3))
        if name not in rules:
            raise Unprovable(f"{name} has no Taylor series here")
        return self.function(name, a, rules[name])

    def formula(self, expression: Expression, inputs: Sequence[Stream]) -> list[Stream]:
        """The outputs."""
        places: list[Stream] = []
        for step in expression.steps:
            args = [places[n] for n in step.args]
            if step.op == VARIABLE:
                places.append(inputs[expression.variables.index(step.text)])
            else:
                places.append(self._step(step, args))
        return [places[n] for n in expression.outputs]

    def _step(self, step: Step, args: list[Stream]) -> Stream:
        match step.op:
            case op if op == NUMBER:
                return self.number(_literal(step.text))
            case "add":
                return self.add(*args)
            case "sub":
                return self.add(args[0], self.neg(args[1]))
            case "neg":
                return self.neg(args[0])
            case "mul":
                return self.mul(*args)
            case "div":
                return self.mul(args[0], self.inverse(args[1]))
            case "power" if step.text:
                return self.power(args[0], Fraction(step.text))
            case "power":
                return self.named("exp", self.mul(args[1], self.named("ln", args[0])))
        return self.named(step.op, args[0])


def _literal(text: str) -> arb:
    if text in CONSTANTS:
        return arb.pi() if text == "pi" else arb.const_e()
    exact = Fraction(text)
    return arb(exact.numerator) / exact.denominator
