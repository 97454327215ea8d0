"""What a program was compiled from, as something that has values: to compare with, to draw, to report."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from integraph.api.flow_maps import flow_map, is_lifted
from integraph.constructions.lifting.flow_map import FlowMap
from integraph.errors import SourceError, UsageError
from integraph.frontends import DEFAULTS, ReadOptions, SourceKind, Target, kind_of, read
from integraph.frontends.formula.parser import parse
from integraph.gadgets.free_form import FreeForm
from integraph.numbers.arrays import Floats
from integraph.program import Program
from integraph.program.origin import DATA, EXACT, FORMULA, UNKNOWN
from integraph.targets import Function, Network
from integraph.targets.graph import Graph

Values = Callable[[Floats], Floats]  # (B, d) → (B, outputs)


def target_of(program: Program, source: Any = None, options: ReadOptions = DEFAULTS) -> Target:
    """The source of this program: as it is given, or else the formula that the program names.

    A Python function is tried on the box, which is the program's own unless given; if the program is exact, its source
    was perhaps written in jax.numpy, and is traced again if it can be.
    """
    check_options(source, options)
    if is_lifted(program, source):
        return flow_map(program, source, options.parameters).function()
    if source is None:
        remembered = recalled(program)
        if remembered is None:
            origin = program.origin
            name = program.source if origin is None else origin.source
            fit = (
                "; data can be compared, a proof takes a formula" if origin is not None and origin.kind == DATA else ""
            )
            raise UsageError(
                f"the program stores only the name of its source, {name!r}: give the source too, after the program{fit}"
            )
        return remembered
    if kind_of(source) is SourceKind.DATA and options.variables is None and options.inputs is None:
        origin = program.origin  # which columns are its inputs
        named = origin.variables if origin is not None and origin.kind == DATA else None
        options = replace(options, variables=named) if named else replace(options, inputs=program.inputs)
    if kind_of(source) is not SourceKind.PYTHON:
        return read(source, options)
    options.refuse(SourceKind.PYTHON.value, "parameters")
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


def check_options(source: Any, options: ReadOptions) -> None:
    """A UsageError for an option that says how a source is read where there is none."""
    for name in ("variables", "inputs", "parameters"):
        value = getattr(options, name)
        if source is None and value is not None:
            raise UsageError(
                "it says how to read the source, but there is none: give the source too, or leave this out",
                argument=name,
                value=value,
            )


def is_exact(program: Program) -> bool:
    """Whether a program was compiled exactly, as a graph."""
    return program.origin is not None and program.origin.method == EXACT


def is_learned(program: Program) -> bool:
    """Whether a program was not compiled from anything: it has blocks of any controls, and names no source."""
    blocks = (block for segment in program.segments for block in segment.blocks)
    return program.origin is None and any(isinstance(block.op, FreeForm) for block in blocks)


def values(target: Target) -> Values | None:
    """The target in float64; a table of derivatives and data have none."""
    if isinstance(target, Network):
        return target
    return target.values


def outputs(target: Target | FlowMap) -> int:
    """How many numbers it gives."""
    return target.sizes if isinstance(target, Graph) else target.outputs


def recalled(program: Program) -> Function | None:
    """The formula that a program was compiled from, if it was one."""
    origin = program.origin
    if origin is None or origin.kind not in (FORMULA, UNKNOWN):
        return None
    try:
        target = parse(origin.source, origin.variables or None)  # a formula: never a path that a file names
    except (SourceError, UsageError):  # a file says anything; one of version 0.1 cuts long formulas, and names graphs
        return None
    return target if (target.inputs, target.outputs) == (program.inputs, program.outputs) else None
