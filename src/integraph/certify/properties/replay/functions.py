"""Functions of one row of the checker: an interpolating polynomial with a proved remainder, or a chord.

Let a row and its polynomial have values in [c − ρ, c + ρ], and q interpolate f there in the Chebyshev nodes. Then

    f(x) = q(p) + s·Σ g_n ε_n + [−R, R],    R = what q(p) has beyond degree 2 + sup |f − q| + rad(f')·e + |s|·r

with s the middle of the range of f', and sup |f − q| ≤ |F₃|·ρ³/4 for degree 2, |F₂|·ρ²/2 for degree 1, |F₁|·ρ for
degree 0: the F are Taylor coefficients of f over the whole ball. On long intervals f − q is bounded piece by piece, and
q is moved to the middle of that.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from integraph.certify.properties.replay.rows import Row, of_ball, product, settled
from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import ONE, ZERO, Balls, size, symmetric
from integraph.numbers.arb.jet_functions import CLOSED, RECURRENCES, integral, sharpened
from integraph.numbers.arb.jet_powers import power
from integraph.targets.activations import CUBIC

LONG, PIECES = 0.4, 6  # ρ from which f − q is bounded piece by piece, and how many pieces
Coefficients = Callable[[arb, int], Balls]  # F^(k)(x)/k!, k = 0 … n, over a ball


def apply(coefficients: Coefficients, row: Row) -> Row:
    """f of a row, from the Taylor coefficients of f: interpolated in the degree that leaves the least remainder."""
    known = coefficients(row.known, 0)[0]
    domain, errors, degree = row.span().union(row.known), row.errors, row.space.degree
    c, rho = domain.mid(), domain.rad()
    if not row.space.d or not domain.is_finite() or rho == 0:
        return of_ball(row.space, known)
    over = coefficients(domain, degree + 1)
    remainders = [size(over[k + 1]) * rho ** (k + 1) / (1, 2, 4)[k] for k in range(degree + 1)]
    k = min(range(degree + 1), key=lambda n: float(remainders[n]))
    if not remainders[k].is_finite() or not over[1].is_finite():
        return of_ball(row.space, known)
    q = _interpolant(lambda x: coefficients(x, 0)[0], c, rho, k)
    remainder = remainders[k]
    if rho > LONG:
        missed = _missed(coefficients, q, c, rho)
        if missed.rad() < remainder:
            q[0], remainder = q[0] + missed.mid(), missed.rad()
    slope, turn = over[1].mid(), over[1].rad()
    u = [a / rho for a in row.p]
    u[0] = (row.p[0] - c) / rho
    p, lost = [q[1] * a for a in u] if k else [ZERO] * len(u), ZERO
    if k > 1:
        square, tail = product(row.space, u, u)
        p = [a + q[2] * b for a, b in zip(p, square, strict=True)]
        lost = abs(q[2]) * tail
    p[0] += q[0]
    g = {n: slope * ball for n, ball in row.g.items()}
    r = lost + remainder + turn * errors + abs(slope) * row.r
    return settled(Row(row.space, p, g, r.upper(), known))


def _interpolant(f: Callable[[arb], arb], c: arb, rho: arb, k: int) -> Balls:
    """Coefficients in u = (x − c)/ρ of the polynomial of degree k that has the values of f in k + 1 Chebyshev nodes."""
    if k == 0:
        return [f(c)]
    if k == 1:
        low, high = f(c - rho * _half_root(2)), f(c + rho * _half_root(2))
        return [(low + high) / 2, (high - low) / arb(2).sqrt()]
    low, middle, high = f(c - rho * _half_root(3)), f(c), f(c + rho * _half_root(3))
    return [middle, (high - low) / arb(3).sqrt(), (high + low - 2 * middle) * 2 / 3]


def _missed(coefficients: Coefficients, q: Balls, c: arb, rho: arb) -> arb:
    """The range of f − q over [c − ρ, c + ρ]: piece by piece, from value and slope in the middle and the curvature."""
    q0, q1, q2 = q + [ZERO] * (3 - len(q))
    missed, h = None, (rho / PIECES).upper()
    for n in range(1 - PIECES, PIECES, 2):
        u = arb(n) / PIECES
        middle = c + rho * u
        value, slope = coefficients(middle, 1)
        curvature = coefficients(middle + symmetric(h), 2)[2] - q2 / rho**2
        off = size(slope - (q1 + 2 * q2 * u) / rho) * h + size(curvature) * h**2
        part = value - (q0 + q1 * u + q2 * u**2) + symmetric(off.upper())
        missed = part if missed is None else missed.union(part)
    assert missed is not None
    return missed if missed.is_finite() else symmetric(arb.pos_inf())


def _half_root(n: int) -> arb:
    return arb(n).sqrt() / 2


def kink(row: Row, below: arb) -> Row:
    """x where x ≥ 0, below·x elsewhere; where x has either sign, the chord, moved to the middle of what it misses."""
    known = row.known
    if known >= 0:
        return row
    if known <= 0:
        return row.moved(below, ZERO, ZERO, below * known)
    if not known.is_finite():
        return of_ball(row.space, arb.nan())
    low, high = known.lower(), known.upper()
    start = below * low
    chord = ((high - start) / (high - low)).mid()
    misses = start - chord * low, high - chord * high, ZERO
    gap = misses[0].union(misses[1]).union(ZERO)
    return row.moved(chord, gap.mid(), gap.rad(), start.union(high).union(ZERO))


def _times_x(coefficients: Coefficients) -> Coefficients:
    """Of x·f(x)."""

    def of(x: arb, n: int) -> Balls:
        f = coefficients(x, n)
        return [x * f[0], *(x * f[k] + f[k - 1] for k in range(1, n + 1))]

    return of


def _gauss(x: arb, n: int) -> Balls:
    """exp(−x²): k F_k = −2 (x F_{k−1} + F_{k−2})."""
    coefficients = [ranges.gaussian(x)]
    for k in range(1, n + 1):
        coefficients.append(-2 * (x * coefficients[k - 1] + (coefficients[k - 2] if k > 1 else 0)) / k)
    return coefficients


def _normal(x: arb, n: int) -> Balls:
    """The distribution function of the normal law, ½ erfc(−x/√2)."""
    root = arb(2).sqrt()
    coefficients = RECURRENCES["erf"](x / root, n)
    value = ranges.monotone(lambda y: (-y / root).erfc() / 2)(x)
    return [value, *(c / (2 * root**k) for k, c in enumerate(coefficients) if k)]


def _gate(x: arb, n: int) -> Balls:
    """sigmoid(√(8/π) (x + CUBIC x³)): its Taylor coefficients are those of a composition."""
    scale, cubic = (8 / arb.pi()).sqrt(), arb(CUBIC)
    inner = [scale * (1 + 3 * cubic * ranges.square(x)), scale * 3 * cubic * x, scale * cubic]
    argument = ranges.monotone(lambda y: scale * (y + cubic * y**3))(x)
    outer = RECURRENCES["sigmoid"](argument, n)
    total, powers = [outer[0]] + [ZERO] * n, [ONE] + [ZERO] * n
    for k in range(1, n + 1):
        powers = [sum((powers[i - j] * inner[j - 1] for j in range(1, min(i, 3) + 1)), ZERO) for i in range(n + 1)]
        total = [a + outer[k] * b for a, b in zip(total, powers, strict=True)]
    return total


def _log_cosh(x: arb, n: int) -> Balls:
    return integral(ranges.log_cosh(x), RECURRENCES["tanh"](x, n - 1) if n else [])


def _sharp(recurrence: Coefficients) -> Coefficients:
    return lambda x, n: sharpened(recurrence, x, n) if n else recurrence(x, 0)


def fixed_power(exponent: Fraction) -> Coefficients:
    return lambda x, n: _padded(power(x, exponent, n), n)


def _padded(balls: Balls, n: int) -> Balls:
    return balls + [ZERO] * (n + 1 - len(balls))


FUNCTIONS: dict[str, Coefficients] = (
    CLOSED
    | {name: _sharp(recurrence) for name, recurrence in RECURRENCES.items()}
    | {
        "arctan": _sharp(RECURRENCES["atan"]),
        "silu": _sharp(_times_x(RECURRENCES["sigmoid"])),
        "gelu": _sharp(_times_x(_normal)),
        "gelu_tanh": _sharp(_times_x(_gate)),
        "gaussian": _sharp(_gauss),
        "log_cosh": _sharp(_log_cosh),
    }
)
