"""Theorem 1 by `integraph.compile`: every method against the function itself, and no error above what was promised."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import integraph
from integraph import Program
from integraph.errors import SourceError, UsageError
from integraph.numbers.multi_index import count
from law import examples
from lazy import framework
from slow import mostly_slow
from smooth_functions import SMOOTH, Smooth

NAMED = {smooth.name: smooth for smooth in SMOOTH}


def kept(program: Program, smooth: Smooth, eps: float, **more: Any) -> None:
    assert program.budget is not None
    assert program.seen is not None
    assert program.budget.total <= eps
    assert program.seen <= program.budget.total + 1e-13
    assert smooth.error(program, **more) <= program.budget.total


@mostly_slow("smooth", SMOOTH, quick=2, ids=lambda smooth: smooth.name)
def test_lean(smooth: Smooth) -> None:
    program = integraph.compile(smooth.formula, smooth.eps, box=smooth.box, method="lean")
    kept(program, smooth, smooth.eps)
    assert smooth.error(program, "taylor", count=40) <= program.budget.total  # type: ignore[union-attr]
    assert np.array_equal(np.stack([program.budget.low, program.budget.high], 1), smooth.sides())  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["sine", "bump", "far away", "thin", "zero", "constant", "linear", "ten outputs"])
def test_remark(name: str) -> None:
    smooth = NAMED[name]
    program = integraph.compile(smooth.formula, 0.05, box=smooth.box, method="remark")
    kept(program, smooth, 0.05)
    assert smooth.error(program, "taylor", count=16) <= program.budget.total  # type: ignore[union-attr]


@mostly_slow("name", ["sine", "far away", "thin", "zero", "constant", "linear", "ten outputs"], quick=6)
def test_paper(name: str) -> None:
    """In as many bits as it needs, at a few points; float64 is refused."""
    smooth = NAMED[name]
    program = integraph.compile(smooth.formula, 0.3, box=smooth.box, method="paper")
    assert program.bits > 53
    kept(program, smooth, 0.3, count=8)
    with pytest.raises(UsageError, match=f"{program.bits} bits"):
        program(smooth.points(2), "exact")


@pytest.mark.parametrize("gamma", [0.2, 0.5, 0.9])
@pytest.mark.parametrize(
    ("formula", "d", "n", "eps"), [("exp(-x)", 1, 1, 0.41), ("exp(-x)", 1, 3, 0.011), ("exp(-x - y/2)", 2, 2, 0.53)]
)
def test_the_sizes_of_theorem_1(formula: str, d: int, n: int, eps: float, gamma: float) -> None:
    """No coefficient of this f is 0, and the largest derivative of all is 1: N, W and D by hand."""
    N = math.ceil((math.factorial(n) / d**n * gamma * eps / 2**d) ** (-1 / n))
    M = count(d, n)
    for method, cells in (("paper", N + 1), ("remark", N + 2)):
        program = integraph.compile(formula, eps, order=n, method=method, gamma=gamma)
        assert f"N = {N}," in program.source
        assert program.width == 2 * (N + 2) * d + 1
        full = 7 + 2 * math.ceil(M * cells**d / ((N + 2) * d))
        assert program.depth == full
        assert integraph.plan(formula, eps, order=n, method=method, gamma=gamma).chosen.depth == full
        other = integraph.compile(formula, eps, order=n, method=method, gamma=gamma, box=(0, 0.5))
        assert (other.width, other.depth) == (program.width + d, program.depth + 1)


def test_terms_that_are_zero_are_skipped() -> None:
    """Of a linear function two coefficients of three are left, in every cell."""
    planned = integraph.plan("x/2 + 1", 0.05, order=3, method="paper").chosen
    program = integraph.compile("x/2 + 1", 0.05, order=3, method="paper")
    N = planned.N
    assert (planned.width, planned.depth) == (2 * (N + 2) + 1, 7 + 2 * math.ceil(3 * (N + 1) / (N + 2)))
    assert (program.width, program.depth) == (planned.width, 7 + 2 * math.ceil(2 * (N + 1) / (N + 2)))
    assert program.terms <= planned.terms


@pytest.mark.parametrize("method", ["lean", "remark", "paper"])
def test_horizon(method: str) -> None:
    """T by rescaling: the same map, and the same promise where no control is rounded anew."""
    smooth = NAMED["sine"]
    plain = integraph.compile(smooth.formula, 0.1, method=method)
    for T in (1.0, 2.0 * plain.horizon, 5.5):
        program = integraph.compile(smooth.formula, 0.1, method=method, horizon=T)
        assert program.horizon == T
        assert program.budget is not None
        assert program.budget.total == plain.budget.total  # type: ignore[union-attr]
        kept(program, smooth, 0.1, count=10)


def test_a_rounded_horizon_promises_nothing() -> None:
    program = integraph.compile("sin(5*x)", 1e-3, method="lean", horizon=0.37)
    assert program.horizon == pytest.approx(0.37, rel=1e-15)
    assert program.budget is None
    assert NAMED["sine"].error(program) <= 1e-3
    with pytest.raises(UsageError, match="would be rounded, and this program needs"):
        integraph.compile("sin(5*x)", 0.3, method="paper", horizon=0.37)


def test_many_cells() -> None:
    """Order 1, N ≈ 1000, c ≈ 4e4: bumps far steeper than they are apart in float64."""
    smooth = Smooth("sine", "sin(x)", lambda x: np.sin(x), 5e-4)
    program = integraph.compile(smooth.formula, smooth.eps, order=1)
    kept(program, smooth, smooth.eps, count=4000)
    assert program.width > 3000
    assert program.depth == 3


@pytest.mark.parametrize("eps", [1e-10, 1e-12])
def test_tiny_tolerances(eps: float) -> None:
    program = integraph.compile("sin(x)", eps, method="lean")
    assert program.budget is not None
    assert program.budget.total <= eps
    x = np.random.default_rng(1).random((60, 1))
    with mp.workdps(40):
        error = max(
            float(abs(mpf(y) - mp.sin(mpf(t))))
            for t, y in zip(x[:, 0].tolist(), program(x)[:, 0].tolist(), strict=True)
        )
    assert error <= program.budget.total + 4e-16


@pytest.mark.parametrize("method", ["lean", "remark"])
@pytest.mark.parametrize("box", [(0.0, 1.0), (-1.1, 2.3), (30.1, 30.6)])
def test_the_promise_in_real_arithmetic(method: str, box: tuple[float, float]) -> None:
    """The stored controls in 200 bits: a cubic is exact but for their rounding, and that is promised, nothing else."""
    program = replace(integraph.compile("x^3 - x/3", 0.1, box=box, order=4, method=method), bits=200)
    assert program.budget is not None
    assert program.budget.approximation <= 1e-30
    x = np.random.default_rng(2).uniform(*box, (4, 1))
    for t, y in zip(x[:, 0].tolist(), program(x)[:, 0].tolist(), strict=True):
        with mp.workprec(200):
            wanted = mpf(t) ** 3 - mpf(t) / 3
            assert abs(mpf(y) - wanted) <= program.budget.total + abs(wanted) * 2.0**-53


@pytest.mark.slow
def test_tolerances_below_rounding_are_refused() -> None:
    with pytest.raises(
        UsageError, match=r"eps = 1e-13: this cannot be promised: rounding of the controls to float64 may cost"
    ):
        integraph.compile("sin(x)", 1e-13, method="lean")


def turned(n: int, x: np.ndarray) -> np.ndarray:
    return np.sin(x + n * np.pi / 2)


@pytest.mark.parametrize("method", ["lean", "remark", "paper"])
def test_python_functions_with_derivatives(method: str) -> None:
    """The user's word for the norm is a promise; without it the error is only seen."""
    smooth = Smooth("sine", "sin(x)", lambda x: np.sin(x), 0.05, (0.0, 4.0))
    points = 400 if method != "paper" else 6
    kept(
        integraph.compile(np.sin, 0.05, method=method, derivatives=turned, norm=1.0, box=(0, 4)),
        smooth,
        0.05,
        count=points,
    )
    program = integraph.compile(np.sin, 0.05, method=method, derivatives=turned, box=(0, 4))
    assert program.budget is None
    assert program.seen is not None
    assert program.seen <= 0.05
    assert smooth.error(program, count=points) <= 0.05


