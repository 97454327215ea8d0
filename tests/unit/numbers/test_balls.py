"""Balls contain what real arithmetic gives: against exact fractions, and against mpmath for the functions."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from integraph.errors import SourceError
from integraph.numbers import ball_functions
from integraph.numbers.ball_functions import FUNCTIONS, fractional_power, integer_power, maximum, minimum, sech2
from integraph.numbers.balls import TINY, Ball, ball, hull, number, reciprocal
from integraph.targets import expression
from law import examples

MP = mpmath.MPContext()
MP.dps = 60
REAL = {
    "ln": MP.log,
    "log1p": MP.log1p,
    "log2": lambda x: MP.log(x) / MP.log(2),
    "log10": lambda x: MP.log(x) / MP.log(10),
    "cbrt": lambda x: MP.sign(x) * MP.root(abs(x), 3),
    "expm1": MP.expm1,
    "sigmoid": lambda x: 1 / (1 + MP.exp(-x)),
    "softplus": lambda x: MP.log1p(MP.exp(x)),
    "abs": abs,
} | {name: getattr(MP, name) for name in ("exp", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos")}
REAL |= {name: getattr(MP, name) for name in ("atan", "asinh", "acosh", "atanh", "erf")}
DOMAIN = {  # where a function is defined; a closed end belongs to it
    "ln": (0, math.inf), "log1p": (-1, math.inf), "log2": (0, math.inf), "log10": (0, math.inf),
    "sqrt": (0, math.inf), "asin": (-1, 1), "acos": (-1, 1), "acosh": (1, math.inf), "atanh": (-1, 1),
}  # fmt: skip
SHARE = (-1, -Fraction(1, 2), -Fraction(1, 7), 0, Fraction(1, 3), Fraction(99, 100), 1)

sizes = st.floats(-1e3, 1e3) | st.floats(-3, 3) | st.sampled_from([0.0, 1.0, -1.0, 0.1, 1e-200, -1e-9, 1e150])
radii = st.sampled_from([0.0]) | st.floats(0, 2) | st.floats(0, 1e-9)


def one(mid: float, rad: float = 0.0) -> Ball:
    return Ball(np.array([mid]), np.array([rad]))


def inside(mid: float, rad: float) -> list[Fraction]:
    return [Fraction(mid) + Fraction(rad) * share for share in SHARE]


def mp(x: Fraction) -> object:
    return MP.mpf(x.numerator) / x.denominator


def known(x: Ball) -> bool:
    return bool(x.finite.all())


def contains(x: Ball, value: Fraction | object) -> bool:
    """In exact arithmetic for fractions, with 60 digits otherwise."""
    assert known(x)
    mid, rad = Fraction(float(x.mid.item())), Fraction(float(x.rad.item()))
    if isinstance(value, Fraction):
        return abs(value - mid) <= rad
    return bool(abs(value - mp(mid)) <= mp(rad) * (1 + MP.mpf(10) ** -50))


@given(sizes, radii, sizes, radii)
def test_arithmetic(a: float, r: float, b: float, s: float) -> None:
    x, y = one(a, r), one(b, s)
    for p in inside(a, r):
        for q in inside(b, s):
            assert contains(x + y, p + q)
            assert contains(x - y, p - q)
            assert contains(x * y, p * q)
            assert contains(-x, -p)
            assert contains(x + b, p + Fraction(b))
            assert contains(b - x, Fraction(b) - p)
            assert contains(x * b, p * Fraction(b))
            assert contains(minimum(x, y), min(p, q))
            assert contains(maximum(x, y), max(p, q))
    if abs(b) > s:
        quotient, inverse = x / y, reciprocal(y)
        if abs(b) - s > 1e-150 and abs(a) < 1e140:
            for q in inside(b, s):
                assert contains(quotient, Fraction(a) / q)
                assert contains(inverse, 1 / q)
    else:
        assert not known(x / y)
        assert not known(reciprocal(y))
    if abs(b) > 1e-150 and abs(a) < 1e140:
        assert contains(x / b, inside(a, r)[-1] / Fraction(b))


@given(sizes, radii)
def test_ends_are_outside_and_exact_where_they_can_be(a: float, r: float) -> None:
    low, high = (Fraction(float(end.item())) for end in one(a, r).ends)
    exact_low, exact_high = Fraction(a) - Fraction(r), Fraction(a) + Fraction(r)
    assert low <= exact_low <= exact_high <= high
    for end, exact in ((low, exact_low), (high, exact_high)):
        assert end == exact or abs(end - exact) <= Fraction(math.ulp(abs(a) + r))
        if Fraction(float(exact)) == exact:
            assert end == exact


@given(sizes, sizes)
def test_hull(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    found = hull(np.array([low]), np.array([high]))
    assert contains(found, Fraction(low))
    assert contains(found, Fraction(high))
    assert float(found.rad.item()) <= (high - low) * 0.5 * (1 + 1e-15) + math.ulp(max(abs(low), abs(high)))


@given(st.floats(-20, 20), radii, st.integers(0, 9))
def test_whole_powers(a: float, r: float, k: int) -> None:
    found = integer_power(one(a, r), k)
    values = [p**k for p in inside(a, r)]
    assert all(contains(found, value) for value in values)
    if k and k % 2 == 0:
        top = float(max(values))
        assert float(found.ends[0].item()) >= -1e-15 * top - 2 * TINY
        assert float(found.ends[1].item()) <= top * (1 + 1e-13) + 2 * TINY


@given(st.floats(0.01, 50), st.floats(0, 0.99), st.sampled_from([0.5, 1.5, 0.125, 2.75]))
def test_fractional_powers(a: float, share: float, p: float) -> None:
    found = fractional_power(one(a, a * share), p)
    assert all(contains(found, mp(x) ** MP.mpf(p)) for x in inside(a, a * share))
    assert not known(fractional_power(one(a, a * 1.01), p))


@pytest.mark.parametrize("name", expression.FUNCTIONS)
@examples(60)
@given(mid=st.floats(-6, 6) | st.floats(-1.1, 1.1) | st.floats(-600, 600), rad=radii)
def test_functions(name: str, mid: float, rad: float) -> None:
    found, points = FUNCTIONS[name](one(mid, rad)), inside(mid, rad)
    low, high = DOMAIN.get(name, (-math.inf, math.inf))
    if points[0] < low or points[-1] > high:
        assert not known(found)
        return
    if points[0] == low or points[-1] == high:
        assume(name in ("sqrt", "asin", "acos", "acosh"))
    if name == "tan" and not known(found):
        turn = Fraction(0.5) + (points[-1] - points[0]) / Fraction(math.pi) / 2
        centre = Fraction(mid) / Fraction(math.pi) - Fraction(1, 2)
        assert abs(centre - round(centre)) <= turn  # a pole is inside or next to it
        assume(False)
    values = [REAL[name](mp(p)) for p in points]
    assert all(contains(found, value) for value in values)
    turns = name in ("sin", "cos", "tan") or (name in ("cosh", "abs") and abs(mid) < rad)
    if not turns:  # the hull is the range
        spread, size = float(max(values) - min(values)), float(max(map(abs, values)))
        steep = 1e-7 if name in ("asin", "acos", "acosh") else 0.0  # slopes are infinite at ±1
        least = 1e-15 if name in ("ln", "log2", "log10") else 1e-280  # near 1 the end points are rounded
        assert float(found.rad.item()) <= spread / 2 * (1 + 1e-9) + 1e-12 * size + steep + least


@given(st.floats(-1e16, 1e16) | st.floats(-50, 50), st.floats(0, 4) | st.floats(0, 1e-6))
def test_waves_turn_inside(mid: float, rad: float) -> None:
    points = [Fraction(mid) + Fraction(rad) * Fraction(k, 40) for k in range(-40, 41)]
    for name in ("sin", "cos"):
        found, values = FUNCTIONS[name](one(mid, rad)), [REAL[name](mp(p)) for p in points]
        assert all(contains(found, value) for value in values)
        if abs(mid) + rad < 1e10:
            assert float(found.rad.item()) <= float(max(values) - min(values)) / 2 + 0.6 * (rad / 40) ** 2 + 1e-5


@pytest.mark.parametrize("k", [0, 1, 2, 7, 1000])
def test_waves_next_to_a_turning_point(k: int) -> None:
    for offset in (0.0, 1e-9, -1e-9, 1e-16, 0.3):
        top, bottom = 2 * math.pi * k + offset, math.pi * (2 * k + 1) + offset
        assert contains(FUNCTIONS["cos"](one(top, abs(offset) + 1e-10)), MP.mpf(1)) or k > 100
        assert contains(FUNCTIONS["cos"](one(bottom, abs(offset) + 1e-9)), MP.mpf(-1))


@given(st.floats(-400, 400), radii)
def test_squared_hyperbolic_secant(mid: float, rad: float) -> None:
    assert all(contains(sech2(one(mid, rad)), MP.sech(mp(p)) ** 2) for p in inside(mid, rad))


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value="-1e300", max_value="1e300"))
def test_numbers_mean_their_decimals(value: object) -> None:
    text = str(value)
    found = number(text)
    assert contains(found, Fraction(text))
    assert float(found.rad.item()) <= 2.0**-52 * abs(float(found.mid.item())) + 2 * TINY


def test_numbers() -> None:
    assert contains(number("0.1"), Fraction(1, 10))
    assert float(number("0.1").rad) > 0
    assert float(number("0.5").rad) == 0
    assert contains(number("pi"), MP.pi)
    assert contains(number("e"), MP.e)
    assert contains(number("1e-5000"), Fraction(0))
    assert not known(number("1e5000"))
    assert not known(number("1e309"))
    with pytest.raises(SourceError, match="'x1' is not a number"):
        number("x1")


UNKNOWN = [
    one(math.nan),
    one(0.0, math.nan),
    one(math.inf, math.nan),
    reciprocal(one(0.5, 1.0)),
    FUNCTIONS["ln"](one(0.0, 0.5)),
]


@pytest.mark.parametrize("x", UNKNOWN)
def test_unknown_stays_unknown(x: Ball) -> None:
    assert not known(x)
    for y in (x + 1.0, 1.0 - x, x * 0.0, x * one(0.0), x / 3.0, 2.0 / x, x / one(2.0, 0.1), -x, x * x):
        assert not known(y)
    for name, f in FUNCTIONS.items():
        assert not known(f(x)), name
    for k in (0, 1, 2, 3):
        assert not known(integer_power(x, k))
    assert not known(minimum(x, one(0.0)))
    assert not known(maximum(one(0.0), x))
    assert not known(sech2(x))


def test_overflow_is_unknown() -> None:
    big = one(1e300)
    for x in (big * big, FUNCTIONS["exp"](one(1000.0)), FUNCTIONS["cosh"](one(-1000.0)), integer_power(big, 2)):
        assert not known(x)


def test_underflow_is_covered() -> None:
    tiny = 1e-300
    assert contains(one(tiny) * one(tiny), Fraction(tiny) ** 2)
    assert contains(integer_power(one(tiny), 3), Fraction(tiny) ** 3)
    assert contains(FUNCTIONS["exp"](one(-800.0)), MP.exp(-800))


def test_arrays_and_balls_mix() -> None:
    x, a = ball(np.array([1.0, 2.0])), np.array([3.0, 4.0])
    for found, expected in ((a * x, [3, 8]), (a + x, [4, 6]), (a - x, [2, 2]), (a / x, [3, 2])):
        assert isinstance(found, Ball)
        assert np.all(np.abs(found.mid - expected) <= found.rad)


def test_every_function_of_the_tape_has_a_ball() -> None:
    assert set(ball_functions.FUNCTIONS) == set(expression.FUNCTIONS)
