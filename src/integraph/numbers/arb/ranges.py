"""Ranges of functions of one ball: from the values at its ends, and at the turning points inside.

A definition takes one exact number; `monotone` and `even` turn it into the range over a ball. The result contains the
value at every number of the ball, and exceeds the hull of the values by rounding alone: of the precision, and of the
radius of a ball, which has 30 bits. A ball that is not finite, or leaves the domain, gives one that is not finite.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb

from integraph.numbers.arb.conversion import precision

Real = Callable[[arb], arb]
UNKNOWN = arb.nan()
HALF = arb(0.5)
with precision(160):
    TURN = arb("0.82188051620717517903921776055068418902433 +/- 1e-40")  # x/sinh x + 2x/sinh 2x − x tanh x = 1


def monotone(f: Real) -> Real:
    """The range of a monotone function."""

    def of(x: arb) -> arb:
        if not x.is_finite():
            return UNKNOWN
        return f(x) if x.is_exact() else f(x.lower()).union(f(x.upper()))

    return of


def even(f: Real) -> Real:
    """The range of an even function that is monotone in |x|."""

    def of(x: arb) -> arb:
        if not x.is_finite():
            return UNKNOWN
        return f(abs(x)) if x.is_exact() else f(x.abs_lower()).union(f(x.abs_upper()))

    return of


def _sech(x: arb) -> arb:
    e = (-x).exp()
    return 2 * e / (1 + e * e)


def _sech2(x: arb) -> arb:
    s = _sech(x)
    return s * s


def _log_cosh(x: arb) -> arb:
    if x < 1:
        s = (x * HALF).sinh()
        return (2 * s * s).log1p()
    return x - arb.const_log2() + (-2 * x).exp().log1p()


def _sigmoid(x: arb) -> arb:
    if x < 0:
        e = x.exp()
        return e / (1 + e)
    return 1 / (1 + (-x).exp())


def _softplus(x: arb) -> arb:
    return x.exp().log1p() if x < 0 else x + (-x).exp().log1p()


def _over(f: Real) -> Real:
    """f(x)/x with the limit 1 at 0."""
    return lambda x: arb(1) if x == 0 else f(x) / x


tanh = monotone(arb.tanh)
sinh = monotone(arb.sinh)
exp = monotone(arb.exp)
expm1 = monotone(arb.expm1)
expm1c = monotone(_over(arb.expm1))  # (e^x − 1)/x
log = monotone(arb.log)
log1p = monotone(arb.log1p)
log1pc = monotone(_over(arb.log1p))  # ln(1 + x)/x
sqrt = monotone(arb.sqrt)
atan = monotone(arb.atan)
asinh = monotone(arb.asinh)
erf = monotone(arb.erf)
sigmoid = monotone(_sigmoid)
softplus = monotone(_softplus)
abs_ = even(lambda x: x)
square = even(lambda x: x * x)
cosh = even(arb.cosh)
log_cosh = even(_log_cosh)
sech = even(_sech)
sech2 = even(_sech2)
gaussian = even(lambda x: (-x * x).exp())
x_tanh_x = even(lambda x: x * x.tanh())
tanhc = even(_over(arb.tanh))  # tanh(x)/x
sinhc = even(_over(arb.sinh))  # sinh(x)/x


def cos(x: arb) -> arb:
    return _wave(arb.cos, x, 0)


def sin(x: arb) -> arb:
    return _wave(arb.sin, x, HALF)


def _wave(f: Real, x: arb, shift: arb | int) -> arb:
    """The range of cos π(n − shift), of period 2 in n: it turns where n is an integer, to (−1)^n."""
    if not x.is_finite() or x.is_exact():
        return f(x) if x.is_finite() else UNKNOWN
    low, high = x.lower(), x.upper()
    first, last = (low / arb.pi() - shift).lower().ceil(), (high / arb.pi() - shift).upper().floor()
    if not last - first < 1:
        return arb(0, 1)
    hull = f(low).union(f(high))
    if last < first:
        return hull
    return hull.union(arb.cos_pi(first))


def kappa(x: arb) -> arb:
    """sech(x)(1 − sech x)/x, which is odd.

    x (ln κ)' = x/sinh x + 2x/sinh 2x − x tanh x − 1 falls from 1 to −∞ for x > 0, since each summand falls: κ rises up
    to ±TURN, where that is 0, and falls beyond.
    """
    if not x.is_finite():
        return UNKNOWN
    if x.is_exact():
        return _kappa(x)
    hull = _kappa(x.lower()).union(_kappa(x.upper()))
    for turn in (TURN, -TURN):
        if x.overlaps(turn):
            hull = hull.union(_kappa(turn))
    return hull


def _kappa(x: arb) -> arb:
    """Of a number, or of a ball that is very thin; 1 − sech x = 2 sinh²(x/2) sech x."""
    if x == 0:
        return arb(0)
    s, half = _sech(abs(x)), (x * HALF).sinh()
    if abs(x) < 1:
        return 2 * s * s * half * half / x
    return s * (1 - s) / x


def power(x: arb, n: int) -> arb:
    """x^n."""
    if n < 0 and x.contains(0):
        return UNKNOWN
    raised = monotone if n % 2 else even
    return raised(lambda y: 1 / y**-n if n < 0 else y**n)(x)


def real_power(x: arb, a: arb) -> arb:
    """x^a for x > 0: a ln x is bilinear."""
    return exp(log(x) * a)
