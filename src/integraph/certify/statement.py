"""Which problem a proof of a program solves, by what the program was compiled from."""

from __future__ import annotations

from contextlib import suppress

from integraph.certify.digest import digest
from integraph.certify.formula.difference import FormulaDifference
from integraph.certify.network.difference import NetworkDifference
from integraph.certify.problem import Box, Problem, Unprovable
from integraph.certify.theorem1.difference import Theorem1Difference
from integraph.program import Program
from integraph.program.engine import DOUBLE
from integraph.targets import Function, Network
from integraph.targets.expression import Expression

ARB = "the balls of Arb enclose what they should"
BUMPS = ("partition", "log_cosh")  # which make a partition of unity
REAL = "the flow is that of the stored controls in real arithmetic; evaluating it in float64 adds rounding of its own"


def problem(program: Program, target: Network | Function, box: Box) -> Problem:
    """|target − program| on the box and its parts, as data."""
    if isinstance(target, Network):
        return NetworkDifference(program, target)
    if target.expression is None:
        kind = "a table" if target.table is not None else "a Python function"
        raise Unprovable(f"{target.name} is {kind}, which is known at points only: give a formula")
    return _of_formula(program, target.expression, box)


def _of_formula(program: Program, expression: Expression, box: Box) -> Problem:
    """A program of Theorem 1 is read as its polynomials and bumps, any other one as a formula. Polynomials alone can be
    either: they are a formula if they are this one."""
    if any(block.op.name in BUMPS for segment in program.segments for block in segment.blocks):
        return Theorem1Difference(program, expression, box)
    try:
        written = FormulaDifference(program, expression, box)
    except Unprovable as why:
        with suppress(Unprovable):
            return Theorem1Difference(program, expression, box)
        raise why
    if not written.alike:
        with suppress(Unprovable):
            return Theorem1Difference(program, expression, box)
    return written


def assumptions(program: Program, target: Network | Function) -> tuple[str, ...]:
    """What a proof takes for granted."""
    assumptions = [ARB, REAL]
    if program.bits > DOUBLE:
        assumptions.append(
            f"the controls of the partition are those of {program.bits} bits, not as float64 stores them"
        )
    if isinstance(target, Network) and target.notes:
        assumptions += [f"the network as it was read: {note}" for note in target.notes]
    return tuple(assumptions)


def digests(program: Program, target: Network | Function) -> tuple[str, str]:
    """The hashes of what a proof is about."""
    if isinstance(target, Function):
        if target.expression is None:
            raise Unprovable(f"{target.name} has no formula")
        return of_program(program), digest(target.expression)
    return of_program(program), digest(target)


def of_program(program: Program) -> str:
    """The hash of a program, and how many bits of its controls are meant."""
    return f"{program.digest}-{program.bits}"
