"""Bounds contain what is sampled and climbed to, are no wider than intervals, and say honestly where they end."""

from __future__ import annotations

import itertools
import multiprocessing
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import integraph
from integraph import Graph, Network
from integraph.bounds.ranges.propagation import ranges
from integraph.certify.bounds import cells, search, state
from integraph.certify.bounds.bounds import Ending
from integraph.certify.bounds.cells import bounded, degree_for, division
from integraph.certify.search import pool
from integraph.numbers import intervals
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.targets.activations import NAMES, activation, value_range
from law import examples
from random_graphs import graphs
from slow import mostly_slow
from workers import share_at_once

SLACK = 1e-12  # of values that are computed in float64


def random_network(sizes: tuple[int, ...], name: str, seed: int = 0, scale: float = 1.5) -> Network:
    rng = np.random.default_rng([seed, len(name)])
    last = len(sizes) - 2
    return integraph.network(
        [
            (scale * rng.normal(size=(b, a)) / np.sqrt(a), rng.normal(size=b), name if n < last else None)
            for n, (a, b) in enumerate(itertools.pairwise(sizes))
        ]
    )


def climbed(network: Network, low: Floats, high: Floats, output: int, sign: float) -> float:
    """The largest sign·output that sampling and a climb from the best samples reach."""
    rng = np.random.default_rng(1)
    points = rng.uniform(low, high, (4000, len(low)))
    for zoom in range(12):
        values = sign * network(points)[:, output]
        best = points[np.argsort(-values)[:10]]
        near = best[:, None] + 0.4**zoom * (high - low) * rng.normal(size=(10, 60, len(low)))
        points = np.concatenate([best, np.clip(near.reshape(-1, len(low)), low, high)])
    return float((sign * network(points)[:, output]).max())


def plain(network: Network, low: Floats, high: Floats) -> Interval:
    """Interval arithmetic, layer by layer."""
    x = Interval(low, high)
    for layer in network.layers:
        x = value_range(activation(layer.activation, layer.slope), intervals.affine(layer.A, layer.b, x))
    return x


@mostly_slow(("name", "sizes"), itertools.product(NAMES, [(1, 6, 1), (2, 8, 8, 2), (4, 6, 1), (9, 5, 2)]), quick=7)
def test_networks(name: str, sizes: tuple[int, ...]) -> None:
    network = random_network(sizes, name)
    low = np.random.default_rng(2).uniform(-1, 0, sizes[0])
    for width in (0.01, 1.0, 3.0):
        high = low + width
        bounds = integraph.bound(network, list(zip(low, high, strict=True)))
        wide = plain(network, low, high)
        slack = 1e-9 * (wide.high - wide.low) + SLACK * (np.abs(wide.low) + np.abs(wide.high))
        assert (bounds.low >= wide.low - slack).all()
        assert (bounds.high <= wide.high + slack).all()
        for output in range(sizes[-1]):
            size = 1 + max(abs(bounds.low[output]), abs(bounds.high[output]))
            assert bounds.high[output] >= climbed(network, low, high, output, 1.0) - SLACK * size
            assert bounds.low[output] <= -climbed(network, low, high, output, -1.0) + SLACK * size
            assert bounds.low[output] <= bounds.attained_low[output] <= bounds.attained_high[output] + SLACK * size
            assert bounds.attained_high[output] <= bounds.high[output]
            at = network(bounds.highest[output])[output]
            assert abs(at - bounds.attained_high[output]) <= 1e-9 * size
        assert (bounds.highest >= low).all()
        assert (bounds.highest <= high).all()


