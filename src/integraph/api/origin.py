"""What a program was compiled from, as something that has values: to compare with, to draw, to report."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numpy.typing import ArrayLike

from integraph.api.graphs import graph
from integraph.api.planning import Variables, on_box
from integraph.errors import SourceError, UsageError
from integraph.frontends import function, is_network, is_onnx, network
from integraph.frontends import graph as read_graph
from integraph.frontends.function import is_python
from integraph.numbers.arrays import Floats
from integraph.program import Program
from integraph.program.origin import EXACT, FORMULA, UNKNOWN
from integraph.targets import Function, Network
from integraph.targets.graph import Graph

Target = Network | Function | Graph
Values = Callable[[Floats], Floats]  # (B, d) → (B, outputs)


def target(
    source: Any, *, box: ArrayLike | None = None, variables: Variables = None, inputs: int | None = None
) -> Target:
    """Any source that `compile` takes: a network where it is one, else a graph or a function."""
    if isinstance(source, Graph):
        return source
    if is_network(source):
        try:
            return network(source)
        except SourceError:
            if not is_onnx(source):
                raise
            return read_graph(source)
    return on_box(source, box, variables, inputs, None)[0]


def target_of(
    program: Program,
    source: Any = None,
    *,
    box: ArrayLike | None = None,
    variables: Variables = None,
    inputs: int | None = None,
) -> Target:
    """The source of this program: as it is given, or else the formula that the program names.

    A Python function is tried on the box, which is the program's own unless given; if the program is exact, its source
    was perhaps written in jax.numpy, and is traced again if it can be.
    """
    if source is None:
        remembered = recalled(program)
        if remembered is None:
            raise UsageError(f"the program does not say all of its source ({program.source!r}): give it")
        return remembered
    if is_network(source) or not is_python(source):
        return target(source, variables=variables, inputs=inputs)
    if is_exact(program):
        with suppress(SourceError, UsageError):  # what cannot be traced, or without jax, has values still
            return graph(source, inputs=program.inputs if inputs is None else inputs)
    own = program.box
    if box is None and own is not None:
        box = [(low, high) for low, high in zip(own.low, own.high, strict=True)]
    if box is None and inputs is None:
        inputs = program.inputs or None
    return target(source, box=box, variables=variables, inputs=inputs)


def is_exact(program: Program) -> bool:
    """Whether a program was compiled exactly, as a graph."""
    return program.origin is not None and program.origin.method == EXACT


def values(target: Target) -> Values | None:
    """The target in float64; a table of derivatives has none."""
    if isinstance(target, Network):
        return target
    return target.values


def outputs(target: Target) -> int:
    """How many numbers it gives."""
    return target.sizes if isinstance(target, Graph) else target.outputs


def recalled(program: Program) -> Function | None:
    """The formula that a program was compiled from, if it was one."""
    origin = program.origin
    if origin is None or origin.kind not in (FORMULA, UNKNOWN):
        return None
    try:
        target = function(origin.source, variables=origin.variables or None)
    except (SourceError, UsageError):  # a file says anything; one of version 0.1 cuts long formulas, and names graphs
        return None
    return target if (target.inputs, target.outputs) == (program.inputs, program.outputs) else None
