"""A bound of |f − f̂| on a box from the normal forms of both, and all that has to be shown for it to hold.

The values of the steps of f on the box are ranges of their normal forms, much better ones than the terms alone tell.
But that is so only where the rewritings hold, that is, where the sums in `positive` are > 0. These are shown one
after the other, each with the steps that need only those before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from flint import arb

from integraph.certify.formula.normal_distance import UNBOUNDED, BoxEvaluation, Constants
from integraph.certify.formula.normal_form import NormalForms
from integraph.certify.formula.symbolic_flow import OutputFormulas
from integraph.certify.problem import Unprovable
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import ZERO, Balls, both, size


class NormalBound:
    """`first` steps of the tape belong to f, whose outputs are `wanted`, the others to the program."""

    pairs: list[tuple[int, int]] | None  # of outputs; None without normal forms

    def __init__(self, normal: NormalForms, first: int, wanted: Sequence[int], written: OutputFormulas) -> None:
        self.normal, self.first = normal, first
        try:
            outputs = list(zip(map(self._number, wanted), map(self._number, written.outputs), strict=True))
            self.alive = [normal.base(normal.of(step), signed=False)[0] for step in written.alive]
        except Unprovable:
            self.alike, self.pairs = False, None
            return
        self.pairs = outputs
        self.alike = all(normal.shape(a) == normal.shape(b) for a, b in outputs)
        self.steps = [(step, number) for step in range(first) if (number := self._varies(step)) is not None]
        needed = [normal.needed[step] for step, _ in self.steps]
        self.positive = [(number, bisect_right(needed, n)) for n, number in enumerate(normal.positive)]
        self._partners: dict[int, dict[int, int]] = {}
        self._constants: dict[int, Constants] = {}

    def _number(self, step: int) -> int:
        return self.normal.number(self.normal.of(step))

    def _varies(self, step: int) -> int | None:
        """The number of a normal form, if there is one and it is no constant."""
        try:
            normal = self.normal.of(step)
        except Unprovable:
            return None
        return None if self.normal.is_fixed(normal) else self.normal.number(normal)

    def partners(self, count: int) -> dict[int, int]:
        if count not in self._partners:
            self._partners[count] = {self.normal.shape(number): number for _, number in self.steps[:count]}
        return self._partners[count]

    def __call__(self, box: Balls, values: Sequence[arb], bits: int) -> arb:
        """`values` are ranges of the steps of f, all finite; ∞ where there is no bound. `bits` names the precision."""
        if self.pairs is None:
            return UNBOUNDED
        try:
            return self._bound(self.pairs, box, values, bits)
        except RecursionError:  # functions of functions of functions …
            return UNBOUNDED

    def _bound(self, pairs: Sequence[tuple[int, int]], box: Balls, values: Sequence[arb], bits: int) -> arb:
        constants = self._constants.setdefault(bits, Constants(self.normal))
        on: dict[int, BoxEvaluation] = {}

        def knowing(count: int) -> BoxEvaluation:
            if count not in on:
                known: dict[int, arb] = {}
                for step, number in self.steps[:count]:
                    check_deadline()
                    known[number] = both(values[step], known.get(number, values[step]))
                on[count] = BoxEvaluation(constants, box, known, self.partners(count))
            return on[count]

        if not all(knowing(count).range(number) > 0 for number, count in self.positive):
            return UNBOUNDED
        whole = knowing(len(self.steps))
        if not all(whole.range(number) > 0 for number in self.alive):
            return UNBOUNDED
        bound = ZERO
        for a, b in pairs:
            bound = bound.max(whole.apart(a, b))
        return size(bound)
