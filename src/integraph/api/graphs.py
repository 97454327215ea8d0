"""Graphs as users give them: formulas, sympy expressions, ONNX files, functions written in jax.numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from integraph.api.planning import Variables
from integraph.constructions.graph.construction import Layouts
from integraph.constructions.graph.construction import layouts as layouts_of
from integraph.errors import UsageError
from integraph.frontends import function, is_network, is_onnx, network
from integraph.frontends import graph as read_graph
from integraph.frontends.function import is_python
from integraph.targets.graph import Graph
from integraph.targets.graph_conversion import network_graph, to_graph


def graph(source: Any, *, variables: Variables = None, inputs: int | Sequence[tuple[int, ...]] | None = None) -> Graph:
    """The computation graph of a formula, a sympy expression, an ONNX file, a network or a function in jax.numpy.

    `variables` names the inputs of a formula in order. `inputs` is for functions: how many numbers the one argument
    holds, or the shapes of all arguments. The graph is what `method="exact"` compiles; `values(x)` runs it in numpy.
    """
    if isinstance(source, Graph):
        return source
    if is_onnx(source):
        return read_graph(source)
    if is_network(source):
        return network_graph(network(source))
    if is_python(source):
        from integraph.frontends import jax

        if inputs is None:
            raise UsageError(
                f"{source!r} is traced by jax: say inputs=n, how many numbers it takes, or the shapes of its arguments"
            )
        return jax.read(source, inputs)
    if inputs is not None and not isinstance(inputs, int):
        raise UsageError(f"inputs = {inputs!r}: shapes are for functions; a formula has as many inputs as variables")
    target = function(source, variables=variables, inputs=inputs)
    if target.expression is None:
        raise UsageError(f"{target!r} has no formula: a graph needs one; use method='lean'")
    return to_graph(target.expression, target.name)


def layouts(
    source: Any,
    eps: float | None = None,
    *,
    box: ArrayLike | None = None,
    variables: Variables = None,
    inputs: int | Sequence[tuple[int, ...]] | None = None,
) -> Layouts:
    """Width against depth of what `compile` with `method="exact"` would build: one line for each way to free registers.

    Print it to see the table.
    """
    return layouts_of(graph(source, variables=variables, inputs=inputs), eps, box=box)
