"""What is asked of all trajectories: conditions at the end, by a time, always, or never.

A condition is a conjunction of margins m(x) ≥ 0, formulas of the states. On a set of states a margin is known to hold
everywhere, to hold nowhere, or neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from integraph.certify.loops.flow_kernels import row_values
from integraph.certify.loops.rows import ModelRows
from integraph.certify.loops.tape import Operations
from integraph.targets.expression import Expression


class When(Enum):
    END = "at end"
    BY = "by a time"
    ALWAYS = "always"
    NEVER = "never"


class Answer(Enum):
    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Clause:
    """A condition, `margins` being numbers of outputs of the specification's formulas. With `samples`, always and never
    mean sampling times alone. `last` is the last period of `by`."""

    text: str
    when: When
    margins: tuple[int, ...]
    samples: bool = False
    last: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Specification:
    """Clauses over margins, formulas of the states. `strict` margins must be positive."""

    clauses: tuple[Clause, ...]
    expression: Expression
    tape: Operations
    strict: tuple[bool, ...]

    def verdicts(self, rows: ModelRows) -> list[Answer]:
        """What is known of every margin on a set of states."""
        tape = self.tape
        failed, out = row_values(tape.code, tape.numbers, tape.held, tape.outputs, rows.values, rows.table)
        if failed >= 0 or not np.isfinite(out).all():
            return [Answer.UNKNOWN] * len(self.strict)
        values = rows.with_values(out)
        answers = self._signs(values.ranges())
        return self._signs(values.tight_ranges()) if Answer.UNKNOWN in answers else answers

    def _signs(self, ends: np.ndarray) -> list[Answer]:
        answers = []
        for (low, high), strict in zip(ends, self.strict, strict=True):
            holds = low > 0 if strict else low >= 0
            fails = high <= 0 if strict else high < 0
            answers.append(Answer.PROVED if holds else Answer.REFUTED if fails else Answer.UNKNOWN)
        return answers


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


def negation(answer: Answer) -> Answer:
    return {Answer.PROVED: Answer.REFUTED, Answer.REFUTED: Answer.PROVED}.get(answer, answer)


class Judgement:
    """The answer to a specification, from sets of states in the order of time.

    A set at one time that is refuted is refuted for every start; a set over a piece of time, of which some instants may
    be good, refutes `always` and `never` all the same, because a margin that fails on all of it fails at each instant.
    """

    def __init__(self, spec: Specification, steps: int) -> None:
        self.spec, self.steps = spec, steps
        self.answers = [
            Answer.REFUTED if clause.when is When.BY else Answer.UNKNOWN if clause.when is When.END else Answer.PROVED
            for clause in spec.clauses
        ]
        self.between = any(c.when in (When.ALWAYS, When.NEVER) and not c.samples for c in spec.clauses)

    def see(self, rows: ModelRows, number: int, sample: bool = True) -> None:
        """Take the states into account: at sampling time `number`, or over a piece of the period after it."""
        margins = self.spec.verdicts(rows)
        for place, clause in enumerate(self.spec.clauses):
            answer = conjunction([margins[n] for n in clause.margins])
            now = self.answers[place]
            if clause.when is When.END and sample and number == self.steps:
                self.answers[place] = answer
            elif clause.when is When.BY and sample and number <= clause.last:
                self.answers[place] = disjunction([now, answer])
            elif clause.when is When.ALWAYS and (sample or not clause.samples):
                self.answers[place] = conjunction([now, answer])
            elif clause.when is When.NEVER and (sample or not clause.samples):
                self.answers[place] = conjunction([now, negation(answer)])

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
            answer is Answer.REFUTED and clause.when in (When.ALWAYS, When.NEVER)
            for clause, answer in zip(self.spec.clauses, self.answers, strict=True)
        )
