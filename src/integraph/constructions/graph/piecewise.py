"""Formulas with conditions, ready to compile: a condition is decided on the box, or else smoothed within a tolerance.

if(g < 0, a, b) becomes a + (b − a)·sigmoid(k·g). Where a and b meet at g = 0 this is off by about 0.28·L/k, with L the
largest |a − b|/|g|. No bound of L is known in general, so nothing is promised: k is chosen by the error at many points,
and where a and b differ at g = 0, the formula jumps and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from integraph.bounds.conditions import conditions, decided
from integraph.errors import SourceError, UsageError
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.targets import Function, Network
from integraph.targets.expression import CONDITION, NUMBER, Expression, Tape
from integraph.targets.float_arithmetic import values
from integraph.targets.function import from_expression, point
from integraph.targets.graph import Graph

Target = Network | Graph | Function
LINES, PARTS, HALVINGS = 256, 64, 60  # through the box, pieces of each, bisections of a piece where g changes its sign
NEAR = 10.0 ** -np.linspace(1.0, 9.0, 33)  # distances from g = 0 at which the error is measured, in lengths of a line
OVERSHOOT = 0.2785  # the largest t/(1 + e^t)
STEEPEST = 1e12
SHARE = 0.5  # of the tolerance; the rest is for kinks of other operations
SEED = 0


@dataclass(frozen=True, slots=True)
class Settled:
    """A target without conditions on a box; where some were smoothed, the points at which the error is to be
    measured."""

    target: Target
    points: Floats | None = None


def settled(target: Target, cube: Interval, eps: float | None) -> Settled:
    """A target whose conditions are decided on the box, or smoothed if there is a tolerance."""
    if not isinstance(target, Function) or target.expression is None or not conditions(target.expression):
        return Settled(target)
    expression = decided(target.expression, cube.low, cube.high)
    if not conditions(expression):
        return Settled(from_expression(expression, target.name))
    if eps is None:
        raise SourceError(
            f"{_text(expression)} is not analytic where its condition changes, so no flow gives it exactly: give a "
            "tolerance eps and method='exact' to smooth it, or a box on which the condition is known"
        )
    return _smooth(expression, target.name, cube, eps)


def _text(expression: Expression) -> str:
    return expression.source[slice(*conditions(expression)[0].where)]


def _smooth(expression: Expression, name: str, cube: Interval, eps: float) -> Settled:
    x, switches = _points(expression, cube)
    _refuse_jumps(expression, switches, eps)
    wanted = values(expression, x)
    if not np.isfinite(wanted).all():
        from_expression(expression, name).values(x)  # type: ignore[misc]  # says where
    k = _steepness(expression, x, eps)
    while True:
        smooth = _replaced(expression, k)
        found = values(smooth, x)
        if not np.isfinite(found).all():
            raise SourceError(
                f"{_text(expression)}: to smooth it, both branches must have a value on the whole box, and one has "
                f"none at {_first(x, found, expression)}: choose a box on which the condition is known"
            )
        largest = float(np.max(np.abs(found - wanted)))
        if largest <= SHARE * eps:
            return Settled(from_expression(smooth, name), x)
        k *= 2.0
        if k > STEEPEST:
            said = f"{_text(expression)} is off by {largest:.2g} even with the steepness {STEEPEST:g}"
            raise UsageError(f"{said}: ask for a larger eps", argument="eps", value=eps)


def _first(x: Floats, found: Floats, expression: Expression) -> str:
    return point(x[int(np.argwhere(~np.isfinite(found))[0, 0])], expression.variables)


def _points(expression: Expression, cube: Interval) -> tuple[Floats, list[Floats]]:
    """Points of lines through the box, points near the switches on them, and for each condition the switches."""
    rng = np.random.default_rng(SEED)
    ends = rng.uniform(cube.low, cube.high, (2, LINES, len(cube.low)))
    lines = min(len(cube.low), LINES)
    ends[:, :lines] = 0.5 * (cube.low + cube.high)
    for axis in range(lines):
        ends[0, axis, axis], ends[1, axis, axis] = cube.low[axis], cube.high[axis]
    start, way = ends[0], ends[1] - ends[0]
    t = np.linspace(0.0, 1.0, PARTS + 1)
    x = [(start[:, None] + t[:, None] * way[:, None]).reshape(-1, len(cube.low))]
    switches = []
    for step in conditions(expression):
        g = replace(expression, outputs=(step.args[0],))
        below = values(g, x[0])[:, 0].reshape(LINES, -1) < 0
        line, part = np.nonzero(below[:, 1:] != below[:, :-1])
        low, high, first = t[part], t[part + 1], below[line, part]
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            same = (values(g, start[line] + middle[:, None] * way[line])[:, 0] < 0) == first
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        switches.append(start[line] + high[:, None] * way[line])
        near = np.clip(high[:, None] + np.concatenate([-NEAR, [0.0], NEAR]), 0.0, 1.0)
        x.append((start[line][:, None] + near[..., None] * way[line][:, None]).reshape(-1, len(cube.low)))
    return np.clip(np.concatenate(x), cube.low, cube.high), switches


def _refuse_jumps(expression: Expression, switches: list[Floats], eps: float) -> None:
    for step, x in zip(conditions(expression), switches, strict=True):
        if not len(x):
            continue
        one, other = values(replace(expression, outputs=step.args[1:]), x).T
        gap = np.where(np.isfinite(one - other), np.abs(one - other), 0.0)
        worst = int(np.argmax(gap))
        if gap[worst] > eps:
            text, where = expression.source[slice(*step.where)], point(x[worst], expression.variables)
            raise SourceError(
                f"{text} jumps from {one[worst]:.6g} to {other[worst]:.6g} near {where}, and the flow of an ODE is "
                "continuous: let the branches meet, choose a box on one side, or ask for a larger eps"
            )


def _steepness(expression: Expression, x: Floats, eps: float) -> float:
    """By the largest |a − b|/|g| at the points."""
    most = 0.0
    for step in conditions(expression):
        g, one, other = values(replace(expression, outputs=step.args), x).T
        with np.errstate(all="ignore"):
            slopes = np.abs(one - other) / np.abs(g)
        most = max(most, float(np.max(slopes, initial=0.0, where=np.isfinite(slopes) & (np.abs(one - other) > eps))))
    return max(2.0 * OVERSHOOT * most / eps, 1.0)


def _replaced(expression: Expression, k: float) -> Expression:
    """With a + (b − a)·sigmoid(k·g) for every condition."""
    tape, place = Tape(expression.variables), list[int]()
    for step in expression.steps:
        args = [place[n] for n in step.args]
        if step.op != CONDITION:
            place.append(tape.add(step.op, *args, text=step.text, where=step.where))
            continue
        g, one, other = args
        steep = tape.add("mul", tape.add(NUMBER, text=repr(k)), g, where=step.where)
        share = tape.add("sigmoid", steep, where=step.where)
        part = tape.add("mul", tape.add("sub", other, one, where=step.where), share, where=step.where)
        place.append(tape.add("add", one, part, where=step.where))
    smooth = tape.expression([place[n] for n in expression.outputs], expression.source)
    return replace(smooth, formula=expression.formula)
