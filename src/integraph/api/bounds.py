"""`bound`: the range of every output of a source over a box, proved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from integraph.api.arguments import check_workers, opened, positive
from integraph.api.graphs import as_graph
from integraph.api.origin import check_options
from integraph.errors import UsageError
from integraph.frontends import Inputs, Parameters, ReadOptions, Target, Variables, domain, read
from integraph.numbers.intervals import Interval
from integraph.program import Program
from integraph.program.box import interval, where
from integraph.program.engine import DOUBLE
from integraph.program.summary import input_names
from integraph.targets import Function, Network
from integraph.targets.graph import Graph

if TYPE_CHECKING:
    from integraph.certify.bounds.bounds import Bounds


def bound(
    source: Any,
    box: ArrayLike | None = None,
    *,
    gap: float | None = None,
    seconds: float | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: bool = True,
    variables: Variables = None,
    inputs: Inputs = None,
    parameters: Parameters = None,
) -> Bounds:
    """Prove between which numbers every output is for all x of the box.

    `source` is a network, a formula or a graph, given as to `compile`, or a program, or the path of one, whose exact
    flow is bounded; the box is [0, 1]^d where neither the call nor the source names one. One pass takes milliseconds.
    With `gap` cells are bisected until every bound is within so much of the width that is attained (0.01: 1 %), for 60
    seconds at most, or for so many `seconds`; Ctrl-C keeps what is proved. `workers` processes share the work (one for
    each core, when it takes longer than a second), or the dask cluster of a `scheduler`.
    """
    from integraph.certify.bounds.search import search

    for name, value in (("gap", gap), ("seconds", seconds)):
        if value is not None:
            positive(name, value)
    check_workers(workers, scheduler)
    source, options = opened(source), ReadOptions(variables, inputs, box=box, parameters=parameters)
    if isinstance(source, Program):
        check_options(None, options)
        in_double(source)
        bounds = search(source, where(source, box), gap, seconds, progress, workers, scheduler)
        return replace(bounds, names=input_names(source))
    target = read(source, options)
    cube = interval(domain(target, box), target.inputs)
    bounds = search(computable(target, cube), cube, gap, seconds, progress, workers, scheduler)
    return replace(bounds, names=target.variables if isinstance(target, Function) else ())


def in_double(program: Program) -> None:
    """A UsageError for a program whose controls are not what it means."""
    if program.bits > DOUBLE:
        raise UsageError(
            f"the flow needs {program.bits} bits, but its controls are stored in 53, so no bound of it can be proved: "
            "certify proves such programs, and method='lean' needs no more than 53",
            argument="source",
        )


def computable(target: Target, box: Interval, verb: str = "bound") -> Network | Graph:
    """The target as something whose operations are known, for a command with this name."""
    if not isinstance(target, Function):
        return target
    if target.expression is None:
        kind = "data" if target.rows is not None else "a function that can only be called"
        raise UsageError(
            f"{target.name} is {kind}, and says nothing between the points that are known: {verb} takes networks, "
            "formulas and graphs",
            argument="source",
        )
    from integraph.bounds.conditions import conditions, decided
    from integraph.targets.function import from_expression

    expression = decided(target.expression, box.low, box.high)
    if conditions(expression):
        raise UsageError(
            f"{target.name}: a condition is not decided on the whole box: {verb} it on boxes on which it is",
            argument="box",
        )
    return as_graph(from_expression(expression, target.name))
