"""Three ways to free registers: the same values, and registers that are what they should be when somebody moves in."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

import integraph
from integraph.bounds.ranges.propagation import ranges
from integraph.constructions.graph.construction import tolerance
from integraph.constructions.graph.layout import GraphLayout, layout, program
from integraph.constructions.graph.rules import lower
from integraph.errors import SourceError, UsageError
from integraph.program.box import interval
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder
from slow import mostly_slow

FREES = ("keep", "clean", "decay")
CHAIN = "tanh(2*tanh(2*tanh(2*tanh(2*x+y)+y)+y)+x)"


def laid_out(graph: Graph, free: str, box: tuple[float, float] = (-1.0, 1.0)) -> GraphLayout:
    cube = interval(box, graph.inputs)
    found = lower(graph, ranges(graph, cube.low, cube.high), None)
    return layout(found.tape, found.outputs, free)


def deep(units: int, layers: int, gain: float, activation: str = "tanh") -> tuple[Graph, list[np.ndarray]]:
    """Layers of random weights; with a large gain every unit is far in saturation."""
    rng = np.random.default_rng(4)
    build, weights = Builder("net"), []
    value = build.input("x", (1, units))
    for _ in range(layers):
        weights.append(gain * rng.choice([-1.0, 1.0], (units, units)) * rng.uniform(0.5, 1.0, (units, units)))
        value = build.apply(activation, build.apply("matmul", value, build.constant(weights[-1])))
    return build.graph([value]), weights


@pytest.mark.parametrize("text", [CHAIN, "ln(1+exp(sin(x)*y)/(2+x))*sqrt(3+x*y)/(3+erf(x-y))"])
def test_the_same_values(text: str) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    wanted = integraph.function(text).values(x)
    for free in (*FREES, "auto"):
        built = integraph.compile(text, free=free, box=(-1, 1))
        np.testing.assert_allclose(built(x), wanted, atol=1e-14)
        np.testing.assert_allclose(built(x, engine="taylor"), wanted, atol=1e-11)


def test_registers_are_saved() -> None:
    widths = [integraph.compile(CHAIN, free=free, box=(-1, 1)).width for free in FREES]
    assert widths[0] > widths[1] >= widths[2]
    assert integraph.compile(CHAIN, free="auto", box=(-1, 1)).width == widths[1]  # exact, as long as nobody gives eps
    assert integraph.compile(CHAIN, 1e-9, free="auto", box=(-1, 1)).width == widths[2]


def test_width_against_depth_is_printed() -> None:
    text = str(integraph.layouts(CHAIN, box=(-1, 1)))
    lines = [line.split() for line in text.splitlines()[2:]]
    assert [line[0] for line in lines] == list(FREES)
    for free, width, depth in lines:
        built = integraph.compile(CHAIN, free=free, box=(-1, 1))
        assert (built.width, built.depth) == (int(width), int(depth))


@mostly_slow("activation", ["tanh", "gelu", "softplus", "sigmoid", "erf"], quick=2)
def test_cleaned_registers_are_back_at_their_start(activation: str) -> None:
    """In the segment after it was cleaned, what a lot held is gone to 1e-12 of what it was."""
    graph, _ = deep(4, 5, 0.4, activation)
    found = laid_out(graph, "clean")
    built = program(found, 40.0, "net")
    x = np.random.default_rng(1).uniform(-1, 1, 4)
    path = built.flow(x, times=np.arange(1.0, built.depth + 1)).path[0]
    freed = [lot for lot in found.allocation.lots if lot.freed]
    assert freed
    for lot in freed:
        held, left = (np.abs(path[s, lot.place : lot.place + lot.size]) for s in (lot.last, lot.last + 1))
        assert left.max() <= 1e-12 * max(held.max(), 1.0) < held.max()


@pytest.mark.parametrize("free", FREES)
@mostly_slow("gain", [100.0, 25.0, 1.0], quick=1)
def test_saturated_nets_stay_accurate(free: str, gain: float) -> None:
    """|pre-activation| of hundreds: the output of a contracting gadget is never computed backwards."""
    graph, weights = deep(6, 6, gain)
    x = np.sign(np.random.default_rng(2).uniform(-1, 1, (20, 6)))
    wanted = x
    for W in weights:
        reach = np.abs(wanted @ W).max()
        wanted = np.tanh(wanted @ W)
    assert reach >= gain
    built = integraph.compile(graph, free=free, box=(-1, 1))
    np.testing.assert_allclose(built(x), wanted, atol=1e-11)
    np.testing.assert_allclose(built(x[:4], engine="taylor"), wanted[:4], atol=1e-9)


def test_saturated_gelu() -> None:
    graph, weights = deep(4, 3, 20.0, "gelu")
    x = np.random.default_rng(2).uniform(-1, 1, (9, 4))
    wanted = x
    for W in weights:
        wanted = (wanted @ W) * ndtr(wanted @ W)
    for free in FREES:
        built = integraph.compile(graph, free=free, box=(-1, 1))
        np.testing.assert_allclose(built(x), wanted, rtol=1e-11, atol=1e-11 * np.abs(wanted).max())


def test_a_finite_mask_masks_only_small_scores() -> None:
    """What was added to a score says nothing about the score."""
    for weight, added in ((3e4, -2e4), (1.0, -2e4), (1.0, -1e9), (3e8, -2e8)):
        build = Builder("masked")
        scores = build.apply("mul", build.constant(weight), build.input("x", (3,)))
        graph = build.graph([build.softmax(build.apply("add", scores, build.constant([0.0, added, 0.0])))])
        total = weight * np.array([0.0, 1.0, 0.0]) + [0.0, added, 0.0]
        wanted = np.exp(total - total.max()) / np.exp(total - total.max()).sum()
        np.testing.assert_allclose(integraph.compile(graph)([0.0, 1.0, 0.0]), wanted, atol=1e-14)


def test_graphs_built_by_hand_are_checked() -> None:
    build = Builder("bad")
    x = build.input("x", (2, 3))
    bad = (
        lambda: build.input("y", (0,)),
        lambda: build.constant("a"),
        lambda: build.apply("exp", 99),
        lambda: build.apply("exp", x, x),
        lambda: build.apply("add", x),
        lambda: build.apply("gamma", x),
        lambda: build.apply("sum", x, data=((0, 0),)),
        lambda: build.apply("take", x, data=(-1, (0,))),
        lambda: build.apply("slice", x, data=((0, 0, 1), (0, 1, 1))),
        lambda: build.apply("leaky_relu", x),
        lambda: build.power(x, float("nan")),
        lambda: build.power(x, 1e300),
    )
    for attempt in bad:
        with pytest.raises(SourceError):
            attempt()


@mostly_slow("free", FREES, quick=1)
def test_networks_are_graphs_too(free: str) -> None:
    """Every activation of a network, exactly or within the tolerance, whatever its registers do."""
    rng = np.random.default_rng(6)
    names = ("tanh", "sigmoid", "arctan", "softplus", "silu", "gelu", "gelu_tanh", "sin", "gaussian", "erf")
    layers = [(rng.normal(size=(3, 3)), rng.normal(size=3), name) for name in names]
    net = integraph.network([*layers, (rng.normal(size=(3, 3)), None, ("leaky_relu", 0.2)), (np.ones((2, 3)), [0, 1])])
    x = rng.uniform(-1, 1, (20, 3))
    built = integraph.compile(net, 1e-3, method="exact", free=free, box=(-1, 1))
    assert np.abs(built(x) - net(x)).max() <= built.budget.total <= 1e-3
    assert integraph.graph(net).values(x[0]).shape == (1, 2)


def test_decay_is_in_the_budget() -> None:
    built = integraph.compile(CHAIN, 1e-6, free="decay", box=(-1, 1))
    assert 0 < built.budget.residue <= 1e-6
    assert built.rate >= 40
    assert integraph.compile(CHAIN, free="keep", box=(-1, 1)).budget.residue == 0
    assert integraph.compile(CHAIN, free="clean", box=(-1, 1)).budget.residue == 0


@pytest.mark.parametrize(
    ("text", "box", "x"),
    [
        ("1e-8/x*(1e-8/x)^3", (0.5, 2.0), [1.3894163326989197]),  # 1 − 1/x, then 1e-25
        ("(min(x, 0) - 1e-8/x)*(1e-8/x)^3", (0.02, 0.4), [0.07345025837588029]),
        ("erf(150*x*y) - tan(1/x)^3", (0.0, 9.0), [0.6466976731640685, 3.885762629030053]),  # (150·x·y)², then cos·sin
    ],
)
def test_small_numbers_are_not_put_where_large_ones_were_cleaned(text: str, box: tuple[float, float], x: list) -> None:
    """Cleaning leaves 1e-16 of what was there, or what an integrator leaves of it."""
    built = integraph.compile(text, free="clean", box=box)
    kept = integraph.compile(text, box=box)
    wanted = kept([x], engine="precise")
    np.testing.assert_allclose(built([x]), wanted, rtol=1e-12)
    np.testing.assert_allclose(built([x], engine="taylor"), wanted, rtol=1e-9)
    assert built.width <= kept.width


def test_large_registers_decay_faster_where_nothing_is_promised() -> None:
    """exp(x) is 1e152, of which e^−120 would leave 1e100."""
    built = integraph.compile("ln(exp(x))*x^-1", free="decay", box=(-295, 350))
    assert built.budget is None
    np.testing.assert_allclose(built([200.0, 333.0]), 1.0, rtol=1e-9)
    assert integraph.compile("x^-1*tanh(tanh(x))", free="decay", box=(-1, 1)).rate == 120


def test_a_residue_near_the_end_of_float64_is_no_crash() -> None:
    """cosh(364)² is 1e315."""
    built = integraph.compile("cosh(7.14^x)^2", free="decay", box=(-3, 3))
    np.testing.assert_allclose(built([1.0]), np.cosh(7.14) ** 2, rtol=1e-12)


def test_decay_that_cannot_be_bounded_is_refused() -> None:
    """1/x has no bound on a box with 0 in it: what is left in its registers has none either."""
    text = "exp(1/(x-y)) + tanh(tanh(tanh(1/(x-y))))"
    with pytest.raises(UsageError, match="may exceed that on the box"):
        integraph.compile(text, 1e-6, free="decay")
    for free in FREES:
        assert integraph.compile(text, free=free).budget is None  # nothing was asked for, nothing is promised


def test_a_tolerance_is_a_positive_number() -> None:
    assert tolerance(None) is None
    assert tolerance(1e-3) == 1e-3
    for eps in (0, -1e-3, float("inf"), float("nan"), True):
        with pytest.raises(UsageError, match="eps"):
            tolerance(eps)


@pytest.mark.parametrize("free", ["clean", "decay"])
@mostly_slow("size", [1e3, 1e6, 1e10, 1e16], quick=2)
def test_large_numbers_leave_nothing_where_registers_are_used_again(free: str, size: float) -> None:
    """Neither x·tanh x, whose rounding is 1e-16 of it, nor a bias that rounding took from a large sum."""
    net = [([[-0.4]], [-0.07], "tanh"), ([[0.5], [0.3]], [-0.1, 0.2], "sin"), ([[0.1, 0.7]], [-0.6], "exp")]
    x, y = 1.5 * size, np.tanh(-0.4 * 1.5 * size - 0.07)
    truth = np.exp(0.1 * np.sin(0.5 * y - 0.1) + 0.7 * np.sin(0.3 * y + 0.2) - 0.6)
    program = integraph.compile(net, 1e-2, method="wide", free=free, box=(size, 2 * size))
    for inputs in ([[x]], np.full((300, 1), x)):
        assert np.abs(program(inputs) - truth).max() <= (1e-13 if free == "clean" else 1e-2)
