"""Ranges of functions of one ball: our own vectors, containment of points, tightness, and nothing from nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from mpmath import findroot, mp, mpf, sech, sinh, tanh

from arb_values import holds, near
from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import interval
from law import examples
from range_vectors import VECTORS
from slow import mostly_slow

RADIUS = 2.0**-28  # a ball's radius has 30 bits

TRUTH: dict[str, Callable[[mpf], mpf]] = {
    "tanh": mp.tanh,
    "sech": mp.sech,
    "sech2": lambda x: mp.sech(x) ** 2,
    "exp": mp.exp,
    "expm1": mp.expm1,
    "log": mp.ln,
    "log1p": mp.log1p,
    "atan": mp.atan,
    "asinh": mp.asinh,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "softplus": lambda x: mp.log1p(mp.exp(x)),
    "erf": mp.erf,
    "gaussian": lambda x: mp.exp(-x * x),
    "sin": mp.sin,
    "cos": mp.cos,
    "x_tanh_x": lambda x: x * mp.tanh(x),
    "tanhc": lambda x: mp.tanh(x) / x if x else mpf(1),
    "kappa": lambda x: 2 * (mp.sinh(x / 2) * mp.sech(x)) ** 2 / x if x else mpf(0),
    "square": lambda x: x * x,
    "abs_": abs,
    "log_cosh": lambda x: mp.log1p(2 * mp.sinh(x / 2) ** 2),
    "sqrt": mp.sqrt,
    "cosh": mp.cosh,
    "sinh": mp.sinh,
    "sinhc": lambda x: mp.sinh(x) / x if x else mpf(1),
    "expm1c": lambda x: mp.expm1(x) / x if x else mpf(1),
    "log1pc": lambda x: mp.log1p(x) / x if x else mpf(1),
}
POSITIVE, ABOVE = ("log", "sqrt"), ("log1p", "log1pc")  # domains that begin at 0 and at −1


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    with mp.workdps(60):
        yield


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v[0]} {v[1]} {v[2]}")
def test_the_vectors_are_contained_and_met(vector: tuple[str, float, float, str, str]) -> None:
    name, low, high, *texts = vector
    with ctx.workprec(128):
        x = interval(low, high)
        found = getattr(ranges, name)(x)
        least, most = (arb(text) * arb(1, 1e-29) for text in texts)
        assert found.is_finite()
        assert found.overlaps(least)
        assert found.overlaps(most)
        spill = _moved(name, low, x.lower()) + _moved(name, high, x.upper()) + (most - least) * RADIUS
        rounding = (abs(least) + abs(most)) * 1e-28
        assert found.lower() > least - 2 * (spill + rounding)
        assert found.upper() < most + 2 * (spill + rounding)


def _moved(name: str, end: float, outside: arb) -> arb:
    """How much the value moves because the ball's end lies a little outside."""
    mantissa, exponent = outside.man_exp()
    truth = TRUTH[name]
    return abs(near(truth(mpf(int(mantissa)) * mpf(2) ** int(exponent)) - truth(mpf(end)))) + arb(2) ** -2000


def test_every_function_has_vectors() -> None:
    assert {name for name, *_ in VECTORS} == set(TRUTH)


def _reals(name: str) -> st.SearchStrategy[float]:
    if name in POSITIVE:
        return st.floats(1e-300, 1e300)
    if name in ABOVE:
        return st.floats(-1, 1e300, exclude_min=True)
    if name in ("exp", "expm1", "expm1c", "sinh", "cosh", "sinhc"):
        return st.floats(-700, 700)
    return st.floats(-1e6, 1e6) | st.floats(-4, 4) | st.floats(-1e-5, 1e-5)


@mostly_slow("name", sorted(TRUTH), quick=12)
@examples(60)
@given(data=st.data())
def test_points_stay_inside(name: str, data: st.DataObject) -> None:
    low, point, high = sorted(data.draw(st.tuples(*[_reals(name)] * 3)))
    function = getattr(ranges, name)
    for bits in (53, 106):
        with ctx.workprec(bits):
            x = interval(low, high)
            if name in (*POSITIVE, *ABOVE) and not x > (0 if name in POSITIVE else -1):
                assert not function(x).is_finite()  # the ball around [low, high] leaves the domain
                continue
            for inside in (low, point, high):
                assert holds(function(x), TRUTH[name](mpf(inside))), (name, low, high, inside)