@given(graphs(), st.floats(0.01, 1.0), st.integers(0, 1000))
@examples(60, deadline=None)
def test_random_graphs(graph: Graph, width: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.uniform(0, 1 - width, graph.inputs)
    high = low + width
    bounds = integraph.bound(graph, list(zip(low, high, strict=True)))
    points = rng.uniform(low, high, (200, graph.inputs))
    values = graph.values(points)
    for shrink in (0.3, 0.1, 0.03):  # near the points of the least and the largest values
        best = points[np.unique(np.concatenate([values.argmin(0), values.argmax(0)]))]
        near = best[:, None] + shrink * width * rng.normal(size=(len(best), 10, graph.inputs))
        points = np.concatenate([points, np.clip(near.reshape(-1, graph.inputs), low, high)])
        values = graph.values(points)
    size = 1e-9 * (1 + np.abs(values).max(0))
    assert (values.min(0) >= bounds.low - size).all()
    assert (values.max(0) <= bounds.high + size).all()
    wide = ranges(graph, low, high)
    for node, start in zip(graph.outputs, np.cumsum([0, *(graph.nodes[n].size for n in graph.outputs)]), strict=False):
        part = slice(start, start + graph.nodes[node].size)
        assert (bounds.low[part] <= bounds.high[part]).all()
        low_, high_ = np.ravel(wide[node].low), np.ravel(wide[node].high)
        assert (bounds.low[part] >= low_ - 1e-9 * (1 + np.abs(low_))).all()
        assert (bounds.high[part] <= high_ + 1e-9 * (1 + np.abs(high_))).all()


FORMULAS = {  # the smallest and the largest value on [0, 1]^d
    "x^2 - x": (-0.25, 0.0),
    "x*y - x*y + x": (0.0, 1.0),
    "sin(2*pi*x)": (-1.0, 1.0),
    "exp(x)*cos(y) + 1/(1 + y)": (np.cos(1.0) + 0.5, np.e + 1.0),
    "max(x, y) - min(x, y)": (0.0, 1.0),
    "abs(x - 1/3)": (0.0, 2 / 3),
    "sqrt(x) + ln(1 + y)": (0.0, 1 + np.log(2.0)),
    "(x - 3)^(-2)": (1 / 9, 1 / 4),
    "1/(x - 2) - log2(1 + x)": (-2.0, -0.5),
    "x^y + cbrt(x) + sinh(y)": (0.0, None),
    "if(x < 2, x, 100)": (0.0, 1.0),
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas(formula: str) -> None:
    bounds = integraph.bound(formula, (0.2, 1.0) if "x^y" in formula else (0, 1), gap=1e-4, seconds=5)
    least, most = FORMULAS[formula]
    if most is None:
        assert 0 < bounds.low[0] < bounds.high[0] < 4
        return
    assert bounds.low[0] <= least <= bounds.low[0] + 1e-3
    assert bounds.high[0] >= most >= bounds.high[0] - 1e-3
    assert bounds.ending is Ending.GAP


@pytest.mark.parametrize("formula", ["ln(x - 0.5)", "1/(x - 0.5)", "sqrt(x - 0.5)", "asin(3*x)", "(x - 0.5)^(-2)"])
def test_nothing_is_known_where_a_formula_has_no_value(formula: str) -> None:
    bounds = integraph.bound(formula, (0, 1))
    assert np.isinf([bounds.low[0], bounds.high[0]]).any()
    assert np.isinf(bounds.gap).all()
    inside = integraph.bound(formula, (0.6, 0.7)) if "asin" not in formula else integraph.bound(formula, (0.1, 0.2))
    assert np.isfinite([inside.low, inside.high]).all()


@pytest.mark.parametrize("formula", ["tanh(1/x)", "sin(ln(x))", "max(ln(x), 5)", "sigmoid(tan(x*4))", "atan(x^(-1/2))"])
def test_a_bounded_function_does_not_hide_what_has_no_value(formula: str) -> None:
    bounds = integraph.bound(formula, (-1, 1))
    assert np.isinf([bounds.low[0], bounds.high[0]]).all()
    assert np.isfinite(integraph.bound(formula, (0.1, 0.3)).width).all()


def test_the_controller_of_the_benchmark_is_within_a_third() -> None:
    network = random_network((2, 16, 16, 1), "tanh", seed=3)
    bounds = integraph.bound(network, (-1, 1))
    assert bounds.cells == cells.FIRST
    assert bounds.gap[0] < 0.15
    assert integraph.bound(network, (-1, 1), gap=0.005).gap[0] <= 0.005


def test_many_inputs_get_an_answer() -> None:
    network = random_network((40, 30, 10, 3), "tanh")
    bounds = integraph.bound(network, [(0.1 * n, 0.1 * n + 0.02) for n in range(40)])
    assert bounds.cells == 1
    assert (bounds.gap < 1.0).all()


def test_too_many_inputs_for_linear_models_get_backward_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    network = random_network((40, 30, 10, 3), "tanh")
    box = [(0.1 * n, 0.1 * n + 0.02) for n in range(40)]
    linear = integraph.bound(network, box)
    monkeypatch.setattr(cells, "MEMORY", 1000)
    bounds = integraph.bound(network, box)
    wide = plain(network, *np.array(box).T)
    assert (linear.width <= bounds.width).all()
    assert (bounds.width < 0.3 * (wide.high - wide.low)).all()


def test_a_point_has_a_range_of_rounding() -> None:
    network = random_network((3, 8, 8, 2), "gelu")
    bounds = integraph.bound(network, [(0.3, 0.3), (0.1, 0.1), (-0.7, -0.7)])
    assert (bounds.width < 1e-10).all()
    assert (bounds.low <= bounds.attained_high).all()


def test_sides_of_no_width_are_no_variables() -> None:
    network = random_network((3, 8, 1), "tanh")
    bounds = integraph.bound(network, [(0.3, 0.3), (-1.0, 1.0), (-0.7, -0.7)], gap=1e-6)
    y = network(np.column_stack([np.full(5000, 0.3), np.linspace(-1, 1, 5000), np.full(5000, -0.7)]))
    assert bounds.low[0] <= y.min() <= bounds.low[0] + 1e-4
    assert bounds.high[0] >= y.max() >= bounds.high[0] - 1e-4


def test_a_few_wide_sides_among_many() -> None:
    """As pixels that change in an image: the others are no sides of the cells, however many they are."""
    network, x = random_network((100, 4, 1), "tanh"), np.random.default_rng(1).uniform(size=100)
    low, high = x.copy(), x.copy()
    high[[3, 90]] += 0.5
    bounds = integraph.bound(network, np.stack([low, high], 1))
    y = network(np.random.default_rng(2).uniform(low, high, (2000, 100)))
    assert bounds.low[0] <= y.min() <= y.max() <= bounds.high[0]
    assert bounds.width[0] <= 1.05 * (y.max() - y.min())
    lows, highs = division(low, high)
    assert len(lows) == cells.FIRST
    assert (lows[:, 5] == x[5]).all()
    assert (highs[:, 5] == x[5]).all()


@pytest.mark.parametrize("d", range(1, 8))
def test_the_first_division_covers_the_box(d: int) -> None:
    rng = np.random.default_rng(d)
    low = rng.normal(size=d)
    high = low + rng.uniform(size=d)
    lows, highs = division(low, high)
    assert len(lows) <= cells.FIRST
    assert (lows.min(0) == low).all()
    assert (highs.max(0) == high).all()
    assert np.isclose((highs - lows).prod(1).sum(), (high - low).prod())
    for x in rng.uniform(low, high, (200, d)):
        assert ((lows <= x) & (x <= highs)).all(1).any()


def test_batches_change_nothing() -> None:
    network = random_network((2, 8, 1), "tanh")
    lows, highs = division(np.full(2, -1.0), np.ones(2))
    whole, parts = (bounded(network, lows, highs, degree_for(network, 2), most) for most in (64, 5))
    assert np.array_equal(whole.low, parts.low)
    assert np.allclose(whole.most, parts.most, rtol=1e-9)


def test_time_ends_a_search() -> None:
    network = random_network((6, 32, 32, 1), "tanh")
    integraph.bound(network, (-1, 1))
    begun = time.monotonic()
    bounds = integraph.bound(network, (-1, 1), gap=1e-9, seconds=0.5)
    assert bounds.ending is Ending.SECONDS
    assert time.monotonic() - begun < 10
    assert f"the time is over after {bounds.cells:,} cells, {bounds.open:,} remain to be divided" in str(bounds)
    assert 0 < bounds.open <= bounds.cells
    assert integraph.bound(network, (-0.01, 0.01), gap=0.5).open == 0


def test_interruption_keeps_what_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    network = random_network((3, 16, 16, 1), "tanh")
    first = integraph.bound(network, (-1, 1))
    calls, real = itertools.count(), cells.CellWork.__call__

    def stopped(*args: Any) -> Any:
        if next(calls) == 6:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(cells.CellWork, "__call__", stopped)
    bounds = integraph.bound(network, (-1, 1), gap=1e-9)
    assert bounds.ending is Ending.INTERRUPTED
    assert bounds.low[0] >= first.low[0]
    assert bounds.width[0] < first.width[0]
    sampled = network(np.random.default_rng(0).uniform(-1, 1, (5000, 3)))
    assert bounds.low[0] <= sampled.min()
    assert bounds.high[0] >= sampled.max()


def test_too_many_cells_end_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MOST", 100)
    bounds = integraph.bound(random_network((3, 16, 16, 1), "tanh"), (-1, 1), gap=1e-9)
    assert bounds.ending is Ending.CELLS


def test_a_spike_of_width_1e_6_is_not_missed() -> None:
    """A sum of two steep sigmoids, larger than 0.4 only on a part of width 1e-6 of the box."""
    steep = 1e7
    layers = [
        (np.full((2, 1), steep), np.array([-steep * 0.7312345, -steep * 0.7312355]), "sigmoid"),
        (np.array([[1.0, -1.0]]), np.zeros(1)),
    ]
    bounds = integraph.bound(layers, (0, 1))
    assert bounds.high[0] >= 0.98


@pytest.mark.parametrize("inputs", [1, 3, 6, 12, 13])
def test_bounds_that_are_exact_at_once(inputs: int) -> None:
    """Nothing is left to be divided."""
    bounds = integraph.bound([f"x{n}" for n in range(inputs)], (-1, 2))
    assert (bounds.low == -1).all()
    assert (bounds.high == 2).all()
    assert (bounds.gap == 0).all()


@pytest.mark.slow
def test_processes_find_the_same_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a network and a program; and none of the processes is left."""
    share_at_once(monkeypatch)
    monkeypatch.setattr(search, "batch_size", lambda *_: 64)
    asked: list[int] = []
    shared = pool.Pool._shared

    def counted(self: Any, jobs: Any) -> Any:
        asked.append(len(jobs))
        return shared(self, jobs)

    monkeypatch.setattr(pool.Pool, "_shared", counted)
    network = random_network((4, 24, 24, 2), "tanh")
    for source in (network, integraph.compile(network, method="narrow", box=(-1, 1))):
        one, two = (integraph.bound(source, (-1, 1), gap=1e-3, workers=workers) for workers in (1, 2))
        for name in ("low", "high", "lowest", "highest", "attained_low", "attained_high"):
            assert np.array_equal(getattr(one, name), getattr(two, name))
        assert one.cells == two.cells
    assert asked
    assert not multiprocessing.active_children()


def test_an_interruption_of_the_first_pass_leaves_infinite_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(cells.CellWork, "__call__", stopped)
    bounds = integraph.bound("x^2 + y", (0, 1))
    assert bounds.ending is Ending.INTERRUPTED
    assert bounds.low[0] == -np.inf
    assert bounds.high[0] == np.inf
    assert bounds.gap[0] == np.inf


def test_hundreds_of_outputs_share_points() -> None:
    """Values are attained at 64 points at most, by all outputs at once; they are right for each."""
    network = random_network((2, 8, 300), "tanh")
    bounds = integraph.bound(network, (-1, 1))
    assert len(np.unique(np.concatenate([bounds.lowest, bounds.highest]), axis=0)) <= 64
    at = np.array([network(point)[n] for n, point in enumerate(bounds.highest)])
    assert np.allclose(at, bounds.attained_high, atol=1e-12)
    assert (bounds.attained_high <= bounds.high).all()
