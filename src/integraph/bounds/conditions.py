"""Conditions of a formula on a box: where the difference that decides one keeps its sign, the formula is one branch."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from integraph.bounds.ranges.propagation import ranges
from integraph.bounds.sobolev.taylor_series import taylor
from integraph.numbers.arrays import Floats
from integraph.targets.expression import CONDITION, Expression, Step, pruned
from integraph.targets.graph_conversion import to_graph


def conditions(expression: Expression) -> list[Step]:
    """The steps that choose between two branches."""
    return [step for step in expression.steps if step.op == CONDITION]


def decided(expression: Expression, low: Floats, high: Floats) -> Expression:
    """The same function on the box, without the conditions that are decided there, and without branches that are not
    taken. What is decided is proved: what cannot be decided stays."""
    if not conditions(expression):
        return expression
    place: list[int] = []
    steps: list[Step] = []
    for number, step in enumerate(expression.steps):
        steps.append(replace(step, args=tuple(place[n] for n in step.args)))
        taken = number
        if step.op == CONDITION:
            g, one, other = steps[-1].args
            least, most = _range(replace(expression, steps=tuple(steps), outputs=(g,)), low, high)
            taken = one if most < 0 else other if least >= 0 else number
        place.append(taken)
    return pruned(replace(expression, steps=tuple(steps), outputs=tuple(place[n] for n in expression.outputs)))


def _range(expression: Expression, low: Floats, high: Floats) -> tuple[float, float]:
    """Between which numbers one output lies, if it exists on the whole box, which balls tell; the ends of intervals are
    sharper."""
    own = pruned(expression)
    ball = taylor(own, low[None], high[None], 1)
    if conditions(own) or not np.isfinite(ball.mid + ball.rad).all():
        return -math.inf, math.inf
    graph = to_graph(own, CONDITION)
    span = ranges(graph, low, high)[graph.outputs[0]]
    return float(np.min(span.low)), float(np.max(span.high))
