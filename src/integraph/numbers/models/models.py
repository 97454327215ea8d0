"""Rows of polynomial models over a batch of cells, and their arithmetic.

Each row also carries what plain interval arithmetic knows of it. The range of a row is the intersection of both, and
where the errors of a model are wider than its interval, the model is replaced by the interval: nothing here is ever
wider than interval arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from integraph.numbers import intervals
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import TINY, add_up, quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.models.kernels import norm_kernel, product_kernel, span_kernel
from integraph.numbers.models.monomials import Monomials, monomials
from integraph.numbers.models.signs import signed
from integraph.numbers.roundoff import UP, U

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Matrix = Floats | csr_array[Any]

SYMBOLS = 512  # that rows may have in any case; of more the smallest are folded into the radii
FEW = 1000  # numbers, the sum of which `UP` rounds up
NUMBERS = 8_000_000  # that the symbols of few rows may fill
WIDER = 1 + 1e-6  # errors that are wider than an interval by more than rounding
SMALL = 1e-9  # of the range of a row: a radius that gets no symbol of its own


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """What the rows of one computation share: monomials, the number of cells, a supply of symbols, and how much wider
    than the interval of a row its errors may be before the interval alone is kept."""

    monomials: Monomials
    cells: int
    supply: Iterator[int] = field(default_factory=count)
    wider: float = WIDER

    @property
    def gamma(self) -> float:
        """The relative rounding of a sum of monomials."""
        return (self.monomials.count + 100) * U


@dataclass(frozen=True, slots=True, eq=False)
class AffineError:
    """Bounds of the errors of every entry of a matrix and of a vector."""

    A: Matrix
    b: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """p (rows, cells, M), g (rows, cells, E) with the numbers of its symbols in `names`, r (rows, cells), and `known`,
    an interval of (rows, cells) that contains the value too."""

    space: Space
    p: Floats
    g: Floats
    names: Indices
    r: Floats
    known: Interval

    def __len__(self) -> int:
        return len(self.r)

    @property
    def errors(self) -> Floats:
        """e = |g|₁ + r, rounded up."""
        return (row_norms(self.g) + self.r) * UP

    def polynomial_span(self) -> Interval:
        """The range of p alone."""
        table = self.space.monomials
        flat = self.p.reshape(-1, table.count)
        low, high = span_kernel(flat, table.d, table.squares, table.kinds, self.space.gamma)
        return Interval(low.reshape(self.r.shape), high.reshape(self.r.shape))

    def take(self, rows: Indices) -> Models:
        """These rows, any number of times each."""
        known = Interval(self.known.low[rows], self.known.high[rows])
        return Models(self.space, self.p[rows], self.g[rows], self.names, self.r[rows], known)

    def __neg__(self) -> Models:
        return Models(self.space, -self.p, -self.g, self.names, self.r, intervals.neg(self.known))

    @quiet
    def __add__(self, other: Models) -> Models:
        a, b = together(self, other)
        lost = 2 * U * (row_norms(a.p) + row_norms(b.p) + row_norms(a.g) + row_norms(b.g)) + TINY
        return settled(a.space, a.p + b.p, a.g + b.g, a.names, a.r + b.r + lost, intervals.add(a.known, b.known))

    @quiet
    def __mul__(self, other: Models) -> Models:
        a, b = together(self, other)
        table, gamma, shape = a.space.monomials, a.space.gamma, a.r.shape
        pairs = np.stack([table.first, table.second, table.product])
        left, right = a.p.reshape(-1, table.count), b.p.reshape(-1, table.count)
        p, tails = product_kernel(left, right, table.degrees, pairs, table.k)
        (a0, at, ea), (b0, bt, eb) = (_parts(x) for x in (a, b))
        r = tails.reshape(shape) + at * eb + a0 * b.r + bt * ea + b0 * a.r + ea * eb
        r += gamma * ((a0 + at + ea) * (b0 + bt + eb)) + TINY
        g = a.p[..., :1] * b.g + b.p[..., :1] * a.g
        return settled(a.space, p.reshape(a.p.shape), g, a.names, r, intervals.mul(a.known, b.known))

    @quiet
    def scale(self, factor: Floats, shift: Floats, known: Interval | None = None) -> Models:
        """factor·x + shift, numbers that broadcast to (rows, cells)."""
        p = self.p * factor[..., None]
        p[..., 0] += shift
        g, size = self.g * factor[..., None], np.abs(factor)
        lost = 4 * U * (size * (row_norms(self.p) + row_norms(self.g)) + np.abs(shift)) + TINY
        if known is None:
            exact = [np.broadcast_to(x, self.r.shape) for x in (factor, shift)]
            product = intervals.mul(Interval(exact[0], exact[0]), self.known)
            known = intervals.add(product, Interval(exact[1], exact[1]))
        return settled(self.space, p, g, self.names, size * self.r + lost, known)

    @quiet
    def affine(self, A: Matrix, b: Floats, fresh: bool = True, off: AffineError | None = None) -> Models:
        """A x + b for A (m, rows), b (m,). Where radii matter they become symbols, which the new rows share. `off` says
        how far A and b may be from what is meant."""
        n, cells = self.r.shape
        middle, radius = intervals.halved(self.known)
        own = self._symbol_rows(A, radius) if fresh else np.zeros(n, np.bool_)
        sizes = row_norms(self.p) + row_norms(self.g) + self.r
        gamma = (n + 100) * U
        sums = abs(A) @ np.concatenate([sizes, np.where(own[:, None], 0.0, self.r), radius, np.abs(middle)], 1)
        size, rest, spread, far = np.split(sums, 4, 1)
        values = np.concatenate([self.p.reshape(n, -1), self.g.reshape(n, -1), middle], 1)
        images = A @ values
        p, g, centre = np.split(images, [self.p[0].size, self.p[0].size + self.g[0].size], 1)
        p = p.reshape(len(b), cells, -1)
        p[..., 0] += b[:, None]
        g, names = g.reshape(len(b), cells, -1), self.names
        if own.any():
            columns = A[:, own] if isinstance(A, np.ndarray) else A[:, np.flatnonzero(own)].toarray()
            g = np.concatenate([g, columns[:, None] * self.r[own].T], 2)
            names = np.concatenate([names, self._new_names(int(own.sum()))])
        centre = centre + b[:, None]
        reach = spread * UP + 2 * gamma * (spread + far + np.abs(b)[:, None]) + TINY
        r = rest + gamma * (size + np.abs(b)[:, None]) + TINY
        if off is not None:
            up = UP + 2 * gamma
            r += (off.A @ sizes + off.b[:, None]) * up
            reach += (off.A @ (np.abs(middle) + radius) + off.b[:, None]) * up
        known, errors = intervals.interval(centre - reach, centre + reach), None if off is None else (off.A, off.b)
        return settled(self.space, p, g, names, r, signed(known, 4.0 * (reach - spread), A, b, self.known, errors))

    def _symbol_rows(self, A: Matrix, radius: Floats) -> NDArray[np.bool_]:
        """Whose radii become symbols: those that matter, and have most weight if they are too many."""
        own: NDArray[np.bool_] = np.any(self.r > SMALL * radius, 1)
        if not isinstance(A, np.ndarray):
            own &= np.bincount(A.indices, minlength=len(own)) > 1  # in more than one row
        most = _room(A.shape[0] * self.space.cells)
        if own.sum() > most:
            columns: Any = abs(A)
            weights = np.where(own, self.r.max(1) * (np.ones(A.shape[0]) @ columns), -1.0)
            own[np.argsort(weights)[:-most]] = False
        return own

    def within(self, known: Interval) -> Models:
        """The same rows, of which an interval is known besides."""
        return settled(self.space, self.p, self.g, self.names, self.r, intervals.intersection(self.known, known))

    def with_symbols(self) -> Models:
        """The same rows, their radii as symbols: what is computed from them twice is subtracted once."""
        rows, cells = self.r.shape
        radius = 0.5 * self.known.high - 0.5 * self.known.low
        own = np.flatnonzero((self.r > SMALL * radius).any(1) & np.isfinite(self.r).all(1))
        own = np.sort(own[np.argsort(-self.r[own].max(1), kind="stable")[: _room(rows * cells)]])
        g = np.zeros((rows, cells, len(own)))
        g[own, :, np.arange(len(own))] = self.r[own]
        r = self.r.copy()
        r[own] = 0.0
        names = np.concatenate([self.names, self._new_names(len(own))])
        return folded(Models(self.space, self.p, np.concatenate([self.g, g], 2), names, r, self.known))

    def _new_names(self, number: int) -> Indices:
        return np.array([next(self.space.supply) for _ in range(number)], np.int64)


def of_cells(low: Floats, high: Floats, degree: int) -> Models:
    """The identity on cells low ≤ x ≤ high, (cells, inputs); ξ has an entry for each input of positive width."""
    wide = np.flatnonzero((high > low).any(0))
    table = monomials(len(wide), degree)
    middle = np.where(low == high, low, 0.5 * low + 0.5 * high)  # half of an odd subnormal number is rounded
    radius = np.maximum(add_up(high, -middle), add_up(middle, -low))
    p = np.zeros((low.shape[1], len(low), table.count))
    p[..., 0] = middle.T
    r = np.zeros(p.shape[:2])
    if degree:
        p[wide, :, 1 + np.arange(len(wide))] = radius.T[wide]
    else:
        r = radius.T.copy()
    g = np.zeros((*r.shape, 0))
    return Models(Space(table, len(low)), p, g, np.zeros(0, np.int64), r, Interval(low.T.copy(), high.T.copy()))


def of_interval(space: Space, x: Interval) -> Models:
    """Rows of which only an interval (rows, cells) is known."""
    p, g = np.zeros((*x.low.shape, space.monomials.count)), np.zeros((*x.low.shape, 0))
    return settled(space, p, g, np.zeros(0, np.int64), np.full(x.low.shape, np.inf), x)


@quiet
def settled(space: Space, p: Floats, g: Floats, names: Indices, r: Floats, known: Interval) -> Models:
    """The rows of an operation: radii rounded up, ranges intersected, and intervals instead of models that are wider
    or not finite. The radius of an operation contains all norms, so that nothing else can hide a NaN."""
    rows = Models(space, p, g, names, r * UP, known)
    errors, span = rows.errors, rows.polynomial_span()
    own = intervals.interval(span.low - errors - TINY, span.high + errors + TINY)
    known = intervals.intersection(known, intervals.outward(own.low, own.high))
    radius = 0.5 * known.high - 0.5 * known.low
    worse = ~(errors <= space.wider * radius) | ~np.isfinite(errors)
    if worse.any():
        middle = np.where(worse, 0.5 * known.low + 0.5 * known.high, 0.0)
        off = np.maximum(known.high - middle, middle - known.low) * UP + TINY
        lost = worse & ~(off < np.inf)
        p, g = p.copy(), g.copy()
        p[worse], g[worse] = 0.0, 0.0
        p[..., 0] = np.where(worse, np.where(lost, 0.0, middle), p[..., 0])
        rows = Models(space, p, g, names, np.where(worse, np.where(lost, np.inf, off), rows.r), known)
    return folded(Models(space, rows.p, rows.g, names, rows.r, known))


def _room(rows: int) -> int:
    """How many symbols so many rows may have."""
    return max(SYMBOLS, NUMBERS // max(rows, 1))


def folded(rows: Models, most: int | None = None) -> Models:
    """The rows with as many symbols as there is room for, or with so many at most: the smallest become part of the
    radii."""
    extra = len(rows.names) - (_room(rows.r.size) if most is None else most)
    if extra <= 0:
        return rows
    weights = np.abs(rows.g).sum((0, 1))
    kept = np.sort(np.argsort(weights)[extra:])
    gone = np.delete(rows.g, kept, 2)
    r = (rows.r + row_norms(gone) * UP) * UP
    return Models(rows.space, rows.p, np.ascontiguousarray(rows.g[..., kept]), rows.names[kept], r, rows.known)


def together(a: Models, b: Models) -> tuple[Models, Models]:
    """Both with the symbols of either."""
    if a.names is b.names or np.array_equal(a.names, b.names):
        return a, b
    names = np.union1d(a.names, b.names)
    return _spread(a, names), _spread(b, names)


def _spread(rows: Models, names: Indices) -> Models:
    g = np.zeros((*rows.r.shape, len(names)))
    g[..., np.searchsorted(names, rows.names)] = rows.g
    return Models(rows.space, rows.p, g, names, rows.r, rows.known)


def joined(parts: Sequence[Models]) -> Models:
    """The rows of all parts, one after the other."""
    names = parts[0].names
    for part in parts[1:]:
        names = names if part.names is names else np.union1d(names, part.names)
    spread = [part if part.names is names else _spread(part, names) for part in parts]
    known = Interval(
        *(np.concatenate(ends) for ends in zip(*((x.known.low, x.known.high) for x in spread), strict=True))
    )
    p, g, r = (np.concatenate([getattr(part, name) for part in spread]) for name in ("p", "g", "r"))
    return folded(Models(parts[0].space, p, g, names, r, known))


def row_norms(values: Floats) -> Floats:
    """1-norms over the last axis; of very many entries rounded up by their number, which `UP` does not cover."""
    *shape, count = values.shape
    norms = norm_kernel(values.reshape(math.prod(shape), count)).reshape(shape)
    return norms * (1 + 2 * count * U) if count > FEW else norms


def _parts(x: Models) -> tuple[Floats, Floats, Floats]:
    """|x₀|, the 1-norm of the other coefficients, and e, rounded up."""
    constant = np.abs(x.p[..., 0])
    return constant, row_norms(x.p[..., 1:]) * UP, x.errors
