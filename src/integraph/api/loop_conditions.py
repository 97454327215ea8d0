"""Comparisons of formulas as clauses of comparisons of smooth ones.

    c·max(a, b) + r ≤ t      c·a + r ≤ t and c·b + r ≤ t, for c > 0; one of them for c < 0; min the other way
    c·√a + r ≤ t             t − r ≥ 0 and c²a ≤ (t − r)², for c > 0 and a sum of squares a
    f(max(a, b)) ≤ t         f(a) ≤ t and f(b) ≤ t, or a ≥ b and f(a) ≤ t, or a ≤ b and f(b) ≤ t

|a| is max(a, −a). Nothing is lost: a clause holds where its comparison does. √ is smooth except at 0, where vectors
have their lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from integraph.errors import UsageError
from integraph.targets.expression import NUMBER, Tape
from integraph.targets.property import REVERSAL, Clause, Comparison, conjunction, decimal, disjunction

CASES = 64  # of one comparison, at most
KINKS = ("abs", "max", "min")
Linear = tuple[dict[int, Fraction], Fraction]  # coefficients of steps, and the constant
Result = Clause | bool  # a comparison of numbers is known


class Conditions:
    """Collects the quantities that are compared, each once, as steps of a tape."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.quantities: dict[int, int] = {}
        self.cases = 0

    def compared(self, step: int, sense: str, threshold: Fraction) -> Clause:
        """The clause of a comparison of a step of the tape."""
        if not any(self.tape.steps[n].op in KINKS or self._root(n) for n in self._needed(step)):
            return Comparison(self._place(step), sense, threshold)
        self.cases = 0
        made = self._compared(step, sense, threshold)
        if isinstance(made, bool):  # numbers alone: 0 ≥ −1, or 0 ≥ 1
            return Comparison(self._place(self._number(Fraction(0))), ">=", Fraction(-1 if made else 1))
        return made

    def _compared(self, step: int, sense: str, t: Fraction) -> Result:
        self.cases += 1
        if self.cases > CASES:
            raise UsageError(
                f"a comparison with abs, max, min and sqrt has more than {CASES} cases: write several comparisons",
                argument="spec",
            )
        if "<" in sense:  # −x ≥ −t, so that there is one sense
            return self._compared(self._scaled(step, Fraction(-1)), REVERSAL[sense], -t)
        terms, constant = self._linear(step)
        if not terms:
            return constant > t if sense == ">" else constant >= t
        for part, c in terms.items():
            op, args = self.tape.steps[part].op, self.tape.steps[part].args
            rest = {n: a for n, a in terms.items() if n != part}
            if op in KINKS:
                both = (args[0], self._scaled(args[0], Fraction(-1))) if op == "abs" else args
                either = (op != "min") == (c > 0)  # max ≥ t if one is
                results = [self._compared(self._sum({**rest, -1 - n: c}, constant, both), sense, t) for n in range(2)]
                return _or(results) if either else _and(results)
            if self._root(part):
                return self._root_compared(args[0], c, (rest, constant - t), sense)
        kink = self._first_kink(step)
        if kink is None:
            return Comparison(self._place(step), sense, t)
        return self._divided(step, kink, sense, t)

    def _root_compared(self, a: int, c: Fraction, rest: Linear, sense: str) -> Result:
        """c·√a + rest ≥ 0 for a ≥ 0."""
        zero = Fraction(0)
        own = self._compared(self._sum(*rest), sense, zero)
        against = sense if c > 0 else REVERSAL[sense]  # c²a ≥ rest², or ≤
        squares = [self._compared(self._difference(c * c, a, square), against, zero) for square in self._squares(rest)]
        return _or([own, *squares]) if c > 0 else _and([own, _or(squares)])

    def _squares(self, form: Linear) -> list[int]:
        """Its square; that of a constant and one root multiplied out too, which has no root that may be 0 inside."""
        terms, constant = form
        whole = self._sum(terms, constant)
        squares = [self.tape.add("mul", whole, whole)]
        if len(terms) == 1:
            ((root, c),) = terms.items()
            if self._root(root):
                a = self.tape.steps[root].args[0]
                squares.append(self._sum({a: c * c, root: 2 * c * constant}, constant * constant))
        return squares

    def _divided(self, step: int, kink: int, sense: str, t: Fraction) -> Result:
        """By cases of a kink inside."""
        op, args = self.tape.steps[kink].op, self.tape.steps[kink].args
        zero = Fraction(0)
        both = (args[0], self._scaled(args[0], Fraction(-1))) if op == "abs" else args
        guard = self._difference(Fraction(1), *both)
        senses = ("<=", ">=") if op == "min" else (">=", "<=")
        results = [self._compared(self._replaced(step, kink, side), sense, t) for side in both]
        guarded = [
            _and([self._compared(guard, own, zero), result]) for own, result in zip(senses, results, strict=True)
        ]
        return _or([_and(results), *guarded])

    def _first_kink(self, step: int) -> int | None:
        """The first step that it needs with a kink, whose arguments have none."""
        needed = sorted(self._needed(step))
        return next((n for n in needed if self.tape.steps[n].op in KINKS), None)

    def _needed(self, step: int) -> set[int]:
        needed, todo = {step}, [step]
        while todo:
            for n in self.tape.steps[todo.pop()].args:
                if n not in needed:
                    needed.add(n)
                    todo.append(n)
        return needed

    def _replaced(self, step: int, old: int, new: int) -> int:
        places = {old: new}
        for n in sorted(self._needed(step)):
            if n not in places:
                one = self.tape.steps[n]
                args = (places[arg] for arg in one.args)
                places[n] = self.tape.add(one.op, *args, text=one.text, where=one.where)
        return places[step]

    def _root(self, step: int) -> bool:
        """Whether it is the root of what cannot be negative."""
        one = self.tape.steps[step]
        return (one.op == "sqrt" or (one.op == "power" and one.text == "1/2")) and self._positive(one.args[0])

    def _positive(self, step: int) -> bool:
        """Whether it is a sum of squares and positive numbers."""
        terms, constant = self._linear(step)
        return constant >= 0 and all(c > 0 and self._even(n) for n, c in terms.items())

    def _even(self, step: int) -> bool:
        one = self.tape.steps[step]
        if one.op == "mul":
            return one.args[0] == one.args[1]
        return one.op == "power" and one.text.isdigit() and int(one.text) % 2 == 0

    def _linear(self, step: int) -> Linear:
        """The step as a combination of steps that are none."""
        one = self.tape.steps[step]
        parts = [self._linear(n) for n in one.args] if one.op in ("add", "sub", "neg", "mul", "div") else []
        if one.op == NUMBER and one.text not in ("pi", "e"):
            return {}, Fraction(one.text)
        if one.op in ("add", "sub"):
            sign = 1 if one.op == "add" else -1
            terms = dict(parts[0][0])
            for n, c in parts[1][0].items():
                terms[n] = terms.get(n, Fraction(0)) + sign * c
            return {n: c for n, c in terms.items() if c}, parts[0][1] + sign * parts[1][1]
        if one.op == "neg":
            return _times(parts[0], Fraction(-1))
        if one.op == "mul" and not (parts[0][0] and parts[1][0]):
            number, other = sorted(parts, key=lambda part: len(part[0]))
            return _times(other, number[1])
        if one.op == "div" and not parts[1][0] and parts[1][1]:
            return _times(parts[0], 1 / parts[1][1])
        return {step: Fraction(1)}, Fraction(0)

    def _sum(self, terms: dict[int, Fraction], constant: Fraction, sides: tuple[int, ...] = ()) -> int:
        """Σ c·step + constant; the keys −1 and −2 mean `sides`."""
        total: int | None = None
        for n, c in terms.items():
            part = sides[-1 - n] if n < 0 else n
            term = part if c == 1 else self.tape.add("mul", self._number(c), part)
            total = term if total is None else self.tape.add("add", total, term)
        if total is None:
            return self._number(constant)
        return self.tape.add("add", total, self._number(constant)) if constant else total

    def _difference(self, c: Fraction, a: int, b: int) -> int:
        """c·a − b, of steps that may be the same."""
        return self._scaled(a, c - 1) if a == b else self._sum({a: c, b: Fraction(-1)}, Fraction(0))

    def _scaled(self, step: int, c: Fraction) -> int:
        return self._sum(*_times(self._linear(step), c))

    def _number(self, value: Fraction) -> int:
        text = decimal(value)
        if "/" not in text:
            return self.tape.add(NUMBER, text=text)
        return self.tape.add("div", *(self.tape.add(NUMBER, text=part) for part in text.split("/")))

    def _place(self, step: int) -> int:
        return self.quantities.setdefault(step, len(self.quantities))


def _times(form: Linear, c: Fraction) -> Linear:
    return ({n: a * c for n, a in form[0].items()} if c else {}), form[1] * c


def _and(results: list[Result]) -> Result:
    return _joined(results, False, conjunction)


def _or(results: list[Result]) -> Result:
    return _joined(results, True, disjunction)


def _joined(results: list[Result], final: bool, join: Callable[[list[Clause]], Clause]) -> Result:
    """Of clauses and what is known already, of which `final` decides."""
    if any(part is final for part in results):
        return final
    clauses = [part for part in results if not isinstance(part, bool)]
    return join(clauses) if clauses else not final
