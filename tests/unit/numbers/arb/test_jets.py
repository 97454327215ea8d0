"""Proved Taylor coefficients: against mpmath's and sympy's derivatives at points of random boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from integraph.certify.taylor import taylor
from integraph.numbers.arb import jets
from integraph.numbers.arb.conversion import Balls, box, interval, precision
from integraph.numbers.arb.jet_functions import coefficients
from integraph.numbers.arb.jet_powers import power, real_power
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import below, count
from integraph.targets.expression import FUNCTIONS, Expression, Tape
from law import examples
from lazy import Lazy
from mp_formulas import MP, REAL, along, formula, tapes
from slow import mostly_slow

sympy = Lazy("sympy")

DIGITS = 40
CLOSE = mpmath.mpf(10) ** -22  # what mpmath's own differences lose, relative to the size
UNIT = st.floats(-1, 1, allow_subnormal=False)
DOMAINS = {  # where a function is analytic, with a margin
    "ln": (0.05, 6), "log2": (0.05, 6), "log10": (0.05, 6), "sqrt": (0.05, 6), "log1p": (-0.9, 6), "acosh": (1.05, 6),
    "asin": (-0.95, 0.95), "acos": (-0.95, 0.95), "atanh": (-0.95, 0.95), "tan": (-1.5, 1.5), "cbrt": (-6, -0.05),
}  # fmt: skip
SMOOTH = [name for name in FUNCTIONS if name != "abs"]


def ball(x: Any) -> arb:
    """A number of mpmath's, with what it may be off by."""
    text = mpmath.nstr(x, DIGITS)
    return arb(text) + arb(0, 1) * arb(mpmath.nstr(abs(x) * CLOSE + CLOSE, 5))


def holds(found: arb, x: Any) -> bool:
    return bool(found.is_finite()) and found.overlaps(ball(x))


def inside(low: float, high: float, share: float) -> float:
    return min(max(low + share * (high - low), low), high)


def real(name: str) -> Any:
    return REAL.get(name) or getattr(MP, name)


@mostly_slow("name", SMOOTH, quick=10)
@examples(40)
@given(a=st.floats(0, 1), b=st.floats(0, 1), share=st.floats(0, 1))
def test_coefficients_of_each_function_over_a_ball(name: str, a: float, b: float, share: float) -> None:
    low, high = DOMAINS.get(name, (-5, 5))
    ends = sorted((low + a * (high - low), low + b * (high - low)))
    x = inside(*ends, share)
    with precision(64):
        found = coefficients(name, interval(*ends), 5)
    for c, wanted in zip(found, MP.taylor(real(name), MP.mpf(x), 5), strict=True):
        assert holds(c, wanted), (name, ends, x, c, wanted)


@mostly_slow("name", SMOOTH, quick=10)
def test_coefficients_over_a_narrow_ball_are_nearly_their_range(name: str) -> None:
    low, high = DOMAINS.get(name, (-2, 2))
    for middle in np.linspace(low, high, 9)[1:-1]:
        ends = (float(middle) - 0.02, float(middle) + 0.02)
        with precision(64):
            found = coefficients(name, interval(*ends), 6)[:5]
        values = [[float(c) for c in MP.taylor(real(name), MP.mpf(x), 4)] for x in np.linspace(*ends, 9)]
        for c, seen in zip(found, np.array(values).T, strict=True):
            assert float(c.rad()) <= 1.7 * np.ptp(seen) / 2 + 3e-3 * np.abs(seen).max() + 1e-12, (name, middle)


@mostly_slow("name", SMOOTH, quick=10)
def test_coefficients_at_a_point_are_as_good_as_the_precision(name: str) -> None:
    low, high = DOMAINS.get(name, (-3, 3))
    x = inside(low, high, 0.3)
    with precision(128):
        fine = coefficients(name, arb(x), 8)
    with precision(64):
        coarse = coefficients(name, arb(x), 8)
    for a, b, wanted in zip(coarse, fine, MP.taylor(real(name), MP.mpf(x), 8), strict=True):
        assert a.overlaps(b)
        assert holds(b, wanted)
        assert float(a.rad()) <= 1e-13 * (1 + abs(float(a)))
        assert float(b.rad()) <= 1e-31 * (1 + abs(float(b)))


