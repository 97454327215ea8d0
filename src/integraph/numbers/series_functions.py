"""Elementary functions of truncated series, by recurrences over the degree.

With the Euler operator θ = Σ x_i ∂_i, whose part of degree k is k times that of its argument, a chain rule
θF(u) = F'(u) θu gives the part of degree k of F(u) from parts of lower degree, in any number of variables. The value
itself is always the ball function of the value, which is tight over wide boxes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from integraph.numbers.ball_functions import FUNCTIONS, fractional_power, integer_power, maximum, minimum, sech2
from integraph.numbers.balls import Ball, hull, of_fraction, quiet, reciprocal
from integraph.numbers.power_series import Series, assign_rows, convolved, degrees, pairs, square, theta
from integraph.numbers.roundoff import U

LN_2, LN_10 = (Ball(np.asarray(x), np.asarray(2 * U * x)) for x in (math.log(2.0), math.log(10.0)))
ERF_SLOPE = Ball(np.asarray(2 / math.sqrt(math.pi)), np.asarray(8 * U))


def exp(u: Series) -> Series:
    """k E_k = Σ j u_j E_{k−j}."""
    steps, grown = theta(u), u.grow(FUNCTIONS["exp"](u.value))
    for k in range(1, u.n):
        assign_rows(grown, u.rows(k), convolved(steps, grown, u.pairs(k, u.degree)) / k)
    return u.of(u.n - 1, grown)


def divided(a: Series, b: Series) -> Series:
    """b₀ q_k = a_k − Σ b_j q_{k−j}, j ≥ 1."""
    if b.power_of is not None and b.power_of[1] > 0:  # 1/u^(−p) has a hole at 0 that u^p has not
        return a * rational_power(b.power_of[0], -b.power_of[1])
    inverse = reciprocal(b.value)
    if b.degree == 0:
        return a.of(a.degree, a.ball * inverse)
    top, grown = a.filled(a.n - 1), a.grow(a.value * inverse, b)
    for k in range(1, a.n):
        rows = a.rows(k)
        assign_rows(grown, rows, (top[rows] - convolved(b.ball, grown, a.pairs(k, b.degree))) * inverse)
    return a.of(a.n - 1, grown)


def rational_power(u: Series, p: Fraction) -> Series:
    """u^p: of any u if p is a natural number, of u ≠ 0 if it is an integer, of u > 0 otherwise."""
    if p.denominator == 1 and p >= 0:
        result = _natural_power(u, p.numerator)
    else:
        value = _value_of_power(u.value, p)
        result = _power(u, of_fraction(p), value) if u.degree else u.of(0, value)
    return Series(u.d, u.n, result.degree, result.ball, (u, p))


def _value_of_power(x: Ball, p: Fraction) -> Ball:
    if Fraction(float(p)) != p:
        return FUNCTIONS["exp"](FUNCTIONS["ln"](x) * of_fraction(p))
    whole = p.denominator == 1
    value = integer_power(x, abs(p.numerator)) if whole else fractional_power(x, abs(float(p)))
    return value if p > 0 else reciprocal(value)


def _natural_power(u: Series, k: int) -> Series:
    """By squaring, without a division; the value is that of the whole."""
    if k == 0:
        return u.of(0, integer_power(u.value, 0))
    power = u
    for bit in bin(k)[3:]:
        power = square(power)
        if bit == "1":
            power = power * u
    return power.replaced(integer_power(u.value, k))


def _power(u: Series, p: Ball, value: Ball) -> Series:
    """k u₀ w_k = Σ ((p + 1) j − k) u_j w_{k−j}, where u is not 0."""
    steps, grown, inverse = theta(u) * (p + 1.0), u.grow(value), reciprocal(u.value)
    for k in range(1, u.n):
        assign_rows(
            grown, u.rows(k), convolved(steps - u.ball * float(k), grown, u.pairs(k, u.degree)) / float(k) * inverse
        )
    return u.of(u.n - 1, grown)


def cbrt(u: Series) -> Series:
    """Odd: −∛(−u) where u is negative."""
    sign = np.where(u.value.ends[1] < 0, -1.0, 1.0)
    return _power(u.scaled(sign), of_fraction(Fraction(1, 3)), FUNCTIONS["cbrt"](u.value) * sign).scaled(sign)


def _coupled(u: Series, first: str, second: str, sign: float) -> tuple[Series, Series]:
    """F' = G and G' = sign·F, both at once."""
    steps = theta(u)
    f, g = (u.grow(FUNCTIONS[name](u.value)) for name in (first, second))
    for k in range(1, u.n):
        rows, products = u.rows(k), u.pairs(k, u.degree)
        assign_rows(f, rows, convolved(steps, g, products) / k)
        assign_rows(g, rows, convolved(steps, f, products) / (sign * k))
    return u.of(u.n - 1, f), u.of(u.n - 1, g)


def _tangent(u: Series, name: str, sign: float) -> Series:
    """T' = G = 1 + sign·T²; the value of G is not left to cancellation."""
    steps, t = theta(u), u.grow(FUNCTIONS[name](u.value))
    slope = sech2(u.value) if sign < 0 else integer_power(FUNCTIONS[name](u.value), 2) + 1.0
    g = u.grow(slope)
    for k in range(1, u.n):
        rows, whole = u.rows(k), range(k + 1)
        assign_rows(t, rows, convolved(steps, g, u.pairs(k, u.degree)) / k)
        assign_rows(g, rows, convolved(t, t, pairs(u.d, range(k, k + 1), whole, whole)) * sign)
    return u.of(u.n - 1, t)


