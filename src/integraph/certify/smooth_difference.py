"""The difference of a formula and its program by Theorem 1, as a problem: max over outputs of |f − Σ_k φ_k P_k|.

Because Σφ_k = 1, f − Σφ_k P_k = Σφ_k (f − P_k): an average of what the polynomials are off, in which nothing cancels. On
a box with centre m, f − P_k = Σ_{|α|<n} (f^(α)(m)/α! − P_kα)(x − m)^α + Σ_{|α|=n} f^(α)(ξ)/α! (x − m)^α, with ξ in the
box. Each φ_k is between its least and its largest value there, so the average is at most that with the heaviest weights
where f − P_k is largest. Cells that hardly matter in the box are taken at their worst, all together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np
from flint import arb, arb_mat

from integraph.bounds.intervals import UP, U
from integraph.certify import exponential_form, printed_form
from integraph.certify.arbs import FIRST, Balls, above, below, interval, precision, symmetric
from integraph.certify.arbs import box as balls
from integraph.certify.cells import Cells, monomials
from integraph.certify.jets import taylor
from integraph.certify.problem import Box, Point, Unprovable
from integraph.program import Program
from integraph.program.engine import DOUBLE
from integraph.program.views import Floats
from integraph.targets.expression import Expression
from integraph.targets.multi_index import below as multi_indices
from integraph.targets.multi_index import count

GUARD = 64  # bits beyond those asked for: local polynomials cancel when they are moved
MATTERS = (1e-6, 1e-12, 1e-24, 0.0)  # bumps that are looked at one by one
SHARE = 1e-3  # of the bound that all others may be


@dataclass(eq=False)
class SmoothDifference:
    """`box` is where the program is looked at; its parts can be asked about."""

    program: Program
    expression: Expression
    box: Box
    _forms: dict[int, Cells] = field(default_factory=dict, repr=False)

    quantities = 1

    def __post_init__(self) -> None:
        if (len(self.expression.variables), len(self.expression.outputs)) != (self.program.inputs, self.program.outputs):
            raise Unprovable("the formula and the program have different numbers of inputs or outputs")
        self.form(FIRST)

    def __getstate__(self) -> dict[str, object]:
        return {"program": self.program, "expression": self.expression, "box": self.box, "_forms": {}}

    def form(self, bits: int) -> Cells:
        """The normal form of the program, in that precision."""
        if bits not in self._forms:
            printed = any(block.op.name == "partition" for s in self.program.segments for block in s.blocks)
            read = printed_form.read if printed else exponential_form.read
            with precision(self._bits(bits)):
                self._forms[bits] = read(self.program, balls(self.box.low, self.box.high))
        return self._forms[bits]

    def _bits(self, bits: int) -> int:
        return bits + GUARD + (self.program.bits if self.program.bits > DOUBLE else 0)

    def upper(self, box: Box, bits: int) -> tuple[float, ...]:
        inside = all(a <= b for a, b in zip(self.box.low, box.low, strict=True)) and all(
            a >= b for a, b in zip(self.box.high, box.high, strict=True)
        )
        if not inside:
            return (inf,)
        with precision(self._bits(bits)):
            return (_upper(self.form(bits), self.expression, box),)

    def at(self, point: Point, bits: int) -> tuple[tuple[float, float], ...]:
        with precision(self._bits(bits)):
            return (_at(self.form(bits), self.expression, point, bits),)


def _upper(form: Cells, expression: Expression, box: Box) -> float:
    n, d = form.order, form.d
    x, middle = balls(box.low, box.high), [arb(m) for m in box.centre]
    whole, local = taylor(expression, x, n), taylor(expression, middle, n - 1)
    sizes = [above(abs(row[0])) for row in whole]
    ends = zip(form.bumps, form.cube([arb(a) for a in box.low]), form.cube([arb(a) for a in box.high]), strict=True)
    ranges = [np.array(bumps.between(a.lower(), b.upper())).T for bumps, a, b in ends]
    low, high = [row[0] for row in ranges], [row[1] for row in ranges]
    steps = _steps([ball - m for ball, m in zip(x, middle, strict=True)], n + 1)
    first, rest = steps[: count(d, n)], steps[count(d, n) :]
    remainders = [sum((a * b for a, b in zip(row[count(d, n) :], rest, strict=True)), arb(0)) for row in whole]
    found = inf
    for least in MATTERS:
        near = form.near(high, least)
        beyond = form.beyond(high, near, max(sizes))
        weights = [_weights([row[a:b] for row, (a, b) in zip(rows, near, strict=True)]) for rows in (low, high)]
        bounds = []
        for polynomials, row, remainder, far in zip(form.taylor(near, middle), local, remainders, beyond, strict=True):
            moved = arb_mat(polynomials.nrows(), len(row), row * polynomials.nrows()) - polynomials
            values = (moved * arb_mat(len(first), 1, first)).entries()
            offs = np.array([(below(v + remainder), above(v + remainder)) for v in values])
            bounds.append(max(_average(offs[:, 1], *weights), _average(-offs[:, 0], *weights)) + far)
        found = min(found, UP * max(bounds)) if all(b == b for b in bounds) else found
        if not beyond.max() > SHARE * found:
            break
    return found


def _steps(moves: Balls, n: int) -> Balls:
    """(x − m)^α for |α| < n; what is a square is not negative."""
    found = monomials(moves, n)
    even = (multi_indices(len(moves), n) % 2 == 0).all(1)
    return [ball.nonnegative_part() if square else ball for ball, square in zip(found, even.tolist(), strict=True)]


def _weights(rows: list[Floats]) -> Floats:
    """Π_j of one number in each row, for all cells."""
    found = rows[0]
    for row in rows[1:]:
        found = np.multiply.outer(found, row)
    return found.reshape(-1)


def _average(values: Floats, low: Floats, high: Floats) -> float:
    """The largest Σ w·value with low ≤ w ≤ high and Σ w ≤ 1: as much as there can be of the largest values."""
    if not np.isfinite(values).all():
        return inf
    order = np.argsort(-values)
    value, least, room = values[order], low[order] / UP, (UP * high - low / UP)[order]
    left = max(1.0 + U * len(values) - float(least.sum()), 0.0)
    taken = np.clip(left - (np.cumsum(room) - room), 0.0, room)
    total = float((least * value).sum() + (taken * np.maximum(value, 0.0)).sum())
    return total + 16 * U * len(values) * float(np.abs(value).max())


def _at(form: Cells, expression: Expression, point: Point, bits: int) -> tuple[float, float]:
    x = [arb(v) for v in point]
    values = [row[0] for row in taylor(expression, x, 0)]
    t = form.cube(x)
    bumps = [b.at(ball) for b, ball in zip(form.bumps, t, strict=True)]
    high = [np.array([above(v) for v in row]) for row in bumps]
    near = form.near(high, 2.0 ** -min(2 * bits, 1000))
    far = form.beyond(high, near, max(above(abs(v)) for v in values))
    weights = np.array([1])
    for row, (a, b) in zip(bumps, near, strict=True):
        weights = np.multiply.outer(weights, np.array(row[a:b], object)).reshape(-1)
    first = arb_mat(1, len(weights), weights.tolist())
    total = arb(0)
    powers = monomials([a - c for a, c in zip(t, form.centre, strict=True)], form.order)
    low, top = 0.0, 0.0
    for table, value, beyond in zip(form.coefficients, values, far, strict=True):
        rows = table[tuple(slice(*ends) for ends in near)].reshape(len(weights), -1)
        local = arb_mat(rows.tolist()) * arb_mat(len(powers), 1, powers)
        total = sum((w * (value - p) for w, p in zip(first.entries(), local.entries(), strict=True)), arb(0))
        size = abs(total + symmetric(arb(float(beyond))))
        if not size.is_finite():
            return 0.0, inf
        low, top = max(low, below(size.lower())), max(top, above(size))
    return max(low, 0.0), top
