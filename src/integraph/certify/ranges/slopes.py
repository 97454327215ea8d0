"""Bounds of y' from bounds of y, and what they say about y between two times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from integraph.numbers.balls import quiet
from integraph.numbers.intervals import TINY, Interval, intersection, interval, mul
from integraph.numbers.roundoff import U
from integraph.program import Terms

ROUNDS = 2  # tighter values give tighter slopes, which give tighter values


@quiet
def slopes(terms: Terms, y: Interval) -> Interval:
    """y' of eq. (1) for all states (W, N) in the intervals; canonical terms, outward rounding."""
    width, count = y.low.shape
    low, high = np.zeros((width, count)), np.zeros((width, count))
    if not len(terms):
        return Interval(low, high)
    one = np.ones((1, count))
    ends = Interval(np.concatenate([y.low, one]), np.concatenate([y.high, one]))  # row −1 is the constant 1
    left, right = (Interval(ends.low[index], ends.high[index]) for index in (terms.j, terms.k))
    products = mul(left, right)
    square = ((terms.j == terms.k) & (terms.j >= 0))[:, None]
    products = Interval(np.where(square, np.maximum(products.low, 0.0), products.low), products.high)
    value = np.broadcast_to(terms.value[:, None], products.low.shape)
    parts = mul(products, Interval(value, value))
    first = np.flatnonzero(np.diff(terms.i, prepend=-1))
    lengths = np.diff(first, append=len(terms))[:, None]
    rows = terms.i[first]
    for out, end, side in ((low, parts.low, -1.0), (high, parts.high, 1.0)):
        lost = 2 * lengths * U * np.add.reduceat(np.abs(end), first, axis=0)
        out[rows] = np.add.reduceat(end, first, axis=0) + side * (lost + TINY * (lengths > 1))
    return interval(low, high)


@quiet
def between(start: Interval, end: Interval, slope: Interval, duration: float) -> Interval:
    """Bounds of y on a piece of time of at most this duration, from bounds at both ends and of y'.

    Rising at most at b and falling at most at −a, y exceeds the larger end by at most duration·(−a)b/(b − a); with a
    slope of one sign it stays between its ends.
    """
    rise, fall = np.maximum(slope.high, 0.0), np.maximum(-slope.low, 0.0)
    less, more = np.minimum(rise, fall), np.maximum(rise, fall)
    over = duration * np.fmin(less, less / (1 + less / more))  # the product of two slopes may be no float64
    over = np.where((rise == 0) | (fall == 0), 0.0, over * (1 + 16 * U) + TINY)
    low, high = np.minimum(start.low, end.low), np.maximum(start.high, end.high)
    return interval(
        np.where(over == 0, low, np.nextafter(low - over, -np.inf)),
        np.where(over == 0, high, np.nextafter(high + over, np.inf)),
    )


def tighten(
    terms: Terms, coarse: Interval, start: Interval, end: Interval, duration: float, steady: NDArray[np.bool_]
) -> Interval:
    """Bounds of y on a piece of time, from coarse ones and those at its ends; all (W, N). Of `steady` registers the
    slope has one sign for each input."""
    for _ in range(ROUNDS):
        slope = slopes(terms, coarse)
        still = Interval(*(np.where(steady[:, None], 0.0, side) for side in (slope.low, slope.high)))
        coarse = intersection(coarse, between(start, end, still, duration))
    return coarse
