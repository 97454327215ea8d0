"""The promise of a graph program: never smaller than what the flow of its controls does, in many digits, and not much
larger."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import integraph
from exact_formulas import DIGITS, FORMULAS, Formula
from integraph.bounds.perturbation import gadget_ends
from integraph.bounds.ranges.propagation import ranges
from integraph.constructions.graph import enclosure, forms
from integraph.constructions.graph.allocation import FREES
from integraph.constructions.graph.error_budget import bound
from integraph.constructions.graph.layout import GraphLayout, layout, program
from integraph.constructions.graph.rules import lower
from integraph.constructions.theorem2.budget import Parts
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.program import Program, View
from integraph.program.views import dense
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder
from law import examples
from multiprecision import PreciseFunctions, advance
from random_graphs import graphs
from slow import mostly_slow
from transformers import to_graph, transformer

PRECISE = PreciseFunctions(200)
NOISE = 1e-40  # of DIGITS digits
POLICIES = (("keep", 40.0), ("clean", 40.0), ("decay", 12.0))
UNPROVABLE = ("haversine", "acid", "law of cosines")  # intervals do not see that an argument stays in its domain


def budget(graph: Graph, box: Any, free: str, r: float = 40.0, k: float | None = None) -> tuple[GraphLayout, Parts]:
    low, high = np.broadcast_to(np.array(box, float), (graph.inputs, 2)).T
    found = lower(graph, ranges(graph, low, high), k)
    chosen = layout(found.tape, found.outputs, free)
    return chosen, bound(chosen, found, Interval(low, high), r)


def precisely(built: Program, x: Floats) -> Any:
    """The outputs of the stored controls by closed forms in 200 bits, (B, outputs)."""
    states = PRECISE.exactly(np.zeros((built.width, len(x))))
    states[: x.shape[1]] = PRECISE.exactly(np.ascontiguousarray(x.T))
    for segment in built.segments:
        for block in segment.blocks:
            advance(PRECISE, block, states, 1.0)
    C = PRECISE.exactly(built.readout.toarray())
    return (C[:, :, None] * states).sum(1).T


def deviation(formula: Formula, built: Program, x: Floats) -> float:
    with mp.workdps(DIGITS):
        found = precisely(built, x).ravel()
        wanted = [formula.truth(*map(mpf, row)) for row in x.tolist()]
        return float(max(abs(a - b) for a, b in zip(found, wanted, strict=True)))


def promised(name: str, free: str, r: float, count: int = 3) -> tuple[Parts, float]:
    formula = FORMULAS[name]
    graph = integraph.graph(formula.text, variables=formula.variables)
    chosen, parts = budget(graph, formula.box, free, r)
    return parts, deviation(formula, program(chosen, r, name), formula.points(count))


@mostly_slow(("number", "name"), list(enumerate(FORMULAS)), quick=34)
def test_formulas_keep_their_promise(number: int, name: str) -> None:
    free, r = POLICIES[number % 3]
    parts, seen = promised(name, free, r)
    assert seen <= parts.total + NOISE
    assert min(parts) >= 0
    assert math.isfinite(parts.total) or name in UNPROVABLE or free == "decay"


@pytest.mark.parametrize("name", ["Branin", "Beale", "Morse", "Ishigami", "true anomaly", "entropy"])
def test_what_decay_leaves_is_not_exaggerated(name: str) -> None:
    parts, seen = promised(name, "decay", 12.0, 20)
    assert seen <= parts.residue + parts.rounding <= 4 * seen


@pytest.mark.parametrize("name", ["Goldstein–Price", "Beale", "Ishigami"])
def test_large_deviations_multiply(name: str) -> None:
    parts, seen = promised(name, "decay", 0.5, 20)
    assert seen <= parts.total <= 4 * seen


@pytest.mark.parametrize("name", ["oscillatory 2", "Gaussian peak 2", "Franke", "product peak 2"])
def test_rounding_is_not_exaggerated(name: str) -> None:
    parts, seen = promised(name, "keep", 40.0, 20)
    assert parts.approximation == parts.residue == 0
    assert seen <= parts.rounding <= 300 * seen


@pytest.mark.parametrize("text", ["x*y", "exp(2*x)*sin(3*y)", "1/(1 + x^2)", "ln(1 + x) - 0.5*y", "x^3 - 3*x*y^2"])
def test_numbers_that_are_not_rounded_cost_nothing(text: str) -> None:
    for free in ("keep", "clean"):
        assert budget(integraph.graph(text), (0, 1), free)[1] == (0, 0, 0)


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("0.1*x + 0.2*x - 0.3*x", lambda x: 0 * x),
        ("0.1*x + 0.2*x - 0.30000000000000004*x", lambda x: -mpf("4e-17") * x),
        ("exp(0.1*x + 0.2*x - 0.3*x)", lambda x: 1 + 0 * x),
        ("exp(1000*x + 0.1 - 1000*x)", lambda x: mp.exp(mpf(1) / 10)),
        ("x/3", lambda x: x / 3),
        ("(x + 0.7) - (x + 0.6)", lambda x: mpf(1) / 10),
        ("(1e8*x + 0.3)^2 - 1e16*x^2", lambda x: mpf("6e7") * x + mpf("0.09")),
    ],
)
def test_numbers_that_cancel(text: str, truth: Any) -> None:
    """What is left of a sum of coefficients is no measure of what it lost."""
    formula = Formula(text, text, ((0.0, 1.0),), truth)
    graph = integraph.graph(text, variables="x")
    for free, r in POLICIES:
        chosen, parts = budget(graph, (0, 1), free, r)
        seen = deviation(formula, program(chosen, r, text), np.array([[1.0], [0.3]]))
        assert seen <= parts.total + NOISE
    assert math.isfinite(parts.rounding)


def test_the_read_out_adds_up_what_it_reads_twice() -> None:
    b = Builder("folded")
    x = b.input("x", (3,))
    back = b.apply("slice", x, data=((2, -1, 3),))
    parts = [b.apply("mul", value, b.constant(factor)) for value, factor in ((x, 0.1), (back, 0.2))]
    graph = b.graph([b.apply("add", *parts)])
    chosen, found = budget(graph, (-1, 1), "keep")
    seen = precisely(program(chosen, 40.0, "folded"), np.ones((1, 3)))[0, 1] - mpf(0.1) - mpf(0.2)
    assert 0 < seen <= found.rounding < 1e-15


@pytest.mark.parametrize("what", ["linear", "product"])
def test_large_sums_are_what_small_ones_are(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Products of matrices enclose what one term after the other does, and deviate as much."""
    rng = np.random.default_rng(2)
    x, y = (forms.atom_form(n, (6, 1, 5)) if n == 0 else forms.atom_form(n, (1, 7, 5)) for n in (0, 1))
    form = forms.product(x, y if what == "product" else forms.constant((6, 7, 5), rng.normal(size=(1, 7, 5)), 3))
    form = forms.summed(forms.broadcast(form, (6, 7, 5)))
    state = enclosure.empty(65)
    state.low[:], state.off[:] = rng.normal(size=65), rng.uniform(size=65)
    state.high[:] = state.low + rng.uniform(size=65)
    state.off[3] = state.high[40] = np.inf

    def found() -> enclosure.Enclosure:
        return enclosure.enclose(
            form, lambda n, ref: dense(30 * n, ref.shape) if ref is None else _moved(ref, n), state, True
        )

    small = found()
    monkeypatch.setattr(enclosure, "SMALL", 1)
    large = found()
    for inner, outer in ((small.right.low, -large.right.low), (-small.right.high, large.right.high)):
        with np.errstate(invalid="ignore"):
            assert (np.isinf(outer) | (-outer <= inner + 1e-13 * (1.0 + np.abs(inner)))).all()
    np.testing.assert_allclose(large.off, small.off, rtol=1e-11)
    np.testing.assert_allclose(large.rounded, small.rounded, rtol=1e-11)
    assert np.isinf(small.off).any()
    assert np.isfinite(small.off).any()


