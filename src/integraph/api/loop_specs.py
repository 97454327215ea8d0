"""Specifications of closed loops as text: properties of the states, and when they are to hold.

    clause = property [when] | avoid property [at samples]
    when   = at end | by TIME | always | from TIME | at samples, or at sampling times

Clauses have semicolons between them; one without `when` is `at end`. A property is what `frontends.property` reads:
comparisons of formulas of the states, `formula in [a, b]`, and, or, not, implies. `always` and `avoid` hold at all
times, `from` from a sampling time on, with `at samples` at sampling times.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from fractions import Fraction

from integraph.api.loop_conditions import Conditions
from integraph.certify.loops.certificate import LONGEST
from integraph.certify.loops.spec import Clause, Specification, When
from integraph.certify.loops.tape import operations
from integraph.errors import SourceError, UsageError
from integraph.frontends.property.names import Names
from integraph.frontends.property.sentence import parse
from integraph.targets.expression import NUMBER, VARIABLE, Expression, Tape
from integraph.targets.property import Clause as Condition
from integraph.targets.property import Property, Quantity, conjunction, disjunction, fold, negated

TIMING = re.compile(
    r"\s+(at\s+end|at\s+samples|at\s+sampling\s+times|always|from\s+(?P<first>\S+)|by\s+(?P<last>\S+))\s*$"
)
WORDS = re.compile(r"\b(after|always|at|before|by|during|from|until|while)\b")  # where a time may be meant
TIMES = "a clause may end in: at end, by 3.5, always, from 3.5, at samples"
AVOID = re.compile(r"\s*avoid\s+")
USAGE = 'write conditions such as "x in [0, 0.2] and v <= 0.3 at end", "x <= 1 always" or "avoid x in [1, 2]"'


def read_spec(text: str, states: Sequence[str], period: float, steps: int) -> Specification:
    """The specification of a text over the states."""
    if not isinstance(text, str) or not text.strip(" ;\n\t"):
        raise UsageError(USAGE, argument="spec", value=text)
    if len(text) > LONGEST:
        raise UsageError(f"it has {len(text):,} characters: at most {LONGEST:,}", argument="spec")
    reader = _Reader(tuple(states), period, steps)
    clauses = tuple(reader.clause(part) for part in text.split(";") if part.strip())
    expression = reader.tape.expression(list(reader.conditions.quantities))
    return Specification(clauses, expression, operations(expression, ()))


class _Reader:
    """Reads clauses, and collects their quantities, each once."""

    def __init__(self, states: tuple[str, ...], period: float, steps: int) -> None:
        self.names, self.period, self.steps = Names(len(states), 0, states), period, steps
        self.tape = Tape(states)
        self.conditions = Conditions(self.tape)

    def clause(self, text: str) -> Clause:
        text = " ".join(text.split())
        body, when, samples, first, last = text, When.END, False, 0, self.steps
        if timing := TIMING.search(text):
            body, word = text[: timing.start()], timing[1]
            samples = word in ("at samples", "at sampling times")
            when = When.ALWAYS if samples or word == "always" or timing["first"] else When.END
            if timing["first"]:
                first = self._first(timing["first"])
            if timing["last"]:
                when, last = When.BY, self._last(timing["last"])
        avoid = AVOID.match(body)
        if avoid:
            if timing and not samples:
                raise UsageError(f"{text}: avoid is at all times, or at samples", argument="spec")
            body, when = body[avoid.end() :], When.ALWAYS
        try:
            condition = self._condition(parse(body, self.names))
        except SourceError as wrong:
            if WORDS.search(body) is None:
                raise
            raise type(wrong)(f"{wrong}\n{TIMES}") from None
        return Clause(text, when, negated(condition) if avoid else condition, samples, last, first)

    def _first(self, text: str) -> int:
        """The number of this sampling time."""
        number, exact = self._number(text)
        if not exact or number > self.steps:
            raise UsageError(
                f"from needs a sampling time, a multiple of {self.period:g} up to {self.steps * self.period:g}",
                argument="spec", value=text,
            )  # fmt: skip
        return number

    def _last(self, text: str) -> int:
        """The last sampling time that is not after this time."""
        number, _ = self._number(text)
        if number > self.steps:
            raise UsageError(
                f"by needs a time up to {self.steps * self.period:g}, the end of the last period, or more steps",
                argument="spec", value=text,
            )  # fmt: skip
        return number

    def _number(self, text: str) -> tuple[int, bool]:
        """The last sampling time up to this time, and whether it is this time: both as decimals, or the same float."""
        time = _time(text)
        decimal = Fraction(text) if time else Fraction(0)
        count = decimal / Fraction(repr(self.period))
        number = min(math.floor(count), self.steps + 1)
        own = decimal == Fraction(repr(time))  # a period such as 5/9 has no decimal: the float that is meant then
        if own and (number + 1) * self.period == time:
            return number + 1, True
        return number, count == number or (own and number * self.period == time)

    def _condition(self, asked: Property) -> Condition:
        """The clause of a property, over quantities of our own."""
        steps = [self._step(quantity) for quantity in asked.quantities]
        return fold(
            asked.clause,
            lambda one: self.conditions.compared(steps[one.quantity], one.sense, _bound(one.threshold)),
            conjunction,
            disjunction,
        )

    def _step(self, quantity: Quantity) -> int:
        form = quantity.expression
        return self._linear(quantity) if form is None else self._formula(form)

    def _formula(self, expression: Expression) -> int:
        places: list[int] = []
        for step in expression.steps:
            text = self.names.own[int(step.text[1:])] if step.op == VARIABLE else step.text
            places.append(self.tape.add(step.op, *(places[n] for n in step.args), text=text, where=step.where))
        return places[expression.outputs[0]]

    def _linear(self, quantity: Quantity) -> int:
        terms = []
        for n, a in quantity.inputs:
            x = self.tape.add(VARIABLE, text=self.names.own[n])
            terms.append(x if a == 1 else self.tape.add("mul", self.tape.add(NUMBER, text=str(a)), x))
        total = terms[0]
        for term in terms[1:]:
            total = self.tape.add("add", total, term)
        return total


def _bound(threshold: Fraction) -> Fraction:
    if abs(threshold) > sys.float_info.max:
        raise UsageError(
            f"a bound must be less than {sys.float_info.max:.3g}, the largest number of float64", argument="spec"
        )
    return threshold


def _time(text: str) -> float:
    try:
        time = float(text)
    except ValueError:
        time = math.nan
    if not 0 <= time < math.inf:
        raise UsageError("a time is a number ≥ 0, as in by 3.5", argument="spec", value=text)
    return time
