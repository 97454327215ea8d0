"""A block without a closed form on polynomial models: Taylor steps, from the factors of its right-hand side.

A step first bounds the solution in all its time by intervals, B ⊇ Y + [0, h] F(B). Its Taylor coefficients up to an
order are rows of models, computed from those of the factors, and the next one over B, an interval, is the remainder.
All cells take the same steps. The field may differ from the factors by `slack`, relative to the sizes of all products:
so the bounds hold for the controls of eq. (1), which are rounded sums, and for the factors themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from integraph.clock import check_deadline
from integraph.numbers import intervals
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import TINY, quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.models.models import AffineError, Models, folded, joined, row_norms, settled
from integraph.numbers.quadratic_field import QuadraticField
from integraph.numbers.roundoff import UP, U

ORDER, FINE = 7, 16  # of the Taylor polynomial, and of that of a point
UNITS = 1 << 8  # of a segment: steps are powers of two of them
FIRST = 1 << 5  # the step tried first
REMAINDER = 1e-4  # of the width of a row: a step that adds more is too long
NEGLIGIBLE = 1e-14  # of the size of a row
SYMBOLS = 4  # for each row that moves, kept from step to step
PICARD, WIDER = 6, 0.2  # attempts to bound a step, and by how much of a move more each time


@dataclass(frozen=True, slots=True, eq=False)
class FreeStep:
    """The field as dense matrices, and by how much of the sizes its coefficients may be wrong."""

    field: QuadraticField
    slack: float
    U: Floats
    forms: Floats
    A: Floats
    order: int

    @property
    def moving(self) -> int:
        return len(self.U)


def free_step(field: QuadraticField, order: int) -> FreeStep:
    """The field of a block in units of the segment, for steps of this order. A stored control is a sum of as many
    products of three, each rounded, as there are products in a row, times a rate and scales."""
    products = int(np.diff(field.U.indptr).max(initial=0))
    slack = (2 * products + 16) * U
    return FreeStep(field, slack, field.U.toarray(), field.forms.toarray(), field.A.toarray(), order)


@quiet
def free_models(
    field: QuadraticField, y: Models, x: Models | None, duration: float
) -> tuple[Models, NDArray[np.bool_]]:
    """The rows y after the duration, and the cells where the solution provably exists as long."""
    step = free_step(field, ORDER if y.space.monomials.count > 1 else FINE)
    alive, left, units = np.ones(y.space.cells, np.bool_), UNITS, FIRST
    while left and alive.any():
        check_deadline()
        units = min(2 * units, 1 << (left.bit_length() - 1))
        while True:
            h = duration * (units / UNITS)
            box, good = _enclosure(step, y.known, None if x is None else x.known, h)
            rest = _remainder(step, box, None if x is None else x.known, h)
            good &= _small(rest, y.known)
            if (good | ~alive).all() or units == 1:
                break
            units //= 2
        alive = alive & good
        y = _after(step, y, x, Interval(*(np.where(alive, end, 0.0) for end in (rest.low, rest.high))), h)
        left -= units
    return y, alive


def _image(A: Floats, x: Interval) -> Interval:
    """A x of intervals (n, cells)."""
    middle, radius = 0.5 * x.low + 0.5 * x.high, 0.5 * x.high - 0.5 * x.low
    size, gamma = np.abs(A), (A.shape[1] + 8) * U
    reach = (size @ (radius + 2 * gamma * np.abs(middle) + gamma * radius)) * UP + TINY
    centre = A @ middle
    return intervals.interval(centre - reach, centre + reach)


def _widened(x: Interval, by: Floats) -> Interval:
    return intervals.outward(x.low - by, x.high + by)


def _size(x: Interval) -> Floats:
    return np.maximum(-x.low, x.high)


def _both(y: Interval, x: Interval | None) -> Interval:
    return y if x is None else Interval(np.concatenate([y.low, x.low]), np.concatenate([y.high, x.high]))


def _padded(y: Interval, rows: int) -> Interval:
    """With zeros for what stands still."""
    zeros = np.zeros((rows - len(y.low), y.low.shape[1]))
    return Interval(np.concatenate([y.low, zeros]), np.concatenate([y.high, zeros]))


@quiet
def _coefficients(step: FreeStep, y: Interval, x: Interval | None, order: int) -> Interval:
    """The Taylor coefficient of this order of all solutions that start in the intervals."""
    f, rows = step.field, step.A.shape[1]
    z = _both(y, x)
    sizes, forms, bounds = list[Floats](), list[Interval](), list[Floats]()
    for n in range(order):
        forms.append(_image(step.forms, z))
        sizes.append(_size(z))
        bounds.append(np.abs(step.forms) @ sizes[n])
        rate = _image(step.A, z)
        if n == 0:
            rate = intervals.add(rate, Interval(f.b[:, None], f.b[:, None]))
        total = _cauchy(forms, f, n)
        rate = intervals.add(rate, _image(step.U, total))
        rate = _widened(rate, _slack(step, sizes[n], bounds, n))
        z = _padded(intervals.mul(rate, _share(n + 1)), rows)
    return Interval(z.low[: step.moving], z.high[: step.moving])


def _cauchy(forms: list[Interval], f: QuadraticField, n: int) -> Interval:
    """The n-th coefficients of all products."""
    pairs = [intervals.mul(_rows(forms[i], f.left), _rows(forms[n - i], f.right)) for i in range(n + 1)]
    low, high = (np.stack([getattr(pair, end) for pair in pairs]) for end in ("low", "high"))
    return intervals.total(Interval(low, high), (0,))


def _rows(x: Interval, which: Any) -> Interval:
    return Interval(x.low[which], x.high[which])


def _slack(step: FreeStep, size: Floats, bounds: list[Floats], n: int) -> Floats:
    """How far a coefficient of the rates may be from that of the factors, from sizes of z and of the forms."""
    f = step.field
    products = sum(bounds[i][f.left] * bounds[n - i][f.right] for i in range(n + 1))
    return step.slack * (np.abs(step.A) @ size + np.abs(step.U) @ products + np.abs(f.b)[:, None]) * UP + TINY


def _share(n: int) -> Interval:
    """1/n."""
    return _number(1.0 / n, U)


def _power(h: float, n: int) -> Interval:
    """hⁿ."""
    return _number(h**n, n * U)


def _number(value: float, lost: float) -> Interval:
    return intervals.outward(np.full((1, 1), value), np.full((1, 1), value), 4 * lost)


@quiet
def _enclosure(step: FreeStep, y: Interval, x: Interval | None, h: float) -> tuple[Interval, NDArray[np.bool_]]:
    """Intervals that no solution leaves before h, and for which cells that is sure."""
    time, box = Interval(np.zeros((1, 1)), np.full((1, 1), h)), y
    for _ in range(PICARD):
        moved = intervals.add(y, intervals.mul(time, _coefficients(step, box, x, 1)))
        inside = ((box.low <= moved.low) & (moved.high <= box.high)).all(0)
        if inside.all():
            break
        more = WIDER * (moved.high - moved.low) + TINY
        wide = Interval(np.minimum(box.low, moved.low) - more, np.maximum(box.high, moved.high) + more)
        box = Interval(*(np.where(inside, a, b) for a, b in ((box.low, wide.low), (box.high, wide.high))))
    finite = np.isfinite(box.low).all(0) & np.isfinite(box.high).all(0)
    return box, np.logical_and(inside, finite)


def _remainder(step: FreeStep, box: Interval, x: Interval | None, h: float) -> Interval:
    return intervals.mul(_coefficients(step, box, x, step.order + 1), _power(h, step.order + 1))


@quiet
def _small(rest: Interval, y: Interval) -> NDArray[np.bool_]:
    """The cells whose rows do not notice a remainder."""
    most = REMAINDER * (y.high - y.low).max(0) + NEGLIGIBLE * (1.0 + _size(y).max(0))
    result: NDArray[np.bool_] = (rest.high - rest.low).max(0) <= most
    return result


def _after(step: FreeStep, y: Models, x: Models | None, rest: Interval, h: float) -> Models:
    """The rows at the end of a step, their errors as symbols; small symbols of earlier steps are errors again."""
    series = _series(step, y, x)
    m = step.moving
    A, off = _powers(step.order, m, h)
    end = joined(series).affine(A, np.zeros(m), fresh=False, off=off)
    return folded(_plus(end, rest), SYMBOLS * m).with_symbols()


def _powers(order: int, m: int, h: float) -> tuple[Floats, AffineError]:
    """The map from the Taylor coefficients of m rows to their sums at h."""
    A: Floats = np.kron(np.array([h**n for n in range(order + 1)]), np.eye(m))
    return A, AffineError(np.abs(A) * (2 * order * U), np.zeros(m))


@quiet
def _plus(y: Models, rest: Interval) -> Models:
    """The rows plus numbers of intervals."""
    middle = 0.5 * rest.low + 0.5 * rest.high
    off = np.maximum(rest.high - middle, middle - rest.low) * UP + TINY
    p = y.p.copy()
    p[..., 0] += middle
    lost = 2 * U * (row_norms(y.p) + np.abs(middle))
    return settled(y.space, p, y.g, y.names, y.r + off + lost, intervals.add(y.known, rest))


def _series(step: FreeStep, y: Models, x: Models | None) -> list[Models]:
    """The Taylor coefficients of y as models."""
    f, count = step.field, len(step.forms)
    series, firsts, seconds = [y], list[Models](), list[Models]()
    sizes, bounds = list[Floats](), list[Floats]()
    whole = y if x is None else joined([y, x])
    for n in range(step.order):
        z, m = (whole, step.A.shape[1]) if n == 0 else (series[n], step.moving)
        A, L = step.A[:, :m], step.forms[:, :m]
        sizes.append((row_norms(z.p) + row_norms(z.g) + z.r) * UP)
        bounds.append(np.abs(L) @ sizes[n] * UP)
        forms = z.affine(L, np.zeros(count), fresh=False)
        firsts.append(forms.take(f.left))
        seconds.append(forms.take(f.right))
        rows = [z]
        if len(f.left):
            rows.append(joined(firsts) * joined(seconds[::-1]))
        matrix = np.concatenate([A] + [step.U] * ((n + 1) * bool(len(f.left))), 1)
        b = f.b if n == 0 else np.zeros(step.moving)
        rate = joined(rows).affine(matrix, b, fresh=False)
        padded = np.zeros((step.A.shape[1], y.space.cells))
        padded[: len(z)] = sizes[n]
        lost = _slack(step, padded, bounds, n)
        rate = settled(rate.space, rate.p, rate.g, rate.names, rate.r + lost, _widened(rate.known, lost))
        share = np.full((1, 1), 1.0 / (n + 1))
        series.append(_plus_relative(rate.scale(share, np.zeros((1, 1)))))
    return series


def _plus_relative(x: Models) -> Models:
    """The rows, whose factor was rounded."""
    lost = (row_norms(x.p) + row_norms(x.g) + x.r) * (2 * U)
    return settled(x.space, x.p, x.g, x.names, x.r + lost, _widened(x.known, lost))