@pytest.mark.slow
def test_python_functions_with_values_only() -> None:
    smooth = Smooth("wave", "", lambda x, y: np.sin(3 * x) * np.exp(y), 1e-5, (-1.0, 0.5))
    program = integraph.compile(smooth.f, smooth.eps, box=smooth.box)
    assert program.budget is None
    assert program.seen is not None
    assert program.seen <= 0.5e-5
    assert smooth.error(program) <= 1e-5
    promised = integraph.compile(smooth.f, 1e-3, box=smooth.box, norm=3.0**5 * math.exp(0.5), order=5)
    kept(promised, smooth, 1e-3)
    for method in ("paper", "remark"):
        with pytest.raises(SourceError, match=r"has no derivatives, .*: give derivatives="):
            integraph.compile(np.sin, 0.1, method=method, norm=1.0)


def test_tables() -> None:
    """Taylor's polynomials at the nodes; with a norm that is a promise."""
    smooth = Smooth("sine", "", lambda x: np.sin(x), 1e-6, (1.0, 3.0))
    table = {k: np.sin(1 + np.arange(33) / 16 + k * np.pi / 2) for k in range(5)}
    kept_table = integraph.compile(table, 1e-6, box=(1, 3), norm=1.0)
    assert kept_table.budget is not None
    assert kept_table.seen is None
    assert smooth.error(kept_table) <= kept_table.budget.total <= 1e-6
    silent = integraph.compile(table, 1e-6, box=(1, 3))
    assert silent.budget is None
    assert silent.digest == kept_table.digest
    lower = integraph.compile(table, 1e-5, box=(1, 3), order=3)
    assert "order 3" in lower.source


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_a_table_says_how_far_it_is_off(order: int) -> None:
    """Its own estimate is between the true error and the bound that the norm of sin gives; a smaller eps is refused,
    and the message names it."""
    smooth = Smooth("sine", "", lambda x: np.sin(x), 1.0, (1.0, 3.0))
    table = {k: np.sin(1 + np.arange(17) / 8 + k * np.pi / 2) for k in range(5)}
    program = integraph.compile(table, 1.0, box=(1, 3), order=order)
    assert program.origin is not None
    off = program.origin.options["off by up to about"]
    assert isinstance(off, float)
    bounded = integraph.compile(table, 1.0, box=(1, 3), order=order, norm=1.0)
    assert bounded.budget is not None
    assert 0.9 * smooth.error(program) <= off <= 1.1 * bounded.budget.total
    assert f"off by up to about {off:.2g} between its nodes" in program.source
    with pytest.raises(UsageError, match=rf"N = 16 and order {order}: its own values .* off by up to about {off:.2g}"):
        integraph.compile(table, 0.9 * off, box=(1, 3), order=order)


