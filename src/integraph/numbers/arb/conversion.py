"""Convert balls of Arb from and to floats, always rounding outward.

A ball that is not finite knows nothing: as an upper bound it is ∞, as a lower bound of a size 0. Arb says NaN where it
gives up, and NaN compares as it likes, so no bound leaves this module as NaN. The precision is the process's, set by
`precision(bits)` around whatever computes; other threads wait there.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock

from flint import arb, arb_mat, ctx

from integraph.numbers.arrays import Floats

Balls = list[arb]
ZERO, ONE = arb(0), arb(1)
LARGEST = sys.float_info.max
_TURN = RLock()
TIE = 256  # bits to which a number is halfway between two floats if it ever is
FIRST, MOST = 64, 4096  # bits a proof starts with, and gives up at


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Arb's precision, put back at the end."""
    with _TURN, ctx.workprec(bits):
        yield


def interval(low: float, high: float) -> arb:
    """The ball around [low, high]; the ends are exact numbers."""
    return arb(low) if low == high else arb(low).union(arb(high))


def box(low: Iterable[float], high: Iterable[float]) -> Balls:
    return [interval(a, b) for a, b in zip(low, high, strict=True)]


def column(values: Sequence[arb]) -> arb_mat:
    return arb_mat(len(values), 1, list(values))


def matrix(values: Floats) -> arb_mat:
    """The matrix of these floats, exactly."""
    rows, columns = values.shape
    return arb_mat(rows, columns, values.ravel().tolist())


def hull(*balls: arb) -> arb:
    union = balls[0]
    for ball in balls[1:]:
        union = union.union(ball)
    return union


def intersection(a: arb, b: arb) -> arb:
    """The intersection of two enclosures of one number. It keeps the sign, and the ends, that either of them proves."""
    if not a.is_finite() or not b.is_finite():
        return b if b.is_finite() else a
    return a.intersection(b) if a.overlaps(b) else arb.nan()


def size(ball: arb) -> arb:
    """The largest |value|, as an exact number; ∞ where the ball says nothing."""
    return ball.abs_upper() if ball.is_finite() else arb.pos_inf()


def symmetric(radius: arb) -> arb:
    """The ball of all numbers of at most this size."""
    return (-radius).union(radius)


def above(ball: arb) -> float:
    """A float that no number of the ball exceeds; ∞ where nothing is known."""
    if not ball.is_finite():
        return math.inf
    top = ball.upper()
    bound = float(top)
    if bound == -math.inf:
        return -LARGEST
    while math.isfinite(bound) and not arb(bound) >= top:
        bound = math.nextafter(bound, math.inf)
    return bound if bound == bound else math.inf


def below(ball: arb) -> float:
    """A float that no number of the ball falls short of; −∞ where nothing is known."""
    return 0.0 - above(-ball)


def largest(ball: arb) -> float:
    """A float ≥ the size of every number of the ball."""
    return above(abs(ball)) if ball.is_finite() else math.inf


def smallest(ball: arb) -> float:
    """A float ≤ the size of every number of the ball, at least 0."""
    if not ball.is_finite():
        return 0.0
    return max(below(ball.abs_lower()), 0.0)


def rounded(ball: arb) -> float | None:
    """The float64 next to the number in the ball, ±∞ if that is too large; None where the ball does not decide it.

    At the precision of whatever made the ball; of a number halfway between two floats, to all bits, it is either.
    """
    if not ball.is_finite():
        return None
    low, high = float(ball.lower()), float(ball.upper())
    if low != high and not (math.nextafter(low, high) == high and ball.rel_accuracy_bits() > TIE):
        return None
    return float(ball) + 0.0
