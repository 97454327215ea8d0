"""Eq. (1) in fixed point: the arithmetic of a small sequential machine, and what it makes of sample inputs.

States are words of 32 bits with 30 behind the point, each register in a unit of its own, a power of 2 that its range
fits into. A step of size h = 2^−k is one of the midpoint rule: z = y + h/2 f(y), y ← y + h f(z), with y kept in 16
bits more. A coefficient is an integer m of 32 bits and a shift s: h c a b ≈ (m ((a b) >> 30)) >> s, rounded to nearest.
The same integers are computed here, on many inputs at once, as by the Verilog module.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from integraph.errors import UsageError
from integraph.numbers.arrays import Floats
from integraph.program.terms import ONE, Terms, concatenate

if TYPE_CHECKING:
    from integraph.program import Program

POINT, GUARD, MANTISSA = 30, 16, 30  # bits behind the point of a word, more of them in a sum, and of a coefficient
ROOM = 2.0  # a word holds values in [−2, 2): a register may be twice as large as its range says
LARGEST_SHIFT = 62  # of a product of two words
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class FixedTerms:
    """m·y_j·y_k >> shift for each term, in the order of i; index W is the constant 1."""

    i: Integers
    j: Integers
    k: Integers
    mantissa: Integers
    shift: Integers


@dataclass(frozen=True, slots=True, eq=False)
class FixedProgram:
    """A program in fixed point: units of registers and outputs, 2^steps steps and the terms of each segment."""

    width: int
    inputs: int
    units: Integers  # exponents of 2
    output_units: Integers
    steps: tuple[int, ...]
    segments: tuple[FixedTerms, ...]
    readout: FixedTerms

    def run(self, x: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Outputs (B, outputs), and which inputs left the range of the words."""
        words = np.rint(np.ldexp(x.T, POINT - self.units[: self.inputs, None])).astype(np.int64)
        y = np.zeros((self.width, len(x)), np.int64)
        y[: self.inputs] = words << GUARD
        over = np.zeros(len(x), np.bool_)
        for steps, terms in zip(self.steps, self.segments, strict=True):
            for _ in range(1 << steps):
                middle = y + (self._slope(terms, y) >> 1)
                y = y + self._slope(terms, middle)
                over |= (np.abs(y) >> (POINT + GUARD + 1)).any(0)
                y[:, over] = 0
        outputs = _sums(self.readout, _word(y), len(self.output_units))
        return np.ldexp(outputs.T.astype(np.float64), self.output_units - POINT - GUARD), over

    def _slope(self, terms: FixedTerms, y: Integers) -> Integers:
        return _sums(terms, _word(y), self.width)


def fixed_program(program: Program, largest: Floats, extra: int) -> FixedProgram:
    """`largest` is that of each register on its way; 2^extra times as many steps as the rates ask for."""
    units = np.array([0 if not size else math.frexp(size)[1] for size in largest.tolist()])
    scaled = program.rescale_states(np.ldexp(1.0, units))
    steps, segments = [], []
    for number, segment in enumerate(scaled.segments):
        terms = concatenate(list(scaled.segment_terms(number)))
        rates = np.bincount(terms.i, np.abs(terms.value), scaled.width) * segment.duration
        steps.append(max(0, math.frexp(float(rates.max(initial=0.0)))[1]) + extra)
        segments.append(_fixed(terms, segment.duration, steps[-1], scaled.width))
    matrix = scaled.readout.tocoo()
    sizes = np.bincount(matrix.row, np.abs(matrix.data), scaled.outputs)
    output_units = np.array([0 if not size else math.frexp(size)[1] for size in sizes.tolist()])
    rows = Terms(
        matrix.row.astype(np.int32),
        np.full(matrix.nnz, ONE, np.int32),
        matrix.col.astype(np.int32),
        np.ldexp(matrix.data, -output_units[matrix.row]),
    )
    readout = _fixed(rows, 1.0, 0, scaled.width)
    return FixedProgram(scaled.width, scaled.inputs, units, output_units, tuple(steps), tuple(segments), readout)


def _fixed(terms: Terms, duration: float, steps: int, width: int) -> FixedTerms:
    mantissa, exponent = np.frexp(np.ldexp(terms.value * duration, -steps))
    shift = MANTISSA - exponent - GUARD
    if len(shift) and (shift.min() < 1 or shift.max() > LARGEST_SHIFT):
        kept = shift <= LARGEST_SHIFT  # what is shifted further adds nothing
        if shift.min() < 1:
            raise UsageError("a coefficient is too large for fixed point: rescale the time of the program first")
        terms, mantissa, shift = terms[kept], mantissa[kept], shift[kept]
    j, k = (np.where(part == ONE, width, part).astype(np.int64) for part in (terms.j, terms.k))
    rounded = np.rint(np.ldexp(mantissa, MANTISSA)).astype(np.int64)
    return FixedTerms(terms.i.astype(np.int64), j, k, rounded, shift.astype(np.int64))


def _word(y: Integers) -> Integers:
    """Rounded to a word, and the constant 1 behind them."""
    words = (y + (1 << (GUARD - 1))) >> GUARD
    return np.concatenate([words, np.full((1, y.shape[1]), 1 << POINT, np.int64)])


def _sums(terms: FixedTerms, words: Integers, count: int) -> Integers:
    product = (words[terms.j] * words[terms.k] + (1 << (POINT - 1))) >> POINT
    shift = terms.shift[:, None]
    added = (product * terms.mantissa[:, None] + (np.int64(1) << (shift - 1))) >> shift
    total = np.zeros((count, words.shape[1]), np.int64)
    if len(added):
        starts = np.flatnonzero(np.diff(terms.i, prepend=-1))
        total[terms.i[starts]] = np.add.reduceat(added, starts, axis=0)
    return total
