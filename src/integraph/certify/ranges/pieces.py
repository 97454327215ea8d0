"""Bounds of registers over a segment, from bounds at the ends of a few pieces of it and over each piece.

A register whose derivative reads nothing else that moves solves an equation y' = f(y), and only rises or only falls:
its values at both ends of the segment bound it. Others stay between the ends of a piece where their slope has one sign.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from integraph.certify.ranges.slopes import tighten
from integraph.clock import check_deadline
from integraph.numbers.arrays import Indices
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval
from integraph.program import Block, Program, Terms
from integraph.program.terms import concatenate

TIMES = (0.0, 0.125, 0.5, 1.0)  # pieces of a segment: what is stiff settles early
MORE, FEW = (0.0, 0.0625, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0), 8  # where so few registers turn at most
ENOUGH, SMALL = 0.02, 1e-3  # of the range of a register, by which a piece may exceed its ends; of its size
Over = Callable[[float, float], Interval]  # (W, cells), for all times between two parts of the segment


@dataclass(frozen=True, slots=True, eq=False)
class _End:
    """Bounds (W, cells) at a part of the segment."""

    time: float
    y: Interval


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """Bounds at all times between two parts of the segment."""

    begin: _End
    finish: _End
    way: Interval


class Pieces:
    """The times of segment `number`, cut into so many pieces at `most` where a register turns within one, or as many as
    there are at first. `blocks` have registers that may turn, and `registers` are all of theirs."""

    def __init__(self, program: Program, number: int, most: int = 0) -> None:
        self.most = most
        self.duration = program.segments[number].duration
        terms = concatenate(list(program.segment_terms(number)))
        turns = _turning(terms, program.width)
        self.blocks = [b for b in program.segments[number].blocks if turns[targets([b])].any()]
        self.registers = targets(self.blocks)
        self.times = MORE if len(self.registers) <= FEW else TIMES
        wanted = np.zeros(program.width, np.bool_)
        wanted[self.registers] = True
        self.terms, self.steady = terms[wanted[terms.i]], ~turns

    def way(self, start: Interval, end: Interval, over: Over) -> Interval:
        """Bounds (W, cells) at all times, from those at the start and at the end; others by `over`."""
        low, high = np.minimum(start.low, end.low), np.maximum(start.high, end.high)
        if len(self.registers):
            pieces = self._divided([_End(0.0, start), _End(1.0, end)], over)
            low[self.registers] = np.minimum.reduce([piece.way.low[self.registers] for piece in pieces])
            high[self.registers] = np.maximum.reduce([piece.way.high[self.registers] for piece in pieces])
        return Interval(low, high)

    def _divided(self, ends: list[_End], over: Over) -> list[_Piece]:
        """All pieces: those of `times`, and then halves of the piece that exceeds the bounds at their ends by most."""
        ends[1:1] = [_End(time, over(time, time)) for time in self.times[1:-1]]
        pieces = [self._piece(*pair, over) for pair in pairwise(ends)]
        while len(pieces) < self.most:
            worst, share = _worst([self._of_registers(p.way) for p in pieces], [self._of_registers(e.y) for e in ends])
            if not share > ENOUGH:
                break
            piece = pieces[worst]
            middle = 0.5 * (piece.begin.time + piece.finish.time)
            ends.append(_End(middle, over(middle, middle)))
            pieces[worst : worst + 1] = [
                self._piece(piece.begin, ends[-1], over),
                self._piece(ends[-1], piece.finish, over),
            ]
        return pieces

    def _piece(self, begin: _End, finish: _End, over: Over) -> _Piece:
        check_deadline()
        duration = float(np.nextafter((finish.time - begin.time) * self.duration, np.inf))
        coarse = over(begin.time, finish.time)
        return _Piece(begin, finish, tighten(self.terms, coarse, begin.y, finish.y, duration, self.steady))

    def _of_registers(self, y: Interval) -> Interval:
        return Interval(y.low[self.registers], y.high[self.registers])


@quiet
def _worst(ways: list[Interval], ends: list[Interval]) -> tuple[int, float]:
    """The piece that exceeds the bounds at the ends of pieces by most, and by how much of the whole range."""
    low, high = np.min([y.low.min(1) for y in ends], 0), np.max([y.high.max(1) for y in ends], 0)
    whole = np.maximum(high - low, SMALL * np.maximum(np.abs(low), np.abs(high)))
    excess = [np.maximum(low - way.low.min(1), way.high.max(1) - high) / whole for way in ways]
    shares = np.nan_to_num(excess, nan=0.0).max(1)
    return int(shares.argmax()), float(shares.max())


def _turning(terms: Terms, width: int) -> NDArray[np.bool_]:
    """The registers whose derivatives read others that move."""
    moving = np.zeros(width + 1, np.bool_)  # the last is the constant 1
    moving[terms.i] = True
    turns = np.zeros(width, np.bool_)
    for read in (terms.j, terms.k):
        turns[terms.i[moving[read] & (read != terms.i)]] = True
    return turns


def targets(blocks: Sequence[Block]) -> Indices:
    """The registers that blocks write."""
    parts = [ref.indices().ravel() for block in blocks for ref in block.targets]
    return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64)
