"""What sets of states say of a specification: 1 where it holds on all of a set, −1 where it fails on all, else 0."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, fmpq

from integraph.certify.loops.replay.formulas import formula
from integraph.certify.loops.replay.polynomials import attained, lower_bound, upper_bound
from integraph.certify.loops.replay.rows import Row
from integraph.certify.loops.spec import Clause, Specification, When
from integraph.numbers.arb.conversion import above
from integraph.targets.property import Comparison, fold

PIECES = 200  # into which [−1, 1]^d is divided to bound a polynomial


class Verdict:
    """Collects sets in the order of time. A conjunction is the least of its parts, `by` the largest of its times."""

    def __init__(self, spec: Specification, steps: int) -> None:
        self.spec, self.steps, self.seen = spec, steps, -1
        first = {When.END: 0, When.BY: -1, When.ALWAYS: 1}
        self.signs = [first[clause.when] for clause in spec.clauses]
        self.between = any(clause.when is When.ALWAYS and not clause.samples for clause in spec.clauses)

    def see(self, rows: Sequence[Row], number: int, sample: bool = True) -> None:
        """Take states at sampling time `number` into account, or over a piece of the period after it."""
        wanted = [place for place, clause in enumerate(self.spec.clauses) if self._matters(clause, number, sample)]
        if sample:
            self.seen = number
        if not wanted:
            return
        quantities = formula(self.spec.expression, rows)
        for place in wanted:
            clause, before = self.spec.clauses[place], self.signs[place]
            now = fold(clause.condition, lambda one: compared(one, quantities[one.quantity]), min, max)
            match clause.when:
                case When.END:
                    self.signs[place] = now
                case When.BY:
                    self.signs[place] = max(before, now)
                case When.ALWAYS:
                    self.signs[place] = min(before, now)

    def _matters(self, clause: Clause, number: int, sample: bool) -> bool:
        if clause.when is When.END:
            return sample and number == self.steps
        if clause.when is When.BY:
            return sample and number <= clause.last
        return number >= clause.first and (sample or not clause.samples)

    def sign(self) -> int:
        """Of the whole specification: times that were not seen prove nothing, and undo no failure."""
        signs = []
        for clause, now in zip(self.spec.clauses, self.signs, strict=True):
            if self.seen == self.steps or (clause.when is When.BY and self.seen >= clause.last):
                signs.append(now)
            elif clause.when is When.BY:
                signs.append(max(now, 0))
            else:
                signs.append(min(now, 0))
        return min(signs)


def compared(one: Comparison, quantity: Row) -> int:
    """Of a comparison: the margin by which it holds is the quantity less its threshold, or the other way round."""
    threshold = arb(fmpq(one.threshold.numerator, one.threshold.denominator))
    up = ">" in one.sense
    margin = quantity.scaled(arb(1), -threshold) if up else quantity.scaled(arb(-1), threshold)
    return sign(margin, "=" not in one.sense)


def sign(row: Row, strict: bool) -> int:
    """Of a margin, which must be ≥ 0, or > 0."""
    if not row.finite:
        return 0
    low, high = row.range()
    if low < 0 and high > 0:
        (least, most), errors = attained(row.p), above(row.errors)
        if not least < errors:  # else bisection would find no better bound than that
            low = arb(lower_bound(row.p, PIECES, errors)) - row.errors
        if low < 0 and not most > -errors:
            high = arb(upper_bound(row.p, PIECES)) + row.errors
    if low > 0 or (not strict and low >= 0):
        return 1
    return -1 if high < 0 or (strict and high <= 0) else 0
