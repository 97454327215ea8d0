"""Describe where a formula has no bound: the first step that is not finite although its arguments are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from integraph.bounds.sobolev.taylor_series import SeriesArithmetic, taylor
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import Ball, hull
from integraph.numbers.power_series import Series, variable
from integraph.targets.expression import VARIABLE, Expression, Step, evaluate
from integraph.targets.function import point

NARROW = 1e-6  # of its size: a box like that is told as a point
ROUNDED = 1e-15  # the radius of a value at a point
ZERO = 1e-9  # what is told as 0
CORNERS = 6  # dimensions whose corners are tried


class _SingularityWatch(SeriesArithmetic):
    """Records the first step with an unknown result from known arguments, and whether its value is unknown."""

    step: Step | None = None
    value = False

    def apply(self, step: Step, args: Sequence[Series]) -> Series:
        series = super().apply(step, args)
        if self.step is None and not series.ball.finite.all() and all(a.ball.finite.all() for a in args):
            self.step, self.value = step, bool(series.value.finite.all()) or self._has_value(step, args)
        return series

    def _has_value(self, step: Step, args: Sequence[Series]) -> bool:
        """At a point, roundings apart: √0 is 0, though a ball around 0 has no root."""
        centres = [a.of(0, Ball(a.value.mid, np.zeros_like(a.value.mid))) for a in args]
        at_point = all((a.value.rad <= ROUNDED * (1 + np.abs(a.value.mid))).all() for a in args)
        return at_point and bool(super().apply(step, centres).ball.finite.all())


def first_singularity(expression: Expression, low: Floats, high: Floats, n: int) -> str:
    """Why the coefficients of degree < n are unknown over the box, or at a point of it; "" if they are not."""
    for at_low, at_high, word in _candidates(expression, low, high, n):
        watch = _SingularityWatch(len(low), n)
        box = hull(at_low[:, None], at_high[:, None])
        evaluate(expression, watch, [variable(len(low), n, i, box[i]) for i in range(len(low))])
        if watch.step is not None:
            what = "smooth" if watch.value else "finite"
            text = _text(expression, watch.step)
            place = _place(expression, watch.step, at_low, at_high)
            if not place:
                return f"{text} is not {what}"
            return f"{text} {'may not be' if word == 'for' else 'is not'} {what} {word} {place}"
    return ""


def _candidates(expression: Expression, low: Floats, high: Floats, n: int) -> list[tuple[Floats, Floats, str]]:
    """A point in the box where the coefficients are unknown, if one is easily found, then the box itself."""
    points = [0.5 * low + 0.5 * high]
    if len(low) <= CORNERS:
        points = [np.where(side, high, low) for side in product((False, True), repeat=len(low))] + points
    grid = np.array(points)
    bad = np.flatnonzero(~taylor(expression, grid, grid, n).finite.all((0, 2)))
    narrow = bool((high - low <= NARROW * (1 + np.maximum(np.abs(low), np.abs(high)))).all())
    return [(grid[k], grid[k], "at") for k in bad[:1]] + [(low, high, "near" if narrow else "for")]


def _place(expression: Expression, step: Step, low: Floats, high: Floats) -> str:
    """x = 0, y = 1, of the variables that the step depends on."""
    used = _variables(expression, step)
    keep = [i for i, name in enumerate(expression.variables) if name in used]
    names = tuple(expression.variables[i] for i in keep)
    if (high - low <= NARROW * (1 + np.maximum(np.abs(low), np.abs(high)))).all():
        middle = 0.5 * low[keep] + 0.5 * high[keep]
        return point(np.where(np.abs(middle) < ZERO, 0.0, middle), names)
    return ", ".join(f"{low[i]:.6g} ≤ {name} ≤ {high[i]:.6g}" for i, name in zip(keep, names, strict=True))


def _variables(expression: Expression, step: Step) -> set[str]:
    """The variables below a step; each step is visited once, however many others use it."""
    waiting, below = [*step.args], set(step.args)
    while waiting:
        new = {*expression.steps[waiting.pop()].args} - below
        waiting += new
        below |= new
    return {now.text for now in (step, *(expression.steps[n] for n in below)) if now.op == VARIABLE}


def _text(expression: Expression, step: Step) -> str:
    start, stop = step.where
    return expression.source[start:stop].strip() or step.op