@examples(150)
@given(st.fractions(-4, 4, max_denominator=6), st.floats(0.01, 4), st.floats(0, 3), st.floats(0, 1), st.booleans())
def test_powers(p: Fraction, low: float, wide: float, share: float, negative: bool) -> None:
    ends = low, low + wide
    x = inside(*ends, share)
    if negative and p.denominator == 1:
        ends, x = (-ends[1], -ends[0]), -x
    with precision(64):
        found = power(interval(*ends), p, 4)
    found = found + [arb(0)] * (5 - len(found))
    for k, c in enumerate(found):
        assert holds(c, MP.binomial(MP.mpf(p.numerator) / p.denominator, k) * MP.power(x, p - k)), (k, c)
    with precision(64):
        general = real_power(interval(*map(abs, sorted(ends, key=abs))), arb(fmpq(p.numerator, p.denominator)), 4)
    for k, c in enumerate(general):
        assert holds(c, MP.binomial(MP.mpf(p.numerator) / p.denominator, k) * MP.power(abs(x), p - k)), (k, c)


@pytest.mark.parametrize("k", [0, 1, 2, 3, 6])
def test_natural_powers_across_zero(k: int) -> None:
    with precision(64):
        found = power(interval(-1.0, 2.0), Fraction(k), 8)
    assert len(found) == k + 1
    for j, c in enumerate(found):
        values = math.comb(k, j) * np.linspace(-1, 2, 301) ** (k - j)
        assert c.is_finite()
        assert float(c.lower()) <= values.min() <= values.max() <= float(c.upper())
        assert float(c.rad()) <= np.ptp(values) / 2 * (1 + 1e-6) + 1e-12


SYMPY = [
    "sin(3*x)*exp(-y)/(1+x*y)",
    "tanh(x*y)*cos(x-y)",
    "sqrt(2+x^2+y^3)/(2+sin(x))",
    "(3+x+2*y)^(-3) + (x-y)^5*x",
    "atan(x*y + y)*erf(x)",
    "ln(3 + x*y)*2^(x*y)",
    "(4+x)^(1/3)*(3-y)^1.5 - (2+x)^y",
    "sinh(x)*cosh(y*y) + asinh(x - 2*y)",
]


@mostly_slow("text", SYMPY, quick=2)
def test_every_mixed_derivative_over_boxes(text: str) -> None:
    """Thirty boxes of every size, three points in each, all |α| ≤ 4: 1350 cases for each formula."""
    x, y = sympy.symbols("x y")
    names = {"x": x, "y": y, "ln": sympy.log}
    wanted = sympy.parse_expr(text.replace("^", "**").replace("1.5", "(3/2)"), names)
    alphas, expression = below(2, 5), formula(text, "x y")
    scales = [math.factorial(i) * math.factorial(j) for i, j in alphas]
    derivatives = [sympy.lambdify((x, y), sympy.diff(wanted, x, int(i), y, int(j)), "mpmath") for i, j in alphas]
    rng = np.random.default_rng(3)
    for number in range(30):
        low = rng.uniform(-1, 0.9, 2)
        high = np.minimum(low + rng.random(2) * 2.0 ** -rng.integers(0, 12), 1.0)
        with precision(64):
            found = taylor(expression, box(low, high), 4)[0]
        points = [low, high, np.clip(low + rng.random(2) * (high - low), low, high)]
        with mpmath.workdps(45):
            for point in points:
                for c, derivative, scale in zip(found, derivatives, scales, strict=True):
                    value = derivative(*map(mpmath.mpf, point)) / scale
                    assert holds(c, value), (number, low, high, point, c, value)


def test_boxes_close_in_on_points() -> None:
    expression = formula(SYMPY[0])
    for share in (0.1, 0.7):
        with precision(64):
            point = taylor(expression, box([share] * 2, [share] * 2), 4)[0]
            narrow = taylor(expression, box([share] * 2, [share + 1e-6] * 2), 4)[0]
        for a, b in zip(point, narrow, strict=True):
            assert float(a.rad()) < 1e-15 * (1 + abs(float(a)))
            assert float(b.rad()) < 2e-4


@examples(60)
@given(tapes(), st.lists(UNIT, min_size=4, max_size=4), st.lists(st.floats(0, 1), min_size=2, max_size=2), UNIT, UNIT)
def test_random_formulas_over_boxes(
    expression: Expression, ends: list[float], shares: list[float], u: float, v: float
) -> None:
    low, high = (np.array([f(pair) for pair in zip(ends[:2], ends[2:], strict=True)]) for f in (min, max))
    high = np.minimum(low + 0.02 * (high - low), high)
    x, d = np.array([inside(*side) for side in zip(low, high, shares, strict=True)]), np.array([u, v])
    with precision(64):
        wide = taylor(expression, box(low, high), 4)[0]
        thin = taylor(expression, box(x, x), 4)[0]
    for found in (wide, thin):
        assert_along(found, expression, x, d, 4)
    with precision(160):
        finer = taylor(expression, box(x, x), 4)[0]
    for a, b, c in zip(wide, thin, finer, strict=True):
        assert a.overlaps(c)
        assert b.overlaps(c)
        assert float(c.rad()) <= float(b.rad())


