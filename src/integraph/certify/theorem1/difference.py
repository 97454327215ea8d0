"""The difference of a formula and its program by Theorem 1, as a problem: max over outputs of |f − Σ_k φ_k P_k|.

Because Σφ_k = 1, f − Σφ_k P_k = Σφ_k (f − P_k), an average of what the polynomials are off. On a box with centre m

    f − P_k = Σ_{|α|<n} (f^(α)(m)/α! − P_kα)(x − m)^α + Σ_{|α|=n} f^(α)(ξ)/α! (x − m)^α,   ξ in the box.

Each φ_k is between its least and its largest value there, so the average is at most that with the heaviest weights
where f − P_k is largest. Cells that hardly matter in the box are taken at their worst, all together; so are all of them
if the box is wider than what one P_k is good for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf

import numpy as np
from flint import arb, arb_mat

from integraph.certify.problem import Box, Point, Unprovable
from integraph.certify.taylor import taylor
from integraph.certify.theorem1 import lean_form, printed_form
from integraph.certify.theorem1.cells import Cells, Objects, Range, monomials
from integraph.certify.theorem1.polynomial_ranges import pieces, ranges
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import FIRST, Balls, above, below, precision, symmetric
from integraph.numbers.arb.conversion import box as balls
from integraph.numbers.arb.matrices import product
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import count
from integraph.numbers.roundoff import UP, U
from integraph.program import Program
from integraph.program.engine import DOUBLE
from integraph.targets.expression import Expression

USUAL, HIGH = 192, 4 * 1024 + 192  # bits: a program is read anew for each precision, so there are two
MATTERS = (1e-8, 1e-16, 1e-32, 0.0)  # bumps that are looked at one by one
TINIEST = 5e-324  # what a product can lose when it underflows
SHARE = 1e-3  # of the bound that all others may be


@dataclass(eq=False)
class Theorem1Difference:
    """`box` is where the program is looked at; its parts can be asked about."""

    program: Program
    expression: Expression
    box: Box
    _forms: dict[int, Cells] = field(default_factory=dict, repr=False)

    quantities = 1

    def __post_init__(self) -> None:
        formula = len(self.expression.variables), len(self.expression.outputs)
        if formula != (self.program.inputs, self.program.outputs):
            raise Unprovable("the formula and the program have different numbers of inputs or outputs")
        self.form(FIRST)

    def __getstate__(self) -> dict[str, object]:
        return {"program": self.program, "expression": self.expression, "box": self.box, "_forms": {}}

    def form(self, bits: int) -> Cells:
        """The normal form of the program, in at least that precision."""
        used = self._bits(bits)
        if used not in self._forms:
            printed = any(block.op.name == "partition" for s in self.program.segments for block in s.blocks)
            read = printed_form.read if printed else lean_form.read
            with precision(used):
                self._forms[used] = read(self.program, balls(self.box.low, self.box.high))
        return self._forms[used]

    def _bits(self, bits: int) -> int:
        """Polynomials cancel when they are moved, and controls of many bits are differences of larger ones."""
        more = self.program.bits if self.program.bits > DOUBLE else 0
        return more + (USUAL if bits <= USUAL else max(bits, HIGH))

    def upper(self, box: Box, bits: int) -> tuple[float, ...]:
        if not self._holds(box):
            return (inf,)
        with precision(self._bits(bits)):
            return (_upper(self.form(bits), self.expression, box),)

    def _holds(self, box: Box) -> bool:
        sides = zip(self.box.low, box.low, box.high, self.box.high, strict=True)
        return all(first <= low <= high <= last for first, low, high, last in sides)

    def at(self, point: Point, bits: int) -> tuple[tuple[float, float], ...]:
        if not self._holds(Box(point, point)):
            return ((0.0, inf),)
        with precision(self._bits(bits)):
            return (_at(self.form(bits), self.expression, point),)


def _upper(form: Cells, expression: Expression, box: Box) -> float:
    middle = [arb(m) for m in box.centre]
    half = [abs(x - m).upper() for x, m in zip(balls(box.low, box.high), middle, strict=True)]
    p = pieces(form.d, form.order)
    cuts = [form.cube([m + h * (2 * i - p) / p for m, h in zip(middle, half, strict=True)]) for i in range(p + 1)]
    sides = list(zip(form.bumps, zip(*cuts, strict=True), strict=True))
    bumps = [b.on_pieces(side) for b, side in sides]
    most = [high.max(1) for _, high in bumps]
    if any(b.wide(abs(side[-1] - side[0])) for b, side in sides):
        return _crude(form, expression, box, most)
    off = _Offset(form, expression, box, middle, half)
    bound = inf
    for least in MATTERS:
        check_deadline()
        near = form.near(most, least)
        some = [(b, slice(*ends)) for b, ends in zip(bumps, near, strict=True)]
        low, high = (_products([b[side][cells] for b, cells in some]) for side in (0, 1))
        beyond = form.beyond(most, near, off.size)
        averages = [max(_average(top, low, high), _average(-bottom, low, high)) for bottom, top in off.ranges(near)]
        bound = min(bound, UP * float(np.max(averages + beyond)) + TINIEST)
        if not beyond.max() > SHARE * bound:
            break
    return bound


def _crude(form: Cells, expression: Expression, box: Box, most: list[Floats]) -> float:
    """The worst of the cells that matter, and all others."""
    size = max(above(abs(row[0])) for row in taylor(expression, balls(box.low, box.high), 0))
    near = form.near(most, MATTERS[0])
    worst = form.sizes[(slice(None), *(slice(*ends) for ends in near))].max()
    return UP * (size + float(worst) + float(form.beyond(most, near, size).max()))


def _products(rows: list[Floats]) -> Floats:
    """Π_j of rows (cells, pieces) of each variable: (all pieces, all cells)."""
    products = np.ones((1, 1))
    for row in rows:
        products = np.einsum("pc,kq->pqck", products, row).reshape(products.shape[0] * row.shape[1], -1)
    return products


class _Offset:
    """f − P_k on a box, whose points are middle + half·[−1, 1]^d."""

    def __init__(self, form: Cells, expression: Expression, box: Box, middle: Balls, half: Balls) -> None:
        self.form, self.middle, self.half = form, middle, half
        n, M = form.order, count(form.d, form.order)
        whole, local = taylor(expression, balls(box.low, box.high), n), taylor(expression, middle, n - 1)
        self.size = max(above(abs(row[0])) for row in whole)
        halves = monomials(half, n + 1)
        self.local = [[a * h for a, h in zip(row, halves, strict=False)] for row in local]
        unit = [symmetric(h) for h in halves[M:]]
        self.remainders = [sum((a * b for a, b in zip(row[M:], unit, strict=True)), arb(0)) for row in whole]

    def ranges(self, near: list[Range]) -> Iterator[tuple[Floats, Floats]]:
        """For each output the least and the largest f − P_k, k near, on all pieces: (pieces, cells)."""
        each = zip(self.form.taylor(near, self.middle, self.half), self.local, self.remainders, strict=True)
        for polynomials, row, remainder in each:
            off = arb_mat(polynomials.nrows(), len(row), row * polynomials.nrows()) - polynomials
            low, high = ranges(off, self.form.d, self.form.order)
            yield low + below(remainder), high + above(remainder)


def _average(values: Floats, low: Floats, high: Floats) -> float:
    """The largest Σ w·value with low ≤ w ≤ high and Σ w ≤ 1, of all rows: as much as can be of the largest values."""
    if not np.isfinite(values).all():
        return inf
    order = np.argsort(-values, axis=1)
    value, least, most = (np.take_along_axis(part, order, 1) for part in (values, low / UP, UP * high))
    room, many = most - least, values.shape[1]
    left = np.maximum(1.0 + U * many - least.sum(1, keepdims=True), 0.0)
    taken = np.clip(left - (np.cumsum(room, 1) - room), 0.0, room)
    total = (least * value).sum(1) + (taken * np.maximum(value, 0.0)).sum(1)
    return float(np.max(total + 32 * U * many * np.abs(value).max(1))) + float(4 * many * TINIEST)


def _at(form: Cells, expression: Expression, point: Point) -> tuple[float, float]:
    x = [arb(v) for v in point]
    values = [row[0] for row in taylor(expression, x, 0)]
    t = form.cube(x)
    bumps = [b.at(ball) for b, ball in zip(form.bumps, t, strict=True)]
    high = [np.array([above(v) for v in row]) for row in bumps]
    near = form.near(high, 2.0**-USUAL)
    far = form.beyond(high, near, max(above(abs(v)) for v in values))
    weights: Objects = np.array([arb(1)], object)
    for row, (a, b) in zip(bumps, near, strict=True):
        weights = np.multiply.outer(weights, np.array(row[a:b], object)).reshape(-1)
    powers = monomials([a - c for a, c in zip(t, form.centre, strict=True)], form.order)
    low, top = 0.0, 0.0
    for table, value, beyond in zip(form.coefficients, values, far, strict=True):
        rows = table[tuple(slice(*ends) for ends in near)].reshape(len(weights), -1)
        local = product(arb_mat(rows.tolist()), arb_mat(len(powers), 1, powers))
        total = sum((w * (value - p) for w, p in zip(weights, local.entries(), strict=True)), arb(0))
        size = abs(total + symmetric(arb(float(beyond))))
        if not size.is_finite():
            return 0.0, inf
        low, top = max(low, below(size.lower())), max(top, above(size))
    return max(low, 0.0), top
