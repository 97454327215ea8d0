"""A function of one row: a polynomial that interpolates it, with a proved remainder; or a chord.

Let a row and its polynomial have values in [c − ρ, c + ρ], and q interpolate f in k + 1 Chebyshev nodes there. Then

    f(x) = q(p) + s·Σ g_n ε_n + [−R, R],    R = what q(p) has beyond degree k + sup |f − q| + rad(f')·e + |s|·r

with s the middle of f', and sup |f − q| ≤ |F_(k+1)|·ρ^(k+1)/2^k, F_n the Taylor coefficients over the whole interval.
On long intervals f − q is bounded piece by piece, and q moved to the middle of that.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb, arb_mat, ctx

from integraph.certify.loops.replay.polynomials import CONSTANT
from integraph.certify.loops.replay.products import composition, moving, polynomial, sum_of_products
from integraph.certify.loops.replay.rows import TRIM, Row, of_ball, of_values, trimmed
from integraph.certify.properties.replay.functions import FUNCTIONS, Coefficients, fixed_power
from integraph.numbers.arb.conversion import ZERO, Balls, hull, size, symmetric

WORTH = 2  # how much wider than an interval a row may be: its symbols may cancel those of other rows
LONG, PIECES = 0.4, 16  # ρ from which f − q is bounded piece by piece, and how many pieces


def coefficients_of(name: str | Fraction) -> Coefficients:
    """The Taylor coefficients of a function, or of a power with a fixed exponent."""
    return fixed_power(name) if isinstance(name, Fraction) else FUNCTIONS[name]


def apply(name: str | Fraction, row: Row) -> Row:
    """f of a row; nothing is known where f is not smooth on its range."""
    coefficients, k = coefficients_of(name), row.k
    low, high = row.range()
    domain = low.union(high)
    symbols = len(row.g)
    if not domain.is_finite():
        return of_ball(arb.nan(), k, symbols)
    over = coefficients(domain, k + 1)
    c, rho = domain.mid(), domain.rad()
    if rho == 0 or not all(ball.is_finite() for ball in over):
        return of_ball(over[0], k, symbols)
    q = _interpolant(coefficients, c, rho, k)
    remainder = size(over[k + 1]) * rho ** (k + 1) / 2**k
    if rho > LONG:
        missed = beyond(coefficients, q, c, rho)
        if missed.rad() < remainder:
            q[0], remainder = q[0] + missed.mid(), missed.rad()
    while len(q) > 2 and abs(q[-1]) < TRIM * abs(q[1]):
        remainder += q.pop().abs_upper()  # as |u| ≤ 1
    s = shifted(q, (row.p.get(CONSTANT, ZERO) - c) / rho)
    values, lost = composition([ball / rho**n for n, ball in enumerate(s)], moving(row.flat), row.variables, k)
    slope, turn = over[1].mid(), over[1].rad()
    own = lost + remainder + turn * row.errors
    made = of_values(values, row.variables, k, [slope * ball for ball in row.g], (own + abs(slope) * row.r).upper())
    better = own + abs(slope) * row.errors < WORTH * over[0].rad()
    return made if made.finite and better else of_ball(over[0], k, symbols)


def shifted(q: Balls, at: arb) -> Balls:
    """The coefficients of q(at + v) in v."""
    s = list(q)
    for first in range(len(s) - 1):
        for n in range(len(s) - 2, first - 1, -1):
            s[n] += at * s[n + 1]
    return s


@lru_cache
def chebyshev(k: int, bits: int) -> tuple[Balls, arb_mat]:
    """Balls around the Chebyshev nodes, and the matrix from values there to coefficients."""
    nodes = [(arb.pi() * (2 * n + 1) / (2 * k + 2)).cos() for n in range(k + 1)]
    return nodes, arb_mat(k + 1, k + 1, [node**m for node in nodes for m in range(k + 1)]).inv()


def _interpolant(coefficients: Coefficients, c: arb, rho: arb, k: int) -> Balls:
    """Coefficients of q in u = (x − c)/ρ, each in its ball."""
    nodes, inverse = chebyshev(k, ctx.prec)
    values = arb_mat(k + 1, 1, [coefficients(c + rho * node, 0)[0] for node in nodes])
    return list((inverse * values).entries())


def beyond(coefficients: Coefficients, q: Balls, c: arb, rho: arb) -> arb:
    """The range of f − q over [c − ρ, c + ρ], piece by piece, from Taylor coefficients in the middle of each piece."""
    parts, h = [], (rho / PIECES).upper()
    for n in range(1 - PIECES, PIECES, 2):
        u = arb(n) / PIECES
        x = c + rho * u
        value, slope, curvature = coefficients(x, 2)
        bend = size(coefficients(x + symmetric(h), 3)[3])
        q0, q1, q2, q3 = _shifted(q, u, rho)
        off = size(slope - q1) + (size(curvature - q2) + (bend + q3) * h) * h
        parts.append(value - q0 + symmetric((off * h).upper()))
    missed = hull(*parts)
    return missed if missed.is_finite() else symmetric(arb.pos_inf())


def _shifted(q: Balls, u: arb, rho: arb) -> tuple[arb, arb, arb, arb]:
    """The first three Taylor coefficients of q at u, as a function of x, and a bound of the third on its piece."""
    taylor, rest = [ZERO] * 3, ZERO
    around = u + symmetric(arb(1) / PIECES)
    for m, ball in enumerate(q):
        choose = 1
        for j in range(min(m, 2) + 1):
            taylor[j] += ball * choose * u ** (m - j) / rho**j
            choose = choose * (m - j) // (j + 1)
        if m > 2:
            rest += abs(ball) * (m * (m - 1) * (m - 2) // 6) * around.abs_upper() ** (m - 3) / rho**3
    return taylor[0], taylor[1], taylor[2], rest.upper()


def kink(row: Row, below: arb) -> Row:
    """x where x ≥ 0, below·x elsewhere; where x has either sign, the chord, moved to the middle of what it misses."""
    low, high = row.range()
    if low >= 0:
        return row
    if high <= 0:
        return row.scaled(below)
    if not (low.is_finite() and high.is_finite()):
        return of_ball(arb.nan(), row.k, len(row.g))
    start = below * low
    chord = ((high - start) / (high - low)).mid()
    gap = hull(start - chord * low, high - chord * high, ZERO)
    straight, bent = row.scaled(chord, gap.mid(), gap.rad()), _parabola(row, below, (-low).max(high))
    return bent if bent.r < straight.r else straight


def _parabola(row: Row, below: arb, reach: arb) -> Row:
    """The kink as αx + β|x|, |x| ≤ L: |p| is p²/L + L/8 within L/8, |x| is |p| within all that x has beside p."""
    alpha, beta = (1 + below) / 2, (1 - below) / 2
    values, lost = sum_of_products([(1, row.flat, row.flat)], row.variables, row.k)
    p = {m: beta * ball / reach for m, ball in polynomial(values, row.variables, row.k).items()}
    for monomial, ball in row.p.items():
        p[monomial] = p.get(monomial, ZERO) + alpha * ball
    p[CONSTANT] = p.get(CONSTANT, ZERO) + beta * reach / 8
    lost = lost / reach + reach / 8 + row.errors
    return trimmed(Row(row.k, p, [alpha * ball for ball in row.g], (abs(alpha) * row.r + abs(beta) * lost).upper()))
