"""What the planner chooses, what it shows, and what it refuses before anything is allocated."""

from __future__ import annotations

import math
import re
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

import integraph
from integraph.bounds.paper import theorem1
from integraph.constructions.theorem1 import construction, planner, plans
from integraph.constructions.theorem1.derivative_bounds import DerivativeBounds, ladder
from integraph.constructions.theorem1.fit import Fit
from integraph.constructions.theorem1.fit import fit as fitted
from integraph.constructions.theorem1.task import task
from integraph.constructions.theorem1.unit_cube import unit_cube
from integraph.errors import SourceError, UsageError
from integraph.numbers.intervals import Interval
from integraph.numbers.multi_index import below, count
from integraph.program.box import interval
from slow import mostly_slow
from smooth_functions import SMOOTH, Smooth

QUICK = ("sin(3*x + y)", 1e-2)


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> int:
    for module in (planner, plans, construction):
        monkeypatch.setattr(module, "TERMS", 3000)
    return 3000


@mostly_slow("method", ["lean", "remark", "paper"], quick=1)
@mostly_slow(
    "smooth",
    [s for s in SMOOTH if s.name in ("bump", "negative", "two outputs")],
    quick=1,
    ids=lambda smooth: smooth.name,
)
def test_a_plan_is_what_is_built(method: str, smooth: Smooth) -> None:
    """W and D exactly (of the theorem: at most), terms at most, the bound of the promise."""
    eps = smooth.eps * 10 if method == "lean" else 0.2
    chosen = integraph.plan(smooth.formula, eps, method=method, box=smooth.box).chosen
    program = integraph.compile(smooth.formula, eps, method=method, box=smooth.box)
    assert chosen.bound <= eps
    assert program.terms <= chosen.terms
    assert program.width == chosen.width
    assert program.depth == chosen.depth if method == "lean" else program.depth <= chosen.depth
    assert program.budget is not None
    assert program.budget.approximation <= chosen.bound * (1 + 1e-9)
    assert chosen.memory == 32 * chosen.terms
    assert f"{method}, order {chosen.order}, N = {chosen.N}" in program.source


@pytest.mark.slow
def test_the_cheapest_is_chosen() -> None:
    plan = integraph.plan(*QUICK)
    assert plan.by == "terms"
    assert plan.chosen == plan.alternatives[0]
    assert plan.chosen.coefficients == min(choice.coefficients for choice in plan.alternatives)
    assert len({choice.order for choice in plan.alternatives}) > 2, "orders against cells"
    assert len({(choice.width, choice.depth) for choice in plan.alternatives}) > 4, "width against depth"
    assert all(choice.bound <= 1e-2 for choice in plan.alternatives)
    narrow = integraph.plan(*QUICK, width=plan.chosen.width)
    assert narrow.by == "size"
    assert narrow.chosen.size == min(choice.size for choice in narrow.alternatives)
    assert all(choice.width <= plan.chosen.width for choice in narrow.alternatives)


