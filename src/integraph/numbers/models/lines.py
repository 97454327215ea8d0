"""Lines below and above a function over an interval: f(x) ≥ a·x + b and f(x) ≤ a'·x + b'.

Of all lines below, the one that is highest at an anchor inside; in the middle that is the one with the least area
between it and f. Slopes come from values at a few points, and may be anything. Offsets are proved: f − a·x is bounded
from below between points by the values, the derivatives and the range of f'' there.
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
    inside = (x.low >= f.domain[0]) & (x.high <= f.domain[1])
    some = min(max(f.domain[0], 1.0), f.domain[1])
    bends = [f.extremes(2, end, end) for end in (np.where(inside, end, some) for end in (x.low, x.high))]
    low = np.where(bends[1][1] <= 0, x.high - step, np.where(bends[0][1] <= 0, x.low + step, middle))
    high = np.where(bends[1][0] >= 0, x.high - step, np.where(bends[0][0] >= 0, x.low + step, middle))
    below, above = lines(f, x, low, y), lines(f, x, high, y)
    return first, Lines(below.low_slope, below.low, above.high_slope, above.high)


@quiet
def lines(f: Smooth, x: Interval, anchor: Floats, y: Interval) -> Lines:
    """Of a smooth function over intervals, with anchors inside; y contains its values."""
    inside = (x.low >= f.domain[0]) & (x.high <= f.domain[1]) & np.isfinite(x.low) & np.isfinite(x.high)
    some = min(max(f.domain[0], 1.0), f.domain[1])
    low, high = (np.where(inside, end, some).ravel() for end in (x.low, x.high))
    points = _points(low, np.clip(np.where(inside, anchor, some).ravel(), low, high), high)
    values = f.value(points)
    slope = f.extremes(1, points[:, HALF], points[:, HALF])
    tangent = 0.5 * slope[0] + 0.5 * slope[1]
    suggested = [slope_kernel(points, values, sign, tangent) for sign in (1.0, -1.0)]
    touches = np.clip(np.concatenate([touch for _, touch in suggested], 1), low[:, None], high[:, None])
    points = np.sort(np.concatenate([points, touches], 1), 1)
    values = f.value(points)
    steep, bends = f.extremes(1, points, points), f.extremes(2, points[:, :-1], points[:, 1:])
    size = np.abs(values).max(1)
    parts = []
    for sign, (slopes, _) in zip((1.0, -1.0), suggested, strict=True):
        offset = offset_kernel(points, values, steep, bends, sign, slopes)
        reach = size + np.abs(slopes) * np.maximum(np.abs(low), np.abs(high))
        lost = TRUST * size + f.slack + 64 * U * reach + TINY
        parts += [sign * slopes, sign * (offset - lost * UP)]
    drawn = Lines(*(part.reshape(x.low.shape) for part in parts))
    finite = inside & np.isfinite(sum(np.abs(part) for part in drawn._parts()))
    return drawn.where(finite, horizontal(y))


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
