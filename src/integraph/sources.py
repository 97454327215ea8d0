"""What a program was compiled from, as something that has values: to compare with, to draw, to report."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from integraph.errors import SourceError
from integraph.frontends import function, is_network, is_onnx, network
from integraph.frontends import graph as read_graph
from integraph.program import Program
from integraph.program.views import Floats
from integraph.smooth import Variables, on_box
from integraph.targets import Function, Network
from integraph.targets.graph import Graph

Target = Network | Function | Graph
Values = Callable[[Floats], Floats]  # (B, d) → (B, outputs)

NAMED = re.compile(r"(?P<formula>.+?)(?: in \((?P<variables>[\w, ]+)\))?, (?:exact|Theorem 1, .*)", re.DOTALL)


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


def values(found: Target) -> Values | None:
    """The target in float64; a table of derivatives has none."""
    if isinstance(found, Network):
        return found
    return found.values


def recalled(program: Program) -> Function | None:
    """The formula that a program says it was compiled from, if it says all of it."""
    said = NAMED.fullmatch(program.source)
    if said is None or "…" in said["formula"]:
        return None
    try:
        found = function(_parts(said["formula"]), variables=said["variables"])
    except SourceError:
        return None
    return found if (found.inputs, found.outputs) == (program.inputs, program.outputs) else None


def _parts(text: str) -> list[str]:
    """The formulas of a list, which commas outside of all brackets divide."""
    found, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return found