def test_a_table_of_two_inputs_and_outputs() -> None:
    x, y = np.meshgrid(np.arange(9) / 8, np.arange(9) / 8, indexing="ij")
    turns = {(a, b): np.stack([np.sin(x + y + (a + b) * np.pi / 2), np.exp(x - y) * (-1) ** b], -1)
             for a in range(3) for b in range(3 - a)}  # fmt: skip
    smooth = Smooth("both", "", lambda x, y: (np.sin(x + y), np.exp(x - y)), 2e-2)
    program = integraph.compile(turns, 2e-2, norm=math.e)
    assert program.budget is not None
    assert smooth.error(program) <= program.budget.total <= 2e-2


@mostly_slow(("formula", "box"), [("1/(1 + x^2)", (-2, 2)), ("sin(3*x)*exp(y)", None)], quick=1)
def test_sympy_gives_the_same_programs(formula: str, box: Any) -> None:
    sympy = framework("sympy")
    text = integraph.compile(formula, 1e-3, box=box, method="lean")
    tree = integraph.compile(sympy.sympify(formula.replace("^", "**")), 1e-3, box=box, method="lean")
    assert (text.width, text.depth, text.terms) == (tree.width, tree.depth, tree.terms)
    x = np.random.default_rng(1).random((50, text.inputs))
    assert text(x) == pytest.approx(tree(x), abs=1e-13)
    assert tree.budget is not None
    assert tree.budget.total == pytest.approx(text.budget.total, rel=1e-3)  # type: ignore[union-attr]


