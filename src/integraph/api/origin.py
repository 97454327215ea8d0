"""What a program was compiled from, as something that has values: to compare with, to draw, to report."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from integraph.errors import SourceError, UsageError
from integraph.frontends import DEFAULTS, ReadOptions, SourceKind, Target, function, kind_of, read
from integraph.numbers.arrays import Floats
from integraph.program import Program
from integraph.targets import Function, Network
from integraph.targets.graph import Graph

Values = Callable[[Floats], Floats]  # (B, d) → (B, outputs)

EXACT = r"(?:exact|smoothed)(?:, cleaned| up to e\^−\S+)?"  # how a graph was compiled
NAMED = re.compile(rf"(?P<formula>.+?)(?: in \((?P<variables>[\w, ]+)\))?, (?:{EXACT}|Theorem 1, .*)", re.DOTALL)


def target_of(program: Program, source: Any = None, options: ReadOptions = DEFAULTS) -> Target:
    """The source of this program: as it is given, or else the formula that the program names.

    A Python function is tried on the box, which is the program's own unless given; if the program is exact, its source
    was perhaps written in jax.numpy, and is traced again if it can be.
    """
    if source is None:
        remembered = recalled(program)
        if remembered is None:
            raise UsageError(f"the program does not say all of its source ({program.source!r}): give it")
        return remembered
    if kind_of(source) is not SourceKind.PYTHON:
        return read(source, options)
    if is_exact(program):
        inputs = program.inputs if options.inputs is None else options.inputs
        with suppress(SourceError, UsageError):  # what cannot be traced, or without jax, has values still
            return read(source, ReadOptions(inputs=inputs, into=Graph))
    own = program.box
    if options.box is None and own is not None:
        options = replace(options, box=[(low, high) for low, high in zip(own.low, own.high, strict=True)])
    if options.box is None and options.inputs is None:
        options = replace(options, inputs=program.inputs or None)
    return read(source, options)


def is_exact(program: Program) -> bool:
    """Whether a program says that it was compiled exactly, as a graph."""
    return re.search(f", {EXACT}$", program.source) is not None


def values(target: Target) -> Values | None:
    """The target in float64; a table of derivatives has none."""
    if isinstance(target, Network):
        return target
    return target.values


def outputs(target: Target) -> int:
    """How many numbers it gives."""
    return target.sizes if isinstance(target, Graph) else target.outputs


def recalled(program: Program) -> Function | None:
    """The formula that a program says it was compiled from, if it says all of it."""
    said = NAMED.fullmatch(program.source)
    if said is None:
        return None
    try:
        target = function(_parts(said["formula"]), variables=said["variables"])
    except (SourceError, UsageError):  # a function or a graph is named by other words, a long formula is cut
        return None
    return target if (target.inputs, target.outputs) == (program.inputs, program.outputs) else None


def _parts(text: str) -> list[str]:
    """The formulas of a list, which commas outside of all brackets divide."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
