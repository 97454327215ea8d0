"""Where the error is drawn: a line through the box, a square of it, or squares where more than two inputs vary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from integraph.numbers.arrays import Floats

if TYPE_CHECKING:
    from integraph.plot.subject import Subject

LINE, SQUARE, SLICE = 401, 61, 41  # points of a line, of a side of the square, of a side of each slice
VARIED = 4  # inputs whose pairs are slices
MEMORY = 5_000_000  # coordinates of all points that are run at once: 40 MB


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """Points (B, d) of the box in which one or two inputs vary, row by row, with program and source there."""

    axes: tuple[int, ...]  # the inputs that vary
    sides: tuple[Floats, ...]  # the values that they take
    points: Floats
    got: Floats  # (B, outputs)
    wanted: Floats | None
    rest: str = ""  # where the other inputs are


def moving(s: Subject) -> list[int]:
    """The inputs that vary in the box."""
    result: list[int] = np.flatnonzero(s.box.high > s.box.low).tolist()
    return result


def places(s: Subject) -> list[Slice]:
    """What the picture of the error shows; nothing if the box is a point."""
    axes = moving(s)
    if not axes:
        return []
    if len(axes) == 1:
        return [_place(s, (axes[0],), s.landmarks[0], s.points(LINE, 33))]
    if len(axes) == 2:
        return [_place(s, (axes[0], axes[1]), s.landmarks[0], math.isqrt(s.points(SQUARE**2, 81)))]
    return _slices(s)


def _slices(s: Subject) -> list[Slice]:
    """Pairs of the inputs that matter most vary; the others are at the centre, or where the difference is largest."""
    chosen, _ = influential(s)
    rests = [("the rest at the centre", s.landmarks[0])]
    if s.sample is not None and s.sample.largest > 0:
        rests.append(("the rest where random points differ most", s.sample.worst))
    each = math.comb(len(chosen), 2) * len(rests)
    most = min(each * SLICE**2, MEMORY // s.program.inputs)
    side = math.isqrt(s.points(most, each * 49) // each)
    return [_place(s, pair, x, side, rest) for rest, x in rests for pair in combinations(chosen, 2)]


def influential(s: Subject) -> tuple[list[int], int]:
    """The inputs that move the outputs most when they go from end to end, and how many were tried."""
    axes = moving(s)
    if len(axes) <= VARIED:
        return axes, len(axes)
    most = min(s.points(2 * len(axes), 16), MEMORY // s.program.inputs)
    tried = axes[: max(most // 2, VARIED)]
    x = np.repeat(s.landmarks[:1], 2 * len(tried), 0)
    for row, axis in enumerate(tried):
        x[2 * row : 2 * row + 2, axis] = s.box.low[axis], s.box.high[axis]
    ends = s.run(x)
    change = np.nan_to_num(np.abs(ends[1::2] - ends[::2]), nan=0.0).max(1)
    return sorted(tried[n] for n in np.argsort(-change, kind="stable")[:VARIED]), len(tried)


def _place(s: Subject, axes: tuple[int, ...], x: Floats, side: int, rest: str = "") -> Slice:
    t = np.linspace(0.0, 1.0, side)
    sides = tuple(s.box.low[axis] * (1 - t) + s.box.high[axis] * t for axis in axes)  # high − low may overflow
    points = np.repeat(x[None], side ** len(axes), 0)
    points[:, axes[0]] = np.tile(sides[0], side ** (len(axes) - 1))
    if len(axes) == 2:
        points[:, axes[1]] = np.repeat(sides[1], side)
    return Slice(axes, sides, points, s.run(points), s.wanted(points), rest)
