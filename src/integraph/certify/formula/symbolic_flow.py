"""The outputs of a program as formulas of its inputs, derived from the stored controls.

Segment by segment, block by block, the closed forms of the gadgets are carried out on symbols. That is what the flow of
the stored terms does, if nothing was rounded when they were made from the blocks (`controls`), and as long as it
exists: `alive` are steps that have to be > 0 for that, such as 1 + p of a base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from integraph.certify.controls import exact_program
from integraph.certify.formula.normal_form import NormalForms
from integraph.certify.formula.symbolic_rules import RULES
from integraph.certify.formula.symbols import Symbol, SymbolTable
from integraph.certify.problem import Unprovable
from integraph.clock import check_deadline
from integraph.gadgets import Gadget
from integraph.gadgets.gadget import arguments
from integraph.program import Block, Program, Segment
from integraph.program.engine import DOUBLE
from integraph.program.views import mark

TERMS = 20_000  # of a program
GENERIC = (  # closed forms that are formulas from every start
    "affine", "ramp", "product", "bilinear", "exp", "powers", "power", "ln", "spiral", "power_spiral", "sin_cos",
    "monomial", "decay",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OutputFormulas:
    """Numbers of steps of the symbol table."""

    outputs: tuple[int, ...]
    alive: tuple[int, ...]


def output_formulas(program: Program, book: SymbolTable) -> OutputFormulas:
    """The outputs, on the tape of the symbol table; Unprovable where they cannot be written as formulas."""
    if program.bits > DOUBLE:
        raise Unprovable(f"the flow needs {program.bits} bits, and float64 stores its controls to {DOUBLE}")
    size = max(program.terms, program.width)
    if size > TERMS:
        raise Unprovable(f"{size} terms or registers are more than {TERMS}, the limit for a formula")
    exact_program(program)
    normal, alive = NormalForms(book), dict[int, None]()
    scales = [Fraction(1)] * program.width if program.scales is None else [Fraction(s) for s in program.scales.tolist()]
    states = np.full((program.width, 1), book.symbol(0), object)
    for register, x in enumerate(book.inputs):
        states[register, 0] = scales[register] * x
    for segment in program.segments:
        t = Fraction(segment.duration) * Fraction(segment.rate)
        for block in segment.blocks:
            check_deadline()
            for symbol in _advance(normal, segment, block, t, states):
                if symbol.number is None:
                    alive[symbol.step] = None
                elif symbol.number <= 0:
                    raise Unprovable(f"segment {segment.label!r}: {block.op.name} escapes, whatever the input is")
    ends = [state / scale for state, scale in zip(states[:, 0].tolist(), scales, strict=True)]
    return OutputFormulas(tuple(_read_out(program, ends, book)), tuple(alive))


def _advance(normal: NormalForms, segment: Segment, block: Block, t: Fraction, states: Any) -> Sequence[Symbol]:
    """Write the end values; return what has to be > 0."""
    op, book = block.op, normal.book
    start, operands, tensors = arguments(block, states)
    if isinstance(op, Gadget) and op.name in GENERIC:
        closed = op.closed(SymbolFunctions(book), t, start, operands, tensors)  # type: ignore[arg-type]
        ends, alive = closed.ends, [s for value in closed.alive.values() for s in np.ravel(value).tolist()]
    elif op.name in RULES:
        lanes = np.broadcast_arrays(*start, *operands, *([tensors["k"]] if "k" in tensors else []))
        try:
            end_states = [
                RULES[op.name](normal.quotient, book.symbol(t), *(normal.plain(book.symbol(s)) for s in lane))
                for lane in zip(*(array.ravel().tolist() for array in lanes), strict=True)
            ]
        except Unprovable as why:
            raise Unprovable(f"segment {segment.label!r}: {why}") from None
        ends = tuple(
            np.array([*lane, None], object)[:-1].reshape(start[0].shape)
            for lane in zip(*(ends for ends, _ in end_states), strict=True)
        )
        alive = [symbol for _, symbols in end_states for symbol in symbols]
    else:
        raise Unprovable(f"segment {segment.label!r}: there is no rule for {op.name}")
    for ref, value in zip(block.targets, ends, strict=True):
        mark(ref, states, np.broadcast_to(value, (*ref.shape, 1)))
    return [book.symbol(symbol) for symbol in alive]


def _read_out(program: Program, states: Sequence[Symbol], book: SymbolTable) -> list[int]:
    matrix = program.readout
    outputs = []
    for first, last in zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True):
        total = book.symbol(0)
        for register, weight in zip(matrix.indices[first:last].tolist(), matrix.data[first:last].tolist(), strict=True):
            total = total + weight * states[register]
        outputs.append(total.step)
    return outputs


class SymbolFunctions:
    """The functions of closed forms (`gadgets.functions`), on symbols."""

    def __init__(self, book: SymbolTable) -> None:
        self.book = book

    def _each(self, function: Any, *arrays: Any) -> Any:
        symbol = self.book.symbol
        return np.frompyfunc(lambda *args: function(*map(symbol, args)), len(arrays), 1)(*arrays)

    def sin(self, x: Any) -> Any:
        return self._each(lambda x: x.function("sin"), x)

    def cos(self, x: Any) -> Any:
        return self._each(lambda x: x.function("cos"), x)

    def log1p(self, x: Any) -> Any:
        return self._each(lambda x: (1 + x).function("ln"), x)

    def grow(self, z: Any, x: Any) -> Any:
        return self._each(lambda z, x: z * x.function("exp"), z, x)

    def power(self, z: Any, x: Any, a: Any) -> Any:
        return self._each(lambda z, x, a: z * (1 + x).power(a.number), z, x, a)

    def grow_powers(self, z: Any, e: Any, x: Any, a: Any) -> Any:
        factors = self._each(lambda x, a: (1 + x).power(a.number), x, a)
        return self.grow(z * np.prod(factors, -2), e)

    def sum(self, x: Any, axis: int) -> Any:
        return np.sum(x, axis=axis)