def assert_along(found: Balls, expression: Expression, x: Floats, v: Floats, n: int) -> None:
    """Σ c_α v^α over |α| = k holds the k-th coefficient along v."""
    for k, wanted in enumerate(along(expression, x, v, n + 1)):
        total = arb(0)
        for c, alpha in zip(found, below(len(x), n + 1), strict=True):
            if alpha.sum() == k:
                total += c * math.prod(arb(float(b)) ** int(a) for a, b in zip(alpha, v, strict=True))
        assert holds(total, wanted), (k, total, wanted)


@mostly_slow("name", FUNCTIONS, quick=12)
def test_each_function_in_three_variables(name: str) -> None:
    inner = "1.5 + 0.3*x*y - z^2/7 + x" if name in ("acosh", "ln", "log2", "log10", "sqrt") else "0.3*x*y - z^2/7 + x/3"
    expression, x = formula(f"{name}({inner})", "x y z"), np.array([0.4, -0.3, 0.8])
    with precision(64):
        found = taylor(expression, box(x - 1e-3, x + 1e-3), 4)[0]
    for v in np.array([[1.0, 0, 0], [0, 0, 1], [0.5, -1.25, 0.75]]):
        assert_along(found, expression, x, v, 4)


@pytest.mark.parametrize("text", ["min(x, y)", "max(x*y, y-3)", "abs(x*y-2)", "min(max(x, y), abs(x))"])
def test_choices_off_the_kink(text: str) -> None:
    expression, x = formula(text, "x y"), np.array([0.5, 1.25])
    with precision(64):
        found = taylor(expression, box(x - 0.1, x + 0.1), 3)[0]
    assert_along(found, expression, x, np.array([0.75, -0.5]), 3)


def test_a_decimal_is_what_is_written() -> None:
    with precision(200):
        (found,) = taylor(formula("0.1 + 0*x"), [arb(0)], 0)[0]
        (power_found,) = taylor(formula("x^0.1"), [arb(2)], 0)[0]
        (pi_e,) = taylor(formula("pi + e + 0*x"), [arb(0)], 0)[0]
        assert found.contains(fmpq(1, 10))
        assert not found.contains(arb(0.1))
        assert power_found.overlaps(arb(2) ** (arb(1) / 10))
        assert not power_found.overlaps(arb(2) ** arb(0.1))
        assert pi_e.overlaps(arb.pi() + arb.const_e())
        assert float(pi_e.rad()) < 1e-58


def test_a_number_far_outside_of_float64_is_nearly_0_or_unknown() -> None:
    for text, known in (("1e-4000", True), ("-3E-401", True), ("1e4000", False)):
        tape = Tape(("x",))
        expression = tape.expression([tape.add("number", text=text)])
        with precision(64):
            found = taylor(expression, [arb(0)], 1)[0]
            assert [c.is_finite() for c in found] == [known, known]
            assert not known or (found[0].contains(arb(text)) and found[1] == 0)


@pytest.mark.parametrize(
    "text",
    ["1/x", "0*(1/x)", "(1/x)^0", "1/x - 1/x", "tanh(1/x)", "ln(x)", "1/x^(-1)", "x^(-1)*x", "tan(x + pi/2)", "x^pi",
     "acosh(x)", "asin(x + 2)", "atanh(1 - x)", "max(1, 1/x)", "min(ln(x), 0)", "log1p(x - 1)", "abs(1/x)", "(x-1)^0.5",
     "x^y", "y + 1/x"],
)  # fmt: skip
def test_outside_of_the_domain_nothing_is_known(text: str) -> None:
    for low, high in ((0.0, 0.0), (-0.5, 0.5)):
        with precision(64):
            found = taylor(formula(text, "x y"), [interval(low, high), arb(0.5)], 3)[0]
        assert not any(c.is_finite() for c in found), (low, high)


