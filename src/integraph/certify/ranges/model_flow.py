"""A program on polynomial models, cell by cell of the box at once: bounds of every register in every segment.

Models keep what registers have in common with the inputs, through any number of segments. They are for programs whose
blocks all have closed forms on models; over a piece of a segment the closed form has a ball for the time.
"""

from __future__ import annotations

import numpy as np
from flint import arb

from integraph.certify.bounds.cells import FIRST as FIRST_CELLS
from integraph.certify.bounds.cells import batch_size, batches, degree_for, division
from integraph.certify.bounds.gadget_models import AS_WRITTEN, FORMS
from integraph.certify.bounds.program_models import advance_models, at_start, block_models, scaled
from integraph.certify.ranges.ball_flow import numbers
from integraph.certify.ranges.pieces import Pieces
from integraph.certify.ranges.segment_flow import has_closed_form, part_of
from integraph.gadgets.softmax import Softmax
from integraph.numbers import intervals
from integraph.numbers.arb.conversion import FIRST, precision
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.numbers.models.models import Models, of_cells
from integraph.numbers.models.polynomial_ranges import tight_ranges
from integraph.program import Block, Program, Segment

WORK = 1_000_000  # cells times numbers of the program, about
FEWEST, MOST = 8, 1024  # cells, however large or small the program is
PIECES = 24  # of a segment


def has_models(program: Program) -> bool:
    """Whether all blocks have closed forms on models."""
    return all(
        has_closed_form(program, segment)
        and all(b.op in FORMS or b.op in AS_WRITTEN or isinstance(b.op, Softmax) for b in segment.blocks)
        for segment in program.segments
    )


class ModelFlow:
    """The flow from cells (cells, inputs) of a box."""

    together = 32

    def __init__(self, program: Program, box: Interval) -> None:
        self.program = program
        self.pieces = [Pieces(program, number, PIECES) for number in range(program.depth)]
        wide = int((box.high > box.low).sum())
        self.degree = degree_for(program, wide)
        self.batch = batch_size(program, wide, self.degree)
        self.most = min(max(FEWEST, WORK // numbers(program)), MOST)

    def first(self, box: Interval, most: int) -> tuple[Floats, Floats]:
        """Many cells, if so many are allowed."""
        return division(box.low, box.high) if most >= FIRST_CELLS else (box.low[None], box.high[None])

    def __call__(self, low: Floats, high: Floats) -> tuple[Interval, Interval]:
        """Bounds (D + 1, W, cells), at the start and in each segment, and about what is attained at its end."""
        parts = [self._batch(*ends) for ends in batches(low, high, self.batch)]
        bounds, seen = (
            Interval(*(np.concatenate([getattr(part[n], end) for part in parts], -1) for end in ("low", "high")))
            for n in range(2)
        )
        return bounds, seen

    def _batch(self, low: Floats, high: Floats) -> tuple[Interval, Interval]:
        states = at_start(self.program, of_cells(low, high, self.degree))
        now = tight_ranges(states)
        rows, seen = [now], [_attained(states)]
        with precision(FIRST):
            for number, segment in enumerate(self.program.segments):
                after = advance_models(segment, segment.blocks, states, self.program.scales)
                end = tight_ranges(after)
                rows.append(self._way(number, states, now, end))
                seen.append(_attained(after))
                states, now = after, end
        return _stacked(rows), _stacked(seen)

    def _way(self, number: int, states: Models, start: Interval, end: Interval) -> Interval:
        segment, pieces, scales = self.program.segments[number], self.pieces[number], self.program.scales
        begin = scaled(states, scales)

        def over(first: float, last: float) -> Interval:
            low, high = start.low.copy(), start.high.copy()
            for block in pieces.blocks:
                registers, moved = _known(segment, block, part_of(segment, first, last), begin)
                if scales is not None:
                    unit = 1.0 / scales[registers, None]  # a power of 2
                    moved = intervals.mul(moved, Interval(unit, unit))
                low[registers], high[registers] = moved.low, moved.high
            return Interval(low, high)

        return pieces.way(start, end, over)


def _known(segment: Segment, block: Block, t: arb, states: Models) -> tuple[Indices, Interval]:
    """The ranges of the registers of a block for all times in t; ±∞ in cells where a solution may end before."""
    rows, alive = block_models(segment, block, t, states)
    ranges = [tight_ranges(values) for _, values in rows]
    low = np.where(alive, np.concatenate([known.low for known in ranges]), -np.inf)
    high = np.where(alive, np.concatenate([known.high for known in ranges]), np.inf)
    return np.concatenate([registers for registers, _ in rows]), Interval(low, high)


def _attained(states: Models) -> Interval:
    """About what is attained: the ranges of the polynomials, less their errors."""
    middle, span, errors = states.p[..., 0], states.polynomial_span(), states.errors
    return Interval(np.minimum(middle, span.low + errors), np.maximum(middle, span.high - errors))


def _stacked(parts: list[Interval]) -> Interval:
    return Interval(np.stack([part.low for part in parts]), np.stack([part.high for part in parts]))
