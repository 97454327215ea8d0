"""A property as plain data, the same data for the same property, and back.

A decoded property may come from a file that anyone wrote: its numbers, formulas and sizes are checked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from integraph.targets.expression import CHOICES, CONSTANTS, FUNCTIONS, NUMBER, VARIABLE, Expression, Step
from integraph.targets.property import (
    DEPTH,
    NEGATION,
    WHOLE,
    Clause,
    Comparison,
    Conjunction,
    Disjunction,
    Property,
    Quantity,
    Terms,
)

LITERAL = re.compile(r"(?:\d{1,400}\.?\d{0,400}|\.\d{1,400})(?:[eE][+-]?\d{1,3})?", re.ASCII)
FRACTION = re.compile(r"-?\d{1,4000}(?:/[1-9]\d{0,3999})?", re.ASCII)
NAME = re.compile(r"([xy])(0|[1-9]\d{0,8})", re.ASCII)
EXPONENT = 1000
OPERANDS = (
    dict.fromkeys(("add", "sub", "mul", "div", *CHOICES), 2) | dict.fromkeys(("neg", *FUNCTIONS), 1)
    | {NUMBER: 0, VARIABLE: 0}
)  # fmt: skip
WORDS = {Conjunction: "and", Disjunction: "or"}


def encoded(stated: Property) -> list[Any]:
    """Inputs, outputs, quantities, clause."""
    return [stated.inputs, stated.outputs, [_quantity(one) for one in stated.quantities], _clause(stated.clause)]


def _quantity(one: Quantity) -> list[Any]:
    if one.expression is None:
        return ["linear", [list(term) for term in one.outputs], [list(term) for term in one.inputs]]
    steps = [[step.op, list(step.args), step.text] for step in one.expression.steps]
    return ["formula", list(one.expression.variables), steps, one.expression.outputs[0]]


def _clause(clause: Clause) -> list[Any]:
    if isinstance(clause, Comparison):
        return [clause.sense, clause.quantity, str(clause.threshold)]
    return [WORDS[type(clause)], *(_clause(part) for part in clause.parts)]


def decoded(given: Any) -> Property:
    """The property of such data; a ValueError where they are no property."""
    inputs, outputs, quantities, clause = given
    for count in (inputs, outputs):
        _need(type(count) is int and count > 0, "its property has no inputs or outputs")
    made = tuple(_read_quantity(one, inputs, outputs) for one in quantities)
    return Property(inputs, outputs, made, _read_clause(clause, len(made), DEPTH))


def _read_quantity(given: Any, inputs: int, outputs: int) -> Quantity:
    kind, *rest = given
    if kind == "linear":
        terms = [_terms(part, count) for part, count in zip(rest, (outputs, inputs), strict=True)]
        _need(any(terms), "a quantity of its property is empty")
        return Quantity(terms[0], terms[1])
    _need(kind == "formula", "a quantity of its property is neither linear nor a formula")
    variables, steps, output = rest
    for name in variables:
        match = NAME.fullmatch(name)
        _need(match is not None and int(match[2]) < (inputs if match[1] == "x" else outputs), f"it names {name!r:.40}")
    made = tuple(_step(number, step, variables) for number, step in enumerate(steps))
    _need(type(output) is int and 0 <= output < len(made), "a formula of its property has no output")
    return Quantity(expression=Expression(tuple(variables), made, (output,)))


def _terms(given: Any, count: int) -> Terms:
    terms = tuple((n, a) for n, a in given)
    good = all(type(n) is int and type(a) is int and 0 <= n < count and 0 < abs(a) <= WHOLE for n, a in terms)
    _need(good and len({n for n, _ in terms}) == len(terms), "a quantity of its property is malformed")
    return terms


def _step(number: int, given: Any, variables: Sequence[str]) -> Step:
    op, args, text = given
    _need(isinstance(op, str) and isinstance(text, str) and len(text) <= 1000, "a formula is malformed")
    _need(all(type(n) is int and 0 <= n < number for n in args), "a step of a formula uses a later one")
    if op == "power":
        fixed = text == "" or (FRACTION.fullmatch(text) is not None and abs(Fraction(text)) <= EXPONENT)
        _need(len(args) == 2 and fixed, "a power of its property is malformed")
    else:
        _need(OPERANDS.get(op) == len(args), f"its property has an operation {op!r:.40} of {len(args)} operands")
    literal = text in CONSTANTS or LITERAL.fullmatch(text) is not None
    _need(op != NUMBER or literal, "a number of its property is malformed")
    _need(op != VARIABLE or text in variables, "a formula of its property uses a name that it does not have")
    return Step(op, tuple(args), text)


def _read_clause(given: Any, quantities: int, depth: int) -> Clause:
    _need(depth > 0, "its property is too deep")
    word, *rest = given
    if word in NEGATION:
        quantity, threshold = rest
        good = type(quantity) is int and 0 <= quantity < quantities and isinstance(threshold, str)
        _need(good and FRACTION.fullmatch(threshold) is not None, "a comparison of its property is malformed")
        return Comparison(quantity, word, Fraction(threshold))
    _need(word in WORDS.values() and len(rest) > 1, f"its property has a clause {word!r:.40}")
    parts = tuple(_read_clause(part, quantities, depth - 1) for part in rest)
    return Conjunction(parts) if word == "and" else Disjunction(parts)


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