@mostly_slow("name", sorted(TRUTH), quick=12)
@examples(30)
@given(data=st.data())
def test_precisions_agree_and_points_are_sharp(name: str, data: st.DataObject) -> None:
    x = data.draw(_reals(name))
    found = []
    for bits in (64, 128, 256):
        with ctx.workprec(bits):
            found.append(getattr(ranges, name)(arb(x)))
    assert all(ball.is_finite() for ball in found)
    assert found[0].overlaps(found[1])
    assert found[1].overlaps(found[2])
    assert found[0].overlaps(found[2])
    for ball, bits in zip(found, (64, 128, 256), strict=True):
        assert ball.contains(0) or ball.rel_accuracy_bits() > bits - 12 or abs(x) > 1e3, (x, ball)


@mostly_slow("name", sorted(TRUTH), quick=12)
def test_nothing_comes_from_nothing(name: str) -> None:
    for ball in (arb.nan(), arb.pos_inf(), arb.neg_inf(), arb(0, "inf"), arb.pos_inf().union(arb(1))):
        assert not getattr(ranges, name)(ball).is_finite()


def test_outside_of_the_domain_nothing_is_known() -> None:
    for function, ball in (
        (ranges.log, interval(-1.0, 1.0)),
        (ranges.log, arb(0)),
        (ranges.log, arb(-1)),
        (ranges.log1p, interval(-2.0, 1.0)),
        (ranges.log1p, arb(-1)),
        (ranges.log1pc, interval(-1.5, -0.5)),
        (ranges.sqrt, interval(-1.0, 1.0)),
        (ranges.sqrt, arb(-1)),
    ):
        assert not function(ball).is_finite()
    assert not ranges.power(interval(-1.0, 2.0), -1).is_finite()
    assert not ranges.real_power(interval(-1.0, 2.0), arb(0.5)).is_finite()


def test_where_kappa_turns() -> None:
    turn = findroot(lambda x: x / sinh(x) + 2 * x / sinh(2 * x) - x * tanh(x) - 1, 0.8)
    assert holds(ranges.TURN, turn)
    top = sech(turn) * (1 - sech(turn)) / turn
    with ctx.workprec(128):
        assert holds(ranges.kappa(interval(0.25, 3.0)).upper() * arb(1, 1e-8), top)
        assert holds(-ranges.kappa(interval(-3.0, -0.25)).lower() * arb(1, 1e-8), top)


@examples(200)
@given(st.floats(-30, 30), st.floats(-30, 30), st.integers(-5, 7))
def test_integer_powers(a: float, b: float, n: int) -> None:
    low, high = min(a, b), max(a, b)
    x = interval(low, high)
    found = ranges.power(x, n)
    if n < 0 and x.contains(0):
        assert not found.is_finite()
        return
    middle = min(max(0.5 * low + 0.5 * high, low), high)  # halves of the smallest numbers are 0
    inside = [p for p in (low, high, middle) if p or n >= 0]
    for point in inside:
        if n >= 0 or abs(point) > 1e-60:
            assert holds(found, mpf(point) ** n)


@examples(200)
@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.floats(-5, 5), st.floats(-5, 5))
def test_real_powers(a: float, b: float, p: float, q: float) -> None:
    found = ranges.real_power(interval(min(a, b), max(a, b)), interval(min(p, q), max(p, q)))
    if interval(min(a, b), max(a, b)) > 0:
        assert all(holds(found, mpf(x) ** mpf(e)) for x in (a, b) for e in (p, q))


def test_a_wide_wave_is_all_of_it() -> None:
    for function in (ranges.sin, ranges.cos):
        found = function(interval(0.0, 1e300))
        assert found.contains(1)
        assert found.contains(-1)
        assert found.upper() < 1.0000001
