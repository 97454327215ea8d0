"""Formulas compiled exactly: every one of the table against mpmath, by closed forms and by a Taylor integrator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from mpmath import mp, mpf

import integraph
from exact_formulas import FORMULAS, LIMITS, error
from integraph.errors import EscapeError, SourceError, UsageError
from slow import mostly_slow

QBEE = {  # the states that the smallest quadratic system needs by QBee; for GELU it finds none
    "tanh(x)": 3,
    "atan(x)": 6,
    "sigmoid(x)": 8,
    "softplus(x)": 6,
    "x*sigmoid(x)": 11,
    "x*(1+erf(x/sqrt(2)))/2": None,
}


@mostly_slow("name", FORMULAS, quick=14)
def test_every_formula_to_twelve_digits(name: str) -> None:
    formula = FORMULAS[name]
    program = integraph.compile(formula.text, box=list(formula.box), variables=formula.variables)
    x = formula.points(20)
    for engine in ("exact", "taylor"):
        assert error(name, x, program(x, engine=engine, rtol=1e-14)) <= 1e-12, engine
    width, depth = LIMITS.get(name, (program.width, program.depth))
    assert (program.width <= width, program.depth <= depth) == (True, True)


def test_there_are_forty_of_them() -> None:
    assert len(FORMULAS) >= 40
    assert set(LIMITS) <= set(FORMULAS)


@pytest.mark.parametrize("text", QBEE)
def test_no_more_states_than_qbee(text: str) -> None:
    """Its published examples; ours start at (x, 0, …), so a constant is a state too."""
    program = integraph.compile(text, box=(-3, 3))
    least = QBEE[text]
    assert least is None or program.width <= least
    x = np.linspace(-3, 3, 13)
    wanted = integraph.function(text).values(x[:, None])
    np.testing.assert_allclose(program(x), wanted, atol=1e-14)
    np.testing.assert_allclose(program(x, engine="taylor"), wanted, atol=1e-11)


def test_what_is_printed_names_the_source() -> None:
    """Line by line: what a segment computes, in the words of the formula, and its equations."""
    text = integraph.compile("sin(3*x)*exp(-y)/(1+x*y)").describe()
    assert "segment 1: sin(3*x)*exp(-y)/(1+x*y) (duration 1)" in text
    assert "    p1' = −0.5 + 0.5·x·y" in text
    assert "    p1' = −p1²" in text


@pytest.mark.slow
def test_theorem_1_is_a_choice() -> None:
    exact, lean = (integraph.compile("sin(x)*y", method=method) for method in (None, "lean"))
    assert "exact" in exact.source
    assert "exact" not in lean.source
    assert exact.width * exact.depth * 40 < lean.width * lean.depth
    assert integraph.compile("sin(x)*y", 1e-3, order=2).width > 100  # an option of Theorem 1 chooses it too


@pytest.mark.parametrize(
    ("text", "inputs", "bad"),
    [
        ("ln(x-0.5)", [0.7, 0.2], 1),
        ("sqrt(x-0.5)", [0.2, 0.7], 0),
        ("(x-0.25)^1.5", [0.5, 0.6, 0.1], 2),
        ("1/(x-0.5)", [0.7, 0.2, 0.5], 2),
        ("asin(2*x)", [0.1, 0.75], 1),
        ("x^(x-1)", [0.5, 0.0], 1),
    ],
)
def test_a_domain_that_is_not_proved_is_checked(text: str, inputs: list[float], bad: int) -> None:
    """The error says which input, which operation and where in the source; the others get their values."""
    program = integraph.compile(text)
    with pytest.raises(EscapeError) as caught:
        program(inputs)
    assert f"input {bad}:" in str(caught.value)
    assert text in str(caught.value)
    flow = program.flow(inputs)
    assert np.isnan(flow.outputs[bad]).all()
    assert [f.input for f in flow.failures] == [bad]
    good = [n for n in range(len(inputs)) if n != bad]
    wanted = integraph.function(text).values(np.array(inputs)[good][:, None])
    np.testing.assert_allclose(flow.outputs[good], wanted, rtol=1e-13)


@pytest.mark.parametrize("text", ["1/x", "x^-1", "x^-2", "x^-3", "1/(x*x*x)", "x^7", "(1+1/x)^3", "cbrt(x)", "y/(x*y)"])
def test_either_sign(text: str) -> None:
    """Integer powers and quotients of what changes its sign are not refused."""
    program = integraph.compile(text, box=(-2, 3))
    x = np.random.default_rng(0).uniform(-2, 3, (40, program.inputs))
    x = x[(np.abs(x) > 0.05).all(1)]
    wanted = integraph.function(text).values(x)
    for engine in ("exact", "taylor"):
        np.testing.assert_allclose(program(x, engine=engine), wanted, rtol=1e-9 if engine == "taylor" else 1e-12)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("exp(x)^20", (2, 2)),
        ("e^x", (2, 2)),
        ("2^x", (2, 2)),
        ("x^100", (3, 2)),
        ("(1+x)^7", (3, 2)),
        ("sqrt(x)^4", (3, 2)),
        ("sin(x)*y", (3, 1)),
        ("1/(x*y)", (5, 2)),
        ("tanh(ln(x)) + sinh(ln(x))", (7, 3)),
    ],
)
def test_products_and_powers_are_one_run(text: str, size: tuple[int, int]) -> None:
    """Also powers of what is a run itself; and what is used twice is not copied."""
    program = integraph.compile(text, box=(0.1, 1))
    assert (program.width, program.depth) == size
    x = np.random.default_rng(0).uniform(0.1, 1, (20, program.inputs))
    np.testing.assert_allclose(program(x), integraph.function(text).values(x), rtol=1e-12)


@pytest.mark.parametrize("text", ["1/x", "y/x", "1/x^2", "x^-1.5", "ln(x)*x"])
def test_small_arguments_keep_their_digits(text: str) -> None:
    """On a box that begins at 0 the sign is known: an error of 1e-16·s/x, not of its square."""
    program = integraph.compile(text)
    x = np.full((1, program.inputs), 1e-6)
    np.testing.assert_allclose(program(x), integraph.function(text).values(x), rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("asin(x+2)", "[2, 3]"),
        ("acosh(x/2)", "(1, inf)"),
        ("log1p(x-3)", "(-1, inf)"),
        ("atanh(x+2)", "(-1, 1)"),
        ("(-2)^x", "positive base"),
    ],
)
def test_a_domain_that_is_missed_is_refused(text: str, names: str) -> None:
    with pytest.raises(SourceError) as caught:
        integraph.compile(text)
    assert names in str(caught.value)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1/(x-x)", "0 for every input"),
        ("ln(-1-x)", "at most -1"),
        ("(-1-x)^0.5", "exponent 1/2"),
        ("abs(x-0.5)", "not analytic"),
        ("max(x,y)", "not analytic"),
        ("1/0", "division by zero"),
        ("x/(2-2)", "division by the constant 0"),
    ],
)
def test_what_is_refused(text: str, names: str) -> None:
    with pytest.raises(SourceError, match=names):
        integraph.compile(text)


@pytest.mark.parametrize("text", ["abs(1+x)", "max(x,y-2)", "min(x,y+2)", "abs(-1-x)"])
def test_a_known_sign_needs_no_smoothing(text: str) -> None:
    program = integraph.compile(text)
    x = np.random.default_rng(0).uniform(size=(9, program.inputs))
    np.testing.assert_allclose(program(x), integraph.function(text).values(x), atol=1e-15)


@pytest.mark.parametrize(
    "text", ["abs(x-0.5)", "max(x,y)", "exp(min(x,1-x))*abs(y-0.3)", "sin(max(x,y)-min(x,y))", "sqrt(x*y)+x^1.5"]
)
@pytest.mark.parametrize("eps", [1e-2, 1e-6])
def test_smoothed_within_the_tolerance(text: str, eps: float) -> None:
    program = integraph.compile(text, eps)
    assert program.budget.total <= eps
    assert program.budget.approximation > 0
    x = np.random.default_rng(0).uniform(size=(200, program.inputs))
    error = np.abs(program(x) - integraph.function(text).values(x)).max()
    assert error <= program.budget.total


def test_options_that_do_not_fit() -> None:
    for options, names in (
        ({"method": "exact", "order": 3}, "order"),
        ({"free": "maybe"}, "'keep', 'clean', 'decay' or 'auto'"),
        ({"eps": -1.0}, "eps"),
        ({"eps": float("nan")}, "eps"),
        ({"method": "lean", "free": "clean"}, "free"),
        ({"bound": "tight"}, "bound"),
    ):
        with pytest.raises(UsageError, match=names):
            integraph.compile("sin(x)", **options)


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("x^12.5", (1e-40, 1)),
        ("x^110.5", (0, 1)),
        ("x^-25.5", (1e-20, 1)),
        ("x^25.5*y^-25.5", (1e-20, 1)),
        ("y+cbrt(x-x)", (0, 1)),
        ("(" * 40 + "x" + "^999.5)" * 40, (0.5, 1)),
    ],
)
def test_factors_stay_inside_float64(text: str, box: tuple[float, float]) -> None:
    """Scales of bases, raised to large powers, neither vanish nor overflow."""
    program = integraph.compile(text, box=box)
    np.testing.assert_allclose(program(np.ones(program.inputs)), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "x", "truth"),
    [
        ("1/(z*0.3)^49", 1.0, lambda z: 1 / (z * mpf("0.3")) ** 49),
        ("(z*0.1)^-300.5", 1.0, lambda z: (z * mpf("0.1")) ** mpf("-300.5")),
        ("z*1e-200*1e-200*1e300*1e100", 1.0, lambda z: z),
        ("(1e-200*z)^2*1e300*1e100", 1.0, lambda z: z * z),
    ],
)
def test_a_promise_counts_the_roundings_of_constants(text: str, x: float, truth: Callable[[mpf], mpf]) -> None:
    """Raised to a power they grow; what underflows is charged with what it was."""
    program = integraph.compile(text, box=(1, 1.5))
    with mp.workdps(60):
        error = float(abs(mpf(float(program([x], engine="precise")[0])) - truth(mpf(x))))
    assert error <= program.budget.total


@pytest.mark.parametrize("text", ["(1e200*(x+1))^1.6", "1e300*x*1e300", "exp(x)*1e300*1e300"])
def test_numbers_beyond_float64_are_refused(text: str) -> None:
    with pytest.raises(SourceError, match="float64"):
        integraph.compile(text)
