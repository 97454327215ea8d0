"""What rounding does to the numbers of a form, and to the constants of a formula: against fractions and mpmath."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

import integraph
from integraph.constructions.graph.rounding import RoundedNumber, added, multiplied, roundings, total
from integraph.errors import SourceError
from integraph.numbers.arrays import Floats
from integraph.numbers.roundoff import U

DECIMALS = st.decimals(-1000, 1000, allow_nan=False, places=3).map(Fraction) | st.integers(-9, 9).map(Fraction)
OPERATIONS = st.lists(st.tuples(st.sampled_from((added, multiplied)), DECIMALS), min_size=1, max_size=12)


def literal(x: Fraction) -> RoundedNumber:
    return RoundedNumber(np.array(float(x)), None, int(Fraction(float(x)) != x))


@given(first=DECIMALS, operations=OPERATIONS)
def test_numbers_are_off_by_what_they_say(first: Fraction, operations: list) -> None:
    number, truth = literal(first), first
    for operation, x in operations:
        number = operation(number, literal(x))
        truth = truth + x if operation is added else truth * x
    off = abs(Fraction(number.value.item()) - truth)
    assert off <= number.ops * Fraction(U) * Fraction(number.large.item()) * Fraction(1.0 + 1e-12)
    assert number.ops or not off


@given(values=st.lists(DECIMALS, min_size=2, max_size=20))
def test_totals(values: list[Fraction]) -> None:
    number = total(RoundedNumber(np.array([float(x) for x in values]), None, 1), (len(values),))
    off = abs(Fraction(number.value.item()) - sum(values))
    assert off <= number.ops * Fraction(U) * Fraction(number.large.item()) * Fraction(1.0 + 1e-12)


@pytest.mark.parametrize(
    ("x", "count"),
    [(0.5, 0), (-3.0, 0), (0.1, 4), (2.0**-30, 0), (np.array([0.25, 7.0]), 0), (np.full(1 << 17, 0.5), 4)],
)
def test_short_binary_fractions_are_exact(x: Floats | float, count: int) -> None:
    assert roundings(np.asarray(x)) == count


def test_what_underflows_is_rounded() -> None:
    tiny = RoundedNumber(np.array(2.0**-600), None, 0)
    assert multiplied(tiny, RoundedNumber(np.array(2.0**-400), None, 0)).ops == 0
    assert multiplied(tiny, tiny).ops == 1
    assert multiplied(tiny, RoundedNumber(np.array(0.0), None, 0)).ops == 0


@pytest.mark.parametrize(
    ("text", "truth", "exact"),
    [
        ("0.1 + 0.2 - 0.3", lambda: 0, True),
        ("1/4 + 2^-3", lambda: mp.mpf(3) / 8, True),
        ("(1/3)^20*3^20", lambda: 1, True),
        ("1/3", lambda: mp.mpf(1) / 3, False),
        ("sqrt(2)*sqrt(2)", lambda: 2, False),
        ("pi - 3.14159265358979", lambda: mp.pi - mp.mpf("3.14159265358979"), False),
        ("sin(pi)", lambda: 0, False),
        ("sin(10^200)", lambda: mp.sin(mp.mpf(10) ** 200), False),
        ("exp(1 + 1e-30) - e", lambda: mp.e * mp.expm1(mp.mpf("1e-30")), False),
        ("cbrt(-8) + log2(8) + log10(0.001)", lambda: -2, False),
        ("min(atan(1), 0.7) + max(-1, erf(0.5))", lambda: mp.mpf("0.7") + mp.erf(0.5), False),
        ("softplus(0.3)*sigmoid(-0.3)", lambda: mp.log1p(mp.exp(mp.mpf("0.3"))) / (1 + mp.exp(mp.mpf("0.3"))), False),
        ("2^0.5^0.5", lambda: mp.mpf(2) ** mp.sqrt(0.5), False),
        ("1e-400", lambda: 0, False),
        ("asin(sin(pi/2)) + acosh(cosh(0*pi)) + 2*acos(cos(pi))", lambda: mp.pi * 5 / 2, False),
        ("sqrt(sin(pi)) + cbrt(sin(pi)) + sin(pi)^0.25", lambda: 0, False),
        ("exp(ln(1 + 2^-53 + 2^-90))", lambda: 1 + mp.mpf(2) ** -53 + mp.mpf(2) ** -90, False),
        (
            "asin(0.3) - acos(0.2) + asinh(-2)*acosh(3)",
            lambda: mp.asin(mp.mpf("0.3")) - mp.acos(mp.mpf("0.2")) + mp.asinh(-2) * mp.acosh(3),
            False,
        ),
        (
            "atanh(0.9)*expm1(-1e-20) + log1p(1e-30)",
            lambda: mp.atanh(mp.mpf("0.9")) * mp.expm1(mp.mpf("-1e-20")) + mp.log1p(mp.mpf("1e-30")),
            False,
        ),
        ("sqrt(0.7)^-3 + (pi/3)^(2/3)", lambda: mp.sqrt(mp.mpf("0.7")) ** -3 + mp.cbrt(mp.pi / 3) ** 2, False),
    ],
)
def test_constants_are_rounded_once(text: str, truth: object, exact: bool) -> None:
    """Whatever cancels on the way; and what is exact is known to be."""
    (node,) = (node for node in integraph.graph(f"cos(x) + ({text})").nodes if node.op == "constant")
    assert node.value is not None
    assert callable(truth)
    with mp.workdps(300):
        assert node.value.item() == float(truth())
    assert (node.data == ()) == exact


@pytest.mark.parametrize(
    "text", ["sqrt(-2)", "ln(0)", "tan(pi/2)", "exp(exp(exp(9)))", "asin(2)", "(0-1)^0.5", "atanh(1)", "1/sin(pi)"]
)
def test_constants_that_are_no_numbers(text: str) -> None:
    with pytest.raises(SourceError, match=r"not a number that float64 can hold|holds inf|division"):
        integraph.graph(f"x + {text}")
