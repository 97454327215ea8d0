"""A program beside its source: what words that know both are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from integraph.cli.inputs import box_of, names_of, source_of
from integraph.errors import UsageError

if TYPE_CHECKING:
    from integraph import Program
    from integraph.frontends import Target
    from integraph.numbers.intervals import Interval


def beside(
    program: Program, source: str | None, box: str | None, variables: str | None, inputs: int | None
) -> tuple[Target, str]:
    """The source, and where it comes from in words; without one the formula that the program was compiled from."""
    from integraph.api.origin import target_of
    from integraph.frontends import ReadOptions
    from integraph.targets import Function

    check_source(source, variables, inputs)
    given = None if source is None else source_of(source)
    target = target_of(program, given, ReadOptions(names_of(variables), inputs, box=box_of(box)))
    if source is None and isinstance(target, Function):
        return target, f"{target.name}, which the program names"
    return target, str(source)


def check_source(source: str | None, variables: str | None, inputs: int | None) -> None:
    """Options that say how a source is read need one."""
    for name, value in (("variables", variables), ("inputs", inputs)):
        if source is None and value is not None:
            raise UsageError(f"--{name} {value} says how SOURCE is read, and there is none: give it, or leave this out")


def box_beside(program: Program, box: str | None) -> Interval:
    """The box that was given, else the one that the program was made for."""
    from integraph.program.box import where

    return where(program, box_of(box))
