"""Rows of the checker: x = p(ξ) + Σ g_n ε_n + [−r, r] on one box, with Arb balls as coefficients.

p has degree ≤ 2 in ξ ∈ [−1, 1]^d, one ξ for each input of positive width; the symbols ε ∈ [−1, 1] are shared by rows; r
is the row's own. `known` is a ball that contains the value too. Every operation adds to r what it truncates, and the
balls of the coefficients hold all roundings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from flint import arb, arb_mat

from integraph.certify.problem import Box
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import ZERO, Balls, intersection, interval, symmetric
from integraph.numbers.arrays import Floats

SYMBOLS = 384  # of a row, at most: the smallest are folded into its radius


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """What the rows of one box share: the degree of p, and the supply of symbols. The coefficients of p are those of 1,
    of each ξ_i, and, in the order of `pairs`, of the products ξ_i ξ_j, i ≤ j."""

    d: int
    degree: int
    supply: count[int] = field(default_factory=count)
    pairs: tuple[tuple[int, int], ...] = field(init=False)

    def __post_init__(self) -> None:
        pairs = tuple((i, j) for i in range(self.d) for j in range(i, self.d)) if self.degree > 1 else ()
        object.__setattr__(self, "pairs", pairs)

    @property
    def size(self) -> int:
        return 1 + self.d + len(self.pairs)


@dataclass(slots=True, eq=False)
class Row:
    """One value; `r` is ≥ 0, and not finite where nothing is known."""

    space: Space
    p: Balls
    g: dict[int, arb]
    r: arb
    known: arb

    @property
    def errors(self) -> arb:
        """At least |x − p(ξ)|."""
        total = self.r
        for ball in self.g.values():
            total += abs(ball)
        return total.upper()

    def span(self) -> arb:
        """The range of p alone."""
        d, pairs = self.space.d, self.space.pairs
        low = high = self.p[0]
        squares: dict[int, arb] = {}
        crossed = ZERO
        for (i, j), ball in zip(pairs, self.p[1 + d :], strict=True):
            if i == j:
                squares[i] = ball
            else:
                crossed += abs(ball)
        for i, slope in enumerate(self.p[1 : 1 + d]):
            least, most = _parabola(abs(slope), squares[i]) if pairs else (-abs(slope), abs(slope))
            low += least
            high += most
        return (low - crossed).lower().union((high + crossed).upper())

    def value(self) -> arb:
        """The range of the row."""
        return intersection(self.span() + symmetric(self.errors), self.known)

    def __neg__(self) -> Row:
        return Row(self.space, [-a for a in self.p], {n: -a for n, a in self.g.items()}, self.r, -self.known)

    def __add__(self, other: Row) -> Row:
        g = dict(self.g)
        for n, ball in other.g.items():
            g[n] = g[n] + ball if n in g else ball
        p = [a + b for a, b in zip(self.p, other.p, strict=True)]
        return settled(Row(self.space, p, g, (self.r + other.r).upper(), self.known + other.known))

    def __sub__(self, other: Row) -> Row:
        return self + -other

    def __mul__(self, other: Row) -> Row:
        """(p + δ)(p' + δ') with the errors δ, δ' kept to first order at the constants of p and p'."""
        space, (a, b) = self.space, (self, other)
        (a0, at, ea), (b0, bt, eb) = ((x.p[0], _norm(x.p[1:]), x.errors) for x in (a, b))
        p, lost = product(space, a.p, b.p)
        g = {n: b0 * ball for n, ball in a.g.items()}
        for n, ball in b.g.items():
            g[n] = g[n] + a0 * ball if n in g else a0 * ball
        r = lost + at * eb + bt * ea + ea * eb + abs(a0) * b.r + abs(b0) * a.r
        return settled(Row(space, p, g, r.upper(), a.known * b.known))

    def moved(self, factor: arb, shift: arb, radius: arb, known: arb) -> Row:
        """factor·x + shift + [−radius, radius], of which a ball is known besides."""
        p = [factor * a for a in self.p]
        p[0] += shift
        g = {n: factor * ball for n, ball in self.g.items()}
        return settled(Row(self.space, p, g, (abs(factor) * self.r + radius).upper(), known))


def of_box(box: Box, degree: int) -> list[Row]:
    """The inputs."""
    wide = [n for n, (low, high) in enumerate(zip(box.low, box.high, strict=True)) if low < high]
    space = Space(len(wide), degree)
    rows = []
    for n, (low, high) in enumerate(zip(box.low, box.high, strict=True)):
        known = interval(low, high)
        p = [known.mid()] + [ZERO] * (space.size - 1)
        if n in wide:
            p[1 + wide.index(n)] = known.rad()
        rows.append(Row(space, p, {}, ZERO, known))
    return rows


def of_ball(space: Space, ball: arb) -> Row:
    """A row of which only a ball is known."""
    if not ball.is_finite():
        return Row(space, [ZERO] * space.size, {}, arb.pos_inf(), ball)
    return Row(space, [ball.mid()] + [ZERO] * (space.size - 1), {}, ball.rad(), ball)


def settled(row: Row) -> Row:
    """The row with what its model says of its value; the ball alone where that says more than the errors do."""
    if not row.r.is_finite() or not all(a.is_finite() for a in row.p):
        return of_ball(row.space, row.known)
    row.known = row.value()
    if row.known.is_finite() and row.errors > row.known.rad():
        return of_ball(row.space, row.known)
    return row


def shared(row: Row) -> Row:
    """The row with its radius as a symbol: what is computed from it twice is subtracted once."""
    if not row.r > 0 or not row.r.is_finite():
        return row
    return Row(row.space, row.p, row.g | {next(row.space.supply): row.r}, ZERO, row.known)


def affine(A: Floats, b: Floats, rows: Sequence[Row]) -> list[Row]:
    """A x + b: one product of matrices. Every radius becomes a symbol, which the new rows share."""
    check_deadline()
    space = rows[0].space
    names = sorted({n for row in rows for n in row.g})
    own = [n for n, row in enumerate(rows) if row.r > 0]
    width = space.size + len(names) + len(own) + 1
    table: Balls = []
    place = {n: k for k, n in enumerate(own)}
    for n, row in enumerate(rows):
        fresh = [ZERO] * len(own)
        if n in place:
            fresh[place[n]] = row.r
        table += [*row.p, *(row.g.get(name, ZERO) for name in names), *fresh, row.known]
    image = arb_mat(len(A), A.shape[1], A.ravel().tolist()) * arb_mat(len(rows), width, table)
    entries = image.entries()
    names += [next(space.supply) for _ in own]
    made = []
    for n, shift in enumerate(b.tolist()):
        line = entries[n * width : (n + 1) * width]
        p = line[: space.size]
        p[0] += shift
        g = dict(zip(names, line[space.size : -1], strict=True))
        made.append(settled(Row(space, p, g, ZERO, line[-1] + shift)))
    return folded(made)


def folded(rows: list[Row]) -> list[Row]:
    """The rows with at most `SYMBOLS` symbols in all: the smallest become part of the radii."""
    sizes: dict[int, float] = {}
    for row in rows:
        for n, ball in row.g.items():
            sizes[n] = sizes.get(n, 0.0) + abs(float(ball.mid()))
    if len(sizes) <= SYMBOLS:
        return rows
    gone = set(sorted(sizes, key=lambda n: sizes[n])[: len(sizes) - SYMBOLS])
    for row in rows:
        row.r = (row.r + sum((abs(row.g[n]) for n in gone if n in row.g), ZERO)).upper()
        row.g = {n: ball for n, ball in row.g.items() if n not in gone}
    return rows


def _parabola(slope: arb, square: arb) -> tuple[arb, arb]:
    """Ends of the range of bξ + aξ² over [−1, 1], for b ≥ 0."""
    low, high = square - slope, square + slope
    if 2 * abs(square) <= slope:
        return low, high
    if square > 0:
        return -slope * slope / (4 * square), high
    if square < 0:
        return low, -slope * slope / (4 * square)
    return -(abs(square) + slope), abs(square) + slope


def _norm(balls: Balls) -> arb:
    total = ZERO
    for ball in balls:
        total += abs(ball)
    return total.upper()


def product(space: Space, a: Balls, b: Balls) -> tuple[Balls, arb]:
    """The product of two polynomials up to the degree, and a bound of the rest of it."""
    d = space.d
    c = [a[0] * y for y in b]
    for n in range(1, len(a)):
        c[n] += a[n] * b[0]
    ones = [(a[0], _norm(a[1 : 1 + d]), _norm(a[1 + d :])), (b[0], _norm(b[1 : 1 + d]), _norm(b[1 + d :]))]
    (_, a1, a2), (_, b1, b2) = ones
    if not space.pairs:
        return c, (a1 * b1).upper()
    for n, (i, j) in enumerate(space.pairs, 1 + d):
        c[n] += a[1 + i] * b[1 + j] if i == j else a[1 + i] * b[1 + j] + a[1 + j] * b[1 + i]
    return c, (a1 * b2 + a2 * b1 + a2 * b2).upper()
