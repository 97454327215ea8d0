"""Functions as users give them: read, on a box, ready for Theorem 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from integraph.bounds.sobolev.norm import Sobolev, derivative_bounds
from integraph.constructions.theorem1.planner import plan as plan_task
from integraph.constructions.theorem1.plans import Plan
from integraph.constructions.theorem1.task import Task, task
from integraph.errors import SourceError, UsageError
from integraph.frontends import function
from integraph.frontends.function import is_python
from integraph.frontends.input_names import names
from integraph.frontends.python.callables import Derivative, inputs_of
from integraph.numbers.arrays import numbers
from integraph.numbers.intervals import Interval
from integraph.program.box import interval
from integraph.targets import Function

Variables = str | Sequence[object] | None


def plan(
    source: Any,
    eps: float = 1e-6,
    *,
    box: ArrayLike | None = None,
    method: str = "lean",
    order: int | None = None,
    width: int | None = None,
    gamma: float = 0.5,
    norm: float | None = None,
    variables: Variables = None,
    inputs: int | None = None,
    derivatives: Derivative | None = None,
) -> Plan:
    """What Theorem 1 would build, by `compile` with the same arguments and this method, and what it considered: orders,
    cells, W, D, terms, memory.

    Nothing of that size is allocated. Print it to see the table.
    """
    return plan_task(
        to_task(
            source, eps, box=box, method=method, order=order, width=width, gamma=gamma, norm=norm,
            variables=variables, inputs=inputs, derivatives=derivatives,
        )
    )  # fmt: skip


def sobolev_norm(
    source: Any,
    n: int,
    box: ArrayLike | None = None,
    *,
    variables: Variables = None,
    inputs: int | None = None,
    derivatives: Derivative | None = None,
) -> Sobolev:
    """Bounds of sup |f^(α)| over the box for all |α| ≤ n, from below and from above; `.norm` is that of W^{n,∞}.

    From a formula both sides are rigorous. From a Python function only what is seen at points is known: the upper bound
    is infinite.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 <= n <= 40:
        raise UsageError("the order of a Sobolev norm is an integer from 0 to 40", argument="n", value=n)
    target, cube = on_box(source, box, variables, inputs, derivatives)
    bounds = derivative_bounds(target, int(n), cube.low, cube.high)
    if target.expression is not None and not np.isfinite(bounds.upper).all():
        why = bounds.why or "larger than float64 holds"
        raise SourceError(f"{target.name}: its derivatives up to order {n} have no bound on the box: {why}")
    return bounds


def to_task(
    source: Any,
    eps: float,
    *,
    box: ArrayLike | None,
    method: str,
    order: int | None,
    width: int | None,
    gamma: float,
    norm: float | None,
    variables: Variables,
    inputs: int | None,
    derivatives: Derivative | None,
) -> Task:
    target, cube = on_box(source, box, variables, inputs, derivatives)
    return task(target, cube, eps, method=method, order=order, width=width, gamma=gamma, norm=norm)


def on_box(
    source: Any, box: ArrayLike | None, variables: Variables, inputs: int | None, derivatives: Derivative | None
) -> tuple[Function, Interval]:
    """The function, and the box that it is on; a Python function is tried there, so the box comes first."""
    if not is_python(source):
        target = function(source, variables=variables, inputs=inputs, derivatives=derivatives)
        return target, interval(box, target.inputs)
    sizes = {
        "the box": _sides(box),
        "inputs": inputs,
        "variables": None if variables is None else len(names(variables)),
    }
    cube = interval(box, inputs_of(source, sizes)[0])
    ends = (cube.low, cube.high)
    return function(source, variables=variables, inputs=inputs, derivatives=derivatives, box=ends), cube


def _sides(box: ArrayLike | None) -> int | None:
    """How many inputs a box speaks of; one pair speaks of any number."""
    shape = () if box is None else numbers(box, "the box").shape
    if len(shape) != 2:
        return None
    pairs = shape[1] == 2 and not (shape[0] == 2 and isinstance(box, tuple))
    return int(shape[0] if pairs else shape[1])
