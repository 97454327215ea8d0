"""Graphs as users give them: formulas, sympy expressions, ONNX files, PyTorch modules, Keras models, functions in
jax.numpy."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from integraph.constructions.graph.construction import Layouts, tolerance
from integraph.constructions.graph.construction import layouts as layouts_of
from integraph.constructions.graph.piecewise import settled
from integraph.errors import UsageError
from integraph.frontends import Inputs, Parameters, ReadOptions, Target, Variables, domain, read
from integraph.program.box import interval
from integraph.targets import Network
from integraph.targets.graph import Graph
from integraph.targets.graph_conversion import network_graph, to_graph


def graph(
    source: Any,
    *,
    variables: Variables = None,
    inputs: Inputs = None,
    parameters: Parameters = None,
) -> Graph:
    """The computation graph of a formula, a sympy expression, an ONNX file, a PyTorch module, a Keras file or model, a
    network or a function in jax.numpy.

    `variables` names the inputs of a formula in order, `parameters` gives other names in it values. `inputs` is for
    functions and modules: how many numbers the one argument holds, or the shapes of all arguments; for a module also
    the shape of one input, without the batch axis. The graph is what `method="exact"` compiles; `values(x)` runs it in
    numpy.
    """
    return as_graph(read(source, ReadOptions(variables, inputs, into=Graph, parameters=parameters)))


def as_graph(target: Target) -> Graph:
    """What `method="exact"` compiles."""
    if isinstance(target, Graph):
        return target
    if isinstance(target, Network):
        return network_graph(target)
    if target.expression is None:
        raise UsageError(f"{target!r} has no formula: a graph needs one; use method='lean'")
    return to_graph(target.expression, target.name)


def layouts(
    source: Any,
    eps: float | None = None,
    *,
    box: ArrayLike | None = None,
    variables: Variables = None,
    inputs: Inputs = None,
    parameters: Parameters = None,
) -> Layouts:
    """Width against depth of what `compile` with `method="exact"` would build: one line for each way to free registers.

    Print it to see the table.
    """
    target = read(source, ReadOptions(variables, inputs, into=Graph, parameters=parameters))
    box = domain(target, box)
    ready = settled(target, interval(box, target.inputs), tolerance(eps))
    return layouts_of(as_graph(ready.target), eps, box=box)
