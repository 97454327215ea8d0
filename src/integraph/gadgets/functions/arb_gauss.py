"""z ∫_0^1 exp(−c(as + b²s²/2)) ds on balls.

The integral falls with a and with |b|, so its range comes from two corners. At a corner it is I = ∫ exp(−2As − B²s²) ds
with A = ca/2, B = |b|√(c/2): two error functions that add where −B² ≤ A ≤ 0; for A > 0 the difference of two scaled
ones, or quadrature where too much of that cancels; read from its other end for A < −B².
"""

from __future__ import annotations

from flint import acb, arb, ctx

from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import ZERO, intersection, precision
from integraph.numbers.arb.ranges import HALF, UNKNOWN

GUARD = 32  # bits
FLAT = 2.0**-16  # up to which A and B are so small that the scaled error functions cancel


def gauss(z: arb, a: arb, b: arb, c: arb) -> arb:
    if not (a.is_finite() and b.is_finite()):
        return UNKNOWN
    if z == 0:
        return ZERO
    least, most = _at(a.upper(), b.abs_upper(), c), _at(a.lower(), b.abs_lower(), c)
    return z * least.union(most)


def _at(a: arb, b: arb, c: arb) -> arb:
    """The integral at exact a and b ≥ 0. The square of a large number is wanted to an absolute error."""
    with precision(ctx.prec + 2 * (_magnitude(a) + _magnitude(b)) + GUARD):
        A, B = c * a * HALF, b * (c * HALF).sqrt()
        if A >= 0:
            return _falling(A, B)
        if A < -B * B:
            return (-2 * A - B * B).exp() * _falling(-A - B * B, B)
        turn = A / B
        return (turn * turn).exp() * arb.const_sqrt_pi() / (2 * B) * ((B + turn).erf() - turn.erf())


def _falling(A: arb, B: arb) -> arb:
    """For A ≥ 0; with E = (1 − e^{−2A})/(2A), E − B²/(4A³) ≤ I ≤ E, which suffices for B ≪ A."""
    if A <= FLAT and B <= FLAT:
        return acb.integral(lambda s, _: (-s * (2 * A + B * B * s)).exp(), 0, 1).real
    most = ranges.expm1c(-2 * A)
    known = most.union(most - B * B / (4 * A**3))
    value = (_scaled(A / B) - (-2 * A - B * B).exp() * _scaled(B + A / B)) / (2 * B)
    return intersection(value, known)


def _scaled(x: arb) -> arb:
    """√π e^{x²} erfc x for x ≥ 0; far out, where its asymptotic series is short, as Tricomi's U(½, ½, x²)."""
    square = x * x
    if not square.is_finite():
        return UNKNOWN
    if square < ctx.prec:
        return arb.const_sqrt_pi() * square.exp() * x.erfc()
    return square.hypgeom_u(HALF, HALF)


def _magnitude(x: arb) -> int:
    """The number of bits before the binary point."""
    if not abs(x) > 1:
        return 0
    mantissa, exponent = x.abs_upper().man_exp()
    return int(exponent) + int(mantissa).bit_length()
