"""Lines below and above a function over an interval: f(x) ≥ a·x + b and f(x) ≤ a'·x + b'.

Of all lines below, the one that is highest at an anchor inside; in the middle that is the one with the least area
between it and f. Slopes come from values at a few points, and may be anything. Offsets are proved: f − a·x is bounded
from below between points by the values, the derivatives, and the ranges of f' and f'' there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from integraph.numbers.arrays import Floats
from integraph.numbers.balls import TINY, quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.models.elementary_functions import TRUST, Smooth
from integraph.numbers.models.line_kernels import offset_kernel, slope_kernel
from integraph.numbers.roundoff import UP, U

HALF = 8  # points on either side of the anchor
ROUNDS, SHRINKS = 5, 0.25  # of a closer look at points where a line touches
AROUND = np.array([-0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75])
NEAR = 1 / 64  # of the width: anchors near an end


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """low_slope·x + low ≤ f(x) ≤ high_slope·x + high, arrays of one shape."""

    low_slope: Floats
    low: Floats
    high_slope: Floats
    high: Floats

    def where(self, good: NDArray[np.bool_], other: Lines) -> Lines:
        """These lines where `good`, and others elsewhere."""
        pairs = zip(self._parts(), other._parts(), strict=True)
        return Lines(*(np.where(good, mine, its) for mine, its in pairs))

    def _parts(self) -> tuple[Floats, ...]:
        return self.low_slope, self.low, self.high_slope, self.high


def horizontal(y: Interval) -> Lines:
    """Lines that say only where the values are."""
    return Lines(np.zeros_like(y.low), y.low, np.zeros_like(y.high), y.high)


@quiet
def families(f: Smooth, x: Interval, y: Interval) -> tuple[Lines, Lines]:
    """Lines with the least area, and lines through the ends: where f bends away from a line at an end, the one from
    there that touches f farther on. Either may be the better for a form; without such an end they are the same."""
    middle, step = 0.5 * x.low + 0.5 * x.high, (x.high - x.low) * NEAR
    first = lines(f, x, middle, y)
    if (x.low == x.high).all():
        return first, first
    inside = (x.low >= f.domain[0]) & (x.high <= f.domain[1])
    some = min(max(f.domain[0], 1.0), f.domain[1])
    ends = [np.where(inside, end, some) for end in (x.low, x.high)]
    first_down, last_down = _bends_down(f, *ends), _bends_down(f, *ends[::-1])
    low = np.where(last_down, x.high - step, np.where(first_down, x.low + step, middle))
    high = np.where(~last_down, x.high - step, np.where(~first_down, x.low + step, middle))
    below, above = lines(f, x, low, y), lines(f, x, high, y)
    return first, Lines(below.low_slope, below.low, above.high_slope, above.high)


def _bends_down(f: Smooth, end: Floats, other: Floats) -> NDArray[np.bool_]:
    """Whether f'' < 0 at an end, about; where float64 cannot tell, f is flat, and approaches what it is there."""
    least, most = f.extremes(2, end, end)
    return np.where((least < 0) & (most > 0), f.value(end) > f.value(other), most <= 0)


@quiet
def lines(f: Smooth, x: Interval, anchor: Floats, y: Interval) -> Lines:
    """Of a smooth function over intervals, with anchors inside; y contains its values."""
    inside = (x.low >= f.domain[0]) & (x.high <= f.domain[1]) & np.isfinite(x.low) & np.isfinite(x.high)
    some = min(max(f.domain[0], 1.0), f.domain[1])
    low, high = (np.where(inside, end, some).ravel() for end in (x.low, x.high))
    anchor = np.clip(np.where(inside, anchor, some).ravel(), low, high)
    parts = _drawn(f, low, anchor, high)
    drawn = Lines(*(part.reshape(x.low.shape) for part in parts))
    finite = inside & np.isfinite(sum(np.abs(part) for part in drawn._parts()))
    return drawn.where(finite, horizontal(y))


def _drawn(f: Smooth, low: Floats, anchor: Floats, high: Floats) -> list[Floats]:
    """The slope and the offset of the lines below, and of those above."""
    points = _points(low, anchor, high)
    slope = f.extremes(1, anchor, anchor)
    tangent = 0.5 * slope[0] + 0.5 * slope[1]
    touches = _suggested(f, points, tangent)[1]
    bridged = (touches != anchor[:, None]).any(1)  # by an edge, whose ends are to be found; a tangent is known
    parts = _proved(f, points, tangent)
    if bridged.any():
        near = _closer(f, points[bridged], touches[bridged], tangent[bridged])
        for part, better in zip(parts, _proved(f, near, tangent[bridged]), strict=True):
            part[bridged] = better
    return parts


def _suggested(f: Smooth, points: Floats, tangent: Floats) -> tuple[list[Floats], Floats]:
    """Slopes of the lines below, and above, and where they touch, on the left and on the right of the anchor."""
    values = f.value(points)
    slopes, touches = zip(*(slope_kernel(points, values, sign, tangent) for sign in (1.0, -1.0)), strict=True)
    return list(slopes), np.concatenate(touches, 1)


def _closer(f: Smooth, points: Floats, touches: Floats, tangent: Floats) -> Floats:
    """More points around those where lines touch; the anchor stays in the middle."""
    low, anchor, high = points[:, :1], points[:, HALF : HALF + 1], points[:, -1:]
    step = np.concatenate([anchor - low, high - anchor] * 2, 1) / HALF
    for _ in range(ROUNDS):
        near = touches[:, :, None] + step[:, :, None] * AROUND
        left = np.clip(near[:, ::2].reshape(len(near), -1), low, anchor)
        right = np.clip(near[:, 1::2].reshape(len(near), -1), anchor, high)
        points, step = np.sort(np.concatenate([points, left, right], 1), 1), step * SHRINKS
        touches = _suggested(f, points, tangent)[1]
    return points


def _proved(f: Smooth, points: Floats, tangent: Floats) -> list[Floats]:
    """The slopes that points suggest, and offsets that hold between them too."""
    suggested, touches = _suggested(f, points, tangent)
    points = np.sort(np.concatenate([points, np.clip(touches, points[:, :1], points[:, -1:])], 1), 1)
    values = f.value(points)
    steep, pieces = f.extremes(1, points, points), (points[:, :-1], points[:, 1:])
    ranges, bends = f.extremes(1, *pieces), f.extremes(2, *pieces)
    size, parts = np.abs(values).max(1), []
    for sign, slopes in zip((1.0, -1.0), suggested, strict=True):
        offset = offset_kernel(points, values, steep, ranges, bends, sign, slopes)
        reach = size + np.abs(slopes) * np.maximum(np.abs(points[:, 0]), np.abs(points[:, -1]))
        lost = TRUST * size + f.slack + 64 * U * reach + TINY
        parts += [sign * slopes, sign * (offset - lost * UP)]
    return parts


def _points(low: Floats, anchor: Floats, high: Floats) -> Floats:
    """Evenly from low to the anchor, and from there to high."""
    share = np.arange(HALF + 1) / HALF
    left = low[:, None] * (1 - share) + anchor[:, None] * share
    right = anchor[:, None] * (1 - share[1:]) + high[:, None] * share[1:]
    points = np.clip(np.concatenate([left, right], 1), low[:, None], high[:, None])
    points[:, 0], points[:, HALF], points[:, -1] = low, anchor, high
    return np.maximum.accumulate(points, 1)


@quiet
def kink_lines(below: Floats, x: Interval, anchor: Floats, y: Interval) -> Lines:
    """Of x where x ≥ 0 and below·x elsewhere. On one side the chord, on the other the branch at the anchor."""
    below = np.broadcast_to(below, x.low.shape)
    crossing = (x.low < 0) & (x.high > 0)
    branch = np.where(crossing, np.where(anchor < 0, below, 1.0), np.where(x.low < 0, below, 1.0))
    start, end = below * np.minimum(x.low, 0.0), np.maximum(x.high, 0.0)
    chord = np.where(crossing, (end - start) / (x.high - x.low), branch)
    gaps = start - chord * x.low, end - chord * x.high
    lost = 16 * U * (np.abs(start) + end + np.abs(chord) * (np.abs(x.low) + np.abs(x.high))) + TINY
    lost = np.where(crossing, lost, 0.0)
    zero = np.zeros_like(lost)
    above, under = np.maximum(*gaps) + lost, np.minimum(*gaps) - lost
    bends_up = below <= 1
    drawn = Lines(
        np.where(bends_up, branch, chord), np.where(bends_up, zero, np.where(crossing, under, 0.0)),
        np.where(bends_up, chord, branch), np.where(bends_up, np.where(crossing, above, 0.0), zero),
    )  # fmt: skip
    return drawn.where(np.isfinite(x.low) & np.isfinite(x.high), horizontal(y))
