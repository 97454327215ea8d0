"""Partial derivatives of the functions of closed forms, on balls."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, ctx

from integraph.gadgets.functions.arb import SCALARS
from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import ONE, ZERO, precision
from integraph.numbers.arb.ranges import HALF, UNKNOWN

Rule = Callable[..., arb]
GUARD = 64  # bits, for what cancels
NEAR = 2.0**-12  # 0, where a series is short
THIRD = arb(1) / 3

_hypot, _grow = SCALARS["hypot"][0], SCALARS["grow"][0]


def _constant_sign(x: arb) -> arb:
    """0 away from 0."""
    return ZERO if x > 0 or x < 0 else UNKNOWN


def _step(x: arb) -> arb:
    """The slope of max(x, 0)."""
    return ONE if x > 0 else ZERO if x < 0 else HALF.union(ONE).union(ZERO) if x.is_finite() else UNKNOWN


d_expm1c = ranges.monotone(lambda x: x.hypgeom_1f1(2, 3) * HALF)  # ∫ s e^{xs} ds over [0, 1]


def _d_log1pc(x: arb) -> arb:
    """−∫ s/(1 + xs)² ds."""
    if abs(x) < NEAR:
        return (-HALF + 2 * x * THIRD).union(-HALF + 2 * x * THIRD - x * x)
    return (1 / (1 + x) - x.log1p() / x) / x


def _excess(x: arb) -> arb:
    """(1 − tanh(x)/x)/x² for x ≥ 0, which falls from 1/3; less than it by at most 2x²/15."""
    if x < NEAR:
        return THIRD.union(THIRD - 2 * x * x / 15)
    with precision(ctx.prec + GUARD):
        return (1 - x.tanh() / x) / (x * x)


excess = ranges.even(_excess)


def _d_log_cosh(x: arb, k: arb) -> arb:
    below = 1 + k * ranges.tanhc(x)
    return (ranges.tanh(x) + k * x * excess(x)) / below if below > 0 else UNKNOWN


def _d_log_cosh_k(x: arb, k: arb) -> arb:
    below = 1 + k * ranges.tanhc(x)
    return ranges.tanhc(x) / below if below > 0 else UNKNOWN


def _gauss_moment(order: int) -> Rule:
    """∫ s^order exp(−c(as + b²s²/2)) ds, which falls with a and with |b|."""

    def rule(z: arb, a: arb, b: arb, c: arb) -> arb:
        if not (a.is_finite() and b.is_finite()):
            return UNKNOWN
        least, most = (_moment(order, *at, c) for at in ((a.upper(), b.abs_upper()), (a.lower(), b.abs_lower())))
        return least.union(most)

    return rule


def _moment(order: int, a: arb, b: arb, c: arb) -> arb:
    """By parts, c(aI_n + b²I_{n+1}) = nI_{n−1} − e^{…}; near b = 0 between that without b², and e^{−cb²/2} times it."""
    if b < NEAR:
        flat = (-c * a).hypgeom_1f1(order + 1, order + 2) / (order + 1)
        return flat.union(flat * (-c * b * b * HALF).exp())
    with precision(ctx.prec + 2 * GUARD):
        whole = SCALARS["gauss"][0](ONE, a, b, c)
        end = (-c * (a + b * b * HALF)).exp()
        first = ((1 - end) / c - a * whole) / (b * b)
        return first if order == 1 else ((whole - end) / c - a * first) / (b * b)


_first_moment, _second_moment = _gauss_moment(1), _gauss_moment(2)


def _fall(a: arb, b: arb, c: arb) -> arb:
    return ranges.exp(-c * (a + ranges.square(b) * HALF))


PARTIALS: dict[str, tuple[Rule | None, ...]] = {  # of each argument in turn
    "exactly": (lambda x: ONE,),
    "abs": (SCALARS["sign"][0],),
    "sign": (_constant_sign,),
    "relu": (_step,),
    "exp": (ranges.exp,),
    "grow": (lambda z, x: ranges.exp(x), _grow),
    "expm1": (ranges.exp,),
    "expm1c": (d_expm1c,),
    "log": (lambda x: 1 / x,),
    "log1p": (lambda x: 1 / (1 + x),),
    "log1pc": (ranges.monotone(_d_log1pc),),
    "sin": (ranges.cos,),
    "cos": (lambda x: -ranges.sin(x),),
    "hypot": (lambda x, y: x / _hypot(x, y), lambda x, y: y / _hypot(x, y)),
    "atan2": (
        lambda y, x: x / (ranges.square(x) + ranges.square(y)),
        lambda y, x: -y / (ranges.square(x) + ranges.square(y)),
    ),
    "power": (
        lambda z, x, a: ranges.exp(a * ranges.log1p(x)),
        lambda z, x, a: a * _grow(z, (a - 1) * ranges.log1p(x)),
        lambda z, x, a: ranges.log1p(x) * _grow(z, a * ranges.log1p(x)),
    ),
    "log_cosh": (_d_log_cosh, _d_log_cosh_k),
    "fall": (
        lambda z, a, b, c: _fall(a, b, c),
        lambda z, a, b, c: -c * z * _fall(a, b, c),
        lambda z, a, b, c: -c * b * z * _fall(a, b, c),
        None,
    ),
    "gauss": (
        lambda z, a, b, c: SCALARS["gauss"][0](ONE, a, b, c),
        lambda z, a, b, c: -c * z * _first_moment(z, a, b, c),
        lambda z, a, b, c: -c * b * z * _second_moment(z, a, b, c),
        None,
    ),
}
