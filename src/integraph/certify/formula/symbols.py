"""Formulas as values: exact numbers and steps of a tape, with sums, products and functions.

Constants are folded: sums and products of numbers are fractions, 0·x is 0, 1·x is x.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from integraph.certify.problem import Unprovable
from integraph.targets.expression import NUMBER, VARIABLE, Tape

STEPS = 20_000  # of a tape
LONG = 16_384  # bits of a fraction


class SymbolTable:
    """The tape on which symbols are written."""

    def __init__(self, variables: Sequence[str]) -> None:
        self.tape = Tape(variables)
        self.inputs = [Symbol(self, self.tape.add(VARIABLE, text=name)) for name in self.tape.variables]

    def add(self, op: str, *args: Symbol, text: str = "") -> Symbol:
        if len(self.tape.steps) > STEPS:
            raise Unprovable(f"the program is a formula of more than {STEPS} steps, the limit for a formula")
        return Symbol(self, self.tape.add(op, *(arg.step for arg in args), text=text))

    def symbol(self, value: Any) -> Symbol:
        """An exact number as a symbol."""
        return value if isinstance(value, Symbol) else Symbol(self, Fraction(value))

    def pi(self) -> Symbol:
        return self.add(NUMBER, text="pi")


class Symbol:
    """A fraction, or the number of a step."""

    __slots__ = ("book", "value")

    def __init__(self, book: SymbolTable, value: Fraction | int) -> None:
        if isinstance(value, Fraction) and max(value.numerator.bit_length(), value.denominator.bit_length()) > LONG:
            raise Unprovable(f"a number of the program has more than {LONG} bits")
        self.book, self.value = book, value

    @property
    def number(self) -> Fraction | None:
        return self.value if isinstance(self.value, Fraction) else None

    @property
    def step(self) -> int:
        """Its step, which a number gets when it is first needed."""
        return self.value if isinstance(self.value, int) else literal(self.book.tape, self.value)

    def __neg__(self) -> Symbol:
        return Symbol(self.book, -self.value) if isinstance(self.value, Fraction) else self.book.add("neg", self)

    def __add__(self, other: Any) -> Symbol:
        a, b = self, self.book.symbol(other)
        if a.number is not None and b.number is not None:
            return Symbol(self.book, a.number + b.number)
        if a.number == 0:
            return b
        return a if b.number == 0 else self.book.add("add", a, b)

    def __mul__(self, other: Any) -> Symbol:
        a, b = self, self.book.symbol(other)
        if a.number is None and b.number is not None:
            a, b = b, a
        if a.number is not None and b.number is not None:
            return Symbol(self.book, a.number * b.number)
        if a.number == 0:
            return a
        if a.number in (1, -1):
            return b if a.number == 1 else -b
        return self.book.add("mul", a, b)

    def __sub__(self, other: Any) -> Symbol:
        return self + -self.book.symbol(other)

    def __rsub__(self, other: Any) -> Symbol:
        return self.book.symbol(other) + -self

    def __truediv__(self, other: Any) -> Symbol:
        b = self.book.symbol(other)
        if b.number is not None and b.number != 0:
            return self * (1 / b.number)
        return self if self.number == 0 and b.number is None else self.book.add("div", self, b)

    __radd__ = __add__
    __rmul__ = __mul__

    def power(self, a: Fraction) -> Symbol:
        if self.number == 1 or a == 0:
            return Symbol(self.book, Fraction(1))
        return self if a == 1 else self.book.add("power", self, Symbol(self.book, a), text=str(a))

    def function(self, name: str) -> Symbol:
        """One of `targets.expression.FUNCTIONS`; of 0 what it is there."""
        at_zero = AT_ZERO.get(name) if self.number == 0 else None
        return self.book.add(name, self) if at_zero is None else Symbol(self.book, Fraction(at_zero))


AT_ZERO = {"sin": 0, "cos": 1, "exp": 1, "tanh": 0, "sinh": 0, "cosh": 1, "erf": 0, "atan": 0, "asinh": 0}


def literal(tape: Tape, value: Fraction) -> int:
    """A fraction as a decimal if it is one, which float64 always is, else as a quotient."""
    twos = (value.denominator & -value.denominator).bit_length() - 1
    if value.denominator == 1 << twos:
        return tape.add(NUMBER, text=f"{value.numerator * 5**twos}e-{twos}" if twos else str(value.numerator))
    top, bottom = (tape.add(NUMBER, text=str(part)) for part in (value.numerator, value.denominator))
    return tape.add("div", top, bottom)
