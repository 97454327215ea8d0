"""Theorem 2: sizes, rates, engines that agree, for every activation and shape of net."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from integraph.bounds.paper import theorem2
from integraph.constructions.theorem2.construction import feedforward
from integraph.constructions.theorem2.narrow import error
from integraph.constructions.theorem2.network_plan import plan, steeper
from integraph.program.box import interval
from integraph.targets import from_layers
from networks import EVERY, SMOOTH, random_network
from promises import UNIT, seen
from slow import mostly_slow

FOUR = {"erf": 4, "gelu": 4, "gelu_tanh": 6}  # banks of activations that need more than three

STAGES = {"gelu_tanh": 6, "identity": 1}  # segments of a layer that does not take three


@mostly_slow("sizes", [(3, 4, 9, 2, 3), (2, 5, 1), (7, 3, 3, 1), (1, 6, 1)], quick=2, ids=str)
@pytest.mark.parametrize("name", EVERY)
def test_narrow_has_the_size_of_the_theorem(name: str, sizes: tuple[int, ...]) -> None:
    """W = 3·max(W̃, d) and D = 3·D̃, more only where an activation needs more registers."""
    network = random_network(sizes, name)
    program = feedforward(network, 1e-4)
    width, depth = max(sizes[:-1]), len(sizes) - 2
    assert program.width == FOUR.get(name, 3) * width
    assert program.depth == STAGES.get(name, 3) * depth
    assert (program.inputs, program.outputs) == (sizes[0], sizes[-1])
    box = np.tile(UNIT, (sizes[0], 1))
    assert seen(program, network, box) <= program.budget.total <= 1e-4


@mostly_slow("sizes", [(3, 4, 9, 2, 3), (2, 5, 1), (1, 6, 1)], quick=1, ids=str)
@pytest.mark.parametrize("name", EVERY)
def test_wide_is_exact(name: str, sizes: tuple[int, ...]) -> None:
    network = random_network(sizes, name)
    program = feedforward(network, 1e-6, method="wide")
    stages = STAGES.get(name, 3) - (1 if name != "identity" else 0)
    assert program.depth == stages * (len(sizes) - 2)
    assert program.budget.residue == 0.0
    assert (program.budget.approximation == 0.0) == (name not in ("relu", "leaky_relu"))
    box = np.tile(UNIT, (sizes[0], 1))
    tolerance = 1e-13 + program.budget.approximation
    assert seen(program, network, box) <= tolerance
    if name in SMOOTH:
        assert seen(program, network, box, "taylor", 10) <= 1e-12


def test_wide_registers() -> None:
    """All kept: d + 3ΣW̃. With decay: d + 4W̃ whatever the depth."""
    layers = [(np.eye(64, 8), None, "tanh"), *[(np.eye(64) / 2, None, "tanh")] * 15, (np.ones((1, 64)), None)]
    network = from_layers(layers)
    keep, decay = (feedforward(network, method="wide", free=free) for free in ("keep", "decay"))
    assert (keep.width, keep.depth) == (3080, 32)
    assert (decay.width, decay.depth) == (8 + 4 * 64, 32)
    assert (keep.rate, decay.rate) == (0.0, 40.0)
    x = np.random.default_rng(0).uniform(size=(50, 8))
    np.testing.assert_allclose(keep(x), network(x), rtol=0, atol=1e-13)
    np.testing.assert_allclose(decay(x), network(x), rtol=0, atol=1e-13)


@mostly_slow("name", EVERY, quick=4)
def test_wide_with_decay(name: str) -> None:
    sizes = (3, 6, 4, 8, 8, 5, 2)
    network = random_network(sizes, name)
    program = feedforward(network, 1e-6, method="wide", free="decay")
    keep = feedforward(network, 1e-6, method="wide")
    assert program.depth == keep.depth
    assert program.width < keep.width
    if name in ("tanh", "sigmoid", "arctan"):
        assert program.width <= sizes[0] + 4 * max(sizes)
    box = np.tile(UNIT, (3, 1))
    assert seen(program, network, box) <= 1e-12 + program.budget.approximation
    if name in SMOOTH:
        assert seen(program, network, box, "taylor", 8) <= 1e-12


@mostly_slow("name", SMOOTH, quick=1)
def test_engines_agree(name: str) -> None:
    """What the promise is about is eq. (1): engines that see only the terms must keep it too."""
    network = random_network((2, 4, 3, 2), name, seed=4)
    box = np.tile(UNIT, (2, 1))
    for method in ("narrow", "wide"):
        program = feedforward(network, 1e-5, method=method)
        exact, taylor, oracle = (seen(program, network, box, e, 4) for e in ("exact", "taylor", "oracle"))
        assert max(exact, taylor, oracle) <= program.budget.total + 1e-10
        assert abs(exact - taylor) < 1e-11


@pytest.mark.parametrize("name", ["relu", "leaky_relu"])
def test_rectifiers_by_their_terms(name: str) -> None:
    """With a loose ε the flow is mild enough for an integrator."""
    network = random_network((2, 4, 3, 1), name, seed=1)
    for method in ("narrow", "wide"):
        program = feedforward(network, 0.05, method=method)
        assert seen(program, network, np.tile(UNIT, (2, 1)), "taylor", 20) <= program.budget.total <= 0.05


def test_rectifiers_that_cannot_switch_are_exact() -> None:
    """Inputs are positive: units with positive weights are on, with negative ones off, whatever the slope."""
    A = np.array([[1.0, 2.0], [-1.0, -0.5], [1.0, 0.0]])
    network = from_layers([(A, [0.1, -0.1, 0.2], ("leaky_relu", 0.25)), (np.ones((1, 3)), [0.3])])
    for method in ("narrow", "wide"):
        program = feedforward(network, 1e-9, method=method)
        assert program.budget.approximation == 0.0
        assert seen(program, network, np.tile(UNIT, (2, 1))) <= 1e-9
        assert not any(b.op.name in ("relu", "leaky_relu") for s in program.segments for b in s.blocks)
    other = feedforward(network, 1e-3, box=[-1, 1])
    assert 0 < other.budget.approximation <= 0.5e-3
    switching = [b for s in other.segments for b in s.blocks if b.op.name == "leaky_relu"]
    assert [b.targets[0].size for b in switching] == [3]


def test_only_some_units_switch() -> None:
    A = np.array([[1.0], [2.0], [1.0], [-1.0]])
    network = from_layers([(A, [0.5, -1.0, -0.5, -0.5], "relu"), (np.ones((1, 4)), None)])
    program = feedforward(network, 1e-3)
    lanes = [b.targets[0].size for s in program.segments for b in s.blocks if b.op.name == "relu"]
    assert lanes == [2]
    assert seen(program, network, UNIT) <= 1e-3


@pytest.mark.parametrize("slope", [-0.5, 0.0, 0.9, 1.0, 1.5, 3.0])
def test_any_slope(slope: float) -> None:
    network = from_layers([([[1.0], [2.0]], [-0.5, -1.0], ("leaky_relu", slope)), (np.ones((1, 2)), None)])
    for method in ("narrow", "wide"):
        program = feedforward(network, 1e-3, method=method)
        assert seen(program, network, UNIT, count=2000) <= program.budget.total <= 1e-3


@pytest.mark.parametrize("bound", ["tight", "paper"])
@pytest.mark.parametrize("output", ["identity", "tanh", "sigmoid"])
def test_both_bounds_promise(bound: str, output: str) -> None:
    network = random_network((3, 6, 6, 2), "tanh", seed=2, output=output)
    program = feedforward(network, 1e-6, bound=bound)
    assert (program.width, program.depth) == (18, 6 if output == "identity" else 9)
    assert seen(program, network, np.tile(UNIT, (3, 1))) <= program.budget.total <= 1e-6


def test_the_rates_of_the_paper() -> None:
    """By the printed formulas, in 400 digits: δ₀ is far below float64."""
    M, width, depth, c, eps = 2.0, 64, 3, 5.0, 1e-6
    found = theorem2.rates(M, width, depth, 1.0, c, eps)
    with mpmath.workdps(3000):
        K = mpmath.mpf(M) * (width + 1)
        a3 = 4 * K + 2
        a1, a2 = a3 * mpmath.exp(a3) * K, 9 * (mpmath.exp(a3) - 1) * K
        delta = a3**depth * eps / (a1**depth * c + a2 * (a1 + a3) ** depth * eps)
        assert delta < mpmath.mpf(10) ** -600
        for rate in found:
            after = a1 * delta / (a3 - a2 * delta)
            assert rate.r1 == pytest.approx(float(-mpmath.log((M * width + 1) * delta / (1 + delta))), rel=1e-13)
            assert rate.r3 == pytest.approx(float(-mpmath.log(after / (K + after))), rel=1e-13)
            delta = after
        assert delta <= eps / c


def test_a_small_weight_bound_is_raised_to_one() -> None:
    """The erratum: with M < 1 step 2 would be told less than step 1 leaves."""
    assert theorem2.rates(0.1, 8, 2, 1.0, 1.0, 1e-6) == theorem2.rates(1.0, 8, 2, 1.0, 1.0, 1e-6)


def test_tight_rates_are_far_smaller() -> None:
    for seed, sizes in enumerate([(2, 16, 16, 1), (8, 64, 64, 64, 64, 1), (64, 64, 64, 64, 64, 1)]):
        rng = np.random.default_rng(seed)
        kinds = ["tanh"] * (len(sizes) - 2) + [None]
        shapes = zip(sizes[1:], sizes[:-1], kinds, strict=True)
        network = from_layers([(rng.uniform(-1, 1, (m, n)), rng.uniform(-1, 1, m), kind) for m, n, kind in shapes])
        tight, paper = (feedforward(network, 1e-6, bound=bound).rate for bound in ("tight", "paper"))
        assert tight <= 25.0
        assert paper > 8 * tight


def test_the_rate_is_the_smallest() -> None:
    network = random_network((2, 8, 8, 1), "tanh")
    program = feedforward(network, 1e-6)
    chosen = plan(network, interval(None, 2))
    r = program.rate
    assert error(chosen, [(r, r)] * 2).total <= 1e-6 < error(chosen, [(r - 0.02, r - 0.02)] * 2).total


def test_the_budget_adds_up() -> None:
    network = random_network((3, 5, 5, 1), "relu", seed=3)
    budget = feedforward(network, 1e-3).budget
    assert budget.approximation > 0 < budget.residue
    assert budget.rounding > 0
    assert budget.total >= budget.approximation + budget.residue + budget.rounding
    chosen = plan(network, interval(None, 3))
    coarse, fine = (error(steeper(chosen, k), [(60.0, 60.0)] * 2).approximation for k in (10.0, 1000.0))
    assert coarse == pytest.approx(100 * fine, rel=0.05)


@pytest.mark.parametrize(
    ("method", "free"), [("narrow", "keep"), ("wide", "keep"), ("wide", "clean"), ("wide", "decay")]
)
@pytest.mark.parametrize("after", ["identity", "tanh"])
def test_a_layer_that_nobody_reads(method: str, free: str, after: str) -> None:
    """All weights after it are 0: it need not be there, and its values need not be seen."""
    net = from_layers([([[1.0], [2.0]], [0.0, 0.5], "tanh"), ([[0.0, 0.0]], [0.25], after), ([[3.0]], [0.5])])
    program = feedforward(net, 1e-6, method=method, free=free)
    x = np.linspace(0.0, 1.0, 5)[:, None]
    assert np.abs(program(x) - net(x)).max() <= program.budget.total + 1e-15 <= 1e-6 + 1e-15
