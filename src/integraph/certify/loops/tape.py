"""A formula as a tape of few operations, each with a recurrence for Taylor coefficients.

With c_j the coefficients in time, a sum is c_j = a_j + b_j, a product c_j = Σ a_i b_(j−i), and a function c = F(a)
with c' = a'·D has c_0 = F(a_0), c_j = Σ (i/j) a_i D_(j−i). D is a value on the same tape, of which only orders below j
are needed: it may come later, and be a function of c. So tanh is F with D = 1 − c², and 1/a is F with D = −c².
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from integraph.certify.loops.interval_kernels import (
    ATAN,
    COS,
    ERF,
    EXP,
    LN,
    POWER,
    RECIPROCAL,
    SIN,
    TAN,
    TANH,
)  # fmt: skip
from integraph.errors import UsageError
from integraph.numbers.arrays import Floats, Indices
from integraph.targets.expression import NUMBER, VARIABLE, Expression, Step

CONSTANT, INPUT, ADD, SUB, NEG, MUL, SCALE, FUNCTION = range(8)
TRANSCENDENTAL = {"pi": math.pi, "e": math.e}
MOST = 64  # the highest power that is a product


@dataclass(frozen=True, slots=True, eq=False)
class Operations:
    """`code` (S, 4): operation, first and second argument, function. `numbers` (S, 2): a number, or the exponent of a
    power, and its error. `held` marks values that do not change in time. `outputs` are numbers of operations."""

    code: Indices
    numbers: Floats
    held: Indices
    outputs: Indices
    inputs: int


class Assembler:
    """Collects operations; equal ones are stored once."""

    def __init__(self) -> None:
        self.code: list[list[int]] = []
        self.numbers: list[tuple[float, float]] = []
        self.known: dict[tuple[object, ...], int] = {}

    def add(self, op: int, a: int = -1, b: int = -1, function: int = -1, number: Sequence[float] = (0.0, 0.0)) -> int:
        key = (op, a, b, function, *number)
        if key not in self.known:
            self.known[key] = len(self.code)
            self.code.append([op, a, b, function])
            self.numbers.append((number[0], number[1]))
        return self.known[key]

    def constant(self, number: Fraction | float, off: float = 0.0) -> int:
        nearest = float(number)
        if isinstance(number, Fraction) and Fraction(nearest) != number:
            off = math.ulp(nearest)
        return self.add(CONSTANT, number=(nearest, off))

    def mul(self, a: int, b: int) -> int:
        for one, other in ((a, b), (b, a)):
            if self.code[one][0] == CONSTANT:
                return self.add(SCALE, other, number=self.numbers[one])
        return self.add(MUL, min(a, b), max(a, b))

    def times(self, number: Fraction | float, a: int, off: float = 0.0) -> int:
        return self.mul(self.constant(number, off), a)

    def function(self, name: int, a: int, slope: Callable[[int], int], exponent: float = 0.0) -> int:
        """F(a), with its D from F(a)."""
        key = (FUNCTION, a, name, exponent)
        if key not in self.known:
            here = self.known[key] = len(self.code)
            self.code.append([FUNCTION, a, -1, name])
            self.numbers.append((exponent, 0.0))
            self.code[here][2] = slope(here)
        return self.known[key]

    def reciprocal(self, a: int) -> int:
        return self.function(RECIPROCAL, a, lambda y: self.add(NEG, self.mul(y, y)))

    def exp(self, a: int) -> int:
        return self.function(EXP, a, lambda y: y)

    def ln(self, a: int) -> int:
        return self.function(LN, a, lambda y: self.reciprocal(a))

    def sin(self, a: int) -> int:
        return self.function(SIN, a, lambda y: self.cos(a))

    def cos(self, a: int) -> int:
        return self.function(COS, a, lambda y: self.add(NEG, self.sin(a)))

    def tanh(self, a: int) -> int:
        return self.function(TANH, a, lambda y: self.add(SUB, self.constant(1.0), self.mul(y, y)))

    def tan(self, a: int) -> int:
        return self.function(TAN, a, lambda y: self.add(ADD, self.constant(1.0), self.mul(y, y)))

    def atan(self, a: int) -> int:
        return self.function(ATAN, a, lambda y: self.reciprocal(self.add(ADD, self.constant(1.0), self.mul(a, a))))

    def erf(self, a: int) -> int:
        peak = self.constant(2.0 / math.sqrt(math.pi), 1e-15)
        return self.function(ERF, a, lambda y: self.mul(peak, self.exp(self.add(NEG, self.mul(a, a)))))

    def sigmoid(self, a: int) -> int:
        return self.add(ADD, self.constant(0.5), self.times(0.5, self.tanh(self.times(0.5, a))))

    def softplus(self, a: int) -> int:
        return self.ln(self.add(ADD, self.constant(1.0), self.exp(a)))

    def expm1(self, a: int) -> int:
        return self.add(SUB, self.exp(a), self.constant(1.0))

    def log1p(self, a: int) -> int:
        return self.ln(self.add(ADD, self.constant(1.0), a))

    def log2(self, a: int) -> int:
        return self.times(1.0 / math.log(2.0), self.ln(a), 1e-15)

    def log10(self, a: int) -> int:
        return self.times(1.0 / math.log(10.0), self.ln(a), 1e-15)

    def sinh(self, a: int) -> int:
        return self.times(0.5, self.add(SUB, self.exp(a), self.exp(self.add(NEG, a))))

    def cosh(self, a: int) -> int:
        return self.times(0.5, self.add(ADD, self.exp(a), self.exp(self.add(NEG, a))))

    def sqrt(self, a: int) -> int:
        return self.power(a, Fraction(1, 2))

    def cbrt(self, a: int) -> int:
        return self.power(a, Fraction(1, 3))

    def power(self, a: int, exponent: Fraction) -> int:
        if exponent.denominator == 1 and abs(exponent) <= MOST:
            whole = self._product(a, abs(exponent.numerator))
            return self.reciprocal(whole) if exponent < 0 else whole
        if Fraction(float(exponent)) == exponent:
            return self.function(
                POWER, a, lambda y: self.times(exponent, self.mul(y, self.reciprocal(a))), float(exponent)
            )
        return self.exp(self.times(exponent, self.ln(a)))

    def asin(self, a: int) -> int:
        cosine = self.add(SUB, self.constant(1.0), self.mul(a, a))
        return self.atan(self.mul(a, self.power(cosine, Fraction(-1, 2))))

    def acos(self, a: int) -> int:
        return self.add(SUB, self.constant(math.pi / 2, 2.0**-52), self.asin(a))

    def asinh(self, a: int) -> int:
        return self.ln(self.add(ADD, a, self.sqrt(self.add(ADD, self.constant(1.0), self.mul(a, a)))))

    def acosh(self, a: int) -> int:
        return self.ln(self.add(ADD, a, self.sqrt(self.add(SUB, self.mul(a, a), self.constant(1.0)))))

    def atanh(self, a: int) -> int:
        one = self.constant(1.0)
        return self.times(0.5, self.add(SUB, self.ln(self.add(ADD, one, a)), self.ln(self.add(SUB, one, a))))

    def operations(self, outputs: Sequence[int], constant: Sequence[bool]) -> Operations:
        """What was collected; `constant` says which inputs do not change in time."""
        code = np.array(self.code, np.int64).reshape(-1, 4)
        held, numbers = _held(code, constant), np.array(self.numbers).reshape(-1, 2)
        return Operations(code, numbers, held, np.array(outputs, np.int64), len(constant))

    def _product(self, a: int, times: int) -> int:
        if times == 0:
            return self.constant(1.0)
        half = self._product(a, times // 2) if times > 1 else a
        if times == 1:
            return a
        return self.mul(self.mul(half, half), a) if times % 2 else self.mul(half, half)


UNARY: dict[str, Callable[[Assembler, int], int]] = {
    name: getattr(Assembler, name)
    for name in (
        "exp", "ln", "sin", "cos", "tan", "tanh", "atan", "sigmoid", "softplus", "expm1", "log1p", "log2", "log10",
        "sinh", "cosh", "sqrt", "cbrt", "asin", "acos", "asinh", "acosh", "atanh", "erf",
    )
}  # fmt: skip
BINARY = {"add": ADD, "sub": SUB}
KNOWN = {NUMBER, VARIABLE, "neg", "mul", "div", "power", *BINARY, *UNARY}


def taped(expression: Expression) -> bool:
    """Whether every step has a recurrence."""
    return all(step.op in KNOWN for step in expression.steps)


def operations(expression: Expression, changing: Sequence[str]) -> Operations:
    """The tape of an expression, of whose variables these change in time."""
    tape = Assembler()
    places: list[int] = []
    inputs = [tape.add(INPUT, number) for number in range(len(expression.variables))]
    for step in expression.steps:
        places.append(_placed(tape, step, [places[n] for n in step.args], expression, inputs))
    return tape.operations(
        [places[n] for n in expression.outputs], [name not in changing for name in expression.variables]
    )


def _placed(tape: Assembler, step: Step, args: list[int], expression: Expression, inputs: list[int]) -> int:
    """The place of a step's value."""
    if step.op == VARIABLE:
        return inputs[expression.variables.index(step.text)]
    if step.op == NUMBER:
        if step.text in TRANSCENDENTAL:
            return tape.constant(TRANSCENDENTAL[step.text], 2.0**-51)
        number = Fraction(step.text)
        if abs(number) > sys.float_info.max:
            raise UsageError(
                f"{step.text} is more than {sys.float_info.max:.3g}, the largest number of float64: use other units"
            )
        return tape.constant(number)
    if step.op in BINARY:
        return tape.add(BINARY[step.op], args[0], args[1])
    if step.op == "neg":
        return tape.add(NEG, args[0])
    if step.op == "mul":
        return tape.mul(*args)
    if step.op == "div":
        return tape.mul(args[0], tape.reciprocal(args[1]))
    if step.op == "power":
        if step.text:
            return tape.power(args[0], Fraction(step.text))
        return tape.exp(tape.mul(args[1], tape.ln(args[0])))
    if step.op in UNARY:
        return UNARY[step.op](tape, args[0])
    start, stop = step.where
    raise UsageError(
        f"{expression.source[start:stop] or step.op}: {step.op} has no Taylor series here; equations may use + − · /, "
        f"powers and {', '.join(UNARY)}"
    )


def _held(code: Indices, constant: Sequence[bool]) -> Indices:
    """Which values do not change in time."""
    held = np.zeros(len(code), np.int64)
    for number, (op, a, b, _) in enumerate(code):
        if op == CONSTANT:
            held[number] = 1
        elif op == INPUT:
            held[number] = constant[a]
        elif op in (ADD, SUB, MUL):
            held[number] = held[a] and held[b]
        else:
            held[number] = held[a]
    return held
