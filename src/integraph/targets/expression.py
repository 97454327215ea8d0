"""A formula as a tape: steps in the order of computation, each stored once however often it is used.

A step is (op, args, text): `args` are numbers of earlier steps, `text` is the literal of a number, as it was written,
or the name of a variable; the texts "pi" and "e" are the constants. A power whose exponent is a rational number has it
in `text` too, as "3", "-1" or "1/2", so that x^3 is known to be a product. `where` is the part of the source text that
a step came from, for messages. An arithmetic defines what a step means: floats here, Taylor series in `bounds/`,
segments in `constructions/`, balls in `certify/`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

NUMBER, VARIABLE = "number", "variable"
CONSTANTS = ("pi", "e")
OPERATORS: dict[str, Callable[..., Any]] = {  # of numbers of any kind
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "neg": operator.neg,
    "abs": operator.abs,
}  # fmt: skip
FUNCTIONS = (  # of one argument
    "exp", "expm1", "ln", "log1p", "log2", "log10", "sqrt", "cbrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "asin", "acos", "atan", "asinh", "acosh", "atanh", "erf", "sigmoid", "softplus", "abs",
)  # fmt: skip
ENTIRE = (  # finite wherever their arguments are, beside powers with a whole exponent ≥ 0
    "add", "sub", "neg", "mul", "abs", "exp", "expm1", "sin", "cos", "sinh", "cosh", "tanh", "atan", "asinh", "erf",
    "cbrt", "sigmoid", "softplus", NUMBER, VARIABLE,
)  # fmt: skip
CHOICES = ("min", "max")  # of two arguments
CONDITION = "if"  # of three, g, a and b: a where g < 0, b elsewhere; where g keeps its sign on a box, one of them


@dataclass(frozen=True, slots=True)
class Step:
    op: str
    args: tuple[int, ...] = ()
    text: str = ""
    where: tuple[int, int] = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Expression:
    """`outputs` are numbers of steps; `variables` are the inputs, in order; `source` is the text for people, and where
    `formula` says so the formula itself: reading it again gives the same steps, before conditions were decided."""

    variables: tuple[str, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    source: str = ""
    formula: bool = False


class Arithmetic(Protocol):
    """How steps are computed. Values may be of any kind: arrays, balls, series."""

    def number(self, text: str) -> Any: ...
    def apply(self, step: Step, args: Sequence[Any]) -> Any: ...


class Tape:
    """Collects steps; equal steps are stored once."""

    def __init__(self, variables: Sequence[str]) -> None:
        self.variables = tuple(variables)
        self.steps: list[Step] = []
        self._known: dict[Step, int] = {}

    def add(self, op: str, *args: int, text: str = "", where: tuple[int, int] = (0, 0)) -> int:
        step = Step(op, args, text, where)
        number = self._known.get(step)
        if number is None:
            number = self._known[step] = len(self.steps)
            self.steps.append(step)
        return number

    def expression(self, outputs: Sequence[int], source: str = "") -> Expression:
        """The expression of these outputs, without steps they do not need."""
        return pruned(Expression(self.variables, tuple(self.steps), tuple(outputs), source))


def is_entire(expression: Expression, output: int) -> bool:
    """Whether an output is finite at every point, so that it can only leave every bound where a variable does."""
    one = pruned(replace(expression, outputs=(expression.outputs[output],)))
    return all(step.op in ENTIRE or (step.op == "power" and step.text.isdecimal()) for step in one.steps)


def pruned(expression: Expression) -> Expression:
    """The same expression without steps that no output needs."""
    steps, needed = expression.steps, set(expression.outputs)
    for number in range(len(steps) - 1, -1, -1):
        if number in needed:
            needed.update(steps[number].args)
    place = {number: new for new, number in enumerate(sorted(needed))}
    kept = tuple(replace(steps[n], args=tuple(place[a] for a in steps[n].args)) for n in place)
    return replace(expression, steps=kept, outputs=tuple(place[n] for n in expression.outputs))


def evaluate(expression: Expression, arithmetic: Arithmetic, inputs: Sequence[Any]) -> list[Any]:
    """The outputs, with `inputs` for the variables. A value is dropped after its last use."""
    last = {n: number for number, step in enumerate(expression.steps) for n in step.args}
    keep = set(expression.outputs)
    given = dict(zip(expression.variables, inputs, strict=True))
    values: dict[int, Any] = {}
    for number, step in enumerate(expression.steps):
        if step.op == NUMBER:
            values[number] = arithmetic.number(step.text)
        elif step.op == VARIABLE:
            values[number] = given[step.text]
        else:
            values[number] = arithmetic.apply(step, [values[n] for n in step.args])
        for n in set(step.args):
            if last[n] == number and n not in keep:
                del values[n]
    return [values[n] for n in expression.outputs]
