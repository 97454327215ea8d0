"""What once went wrong, or ran for ever, or took all memory, and does not any more."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import numpy as np
import pytest

import integraph
from integraph.constructions.theorem1.derivative_bounds import DerivativeBounds
from integraph.constructions.theorem1.unit_cube import unit_cube
from integraph.errors import SourceError, UsageError
from integraph.numbers.intervals import Interval
from slow import mostly_slow


@pytest.mark.parametrize("order", [1, 2, 5])
def test_a_norm_up_to_the_order_says_nothing_of_higher_orders(order: int) -> None:
    f, box = integraph.function(np.sin), Interval(np.zeros(1), np.ones(1))
    ((n, worst),) = DerivativeBounds(f, unit_cube(box), 1.0).orders(order)
    assert (n, len(worst)) == (order, order + 1)  # |α| ≤ n, and none beyond
    assert {len(worst) for _, worst in DerivativeBounds(f, unit_cube(box), 1.0).orders(None)} > {order + 1 + 4}


def test_a_norm_that_cannot_be_right() -> None:
    with pytest.raises(UsageError, match=r"0\.479 was found: norm = 0\.0 is too small"):
        integraph.compile(lambda x: np.sin(x), 1e-2, norm=0)
    with pytest.raises(UsageError, match=r"was found: norm = 1\.0 is too small, or the values .* are not exact"):
        integraph.compile(lambda x: ((1.5e7 + x) - 1.5e7) * 0.5, 1e-10, norm=1.0, order=4)
    with pytest.raises(UsageError, match="the derivatives of a formula are bounded automatically"):
        integraph.compile("sin(x)", 1e-2, norm=1.0)


def test_more_terms_than_any_eps_could_fit() -> None:
    with pytest.raises(UsageError, match=r"more than the limit of 16000000 terms: no eps would fit"):
        integraph.compile("+".join(f"x{n}" for n in range(10)), 1.0, method="remark", order=4)


@pytest.mark.slow
def test_many_inputs_take_little_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    program = integraph.compile("x0*x1*x2*x3*x4*x5", 0.2, method="lean")
    assert program.budget is not None
    assert program.budget.total <= 0.2
    x = np.random.default_rng(0).random((500, 6))
    assert np.abs(program(x)[:, 0] - x.prod(1)).max() <= program.budget.total
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_500_000  # kB


@pytest.mark.parametrize("order", [41, 10**6])
def test_orders_beyond_the_limit(order: int) -> None:
    for source in (np.sin, "sin(x)"):
        with pytest.raises(UsageError, match=rf"order = {order}: for 1 input it may be at most 40"):
            integraph.compile(source, 0.1, order=order)


def test_the_largest_order_has_nodes_apart() -> None:
    program = integraph.compile(np.sin, 1e-3, order=40, norm=1.0)
    assert program.seen is not None
    assert program.seen < 1e-12


STRANGE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "a step": lambda x: (x * 3).astype(int),
    "noise": lambda x: np.sin(1e9 * x),
    "a truth": lambda x: x > 0.5,
}


@mostly_slow("name", STRANGE, quick=1)
def test_searches_end(name: str) -> None:
    start = time.process_time()
    with pytest.raises(UsageError, match=r"no fit is that close after \d+ values of .*; the best one is off by about"):
        integraph.compile(STRANGE[name], 1e-3)
    assert time.process_time() - start < 60


def test_a_slow_function_is_not_asked_for_ever() -> None:
    asked = 0

    def slow(x: float) -> float:
        nonlocal asked
        asked += 1
        return abs(float(x) - 0.3)

    with pytest.raises(UsageError, match=r"no fit is that close after \d+ values.*it looks like a kink near x = 0\.3:"):
        integraph.compile(slow, 1e-9)
    assert asked < 1000


@pytest.mark.parametrize("inputs", [1.5, "a", True, 10**9, 0])
def test_inputs_are_a_number(inputs: object) -> None:
    with pytest.raises(UsageError, match="inputs = "):
        integraph.compile(np.sin, inputs=inputs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        ("x", {"variables": 5}, UsageError, r"variables = 5: give names"),
        ("x", {"box": (-1e308, 1e308)}, UsageError, r"wider than float64 holds"),
        ("1e400*x", {}, SourceError, r"it has no bound on the box: larger than float64 holds"),
        ("(-8)^(1/3)*x", {}, SourceError, r"\(-8\)\^\(1/3\) is not finite$"),
        ("exp(x)", {"eps": 1e-300}, UsageError, r"eps = 1e-300: exp\(x\) is as large as 2\.7.*larger eps"),
    ],
)
def test_messages(source: str, options: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        integraph.compile(source, method="lean", **options)  # type: ignore[arg-type]


@mostly_slow("source", ["x^1000", "exp(-1e6*(x-0.5)^2)"], quick=1)
def test_where_high_orders_round_low_ones_are_tried(source: str) -> None:
    program = integraph.compile(source, 1e-3, method="lean")
    assert program.budget is not None
    assert program.seen is not None
    assert program.seen <= program.budget.total <= 1e-3


@mostly_slow(
    ("source", "eps", "options"),
    [
        ("1/(x+0.02)", 1e-6, {}),
        ("sin(x)", 5e-11, {"order": 4}),
        ("exp(-x*y)", 1e-10, {}),
        ("sin(100*x)", 1e-6, {"width": 600}),
        ("1/(1 + 25*(2*x - 1)^2)", 1e-2, {"method": "remark"}),
    ],
    quick=1,
)
def test_rounding_gets_its_share(source: str, eps: float, options: dict[str, object]) -> None:
    program = integraph.compile(source, eps, **{"method": "lean"} | options)  # type: ignore[arg-type]
    assert program.budget is not None
    assert program.seen is not None
    assert program.seen <= program.budget.total <= eps
    assert program.width <= options.get("width", np.inf)


@pytest.mark.slow
def test_a_wider_limit_is_never_worse() -> None:
    sizes = [integraph.plan("1/(1 + 25*(2*x - 1)^2)", 1e-4, width=w).chosen.size for w in (28, 30, 33, 40, 100)]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.slow
def test_a_polynomial_of_five_inputs_is_one_polynomial() -> None:
    assert integraph.plan("x1*x2*x3*x4*x5", 1e-3).chosen.N == 0


def test_a_pace_at_which_controls_underflow_promises_nothing() -> None:
    kept = integraph.compile("exp(x)", 1e-6, method="lean", horizon=2.0**20)
    lost = integraph.compile("1e-200*x", 1e-210, method="lean", horizon=2.0**450)
    assert kept.budget is not None
    assert lost.budget is None


def test_a_tent_is_seen() -> None:
    def tent(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, 1.0 - np.hypot(x - 0.37, y - 0.61) / 0.2)

    with pytest.raises(UsageError, match=r"no fit is that close after .* a kink near"):
        integraph.compile(tent, 1e-4)


def test_inputs_have_an_order() -> None:
    with pytest.raises(UsageError, match="give names in order"):
        integraph.compile("x*y", method="lean", variables={"x", "y"})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"gamma = 0\.3: γ is for method='paper'"):
        integraph.compile("x", gamma=0.3)
    with pytest.raises(SourceError, match=r"IndexError.*several inputs, say how many"):
        integraph.compile(lambda x: x[0] * x[1], 1e-3)


@mostly_slow("low", [2.2250738585072014e-308, 1e-300, 1e-9], quick=1)
def test_coefficients_that_are_dust_do_not_empty_a_lane(low: float) -> None:
    """A term of e^−700 cannot be refilled in float64: it is left out, and counted."""
    box = [(0.0, 1.0), (low, 1.0)]
    program = integraph.compile("exp(0.0*x/4) + 1/(2 + (0.1*y)^2)", 0.1, method="remark", box=box, order=4)
    assert program.budget is not None
    x = np.random.default_rng(0).random((200, 2))
    wanted = 1.0 + 1.0 / (2.0 + (0.1 * x[:, 1]) ** 2)
    for engine in ("exact", "taylor"):
        assert np.abs(program(x, engine)[:, 0] - wanted).max() <= program.budget.total + 1e-12
