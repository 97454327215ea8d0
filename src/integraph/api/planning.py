"""Functions as users give them: read, on a box, ready for Theorem 1."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from integraph.bounds.sobolev.norm import Derivative, Sobolev, derivative_bounds
from integraph.constructions.graph.piecewise import settled
from integraph.constructions.surrogate.sampling import affordable
from integraph.constructions.surrogate.surrogate import surrogate
from integraph.constructions.theorem1.planner import plan as plan_task
from integraph.constructions.theorem1.plans import Plan
from integraph.constructions.theorem1.task import task, with_surrogate
from integraph.errors import SourceError, UsageError
from integraph.frontends import Parameters, ReadOptions, Target, Variables, domain, function, read
from integraph.frontends.python.callables import Derivative as GivenDerivative
from integraph.numbers.intervals import Interval
from integraph.numbers.low_discrepancy import kronecker
from integraph.program.box import interval
from integraph.targets import Function
from integraph.targets.function import metered

SCALE = 8  # calls that tell how large a function is
CLOSE = (1e-10, 1e-5)  # of that: how close a polynomial should be, whose derivatives stand for those of the function


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
    derivatives: GivenDerivative | None = None,
    max_calls: int | None = None,
    parameters: Parameters = None,
) -> Plan:
    """What Theorem 1 would build, by `compile` with the same arguments and this method, and what it considered: orders,
    cells, W, D, terms, memory.

    Nothing of that size is allocated. Print it to see the table. A Python function is called as often as by `compile`.
    """
    target, cube = on_box(source, ReadOptions(variables, inputs, derivatives, box, parameters=parameters))
    asked = task(target, cube, eps, method=method, order=order, width=width, gamma=gamma, norm=norm)
    with call_limit(target, max_calls):
        return plan_task(with_surrogate(asked))


def call_limit(function: Function, calls: int | None) -> AbstractContextManager[None]:
    """Inside, a function that can only be called is called at so many points at most, and a bar says at how many."""
    if calls is not None and (isinstance(calls, bool) or not isinstance(calls, int | np.integer) or calls < 1):
        raise UsageError("needs an integer ≥ 1", argument="max_calls", value=calls)
    if function.meter is not None:
        return function.meter.limited(calls)
    if calls is not None:
        raise UsageError(
            f"this is for a Python function, and the source is the {function!r}: leave it out",
            argument="max_calls",
            value=calls,
        )
    return nullcontext()


def sobolev_norm(
    source: Any,
    n: int,
    box: ArrayLike | None = None,
    *,
    variables: Variables = None,
    inputs: int | None = None,
    derivatives: GivenDerivative | None = None,
    parameters: Parameters = None,
) -> Sobolev:
    """Bounds of sup |f^(α)| over the box for all |α| ≤ n, from below and from above; `.norm` is that of W^{n,∞}.

    From a formula both sides are rigorous. A Python function is only called: the lower bound is the largest value
    found, the upper bound is infinite, and `estimate` has the derivatives of a polynomial through its values.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 <= n <= 40:
        raise UsageError("the order of a Sobolev norm is an integer from 0 to 40", argument="n", value=n)
    target, cube = on_box(source, ReadOptions(variables, inputs, derivatives, box, parameters=parameters))
    bounds = derivative_bounds(target, int(n), cube.low, cube.high, like=_polynomial(target, cube))
    if target.expression is not None and not np.isfinite(bounds.upper).all():
        why = bounds.why or "larger than float64 holds"
        raise SourceError(f"{target.name}: its derivatives up to order {n} have no bound on the box: {why}")
    return bounds


def _polynomial(function: Function, cube: Interval) -> Derivative | None:
    """The derivatives of a polynomial close to a function that can only be called; None where there is none."""
    if function.meter is None or function.values is None or not affordable(function.inputs, function.outputs):
        return None
    spread = kronecker(SCALE, function.inputs)
    with call_limit(function, None):
        size = float(np.abs(function.values(cube.low * (1 - spread) + cube.high * spread)).max()) or 1.0
        for close in CLOSE:
            with suppress(UsageError):  # it is not smooth, or noisy
                return surrogate(function, cube, close * size).derivative
    return None


def on_box(source: Any, options: ReadOptions) -> tuple[Function, Interval]:
    """The function in a source, and the box that it is on. Data have neither a plan nor derivatives."""
    target = read(source, options)
    if isinstance(target, Function) and target.rows is not None:
        raise UsageError(f"{target.name} are data: their fit shows what they allow, so compile them")
    return as_function(target, options.box)


def as_function(target: Target, box: ArrayLike | None) -> tuple[Function, Interval]:
    """What Theorem 1 takes: a function on a box; a network has values, and is one too."""
    cube = interval(domain(target, box), target.inputs)
    if isinstance(target, Function):
        ready = settled(target, cube, None).target
        assert isinstance(ready, Function)
        return metered(ready), cube
    return function(target, inputs=target.inputs, box=(cube.low, cube.high)), cube
