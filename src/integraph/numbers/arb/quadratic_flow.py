"""The flow of a quadratic field on balls: Taylor steps that enclose it.

A step sums the Taylor series of all starts in the balls, and bounds its tail by the `majorant`. Radii grow like the
exponential of ∫ |J|, which costs bits, not digits: whoever asks for a number takes as many bits as it needs. A product
costs the same whether its factors are registers or sums of them, so that a Q of low rank stays in factors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import mul

import numpy as np
from flint import arb, ctx

from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import ZERO, Balls, largest, symmetric
from integraph.numbers.arb.majorant import LEAST, UP, balanced, majorant
from integraph.numbers.arrays import Floats
from integraph.numbers.quadratic_field import Matrix, QuadraticField

SHORTEST = 2.0**-40  # step, as a part of the time
SPREAD = 128  # bits between the registers that want the longest and the shortest step
Entry = tuple[int, arb]


class StepTooShort(ArithmeticError):
    """The steps become too short, or are too many: the solution may blow up. `time` says when, `register` which."""

    def __init__(self, time: float, register: int) -> None:
        super().__init__(f"the Taylor steps become too short at t = {time:g}")
        self.time, self.register = time, register


@dataclass(frozen=True, slots=True, eq=False)
class _FactorSpeeds:
    """|F|, |J| and |Q| at a state, from the factors; `at` is |L z|."""

    sizes: QuadraticField
    slope: Floats
    at: Floats

    def rates(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        f, wide = self.sizes, np.zeros(self.sizes.A.shape[1])
        wide[: len(s)] = s
        change = f.forms @ wide
        first, second = change[f.left], change[f.right]
        linear = f.A @ wide + f.U @ (self.at[f.left] * second + self.at[f.right] * first)
        return self.slope / s * UP, linear / s * UP, f.U @ (first * second) / s * UP

    def own(self, s: Floats) -> Floats:
        return np.zeros(len(s))


class QuadraticFlow:
    """Integrates one field from many starts, at the precision of the moment."""

    def __init__(self, field: QuadraticField) -> None:
        self._sizes, self._count = field.sizes(), len(field.b)
        self._left, self._right, self._forms = field.left.tolist(), field.right.tolist(), _entries(field.forms)
        self._still = [all(j >= self._count for j, _ in row) for row in self._forms]
        self._U, self._A, self._b = _entries(field.U), _entries(field.A), [arb(c) for c in field.b.tolist()]

    def end(self, y: Balls, x: Balls, t: arb, max_steps: int) -> Balls:
        """y(t) from every start in the balls, t > 0."""
        left, s, whole = t, np.ones(self._count), largest(t)
        for _ in range(max_steps):
            check_deadline()
            y, h, s = self._step(y, x, left, s, whole)
            if h is None:
                return y
            left -= h
        raise StepTooShort(whole - largest(left), 0)

    def _series(self, y: Balls, x: Balls, order: int) -> tuple[list[Balls], list[Balls]]:
        """The Taylor coefficients of y and of the forms."""
        series, forms = [[ball] for ball in y], list[Balls]([] for _ in self._forms)
        for n in range(order):
            for row, coefficients in zip(self._forms, forms, strict=True):
                value = ZERO
                for j, c in row:
                    if j < self._count:
                        value += c * series[j][n]
                    elif n == 0:
                        value += c * x[j - self._count]
                coefficients.append(value)
            products = [self._product(p, q, forms, n) for p, q in zip(self._left, self._right, strict=True)]
            for i, coefficients in enumerate(series):
                rate = self._b[i] if n == 0 else ZERO
                for j, c in self._A[i]:
                    if j < self._count:
                        rate += c * series[j][n]
                    elif n == 0:
                        rate += c * x[j - self._count]
                for p, c in self._U[i]:
                    rate += c * products[p]
                coefficients.append(rate / (n + 1))
        return series, forms

    def _product(self, p: int, q: int, forms: list[Balls], n: int) -> arb:
        """The n-th coefficient of a product; of a form that stands still all but the first are 0."""
        if self._still[p]:
            return forms[p][0] * forms[q][n]
        if self._still[q]:
            return forms[p][n] * forms[q][0]
        return sum(map(mul, forms[p], reversed(forms[q])), ZERO)

    def _step(self, y: Balls, x: Balls, left: arb, s: Floats, whole: float) -> tuple[Balls, arb | None, Floats]:
        """The end of a step, its length (None if it is the last), and the scales it used."""
        order = 4 + ctx.prec * 2 // 5
        series, forms = self._series(y, x, order)
        slope = np.array([max(largest(coefficients[1]), LEAST) for coefficients in series])
        at = np.array([largest(form[0]) for form in forms])
        speeds = _FactorSpeeds(self._sizes, slope, at)
        s = balanced(speeds, s)
        limit = majorant(speeds, s, largest(left), False)
        if limit is None:
            raise StepTooShort(whole - largest(left), int(np.argmax(slope / s)))
        goal = _goal(y, slope, s, largest(left))
        steps = limit.time * np.exp2(np.minimum((goal - np.log2(limit.size)) / (order + 1), -0.1))
        k = int(np.argmax(steps))
        longest = float(steps[k])
        last = bool(left <= longest)
        if not (last or longest > SHORTEST * whole):
            raise StepTooShort(whole - largest(left), int(np.argmax(slope / s)))
        h = left if last else arb(longest)
        ratio = arb(largest(h)) / arb(limit.time[k])
        tail = arb(limit.size[k]) * ratio ** (order + 1) / (1 - ratio)
        ends = []
        for coefficients, scale in zip(series, s.tolist(), strict=True):
            value = ZERO
            for c in reversed(coefficients):
                value = value * h + c
            ends.append(value + symmetric((tail * arb(scale)).abs_upper()))
        return ends, None if last else h, s


def _goal(y: Balls, slope: Floats, s: Floats, left: float) -> float:
    """log₂ of a tail, in the norm, that no register notices at the precision of the moment. Those that stand still, or
    move too little to notice any, do not count."""
    sizes = np.array([largest(ball) for ball in y])
    goals = np.log2(np.maximum(np.maximum(sizes, np.minimum(slope * left, s)), 1e-300) / s) - ctx.prec
    goals = goals[(slope > LEAST) & (goals < 0)]
    return float(max(goals.min(), goals.max() - SPREAD)) if len(goals) and math.isfinite(goals.max()) else 0.0


def _entries(matrix: Matrix) -> list[list[Entry]]:
    """The numbers of every row, with their columns."""
    rows = []
    for first, last in zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True):
        columns, values = matrix.indices[first:last].tolist(), matrix.data[first:last].tolist()
        rows.append([(j, arb(value)) for j, value in zip(columns, values, strict=True)])
    return rows
