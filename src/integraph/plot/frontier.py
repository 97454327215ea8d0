"""Width against depth for one ε: every plan of Theorem 1, and the frontier, below which there is none.

A plan is on the frontier if no other is both narrower and less deep. Lean plans buy width with depth by summing fewer
products at a time; in the paper's construction, only the order moves both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from integraph.constructions.theorem1.planner import plan
from integraph.constructions.theorem1.plans import Choice
from integraph.constructions.theorem1.task import Task
from integraph.errors import IntegraphError
from integraph.numbers.arrays import Floats
from integraph.plot.picture import POINTS, Curve, Mark, Panel

FAR = 10.0  # times as much needs a logarithmic axis
NEAR = 3.0  # times the ends of a frontier: plans beyond are not drawn
LEAST = 2  # plans to choose from: one says nothing


def frontier(tasks: Sequence[tuple[str, Task, int]], here: Curve) -> Panel | None:
    """The panel for tasks (name, what to plan, colour) of one ε, with this program in it; None if nothing can be
    chosen."""
    marks: list[Mark] = []
    for name, task, colour in tasks:
        choices = _planned(task)
        if len(choices) >= LEAST:
            marks += _marks(name, choices, colour)
    if not marks:
        return None
    marks.append(here)
    wide, deep = (spans_decades(*(getattr(mark, axis) for mark in marks)) for axis in "xy")
    title = f"width against depth, ε = {tasks[0][1].eps:g}"
    return Panel(title, "width W", "depth D", tuple(marks), log_x=wide, log_y=deep)


def spans_decades(*values: Floats) -> bool:
    """Whether numbers are so far apart that a linear axis would hide the small ones."""
    numbers = np.concatenate(values)
    return bool(numbers.max() > FAR * numbers.min())


def _planned(task: Task) -> tuple[Choice, ...]:
    try:
        return plan(task).alternatives
    except IntegraphError:  # no order reaches this ε
        return ()


def _marks(name: str, choices: Sequence[Choice], colour: int) -> tuple[Mark, Mark]:
    """The frontier as a staircase, and all plans that are not far from it as points."""
    width, depth = (np.array([float(getattr(one, of)) for one in choices]) for of in ("width", "depth"))
    order = np.lexsort((depth, width))
    best = order[np.diff(np.minimum.accumulate(depth[order]), prepend=np.inf) < 0]
    x, y = np.repeat(width[best], 2)[1:], np.repeat(depth[best], 2)[:-1]
    near = np.flatnonzero((width <= NEAR * x.max()) & (depth <= NEAR * y.max()))
    text = tuple(f"order {one.order}, N = {one.N}, c = {one.c:g}, P = {one.batch}" for one in choices)
    points = Curve(width[near], depth[near], f"{name}: plans", colour, POINTS, tuple(text[n] for n in near))
    return Curve(x, y, f"{name}: frontier", colour), points
