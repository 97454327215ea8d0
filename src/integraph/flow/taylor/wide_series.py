"""Taylor steps of one solution of many registers: the recurrence of `series`, its loops over registers, not lanes.

Registers of one kind are numbered together, so that terms whose indices advance together form runs: plain loops over
slices. A solution that comes near a pole is given up: `kernel` computes it again and says what becomes of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from integraph.flow.taylor.kernel import NEAR, TAIL
from integraph.flow.taylor.series import GROWTH, SAFETY, SMALLEST, Floats, Ints
from integraph.numbers.jit import cached_njit

LARGE = 3.0  # times the largest register at the start: where steps are short, too, a pole may be near


class WideField(NamedTuple):
    """y_i' = Σ coefficient · source, a source being a register, a product of two, or 1, numbered in this order. Of runs
    there are the first numbers, and `pairs` and `starts` say where each begins among all products and terms."""

    order: Ints  # which register of the system comes at each place
    left: Ints  # factors of products
    right: Ints
    pairs: Ints
    squares: int  # runs of squares, which come first
    into: Ints  # rows of terms
    source: Ints
    starts: Ints
    term: Ints  # which of the given coefficients
    constant: Ints  # the rest: those of 1
    rows: Ints  # where they belong


def wide_field(count: int, products: Ints, row: Ints, source: Ints, value: Floats) -> WideField:
    """From terms: row and source of each; values say which rows are alike, where that makes fewer runs."""
    kind = np.where(source < count, 0, np.where(source < count + len(products), 1, 2))
    kinds = np.stack([np.bincount(row[kind == k], minlength=count) for k in range(3)], 1)
    sums = np.bincount(row, value, minlength=count)[:, None].round(9)
    fields = [_field(alike, count, products, row, source) for alike in (kinds, np.concatenate([kinds, sums], 1))]
    return min(fields, key=lambda field: len(field.left) + len(field.into))


def _field(alike: Floats | Ints, count: int, products: Ints, row: Ints, source: Ints) -> WideField:
    """Registers with equal rows of `alike` are numbered together."""
    order = np.argsort(np.unique(alike, axis=0, return_inverse=True)[1].ravel(), kind="stable")
    place = np.argsort(order)
    factors = np.sort(place[products].reshape(-1, 2), axis=1)
    by = np.lexsort((factors[:, 0], factors[:, 1] - factors[:, 0]))
    left, right = factors[by].T
    pairs = _runs(left, right)
    squares = int((left[pairs[:-1]] == right[pairs[:-1]]).sum())
    constant = np.flatnonzero(source == count + len(products))
    term = np.flatnonzero(source < count + len(products))
    into, reads = place[row[term]], np.concatenate([place, count + np.argsort(by)])[source[term]]
    along = np.lexsort((into, reads - into))
    starts = _runs(into[along], reads[along])
    head, first = pairs[:-1], along[starts[:-1]]
    products_ = (left[head], right[head], pairs, squares)
    return WideField(order, *products_, into[first], reads[first], starts, term[along], constant, place[row[constant]])


def _runs(first: Ints, second: Ints) -> Ints:
    """Where runs begin in which both advance by 1, and the number of all."""
    breaks = np.flatnonzero((np.diff(first) != 1) | (np.diff(second) != 1)) + 1
    return np.concatenate([[0], breaks, [len(first)]]) if len(first) else np.zeros(1, np.int64)


@cached_njit(nogil=True, error_model="numpy", fastmath={"contract"})
def integrate_wide(
    y: Floats,
    left: Ints,
    right: Ints,
    pairs: Ints,
    squares: int,
    into: Ints,
    source: Ints,
    starts: Ints,
    value: Floats,
    constant: Floats,  # of each register
    order: int,
    rtol: float,
    span: float,
    shortest: float,
    max_steps: int,
) -> int:
    """Advance y by `span`; the number of steps, or −1 if they get too short or too many, or a pole may be near."""
    count = len(y)
    jets, scale, new = np.zeros((order + 1, count + pairs[-1])), np.empty(count), np.empty(count)
    rest = trial = span
    longest = large = 0.0
    for step in range(max_steps):
        for i in range(count):
            jets[0, i] = y[i]
        for n in range(order):
            _multiply(jets, n, left, right, pairs, squares, count)
            for i in range(count):
                jets[n + 1, i] = constant[i] if n == 0 else 0.0
            _differentiate(jets[n], jets[n + 1], into, source, starts, value, trial / (n + 1), count)
        for i in range(count):
            scale[i] = max(abs(jets[0, i]), abs(jets[1, i]))
            if scale[i] == 0.0:
                for n in range(2, order + 1):
                    scale[i] = max(scale[i], abs(jets[n, i]))
            scale[i] = 1.0 / max(scale[i], SMALLEST)
        reach = GROWTH
        for n in range(order // 2 if step == 0 else order - TAIL, order + 1):
            ratio = SMALLEST
            for i in range(count):
                ratio = max(ratio, abs(jets[n, i]) * scale[i])
            excess = ratio * rtol ** (-n / order)
            reach = min(reach, SAFETY * excess ** (-1.0 / n if excess < 1.0 else -1.0 / (n - 1)))
        ahead = reach * trial
        longest = max(longest, ahead)
        largest = 0.0
        for i in range(count):
            largest = max(largest, abs(y[i]))
        if step == 0:
            large = LARGE * largest
        if not ahead > shortest or (ahead < NEAR * longest and largest > large):
            return -1
        h = min(ahead, rest)
        for i in range(count):
            new[i] = jets[order, i]
        for n in range(order - 1, -1, -1):
            for i in range(count):
                new[i] = new[i] * (h / trial) + jets[n, i]
        for i in range(count):
            if not abs(new[i]) < np.inf:
                return -1
            y[i] = new[i]
        if h == rest:
            return step + 1
        rest, trial = rest - h, h
    return -1


@njit(nogil=True, error_model="numpy", fastmath={"contract"})
def _multiply(jets: Floats, n: int, left: Ints, right: Ints, pairs: Ints, squares: int, count: int) -> None:
    """Cauchy's rule."""
    for r in range(len(left)):
        size = pairs[r + 1] - pairs[r]
        total = jets[n, count + pairs[r] : count + pairs[r + 1]]
        a, b = left[r], right[r]
        half = r < squares
        for t in range(size):
            total[t] = 0.0
        for k in range((n + 1) // 2 if half else n + 1):
            x, y = jets[k, a : a + size], jets[n - k, b : b + size]
            for t in range(size):
                total[t] += x[t] * y[t]
        if half:
            x = jets[n // 2, a : a + size]
            for t in range(size):
                total[t] = 2.0 * total[t] + (x[t] * x[t] if n % 2 == 0 else 0.0)


@njit(nogil=True, error_model="numpy", fastmath={"contract"})
def _differentiate(
    now: Floats, after: Floats, into: Ints, source: Ints, starts: Ints, value: Floats, factor: float, count: int
) -> None:
    """The next terms, from their constants."""
    for r in range(len(into)):
        size = starts[r + 1] - starts[r]
        total, x = after[into[r] : into[r] + size], now[source[r] : source[r] + size]
        v = value[starts[r] : starts[r + 1]]
        for t in range(size):
            total[t] += v[t] * x[t]
    for i in range(count):
        after[i] *= factor
