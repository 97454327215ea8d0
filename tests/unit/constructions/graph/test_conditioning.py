"""What float64 keeps of a formula where its parts differ much in size, and what is said where it keeps nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

import integraph
from integraph.errors import EscapeError, SourceError

DIGITS = 60


def lost(formula: str, truth: object, x: float, **options: object) -> float:
    """The relative error at a point."""
    found = integraph.compile(formula, **options)([x])[0]
    with mp.workdps(DIGITS):
        wanted = truth(mpf(x))
        return float(abs(mpf(float(found)) - wanted) / abs(wanted))


@pytest.mark.parametrize(
    ("formula", "truth", "box", "x"),
    [
        ("1/x", lambda x: 1 / x, (-1, 1), 1e-9),
        ("1/x", lambda x: 1 / x, (-1, 1), -1e-9),
        ("sqrt(x)", mp.sqrt, (0, 1), 1e-15),
        ("ln(x)", mp.log, (0, 1), 1e-15),
        ("cbrt(x)", mp.cbrt, (-1, 1), 1e-9),
        ("1/expm1(x*x - x)", lambda x: 1 / mp.expm1(x * x - x), (-0.6, 5.4), -0.3),
    ],
)
def test_a_base_may_be_much_smaller_than_the_largest(formula: str, truth: object, box: object, x: float) -> None:
    """Its scale is far below the largest: a large x/s costs a closed form nothing."""
    assert lost(formula, truth, x, box=box) < 1e-6


def test_a_base_of_which_no_range_is_known_may_be_small() -> None:
    def truth(x: mpf) -> mpf:
        return (mpf(10) ** -6 / x) ** mpf("2.5")

    assert lost("(1e-3*1e-3*x^-1)^2.5", truth, 30.0, box=(-24, 54)) < 1e-12


@pytest.mark.parametrize("box", [(-70, -68), (-38, -36), (-12, -9)])
def test_softplus_keeps_its_digits_where_only_an_exponential_is_left(box: tuple[float, float]) -> None:
    x = sum(box) / 2
    assert lost("softplus(x)", lambda x: mp.log1p(mp.exp(x)), x, box=box) < 1e-14
    assert lost("1/softplus(x)", lambda x: 1 / mp.log1p(mp.exp(x)), x, box=box) < 1e-13


def test_a_cube_root_of_what_is_nowhere_negative_is_no_square() -> None:
    assert lost("cbrt(exp(1e3/x))", lambda x: mp.exp(1000 / (3 * x)), 1.75, box=(-3, 3)) < 1e-12


def test_decay_forgets_large_registers_too() -> None:
    kept, decayed = (
        integraph.compile("expm1(x*x)^x", box=(-0.61, 5.4), free=free)([5.4])[0] for free in ("keep", "decay")
    )
    assert decayed == pytest.approx(kept, rel=1e-12)


@pytest.mark.parametrize("eps", [None, 1e-3])
def test_a_factor_whose_digits_have_cancelled(eps: float | None) -> None:
    """A constant that is 0 up to rounding is no factor with a relative error: its product is still bounded."""
    program = integraph.compile("((x-pi)-(x-pi))*((x*x)/sqrt(x))", eps, box=(1, 2))
    assert abs(program([1.5])[0]) <= program.budget.total < 1e-13


@pytest.mark.parametrize(
    ("formula", "truth"), [("sqrt({})", mp.sqrt), ("cbrt({})", mp.cbrt), ("({})^2", lambda x: x**2)]
)
def test_a_power_of_what_has_cancelled_promises_nothing_that_it_does_not_keep(formula: str, truth: object) -> None:
    """0.1 − 0.0999…9 is 0 in float64 and 1e-20 in truth, whose root is 1e-10."""
    program = integraph.compile(formula.format("(x + 0.1) - x - 0.09999999999999999999"), box=(1, 2))
    roots = not formula.endswith("^2")
    assert (program.budget is None) == roots  # a root of what may be 0 is promised nothing
    if program.budget is not None:
        with mp.workdps(DIGITS):
            assert abs(mpf(float(program([1.5])[0])) - truth(mpf(10) ** -20)) <= program.budget.total


def test_a_division_by_what_is_0_everywhere_is_refused() -> None:
    for free in ("keep", "decay"):
        with pytest.raises(SourceError, match="0 for every input"):
            integraph.compile("y*y/asin(y - y)", box=(1, 2), free=free)


@pytest.mark.parametrize("formula", ["1/(1/x)", "(x^-1)^-2", "1/(2/x)", "1/(x/(x*x))"])
@pytest.mark.parametrize("box", [(-1, 1), (0, 1)])
def test_a_pole_inside_a_quotient_is_no_zero(formula: str, box: tuple[float, float]) -> None:
    program = integraph.compile(formula, box=box)
    for engine in ("exact", "taylor", "precise"):
        flow = program.flow([[0.0], [0.5]], engine=engine)
        assert [failure.input for failure in flow.failures] == [0]
        assert np.isfinite(flow.outputs[1]).all()


@pytest.mark.parametrize(("formula", "x", "truth"), [("x*ln(x)", 1e-40, -9.210340371976184e-39), ("1/x", 1e-40, 1e40)])
@pytest.mark.parametrize("engine", ["exact", "taylor"])
def test_a_failure_that_is_rounding_says_what_to_do(formula: str, x: float, truth: float, engine: str) -> None:
    program = integraph.compile(formula, box=(-1, 1))
    (failure,) = program.flow([[x]], engine=engine).failures
    assert "float64 loses the digits" in str(failure)
    assert "smaller box" in failure.remedy
    assert "engine='precise'" in failure.remedy
    assert program([[x]], engine="precise")[0, 0] == pytest.approx(truth, rel=1e-12)


def test_a_failure_that_is_no_rounding_does_not_say_so() -> None:
    program = integraph.compile("x*ln(x)", box=(-1, 1))
    flow = program.flow([[-0.5], [0.0], [0.5]])
    assert [failure.remedy for failure in flow.failures] == ["", ""]
    with pytest.raises(EscapeError) as error:
        program([-0.5])
    assert "float64" not in str(error.value)
    assert math.isfinite(flow.outputs[2, 0])
