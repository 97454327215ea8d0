"""Formulas in mpmath, step by step, and programs with one number changed: what the tests of written programs share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from mpmath import mp, mpf

import integraph
from exact_formulas import DIGITS
from expression_trees import FUNCTIONS
from integraph.certify.formula.difference import FormulaDifference
from integraph.certify.formula.symbolic_flow import OutputFormulas, output_formulas
from integraph.certify.formula.symbols import SymbolTable
from integraph.certify.problem import Box
from integraph.frontends import function
from integraph.numbers.arrays import Floats
from integraph.program import Block
from integraph.targets.expression import Expression, Step

Point = Sequence[float]


def of_tape(steps: Sequence[Step], variables: Sequence[str], x: Point) -> list[mpf]:
    """All steps at a point, with DIGITS digits; NaN where there is no real number."""
    with mp.workdps(DIGITS):
        found: list[mpf] = []
        for step in steps:
            value = _step(step, [found[n] for n in step.args], dict(zip(variables, map(mpf, x), strict=True)))
            found.append(mp.nan if isinstance(value, mp.mpc) or not mp.isfinite(value) else value)
        return found


def _step(step: Step, args: Sequence[mpf], x: dict[str, mpf]) -> mpf:
    match step.op:
        case "number":
            return +getattr(mp, step.text) if step.text in ("pi", "e") else mpf(step.text)
        case "variable":
            return x[step.text]
        case "neg":
            return -args[0]
        case "add":
            return args[0] + args[1]
        case "sub":
            return args[0] - args[1]
        case "mul":
            return args[0] * args[1]
        case "div":
            return args[0] / args[1] if args[1] else mp.nan
        case "power":
            exponent = Fraction(step.text) if step.text else None
            if exponent is not None and exponent.denominator == 1:
                return args[0] ** int(exponent) if args[0] or exponent >= 0 else mp.nan
            if not args[0] and exponent is not None and exponent > 0:
                return mpf(0)
            return args[0] ** args[1] if args[0] > 0 else mp.nan
        case "abs":
            return abs(args[0])
        case "min" | "max":
            return min(args) if step.op == "min" else max(args)
    if step.op == "ln" and not args[0] > 0:
        return mp.nan
    return FUNCTIONS[step.op](args[0])


def written(program: integraph.Program, variables: Sequence[str]) -> tuple[SymbolTable, OutputFormulas]:
    book = SymbolTable(variables)
    return book, output_formulas(program, book)


def flow(program: integraph.Program, variables: Sequence[str], x: Point) -> list[mpf] | None:
    """The outputs as they are written; None where the flow escapes."""
    book, found = written(program, variables)
    values = of_tape(book.tape.steps, variables, x)
    return [values[n] for n in found.outputs] if all(values[n] > 0 for n in found.alive) else None


def target(expression: Expression, x: Point) -> list[mpf]:
    values = of_tape(expression.steps, expression.variables, x)
    return [values[n] for n in expression.outputs]


def difference(
    program: integraph.Program, source: str, box: Sequence[Point], variables: Sequence[str] | None = None
) -> FormulaDifference:
    """What certify solves."""
    expression = function(source, variables=variables).expression
    assert expression is not None
    low, high = np.array(box, float).T
    return FormulaDifference(program, expression, Box(tuple(low.tolist()), tuple(high.tolist())))


def boxes_around(x: Floats, box: Sequence[Point]) -> Iterator[Box]:
    """Of several sizes, inside of `box`."""
    low, high = np.array(box, float).T
    for width in (1.0, 0.3, 0.05, 1e-3):
        a, b = (np.clip(x + s * width * (high - low), low, high) for s in (-0.7, 0.4))
        yield Box(tuple(a.tolist()), tuple(b.tolist()))


def changed(program: integraph.Program) -> Iterator[tuple[str, integraph.Program]]:
    """The program with one number of a block or of the read-out changed: by a little, and in its sign."""
    for s, part in enumerate(program.segments):
        for b, block in enumerate(part.blocks):
            for name, tensor in block.tensors.items():
                for at in np.ndindex(tensor.shape):
                    for what, value in (("moved", tensor[at] * (1 + 2.0**-20) + 2.0**-30), ("turned", -tensor[at])):
                        other = tensor.copy()
                        other[at] = value
                        made = Block(block.op, block.targets, block.operands, {**block.tensors, name: other})
                        blocks = (*part.blocks[:b], made, *part.blocks[b + 1 :])
                        segments = (*program.segments[:s], replace(part, blocks=blocks), *program.segments[s + 1 :])
                        label = f"{block.op.name}.{name}{list(at)} of segment {s} {what}"
                        yield label, replace(program, segments=segments, budget=None)
    for n in range(program.readout.nnz):
        matrix = program.readout.copy()
        matrix.data = matrix.data.copy()
        matrix.data[n] *= 1 + 2.0**-20
        yield f"read-out {n}", replace(program, readout=matrix, budget=None)