NETWORK = [(np.eye(2), np.zeros(2), "tanh"), (np.ones((1, 2)), np.zeros(1), None)]
LEAN: dict[str, Any] = {"method": "lean"}
TABLE = {k: np.sin(np.arange(9) / 8 + k * np.pi / 2) for k in range(4)}


@pytest.mark.parametrize(
    ("source", "options", "says"),
    [
        (lambda x: np.sqrt(x - 0.5), {}, r"is nan at x = .*: it must be finite on the whole box"),
        ("sqrt(x)", LEAN, r"derivatives of order 1 have no bound on the box: .* is not smooth at x = 0"),
        ("abs(x - 0.3)", LEAN, r"order 1 have no bound on the box: .* is not smooth near x = 0\.3.*method='exact'"),
        ("1/x", LEAN, r"it has no bound on the box: 1/x is not finite at x = 0"),
        ("x^1.5", {"order": 2}, r"derivatives of order 1|derivatives of order 2"),
        (np.sin, {"method": "paper", "derivatives": {0: np.sin, 1: np.cos}, "order": 4}, r"derivative"),
        (TABLE, {"order": 5}, r"order = 5: the table has derivatives for an order up to 4"),
        (TABLE, {"method": "paper"}, r"a table of derivatives fixes N, so it is compiled by method='lean'"),
        (TABLE, {"norm": 1.0, "eps": 1e-9}, r"N = 8 and order 4: .* bounds the error by .*, not by eps"),
        (TABLE, {"width": 10}, r"width = 10: the narrowest program for eps = 0\.001 has W = 21"),
        ("x", {"order": 0}, r"order = 0: needs an integer ≥ 1"),
        ("x", {"order": 1.5}, r"order = 1\.5: needs an integer ≥ 1"),
        ("x", {"order": True}, r"order = True: needs an integer ≥ 1"),
        ("x", {"order": 99}, r"order = 99: for 1 input it may be at most 40"),
        ("x", {"width": 0}, r"width = 0: needs an integer ≥ 1"),
        ("x", {"width": 9, "method": "paper"}, r"width = 9: only method='lean' takes a width"),
        ("x", {"method": "remark", "gamma": 0.0}, r"gamma = 0\.0: the share of the tolerance must be between 0 and 1"),
        ("x", {"method": "remark", "gamma": math.nan}, r"gamma = nan: the share"),
        (np.sin, {"norm": -1.0}, r"norm = -1\.0: a bound of all derivatives must be finite and ≥ 0"),
        (np.sin, {"norm": math.nan}, r"norm = nan"),
        (np.sin, {"norm": "much"}, r"norm must be"),
        ("x", {"norm": 1.0}, r"norm = 1\.0: the derivatives of a formula are bounded automatically"),
        ("x", LEAN | {"eps": 0.0}, r"eps = 0\.0: the tolerance must be finite and > 0"),
        ("x", LEAN | {"eps": math.nan}, r"eps = nan"),
        ("x", LEAN | {"eps": True}, r"eps = True"),
        ("x", {"method": "wide"}, r"method = 'wide': .*by 'exact' .formulas., 'lean', 'remark', 'paper'"),
        ("x", LEAN | {"box": (1, 0)}, r"side 0 of the box is \[1\.0, 0\.0\]: needs finite low ≤ high"),
        ("x", LEAN | {"box": (2, 2)}, r"side 0 of the box is the single point 2\.0"),
        ("x", LEAN | {"horizon": -1.0}, r"the horizon must be finite and > 0"),
        ("x", LEAN | {"bound": "tight"}, r"bound = 'tight': this is for a network, and the source is a function"),
        ("x", LEAN | {"free": "decay"}, r"free = 'decay': this is for networks and method='exact', and the method is"),
        (NETWORK, {"order": 2}, r"order = 2: this is for a function, and the source is a network: leave it out"),
        (NETWORK, {"width": 5}, r"width = 5: this is for a function"),
        (NETWORK, {"gamma": 0.5}, r"gamma = 0\.5: this is for a function"),
        (NETWORK, {"norm": 1.0}, r"norm = 1\.0: this is for a function"),
        (NETWORK, {"variables": "x"}, r"variables = 'x': this is for a function"),
        (NETWORK, {"inputs": 2}, r"inputs = 2: this is for a function"),
        (NETWORK, {"derivatives": turned}, r"derivatives = .*: this is for a function"),
    ],
)  # fmt: skip
def test_what_cannot_be_compiled(source: Any, options: dict[str, Any], says: str) -> None:
    """One clear error each."""
    options = {"eps": 1e-3} | options
    with pytest.raises((SourceError, UsageError), match=says):
        integraph.compile(source, options.pop("eps"), **options)