def _moved(ref: Any, atom: int) -> View:
    return View(ref.offset + 30 * atom, ref.shape, ref.strides)


@examples(60)
@given(data=st.data())
def test_graphs_keep_their_promise(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    free, r = data.draw(st.sampled_from(("clean", "decay", "decay"))), data.draw(st.sampled_from((5.0, 10.0, 20.0)))
    x = np.random.default_rng(3).uniform(-1, 1, (9, graph.inputs))
    chosen, parts = budget(graph, (-1, 1), free, r)
    found = program(chosen, r, "graph").flow(x)
    wanted, fine = graph.values(x), [n not in {f.input for f in found.failures} for n in range(len(x))]
    assert all(fine) or parts.total == math.inf
    error = np.abs(found.outputs - wanted)[fine].max(initial=0.0)
    assert error <= parts.total + 1e-12 * (1.0 + np.abs(wanted).max())


@pytest.mark.parametrize("k", [2.0, 50.0])
@pytest.mark.parametrize("free", ["keep", "clean", "decay"])
def test_rectifiers(free: str, k: float) -> None:
    graph = integraph.graph("abs(x - 0.25) + max(x*y, y - x) - min(x, abs(y))")
    chosen, parts = budget(graph, (-1, 1), free, 15.0, k)
    x = np.stack(np.meshgrid(*[np.linspace(-1, 1, 41)] * 2), -1).reshape(-1, 2)
    error = np.abs(program(chosen, 15.0, "rectified")(x) - graph.values(x)).max()
    assert error <= parts.total
    if free != "decay":
        assert parts.residue == 0
        assert error <= parts.approximation + 1e-14 <= 12 * error


def test_causes_add_up_and_shrink() -> None:
    graph = integraph.graph("abs(sin(3*x*y) + 0.1)*exp(tanh(x - y)) + sigmoid(atan(x))^3")
    soft, steep = (budget(graph, (-1, 1), "decay", 20.0, k)[1] for k in (1e3, 1e5))
    assert soft.approximation == pytest.approx(100 * steep.approximation, rel=1e-3)
    graph = integraph.graph("(sin(3*x*y) + 0.1)*exp(tanh(x - y)) + sigmoid(atan(x))^3")
    slow, fast = (budget(graph, (-1, 1), "decay", r)[1] for r in (25.0, 60.0))
    assert slow.residue == pytest.approx(math.exp(35.0) * fast.residue, rel=0.1)
    assert 0 < fast.rounding < 1e-13


def test_a_base_that_may_be_negative_has_no_bound() -> None:
    graph = integraph.graph("sqrt(x - 0.5) + ln(x - y)")
    for free, _ in POLICIES:
        assert budget(graph, (0, 1), free)[1].total == math.inf


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    """Scores of a row move together, masked entries hold what decay left of others."""
    net = transformer(tokens=3, width=4, heads=2, hidden=6, layers=1, causal=causal)
    graph = to_graph(net)
    x = np.random.default_rng(1).uniform(-1, 1, (40, graph.inputs))
    wanted = graph.values(x)
    for r in (18.0, 24.0):
        chosen, parts = budget(graph, (-1, 1), "decay", r)
        error = np.abs(program(chosen, r, "attention")(x) - wanted).max()
        assert 1e-11 < error <= parts.residue + parts.rounding
    assert budget(graph, (-1, 1), "keep")[1].rounding < 1e-6


@pytest.mark.parametrize(("free", "r"), POLICIES)
@pytest.mark.parametrize("masked", [False, True])
@mostly_slow("gap", [0.0, 1.0, 30.0, 300.0, 1e4], quick=1)
def test_sums_of_exponentials_keep_their_promise(gap: float, masked: bool, free: str, r: float) -> None:
    """Twice in a row, so that the second is computed in registers that were used; and not much is promised."""
    b = Builder()
    x, reach = b.input("x", (2, 5)), gap + 1.0
    mask = np.array([[0, -np.inf, 0, 0, -np.inf], [0, 0, 0, -np.inf, 0]]) if masked else np.zeros((2, 5))
    inner = b.apply("reshape", b.logsumexp(b.apply("add", x, b.constant(mask))), data=((2, 1),))
    shares = b.apply("sub", b.apply("mul", b.constant(0.3), x), inner)
    graph = b.graph([b.log_softmax(b.apply("mul", shares, b.constant(0.7)))])
    chosen, parts = budget(graph, (-reach, reach), free, r)
    rng = np.random.default_rng(1)
    points = np.where(rng.random((6, 10)) < 0.5, rng.uniform(-reach, reach, (6, 10)), reach)
    found = precisely(program(chosen, r, "rows"), points)
    for point, end in zip(points.reshape(-1, 2, 5), found.reshape(-1, 2, 5), strict=True):
        for row, part, values in zip(point, mask == 0, end, strict=True):
            with mp.workdps(DIGITS):
                total = mp.log(mp.fsum(mp.exp(mpf(v)) for v in row[part]))
                scores = [mpf(0.7) * (mpf(0.3) * mpf(v) - total) for v in row]
                outer = mp.log(mp.fsum(map(mp.exp, scores)))
                seen = max(abs(value - (v - outer)) for value, v in zip(values, scores, strict=True))
            assert seen <= parts.total + NOISE
    assert free == "decay" or parts.total <= 4e-14 * reach


@pytest.mark.parametrize("n", [2, 4, 8, 32])
def test_the_logarithm_of_a_count_is_rounded(n: int) -> None:
    """Of n equal scores, n a power of two, nothing else is."""
    b = Builder()
    chosen, parts = budget(b.graph([b.logsumexp(b.input("x", (n,)))]), (-1.0, 1.0), "keep")
    found = precisely(program(chosen, 40.0, "count"), np.zeros((1, n)))[0, 0]
    with mp.workdps(DIGITS):
        assert 0 < abs(found - mp.log(n)) <= parts.total <= 1e-14


def test_who_takes_no_part_is_not_in_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the budget knows of a masked softmax holds: a start of 0 that is known but for rounding is no share."""
    seen = []

    def ends(*args: Any) -> Any:
        seen.append(gadget_ends.perturbed_ends(*args))
        return seen[-1]

    monkeypatch.setattr("integraph.constructions.graph.error_budget.perturbed_ends", ends)
    b = Builder()
    mask = np.array([0, -np.inf, 0, 0, -np.inf])
    graph = b.graph([b.softmax(b.apply("add", b.input("x", (5,)), b.constant(mask)))])
    budget(graph, (-1.0, 1.0), "keep")
    for corner in np.random.default_rng(0).choice([-1.0, 1.0], (40, 5)):
        value = graph.values(corner)[0]
        assert ((seen[-1]["a"].right.low <= value) & (value <= seen[-1]["a"].right.high)).all()


def test_what_decay_leaves_is_known_even_where_rounding_is_not() -> None:
    """Two layers can amplify by more than 1e16: the rate of decay does not depend on that."""
    graph = to_graph(transformer())
    residues = [budget(graph, (-1, 1), "decay", r)[1].residue for r in (80.0, 160.0)]
    assert residues[1] == pytest.approx(residues[0] * math.exp(-80.0), rel=0.01)
    assert residues[1] < 1e-30


@pytest.mark.parametrize("free", FREES)
@pytest.mark.parametrize("formula", ["cbrt(expm1(x - x))", "sqrt(sinh(x - x))*sin(y)", "expm1(x - x)^1.5*exp(y)"])
def test_a_root_of_0_is_off_by_any_factor(formula: str, free: str) -> None:
    """The right end is 0, and that is no reason to promise anything: what decay leaves has a root that is not small."""
    assert integraph.compile(formula, free=free).budget is None