@pytest.mark.slow
def test_fewer_cells_would_not_do() -> None:
    """For an order the planner finds the fewest cells that its bounds allow: one less has a larger bound."""
    for n, eps in ((1, 1e-2), (2, 1e-3), (4, 1e-6)):
        chosen = integraph.plan("sin(4*x)", eps, order=n).chosen
        assert chosen.order == n
        assert chosen.bound <= eps
        leading = np.array([[4.0**n / math.factorial(n)]])
        fewer = min(planner.bound(leading, 1, n, chosen.N // 2, 40.0, spread) for spread in planner.SPREADS)
        assert fewer > eps
        enough = next(
            N for N in range(2000) if min(planner.bound(leading, 1, n, N, 40.0, s) for s in planner.SPREADS) <= eps
        )
        assert enough >= chosen.N


@pytest.mark.slow
def test_the_table() -> None:
    plan = integraph.plan(*QUICK)
    text = repr(plan)
    head, *lines = text.splitlines()
    assert head == "Plan for sin(3*x + y), eps = 0.01, fewest coefficients (lean)"
    columns = ["order", "N", "c", "P", "W", "D", "W·D", "coefficients", "terms", "memory", "bound"]
    assert lines[0].split() == columns
    (marked,) = [line for line in lines if "→" in line]
    chosen = plan.chosen
    steep = [f"{chosen.c:g}"] if chosen.N else []  # one polynomial has no steepness
    sizes = [chosen.batch, chosen.width, chosen.depth, chosen.size, chosen.coefficients, chosen.terms]
    numbers = [str(n) for n in (chosen.order, chosen.N, *steep, *sizes)]
    assert marked.split()[1 : 1 + len(numbers)] == numbers
    assert lines[-1] == f"… and {len(plan.alternatives) - 12} more"
    assert "only sampled" in repr(integraph.plan(np.sin, 1e-3))
    assert "smallest W·D (paper)" in repr(integraph.plan("x", 0.3, method="paper"))


@pytest.mark.slow
def test_the_smallest_width() -> None:
    """A width that is too small is refused with the smallest that is not, and that compiles."""
    smooth = Smooth("wave", QUICK[0], lambda x, y: np.sin(3 * x + y), 1e-2)
    with pytest.raises(UsageError, match=r"width = 3: the narrowest program for eps = 0\.01 has W = (\d+)") as refused:
        integraph.compile(*QUICK, width=3)
    found = re.search(
        r"has W = (\d+) \(order (\d+), N = (\d+), D = (\d+)\): allow that, or a larger eps", str(refused.value)
    )
    assert found is not None
    least = int(found[1])
    program = integraph.compile(*QUICK, width=least)
    assert program.width == least
    assert program.budget is not None
    assert smooth.error(program) <= program.budget.total <= 1e-2
    with pytest.raises(UsageError, match=f"width = {least - 1}: .*has W = {least}"):
        integraph.compile(*QUICK, width=least - 1)


def test_refused_before_anything_is_allocated() -> None:
    for source, eps, order in (("sin(300*x)", 1e-4, 1), ("sin(x + y)", 1e-9, 2), ("sin(x + y + z)", 1e-9, 1)):
        tracemalloc.start()
        try:
            with pytest.raises(UsageError, match=r"needs more than 16000000 terms \(512 MB while compiling\): eps ≥ "):
                integraph.compile(source, eps, order=order)
            assert tracemalloc.get_traced_memory()[1] < 128e6, "what judges a fit needs some, the limit does not matter"
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    ("source", "eps", "order"), [("sin(5*x)", 1e-7, 1), ("sin(2*x + y)", 1e-6, 2), ("sin(9*x)", 1e-9, 3)]
)
def test_the_eps_that_would_fit_does(source: str, eps: float, order: int, small_limit: int) -> None:
    with pytest.raises(UsageError, match=r"eps ≥ \S+ would fit") as refused:
        integraph.compile(source, eps, order=order)
    found = re.search(r"eps ≥ (\S+) would fit", str(refused.value))
    assert found is not None
    fits = float(found[1]) * 1.01
    program = integraph.compile(source, fits, order=order)
    assert program.terms <= small_limit
    assert program.budget is not None
    assert program.budget.total <= fits


def test_the_theorem_is_refused_too() -> None:
    plan = integraph.plan("sin(x + y + z)", 1e-3, order=2, method="paper")
    assert plan.chosen.terms > 10**8
    with pytest.raises(UsageError, match=r"paper: \d+ terms, W = \d+, D = \d+, about .* are more than the limit"):
        integraph.compile("sin(x + y + z)", 1e-3, order=2, method="paper")
    with pytest.raises(UsageError, match="Theorem 1 would need N = "):
        integraph.plan("sin(x)", 1e-12, order=1, method="remark")


@pytest.mark.parametrize("gamma", [0.3, 0.7])
def test_the_theorem_for_norms_above_one(gamma: float) -> None:
    """f/‖f‖ within ε/‖f‖: the largest derivative of sin 3x up to order 2 is 9."""
    chosen = integraph.plan("sin(3*x)", 0.1, order=2, method="paper", gamma=gamma).chosen
    wanted = theorem1.paper(1, 2, 0.1 * (1 - 2**-10) / 9, gamma)
    assert abs(chosen.N - wanted.N) <= 1
    assert 9 * wanted.bound == pytest.approx(chosen.bound, rel=0.05)
    assert chosen.width == 2 * (chosen.N + 2) + 1


def test_known_derivatives() -> None:
    """sup |∂_t^α f|/α! on the cube of a box: each derivative by its widths."""
    f = integraph.function("exp(x)*sin(y)")
    cube = unit_cube(Interval(np.array([0.0, -2.0]), np.array([2.0, 2.0])))
    worst, top, _ = DerivativeBounds(f, cube, None).upto(3)
    wanted = [math.exp(2) * 2.0**a * 4.0**b / math.factorial(a) / math.factorial(b) for a, b in below(2, 4).tolist()]
    assert top == 3
    assert (worst[:, 0] >= wanted).all()
    assert worst[:, 0] == pytest.approx(wanted, rel=0.1)
    said = DerivativeBounds(f, cube, 5.0).upto(2)[0][:, 0]
    assert said == pytest.approx(
        [5.0 * 2.0**a * 4.0**b / math.factorial(a) / math.factorial(b) for a, b in below(2, 3)]
    )


def test_orders_as_far_as_they_are_finite() -> None:
    """High derivatives may leave float64 where low ones do not: their orders are not used."""
    cube = unit_cube(Interval(np.zeros(1), np.ones(1)))
    steep = DerivativeBounds(integraph.function("exp(690*x)"), cube, None)
    found = [n for n, _ in steep.orders(None)]
    assert found == list(range(1, len(found) + 1))
    assert 1 <= len(found) <= 3
    with pytest.raises(SourceError, match=r"derivatives of order \d have no bound on the box"):
        list(steep.orders(8))
    smooth = DerivativeBounds(integraph.function("sin(x)"), cube, None)
    assert [n for n, _ in smooth.orders(None)] == list(range(1, ladder(1)[-1] + 1))
    ((n, worst),) = smooth.orders(5)
    assert n == 5
    assert len(worst) > count(1, 6)


def looked_at(f: Callable[[np.ndarray], np.ndarray], n: int, N: int) -> Fit:
    function = integraph.function(f)
    return fitted(task(function, interval(None, function.inputs), 1e-3, order=n), n, N, 16.0 * N, 0.55)


def test_a_kink_between_the_nodes_is_seen() -> None:
    """At 276.6 of 922 cells it is in a tenth of a cell without a node, where few random points come."""
    assert looked_at(lambda x: np.abs(x - 0.3), 2, 922).seen >= 5e-5
    assert looked_at(lambda x: np.where(x > 0.3, 1.0, 0.0), 1, 798).seen >= 0.5


def test_rounding_counts_where_errors_are_only_seen() -> None:
    """Powers of t − ½ of 3676 cells and order 6 cancel to 1e-4: the fit looks better than its program will be."""
    fit = looked_at(lambda x: np.exp(-(((x - 0.4567) * 3000) ** 2)), 6, 3676)
    assert fit.likely >= 5e-4
    assert fit.seen <= 0.1 * fit.likely
