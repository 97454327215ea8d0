"""The difference of a formula and an exact program, as a problem: max over outputs of |f − f̂|.

The program is written as a formula f̂ too (`symbolic_flow`), on the tape of f. There are two bounds:

1. Normal forms: f and f̂ mostly are the same sums of products up to the last bits of their constants, whose differences
   are carried through (`normal_distance`). Then one box is enough, in any dimension.
2. Otherwise, Taylor's theorem for g = f − f̂ on a box with centre m and half-widths h: with g_α = g^(α)/α!,
   |g| ≤ Σ_{|α|<n} |g_α(m)| h^α + Σ_{|α|=n} |g_α(box)| h^α, for the best n.

Both hold only where f is defined and the flow of the program exists: all steps of f have a value on the box, and all
that has to be > 0 for the flow to exist is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import inf

import numpy as np
from flint import arb

from integraph.bounds.sobolev.singularities import first_singularity
from integraph.certify.formula.normal_distance import NormalBound
from integraph.certify.formula.normal_form import NormalForms
from integraph.certify.formula.symbolic_flow import output_formulas
from integraph.certify.formula.symbols import SymbolTable
from integraph.certify.problem import Box, Point, Unprovable
from integraph.certify.taylor import taylor
from integraph.certify.theorem1.cells import monomials
from integraph.numbers.arb.conversion import FIRST, ZERO, Balls, above, largest, precision, size, smallest
from integraph.numbers.arb.conversion import box as balls
from integraph.numbers.arb.jets import Jet, Jets
from integraph.numbers.arb.ranges import UNKNOWN
from integraph.numbers.multi_index import count
from integraph.program import Program
from integraph.targets.expression import NUMBER, VARIABLE, Expression

MORE = 64  # bits above those that are asked for: what is subtracted is nearly equal
SMALL = 2.0**-30  # of the size of f: normal forms that fit give a bound below that
ORDERS = {1: 16, 2: 10, 3: 7, 4: 4}  # of Taylor's theorem, by the number of inputs
FEW, MANY = 2, 6  # the order where there are more inputs; beyond so many it is 1
UNDEFINED = "the formula may have no value somewhere on the box"
WIDE = "the box is too wide for one bound, and is divided only to reach an eps or a gap"


@dataclass(eq=False)
class FormulaDifference:
    """|f − f̂| on parts of `box`."""

    program: Program
    expression: Expression
    box: Box
    _both: _FormulaPair | None = field(default=None, repr=False)

    quantities = 1

    def __post_init__(self) -> None:
        formula = len(self.expression.variables), len(self.expression.outputs)
        if formula != (self.program.inputs, self.program.outputs):
            raise Unprovable("the formula and the program have different numbers of inputs or outputs")
        try:
            self._both = _FormulaPair(self.program, self.expression, self.box)
        except RecursionError:
            raise Unprovable("functions of functions are nested too deep") from None

    def __getstate__(self) -> dict[str, object]:
        return {"program": self.program, "expression": self.expression, "box": self.box, "_both": None}

    @property
    def both(self) -> _FormulaPair:
        if self._both is None:
            self._both = _FormulaPair(self.program, self.expression, self.box)
        return self._both

    @property
    def alike(self) -> bool:
        """Whether formula and program have the same normal form up to the last bits of their constants."""
        return self.both.normal.alike

    def upper(self, box: Box, bits: int) -> tuple[float, ...]:
        with precision(bits + MORE):
            return (self.both.upper(box, bits),)

    def at(self, point: Point, bits: int) -> tuple[tuple[float, float], ...]:
        with precision(bits + MORE):
            return (self.both.at(point),)


class _FormulaPair:
    """Formula and program on one tape. The expression `gaps` has f − f̂, and then what has to be > 0."""

    def __init__(self, program: Program, expression: Expression, box: Box) -> None:
        self.expression, self.box = expression, box
        book, place = SymbolTable(expression.variables), list[int]()
        for step in expression.steps:
            place.append(book.tape.add(step.op, *(place[n] for n in step.args), text=step.text))
        self.steps = tuple(book.tape.steps)
        self.variables = expression.variables
        self.wanted = [place[n] for n in expression.outputs]
        with precision(FIRST):
            values = self._values(balls(box.low, box.high))
        signs = {step: 1 if ball > 0 else -1 for step, ball in enumerate(values) if ball > 0 or ball < 0}
        written = output_formulas(program, book)
        self.normal = NormalBound(NormalForms(book, signs), len(self.steps), self.wanted, written)
        gaps = [_difference(book, a, b) for a, b in zip(self.wanted, written.outputs, strict=True)]
        self.outputs = len(gaps)
        self.gaps = book.tape.expression([*gaps, *written.alive])

    def upper(self, box: Box, bits: int) -> float:
        ends = balls(box.low, box.high)
        values = self._values(ends)
        if not all(ball.is_finite() for ball in values):
            raise Unprovable(self.undefined)
        bound = self.normal(ends, values, bits)
        if not bound <= SMALL * (1 + max(largest(values[n]) for n in self.wanted)):
            taylor_bound = self._taylor(ends, [arb(m) for m in box.centre])
            bound = taylor_bound if taylor_bound < bound else bound
        if not bound.is_finite():
            raise Unprovable(WIDE)
        return above(bound)

    @cached_property
    def undefined(self) -> str:
        """Why the formula may have no value somewhere on the whole box; its parts have none for the same reason."""
        ends = np.array(self.box.low), np.array(self.box.high)
        return next((why for n in (1, 2) if (why := first_singularity(self.expression, *ends, n))), UNDEFINED)

    def _values(self, box: Balls) -> Balls:
        """Ranges of all steps of f, not finite where one may not be defined somewhere."""
        jets = Jets(len(box), 0)
        values: list[Jet] = []
        for step in self.steps:
            if step.op == NUMBER:
                jet = jets.number(step.text)
            elif step.op == VARIABLE:
                jet = jets.variable(0, box[self.variables.index(step.text)])
            else:
                jet = jets.apply(step, [values[n] for n in step.args])
            values.append(jet)
        return [jet.value if jet.known else UNKNOWN for jet in values]

    def _taylor(self, box: Balls, middle: Balls) -> arb:
        d = len(box)
        order = ORDERS.get(d, FEW if d <= MANY else 1)
        whole, local = taylor(self.gaps, box, order), taylor(self.gaps, middle, order - 1)
        if not all(row[0] > 0 for row in whole[self.outputs :]):
            return arb.pos_inf()
        half = [abs(x - m).upper() for x, m in zip(box, middle, strict=True)]
        powers = monomials(half, order + 1)
        ends = [0, *(count(d, n) for n in range(1, order + 2))]  # of the degrees
        bound = ZERO
        for row, at in zip(whole[: self.outputs], local, strict=False):
            bound = bound.max(_best(row, at, powers, ends))
        return size(bound)

    def at(self, point: Point) -> tuple[float, float]:
        rows = [row[0] for row in taylor(self.gaps, [arb(x) for x in point], 0)]
        if not all(ball.is_finite() for ball in rows) or not all(ball > 0 for ball in rows[self.outputs :]):
            return 0.0, inf
        sizes = rows[: self.outputs]
        return max(map(smallest, sizes)), max(map(largest, sizes))


def _difference(book: SymbolTable, a: int, b: int) -> int:
    """f − f̂; of equal steps 0·f, which is not known where f is not."""
    if a == b:
        return book.tape.add("mul", a, book.symbol(0).step)
    return book.tape.add("sub", a, b)


def _best(whole: Sequence[arb], local: Sequence[arb], powers: Balls, ends: Sequence[int]) -> arb:
    """The smallest bound of all orders."""
    bound, before = arb.pos_inf(), ZERO
    for first, last in pairwise(ends):
        rest = sum((size(c) * h for c, h in zip(whole[first:last], powers[first:last], strict=True)), ZERO)
        total = before + rest
        bound = total if total.is_finite() and total < bound else bound
        if last < ends[-1]:
            before = before + sum(
                (size(c) * h for c, h in zip(local[first:last], powers[first:last], strict=True)), ZERO
            )
    return bound
