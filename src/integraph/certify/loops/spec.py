"""What is asked of all trajectories: conditions at the end, by a time, or always.

A condition is a clause of comparisons of quantities, formulas of the states. On a set of states a comparison is known
to hold everywhere, to hold nowhere, or neither.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from integraph.certify.loops.flow_kernels import row_values
from integraph.certify.loops.rows import ModelRows
from integraph.certify.loops.tape import Operations, operations
from integraph.numbers.arrays import Floats
from integraph.targets.expression import Expression, pruned
from integraph.targets.float_arithmetic import values
from integraph.targets.property import NEGATION, Comparison, fold
from integraph.targets.property import Clause as Condition

COMPARED = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}


class When(Enum):
    END = "at end"
    BY = "by a time"
    ALWAYS = "always"


class Answer(Enum):
    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Clause:
    """A condition on the quantities of a specification. With `samples`, always means sampling times alone. `first` is
    the sampling time from which it holds, `last` the last one of `by`."""

    text: str
    when: When
    condition: Condition
    samples: bool = False
    last: int = 0
    first: int = 0

    def concerns(self, number: int, steps: int, sample: bool) -> bool:
        """Whether it is about states at sampling time `number` of so many, or over the period after it."""
        match self.when:
            case When.END:
                return sample and number == steps
            case When.BY:
                return sample and number <= self.last
            case When.ALWAYS:
                return number >= self.first and (sample or not self.samples)


@dataclass(frozen=True, slots=True, eq=False)
class Specification:
    """Clauses about quantities, the outputs of an expression in the states."""

    clauses: tuple[Clause, ...]
    expression: Expression
    tape: Operations

    def verdicts(self, rows: ModelRows) -> list[Answer]:
        """What is known of the condition of every clause on a set of states."""
        quantities, known = self._quantities(rows)
        answers = self._conditions(_where(known, quantities.ranges()))
        if Answer.UNKNOWN in answers and known.any():
            answers = self._conditions(_where(known, quantities.tight_ranges()))
        return answers

    def _quantities(self, rows: ModelRows) -> tuple[ModelRows, NDArray[np.bool_]]:
        """The quantities as rows, and which of them are defined on all of the set."""
        count = len(self.expression.outputs)
        out, known = _evaluated(self.tape, rows)
        if not known.all():
            parts = [_evaluated(self.own_tape(n), rows) for n in range(count)]
            out, known = (np.concatenate(several) for several in zip(*parts, strict=True))
        return rows.with_values(np.where(known[:, None], out, 0.0)), known

    def own_tape(self, number: int) -> Operations:
        """The tape of one quantity."""
        form = self.expression
        return operations(pruned(replace(form, outputs=(form.outputs[number],))), ())

    def _conditions(self, ends: Floats) -> list[Answer]:
        return [
            fold(clause.condition, lambda one: compared(one, *ends[one.quantity].tolist()), conjunction, disjunction)
            for clause in self.clauses
        ]

    def margins(self, states: Floats) -> list[Floats]:
        """How well each condition holds at states (…, n), in float64; negative where it does not."""
        with np.errstate(all="ignore"):
            q = values(self.expression, states.reshape(-1, states.shape[-1])).reshape(*states.shape[:-1], -1)
        return [
            fold(
                clause.condition,
                lambda one: (q[..., one.quantity] - float(one.threshold)) * (1.0 if ">" in one.sense else -1.0),
                lambda parts: np.minimum.reduce(parts),
                lambda parts: np.maximum.reduce(parts),
            )
            for clause in self.clauses
        ]


def _evaluated(tape: Operations, rows: ModelRows) -> tuple[Floats, NDArray[np.bool_]]:
    """The outputs of a tape as rows, and which of them are known."""
    failed, out = row_values(tape.code, tape.numbers, tape.held, tape.outputs, rows.values, rows.table)
    return out, np.asarray(np.isfinite(out).all(1) & (failed < 0))


def _where(known: NDArray[np.bool_], ends: Floats) -> Floats:
    """The ends, infinite where nothing is known."""
    return np.where(known[:, None], ends, (-np.inf, np.inf))


def compared(one: Comparison, low: float, high: float) -> Answer:
    """What is known of a comparison, for a quantity between two ends; a float and a fraction are compared exactly."""
    worst, best = (low, high) if ">" in one.sense else (high, low)
    if COMPARED[one.sense](worst, one.threshold):
        return Answer.PROVED
    return Answer.REFUTED if COMPARED[NEGATION[one.sense]](best, one.threshold) else Answer.UNKNOWN


def conjunction(answers: Sequence[Answer]) -> Answer:
    """All of them."""
    if Answer.REFUTED in answers:
        return Answer.REFUTED
    return Answer.UNKNOWN if Answer.UNKNOWN in answers else Answer.PROVED


def disjunction(answers: Sequence[Answer]) -> Answer:
    """At least one of them."""
    if Answer.PROVED in answers:
        return Answer.PROVED
    return Answer.UNKNOWN if Answer.UNKNOWN in answers else Answer.REFUTED


class Judgement:
    """The answer to a specification, from sets of states in the order of time.

    A set at one time that is refuted is refuted for every start; a set over a piece of time, of which some instants may
    be good, refutes `always` all the same, because a condition that fails on all of it fails at each instant.
    """

    def __init__(self, spec: Specification, steps: int) -> None:
        self.spec, self.steps = spec, steps
        first = {When.BY: Answer.REFUTED, When.END: Answer.UNKNOWN, When.ALWAYS: Answer.PROVED}
        self.answers = [first[clause.when] for clause in spec.clauses]
        self.between = any(clause.when is When.ALWAYS and not clause.samples for clause in spec.clauses)

    def see(self, rows: ModelRows, number: int, sample: bool = True) -> None:
        """Take the states into account: at sampling time `number`, or over a piece of the period after it."""
        wanted = [clause.concerns(number, self.steps, sample) for clause in self.spec.clauses]
        if not any(wanted):
            return
        for place, answer in enumerate(self.spec.verdicts(rows)):
            if wanted[place]:
                self.answers[place] = self._combined(place, answer)

    def _combined(self, place: int, answer: Answer) -> Answer:
        """What is known of a clause after one more set of states."""
        match self.spec.clauses[place].when:
            case When.END:
                return answer
            case When.BY:
                return disjunction([self.answers[place], answer])
            case When.ALWAYS:
                return conjunction([self.answers[place], answer])

    def stop(self) -> None:
        """What follows is not known: what is proved of all times is not any more."""
        self.answers = [
            answer if answer is (Answer.PROVED if clause.when is When.BY else Answer.REFUTED) else Answer.UNKNOWN
            for clause, answer in zip(self.spec.clauses, self.answers, strict=True)
        ]

    @property
    def answer(self) -> Answer:
        return conjunction(self.answers)

    @property
    def decided(self) -> bool:
        """Whether later states cannot change the answer: only a failure is final before the end."""
        return any(
            answer is Answer.REFUTED and clause.when is When.ALWAYS
            for clause, answer in zip(self.spec.clauses, self.answers, strict=True)
        )
