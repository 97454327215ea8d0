"""A property of a source: comparisons of quantities, computed from its outputs and inputs, joined by and and or.

A quantity is linear, with whole coefficients, or any formula. A comparison is `quantity ≥ threshold`, or with >, ≤ or
<, and its threshold is a fraction: 0.1 is a tenth. Negation is not stored: it reverses comparisons. `fold` computes
anything of a clause from what is known of its comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from integraph.targets.expression import NUMBER, VARIABLE, Expression
from integraph.text import shortened

NEGATION = {">=": "<", ">": "<=", "<=": ">", "<": ">="}
REVERSAL = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}  # of both sides, times −1
DEPTH = 200  # of conjunctions and disjunctions in each other
WHOLE = 1 << 53  # coefficients, which float64 holds
SHOWN = 2000  # characters of a formula
INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "power": "^"}

T = TypeVar("T")
Terms = tuple[tuple[int, int], ...]  # number of an output or an input, and its coefficient


@dataclass(frozen=True, slots=True)
class Quantity:
    """Σ a_n y_n + Σ b_n x_n of outputs y and inputs x, or the one output of an expression in y0, y1, … x0, x1, …"""

    outputs: Terms = ()
    inputs: Terms = ()
    expression: Expression | None = None

    def __str__(self) -> str:
        if self.expression is not None:
            return _formula(self.expression)
        parts = [(a, f"{letter}{n}") for letter, terms in (("y", self.outputs), ("x", self.inputs)) for n, a in terms]
        text = ""
        for a, name in parts:
            sign = ("-" if a < 0 else "") if not text else (" - " if a < 0 else " + ")
            text += sign + (name if abs(a) == 1 else f"{abs(a)}*{name}")
        return text


@dataclass(frozen=True, slots=True)
class Comparison:
    """A quantity, by its number, against a threshold."""

    quantity: int
    sense: str
    threshold: Fraction


@dataclass(frozen=True, slots=True)
class Conjunction:
    """All parts hold."""

    parts: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Disjunction:
    """One part holds, or more."""

    parts: tuple[Clause, ...]


Clause = Comparison | Conjunction | Disjunction


@dataclass(frozen=True, slots=True)
class Property:
    """A clause about quantities of a source with so many inputs and outputs."""

    inputs: int
    outputs: int
    quantities: tuple[Quantity, ...]
    clause: Clause

    def __str__(self) -> str:
        return _written(self.clause, self.quantities, outermost=True)


@dataclass(frozen=True, slots=True)
class Case:
    """A property that is to hold for low ≤ x ≤ high."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    property: Property


def fold(
    clause: Clause,
    leaf: Callable[[Comparison], T],
    conjunction: Callable[[list[T]], T],
    disjunction: Callable[[list[T]], T],
) -> T:
    """What a clause comes to, from what its comparisons do."""
    if isinstance(clause, Comparison):
        return leaf(clause)
    parts = [fold(part, leaf, conjunction, disjunction) for part in clause.parts]
    return (conjunction if isinstance(clause, Conjunction) else disjunction)(parts)


def comparisons(clause: Clause) -> Iterator[Comparison]:
    """All comparisons, from left to right."""
    if isinstance(clause, Comparison):
        yield clause
        return
    for part in clause.parts:
        yield from comparisons(part)


def property_of(inputs: int, outputs: int, quantities: Sequence[Quantity], clause: Clause) -> Property:
    """A property that holds no quantity but those of its clause."""
    used = sorted({one.quantity for one in comparisons(clause)})
    place = {n: new for new, n in enumerate(used)}
    moved: Clause = fold(
        clause, lambda one: Comparison(place[one.quantity], one.sense, one.threshold), conjunction, disjunction
    )
    return Property(inputs, outputs, tuple(quantities[n] for n in used), moved)


def negated(clause: Clause) -> Clause:
    """What holds exactly where the clause does not."""
    return fold(
        clause,
        lambda one: Comparison(one.quantity, NEGATION[one.sense], one.threshold),
        disjunction,
        conjunction,
    )


def conjunction(parts: Sequence[Clause]) -> Clause:
    """Of one part or more; conjunctions among them are unfolded."""
    flat = [one for part in parts for one in (part.parts if isinstance(part, Conjunction) else (part,))]
    return flat[0] if len(flat) == 1 else Conjunction(tuple(flat))


def disjunction(parts: Sequence[Clause]) -> Clause:
    """Of one part or more; disjunctions among them are unfolded."""
    flat = [one for part in parts for one in (part.parts if isinstance(part, Disjunction) else (part,))]
    return flat[0] if len(flat) == 1 else Disjunction(tuple(flat))


@dataclass(slots=True)
class Quantities:
    """Collects quantities, each once, while a property is read."""

    known: dict[Quantity, int] = field(default_factory=dict)

    def linear(
        self, outputs: Mapping[int, Fraction], inputs: Mapping[int, Fraction], constant: Fraction, sense: str
    ) -> Comparison | None:
        """outputs·y + inputs·x + constant against 0, one coefficient at least not 0; None where whole coefficients are
        longer than float64 holds.

        The coefficients become whole numbers without a common divisor, the first of them positive.
        """
        terms = [(place, n, a) for place, part in enumerate((outputs, inputs)) for n, a in sorted(part.items()) if a]
        common = math.lcm(*(a.denominator for _, _, a in terms))
        scale = Fraction(common, math.gcd(*(int(a * common) for _, _, a in terms)))
        sense, scale = (sense, scale) if terms[0][2] > 0 else (REVERSAL[sense], -scale)
        whole = [(place, n, int(a * scale)) for place, n, a in terms]
        if any(abs(a) > WHOLE for _, _, a in whole):
            return None
        parts = [tuple((n, a) for place, n, a in whole if place == part) for part in (0, 1)]
        quantity = Quantity(parts[0], parts[1])
        return Comparison(self.known.setdefault(quantity, len(self.known)), sense, -constant * scale)

    def general(self, expression: Expression, sense: str) -> Comparison:
        """The output of an expression against 0."""
        quantity = Quantity(expression=expression)
        return Comparison(self.known.setdefault(quantity, len(self.known)), sense, Fraction(0))


def decimal(value: Fraction) -> str:
    """The decimal that a fraction is, or p/q."""
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest > 1 or places > 40:
        return f"{value.numerator}/{value.denominator}"
    digits = f"{abs(value.numerator) * 10**places // value.denominator:0{places + 1}d}"
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def _written(clause: Clause, quantities: Sequence[Quantity], outermost: bool = False) -> str:
    if isinstance(clause, Comparison):
        return f"{quantities[clause.quantity]} {clause.sense} {decimal(clause.threshold)}"
    word = " and " if isinstance(clause, Conjunction) else " or "
    text = word.join(_written(part, quantities) for part in clause.parts)
    return text if outermost else f"({text})"


def _formula(expression: Expression) -> str:
    texts: list[str] = []
    for step in expression.steps:
        args = [texts[n] for n in step.args]
        if step.op in (NUMBER, VARIABLE):
            texts.append(step.text)
        elif step.op == "neg":
            texts.append(f"(-{args[0]})")
        elif step.op in INFIX:
            texts.append(f"({args[0]} {INFIX[step.op]} {step.text or args[1]})")
        else:
            texts.append(f"{step.op}({', '.join(args)})")
        texts[-1] = shortened(texts[-1], SHOWN)
    return texts[expression.outputs[0]]