@pytest.mark.parametrize(
    "text",
    ["abs(x)", "min(x, 2*x)", "max(x, -x)", "sqrt(abs(x))", "cbrt(x)", "sqrt(x^2)", "abs(x^3)*y", "max(x*y, x)",
     "cbrt(x^2)", "(x^2)^(1/2)", "(x*x)^0.25", "sqrt(x*x) + y", "y - abs(x)", "y^3 + abs(x)",
     "exp(abs(x))", "asin(abs(x) + y/2)^2", "y/(1 + abs(x))", "asin(1 - x^2)", "acos(x^4 - 1)"],
)  # fmt: skip
def test_a_kink_has_a_value_and_no_derivative(text: str) -> None:
    with precision(64):
        value, *rest = taylor(formula(text, "x y"), [arb(0), arb(1)], 3)[0]
        assert value.is_finite()
        assert not any(c.is_finite() for c in rest)
        value, *rest = taylor(formula(text, "x y"), [interval(-0.5, 0.5), arb(1)], 3)[0]
        assert value.is_finite() or "sqrt" in text or "^" in text  # the square of a wide ball reaches a little below 0
        assert not any(c.is_finite() for c in rest)


def test_an_unknown_box_gives_nothing() -> None:
    for bad in (arb.nan(), arb.pos_inf(), arb(0, math.inf)):
        for found in (*(power(bad, Fraction(p), 2) for p in (0, 2, -1, 0.5)), real_power(bad, arb.pi(), 2)):
            assert not any(c.is_finite() for c in found)
        for name in SMOOTH:
            assert not any(c.is_finite() for c in coefficients(name, bad, 2))
        for text in ("x + y", "x*y", "0*x", "x^0", "tanh(x)", "max(x, y)", "sin(x)", "1/(1+x^2)"):
            with precision(64):
                assert not any(c.is_finite() for c in taylor(formula(text, "x y"), [bad, arb(1)], 2)[0]), text


def test_polynomials_end_and_outputs_stay_apart() -> None:
    with precision(64):
        found = taylor(formula("3*x^2*y - 4*x + 1/4, 7, x*y"), [arb(0.5), arb(0.25)], 5)
    wanted: Sequence[dict[tuple[int, int], float]] = (
        {(0, 0): -1.5625, (1, 0): -3.25, (0, 1): 0.75, (2, 0): 0.75, (1, 1): 3.0, (2, 1): 3.0},
        {(0, 0): 7.0},
        {(0, 0): 0.125, (1, 0): 0.25, (0, 1): 0.5, (1, 1): 1.0},
    )
    for output, values in zip(found, wanted, strict=True):
        assert len(output) == count(2, 6)
        for c, (i, j) in zip(output, below(2, 6), strict=True):
            assert c == values.get((int(i), int(j)), 0.0)


def test_values_over_wide_boxes_are_ranges() -> None:
    cases = {"x^2": (0, 25), "x*x": (0, 25), "sin(x)": (-1, 1), "abs(x)": (0, 5), "tanh(9*x)": (-1, 1), "x*y": (-6, 10)}
    for text, (low, high) in cases.items():
        with precision(64):
            (found,) = taylor(formula(text, "x y"), [interval(-3.0, 5.0), interval(1.0, 2.0)], 0)[0]
        assert found.contains(arb(low))
        assert found.contains(arb(high))
        assert float(found.rad()) <= (high - low) / 2 * (1 + 1e-6)


@pytest.mark.parametrize("text", [*SYMPY[:4], "exp(x*y)*abs(x - 5)"])
def test_sparse_and_dense_parts_agree(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expression = formula(text, "x y")
    whole = box([0.2, 0.3], [0.25, 0.4])
    with precision(64):
        dense = taylor(expression, whole, 6)[0]
        monkeypatch.setattr(jets, "DENSE", 0)
        sparse = taylor(expression, whole, 6)[0]
    for a, b in zip(dense, sparse, strict=True):
        assert a.overlaps(b)
        assert float(a.rad()) == pytest.approx(float(b.rad()), rel=1e-5, abs=1e-15)


def test_many_variables() -> None:
    names = [f"x{i}" for i in range(12)]
    expression = formula(f"exp(({'+'.join(names)})/12)*x3", " ".join(names))
    with precision(64):
        found = taylor(expression, [arb(0.5)] * 12, 2)[0]
    assert len(found) == count(12, 3)
    e = MP.exp(MP.mpf(1) / 2)
    for c, alpha in zip(found, below(12, 3), strict=True):
        k, own = int(alpha.sum()), int(alpha[3])
        scale = math.prod(math.factorial(int(a)) for a in alpha)
        wanted = e / 12**k * (MP.mpf(1) / 2 + 12 * own) / scale
        assert holds(c, wanted), alpha
