"""A task for Theorem 1: the function, the tolerance and the other arguments of a call, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from integraph.constructions.surrogate.sampling import affordable
from integraph.constructions.surrogate.surrogate import Surrogate, surrogate
from integraph.constructions.theorem1.derivative_bounds import DerivativeBounds, largest_order
from integraph.constructions.theorem1.unit_cube import UnitCube, unit_cube
from integraph.errors import UsageError
from integraph.numbers.arrays import real
from integraph.numbers.intervals import Interval
from integraph.targets import Function
from integraph.text import counted

METHODS = ("lean", "remark", "paper")


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    function: Function
    cube: UnitCube
    eps: float
    method: str
    order: int | None  # n
    width: int | None  # the largest W
    gamma: float  # the paper's γ
    known: DerivativeBounds
    surrogate: Surrogate | None = None  # which the function is, instead of one that can only be called

    @property
    def read_in(self) -> bool:
        """Whether a segment has to bring the box to the unit cube."""
        return not self.cube.identity


def task(
    function: Function,
    box: Interval,
    eps: float,
    *,
    method: str = "lean",
    order: int | None = None,
    width: int | None = None,
    gamma: float = 0.5,
    norm: float | None = None,
) -> Task:
    """`norm` is the user's bound of all derivatives up to `order`, or of every order, where there is no formula."""
    if not isinstance(method, str) or method not in METHODS:
        raise UsageError(
            f"a function is compiled by 'exact' (formulas), {', '.join(map(repr, METHODS))}",
            argument="method",
            value=method,
        )
    tolerance, share = real(eps, "eps"), real(gamma, "gamma")
    if isinstance(eps, bool) or not (math.isfinite(tolerance) and tolerance > 0):
        raise UsageError("the tolerance must be finite and > 0", argument="eps", value=eps)
    if not 0 < share < 1:
        raise UsageError("the share of the tolerance must be between 0 and 1", argument="gamma", value=gamma)
    for name, value in (("order", order), ("width", width)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1):
            raise UsageError("needs an integer ≥ 1, or None to let the planner choose", argument=name, value=value)
    if order is not None and order > largest_order(function.inputs):
        most = largest_order(function.inputs)
        many = counted(function.inputs, "input")
        raise UsageError(f"for {many} it may be at most {most}", argument="order", value=order)
    if method != "lean" and width is not None:
        raise UsageError(
            f"only method='lean' takes a width: {method!r} has the width of the theorem", argument="width", value=width
        )
    if method != "lean" and function.table is not None:
        raise UsageError(
            "a table of derivatives fixes N, so it is compiled by method='lean'", argument="method", value=method
        )
    if norm is not None and function.expression is not None:
        raise UsageError(
            "the derivatives of a formula are bounded automatically; leave it out", argument="norm", value=norm
        )
    cube = unit_cube(box)
    known = DerivativeBounds(function, cube, None if norm is None else real(norm, "norm"))
    return Task(function, cube, tolerance, method, order, width, share, known)


def with_surrogate(task: Task) -> Task:
    """The same task for a polynomial, where the function can only be called and nothing bounds its derivatives.

    Else, and with more inputs than a polynomial can have, fits are made of the function itself."""
    f = task.function
    direct = task.known.norm is not None or (f.derivative is not None and task.method != "lean")
    if f.meter is None or direct or not affordable(f.inputs, f.outputs):
        return task
    polynomial = surrogate(f, task.cube.box, task.eps)
    smooth = replace(f, values=polynomial.values, derivative=polynomial.derivative)
    return replace(task, function=smooth, known=DerivativeBounds(smooth, task.cube, None), surrogate=polynomial)