PARTS = [
    ("sin({a}*x + {b}*y)", lambda a, b, x, y: np.sin(a * x + b * y)),
    ("exp({a}*x/4)", lambda a, b, x, y: np.exp(a * x / 4)),
    ("1/(2 + ({a}*y)^2 + {b}^2)", lambda a, b, x, y: 1 / (2 + (a * y) ** 2 + b**2)),
    ("(x - {b})^3", lambda a, b, x, y: (x - b) ** 3),
    ("tanh({a}*x)", lambda a, b, x, y: np.tanh(a * x)),
    ("sqrt(3 + x*y + {a}^2)", lambda a, b, x, y: np.sqrt(3 + x * y + a**2)),
]
NUMBER = st.integers(-30, 30).map(lambda n: n / 10)


@pytest.mark.slow
@examples(12)
@given(st.data())
def test_random_formulas(data: st.DataObject) -> None:
    """Sums and products of what people write, on any box of width ≤ 1.5: the promise is kept."""
    terms = data.draw(st.lists(st.tuples(st.sampled_from(PARTS), NUMBER, NUMBER), min_size=1, max_size=3))
    joins = [data.draw(st.sampled_from("+-*")) for _ in terms[1:]]
    low = [data.draw(st.floats(-1, 1)) for _ in "xy"]
    box = [(at, at + data.draw(st.floats(1e-4, 1.0))) for at in low]
    eps = 10.0 ** -data.draw(st.integers(1, 4))
    texts = [f"({form.format(a=f'({a})', b=f'({b})')})" for (form, _), a, b in terms]
    formula = texts[0] + "".join(f" {join} {text}" for join, text in zip(joins, texts[1:], strict=True))

    def f(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        total, product = np.zeros_like(x), terms[0][0][1](*terms[0][1:], x, y)
        for join, ((_, part), a, b) in zip(joins, terms[1:], strict=True):
            if join == "*":
                product = product * part(a, b, x, y)
            else:
                total, product = total + product, (1 if join == "+" else -1) * part(a, b, x, y)
        return total + product

    smooth = Smooth("random", formula, f, eps, box)
    method = data.draw(st.sampled_from(["lean", "lean", "remark"])) if eps > 0.05 else "lean"
    options: dict[str, Any] = {"order": data.draw(st.sampled_from([None, None, 2, 4]))}
    try:
        program = integraph.compile(formula, eps, box=box, method=method, variables="x, y", **options)
    except UsageError as refused:
        if not re.search("cannot be promised|more than|would need", str(refused)):
            raise
        return
    kept(program, smooth, eps, count=300)
