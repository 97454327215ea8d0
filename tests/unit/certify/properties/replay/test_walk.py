"""Rows of the checker contain what a source computes at random points: every activation, operation and random graph;
and faults that are put into the arithmetic are noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given

import integraph
from integraph import Graph, Network
from integraph.certify.problem import Box
from integraph.certify.properties.replay import functions, rows, walk
from integraph.certify.properties.replay.rows import Row, of_box
from integraph.numbers.arb.conversion import above, below, precision
from integraph.numbers.arrays import Floats
from law import examples
from networks import EVERY, random_network
from random_graphs import graphs

SLACK = 1e-11


def enclosed(source: Network | Graph, low: Floats, high: Floats, degree: int) -> tuple[Floats, Floats]:
    with precision(64):
        made = walk.outputs(source, of_box(Box(tuple(low.tolist()), tuple(high.tolist())), degree))
        values = [row.value() for row in made]
        return np.array([below(v) for v in values]), np.array([above(v) for v in values])


def excess(source: Network | Graph, low: Floats, high: Floats, degree: int) -> float:
    """By how much values at random points are outside, relative to their size."""
    x = np.random.default_rng(3).uniform(low, high, (60, len(low)))
    corners = np.where(np.random.default_rng(4).integers(0, 2, (20, len(low))), high, low)
    x = np.concatenate([x, corners])
    values = source(x) if isinstance(source, Network) else source.values(x)
    least, most = enclosed(source, low, high, degree)
    over = np.maximum(values - most, least - values) / (1 + np.abs(values))
    return float(np.nanmax(over))


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("name", EVERY)
def test_every_activation(name: str, degree: int) -> None:
    network = random_network((2, 4, 3, 2), name, seed=len(name), weight=1.5)
    centre = np.array([0.2, -0.4])
    widths = []
    for radius in (1.0, 0.3, 0.05, 0.0):
        low, high = centre - radius, centre + radius
        assert excess(network, low, high, degree) <= SLACK
        least, most = enclosed(network, low, high, degree)
        widths.append(float((most - least).max()))
    assert widths[-1] < 1e-14 * 100
    assert widths == sorted(widths, reverse=True)


FORMULAS = (
    "sin(3*x)*exp(-y)/(1 + x*y)", "max(x, y) - min(x, y^2) + abs(x - 0.35)", "sqrt(x)*ln(1 + y)^3", "x^y",
    "x^-2 + y^0.5",
    "tan(x) + atan(y)*cosh(x)", "asin(x/2)*acos(y/2) + erf(x - y)", "x*x - x", "softplus(x)*sigmoid(y) + cbrt(x)",
    "log1p(x)*expm1(y) + acosh(1 + x)*atanh(y/2)",
)  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
def test_every_operation(formula: str) -> None:
    graph = integraph.graph(formula, variables=["x", "y"])
    for degree in (1, 2):
        assert excess(graph, np.array([0.3, 0.2]), np.array([0.6, 0.7]), degree) <= SLACK


@given(graphs())
@examples(40, deadline=None)
def test_random_graphs(graph: Graph) -> None:
    low, high = np.full(graph.inputs, 0.3), np.full(graph.inputs, 0.45)
    assert excess(graph, low, high, 2) <= SLACK


def test_scores_and_masks() -> None:
    from integraph.targets.graph_builder import Builder

    build = Builder()
    x = build.input("x", (2, 3))
    masked = build.apply("add", x, build.constant(np.array([[0.0, -np.inf, 0.0], [0.0, 0.0, 0.0]])))
    parts = [build.softmax(masked), build.log_softmax(x), build.logsumexp(masked), build.apply("matmul", x, build.apply(
        "transpose", x, data=(1, 0)))]  # fmt: skip
    graph = build.graph(parts)
    low = np.linspace(-0.5, 0.5, 6)
    assert excess(graph, low, low + 0.2, 2) <= SLACK


def test_outside_of_the_domain_nothing_is_known() -> None:
    for formula in ("1/x", "ln(x)", "sqrt(x)", "x^-3", "tan(2*x)", "asin(2*x)"):
        least, most = enclosed(integraph.graph(formula), np.array([-1.0]), np.array([1.0]), 2)
        assert not np.isfinite([least[0], most[0]]).all()


def _without(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    """A fault: a radius that an operation forgets."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        right: Any = getattr(functions, name) if name in ("apply", "kink") else getattr(rows, name)

        def wrong(*args: Any) -> Any:
            made = right(*args)
            if isinstance(made, Row):
                made = Row(made.space, made.p, made.g, arb(0), made.p[0] + arb(0, 1e3))
            elif isinstance(made, tuple):
                made = made[0], arb(0)
            else:
                made = [Row(r.space, r.p, {}, arb(0), r.p[0] + arb(0, 1e3)) for r in made]
            return made

        for module in (functions, rows, walk):
            if hasattr(module, name):
                patch.setattr(module, name, wrong)

    return plant


@pytest.mark.parametrize("name", ["apply", "kink", "product", "affine"])
def test_a_forgotten_remainder_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nets = [random_network((2, 4, 3, 2), one, seed=5, weight=1.5) for one in ("tanh", "relu", "sin")]
    graph = integraph.graph("sin(2*x)*cos(3*y)*exp(x)*x*y")
    low, high = np.array([-0.5, -0.5]), np.array([0.5, 0.5])
    sources = [*nets, graph]
    assert max(excess(source, low, high, 2) for source in sources) <= SLACK
    _without(name)(monkeypatch)
    assert max(excess(source, low, high, 2) for source in sources) > SLACK