def tanh(u: Series) -> Series:
    return _tangent(u, "tanh", -1.0)


def sigmoid(u: Series) -> Series:
    """½ + ½ tanh(u/2)."""
    return tanh(u.scaled(0.5)).scaled(0.5).replaced(FUNCTIONS["sigmoid"](u.value))


def _inverse(u: Series) -> Series:
    return rational_power(u, Fraction(-1))


def _inverse_root(u: Series) -> Series:
    return rational_power(u, Fraction(-1, 2))


SLOPES: dict[str, Callable[[Series], Series]] = {  # F' of F(u): θF(u) = F'(u) θu
    "ln": _inverse,
    "log1p": lambda u: _inverse(u.plus(1.0)),
    "log2": lambda u: _inverse(u.scaled(LN_2)),
    "log10": lambda u: _inverse(u.scaled(LN_10)),
    "asin": lambda u: _inverse_root((-square(u)).plus(1.0)),
    "acos": lambda u: -_inverse_root((-square(u)).plus(1.0)),
    "atan": lambda u: _inverse(square(u).plus(1.0)),
    "asinh": lambda u: _inverse_root(square(u).plus(1.0)),
    "acosh": lambda u: _inverse_root(square(u).plus(-1.0)),
    "atanh": lambda u: _inverse((-square(u)).plus(1.0)),
    "erf": lambda u: exp(-square(u)).scaled(ERF_SLOPE),
    "softplus": sigmoid,
}


def _integral(u: Series, name: str) -> Series:
    value, slope = u.grow(FUNCTIONS[name](u.value)), SLOPES[name](u)
    products = pairs(u.d, range(1, u.n), range(1, u.degree + 1), range(u.n - 1))
    assign_rows(value, slice(1, None), convolved(theta(u), slope.filled(u.n - 1), products) / degrees(u.d, u.n - 1)[1:])
    return u.of(u.n - 1, value)


@quiet
def _chosen(u: Series, v: Series, first: Ball, value: Ball) -> Series:
    """u where `first` > 0, v where it is < 0; where it may be 0 the value alone is known."""
    low, high = first.ends
    degree = max(u.degree, v.degree) if ((low > 0) | (high < 0)).all() else u.n - 1
    a, b = u.filled(degree), v.filled(degree)
    either = np.where(high < 0, 1.0, np.nan)
    mid, rad = (np.where(low > 0, x, either * y) for x, y in ((a.mid, b.mid), (a.rad, b.rad)))
    return u.of(degree, Ball(mid, rad)).replaced(value)


def minimum_of(u: Series, v: Series) -> Series:
    return _chosen(u, v, (v - u).value, minimum(u.value, v.value))


def maximum_of(u: Series, v: Series) -> Series:
    return _chosen(u, v, (u - v).value, maximum(u.value, v.value))


def condition(g: Series, u: Series, v: Series) -> Series:
    """u where g < 0, v where it is not; where both are possible the value alone is known."""
    low, high = g.value.ends
    lows, highs = zip(u.value.ends, v.value.ends, strict=True)
    either = hull(np.minimum(*lows), np.maximum(*highs))
    one, other = (high < 0), (low >= 0)
    mid, rad = (
        np.where(one, a, np.where(other, b, c))
        for a, b, c in zip(*((x.mid, x.rad) for x in (u.value, v.value, either)), strict=True)
    )
    return _chosen(v, u, g.value, Ball(mid, rad))


RECURRENCES: dict[str, Callable[[Series], Series]] = {
    "exp": exp,
    "expm1": lambda u: exp(u).replaced(FUNCTIONS["expm1"](u.value)),
    "sqrt": lambda u: rational_power(u, Fraction(1, 2)),
    "cbrt": cbrt,
    "sin": lambda u: _coupled(u, "sin", "cos", -1.0)[0],
    "cos": lambda u: _coupled(u, "sin", "cos", -1.0)[1],
    "sinh": lambda u: _coupled(u, "sinh", "cosh", 1.0)[0],
    "cosh": lambda u: _coupled(u, "sinh", "cosh", 1.0)[1],
    "tan": lambda u: _tangent(u, "tan", 1.0),
    "tanh": tanh,
    "sigmoid": sigmoid,
    "abs": lambda u: _chosen(u, -u, u.value, FUNCTIONS["abs"](u.value)),
}


def function(name: str, u: Series) -> Series:
    if u.degree == 0:
        return u.of(0, FUNCTIONS[name](u.value))
    return RECURRENCES[name](u) if name in RECURRENCES else _integral(u, name)


def power(u: Series, v: Series, exponent: Fraction | None) -> Series:
    """u^v; `exponent` is what v is, if that is a rational number. With any other v it is e^(v ln u), for u > 0."""
    if exponent is not None:
        return rational_power(u, exponent)
    if v.degree > 0:
        return exp(v * function("ln", u))
    value = FUNCTIONS["exp"](FUNCTIONS["ln"](u.value) * v.value)
    return _power(u, v.value, value) if u.degree else u.of(0, value)
