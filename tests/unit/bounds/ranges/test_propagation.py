"""Ranges of graphs: values in many digits never lie outside, and the ranges are as narrow as they can cheaply be."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph.bounds.ranges import affine_forms
from integraph.bounds.ranges.interval_functions import FUNCTIONS
from integraph.bounds.ranges.propagation import ranges
from integraph.errors import SourceError
from integraph.numbers.intervals import Interval
from integraph.targets.graph import ACTIVATIONS, Graph, Node
from integraph.targets.graph_builder import Builder
from law import examples
from range_truth import check

UNARY = sorted(FUNCTIONS)
EXPONENTS = [Fraction(n) for n in (0, 1, 2, 3, -1, -2, -3, 7)] + [
    Fraction(1, 2),
    Fraction(-1, 2),
    Fraction(1, 3),
    Fraction(-7, 5),
]
SHARES = st.sampled_from([0.0, 1.0, 0.5]) | st.floats(0, 1)
NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 0.5, -2.0, 3.0]) | st.floats(-20, 20)
WIDTHS = st.sampled_from([0.0, 1e-12, 0.1, 1.0, 2.0, 50.0])


@st.composite
def boxes(draw: st.DrawFn, size: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    low = np.array(draw(st.lists(NUMBERS, min_size=size, max_size=size)))
    high = low + np.array(draw(st.lists(WIDTHS, min_size=size, max_size=size)))
    shares = draw(st.lists(st.lists(SHARES, min_size=size, max_size=size), min_size=2, max_size=4))
    return low, high, [np.array(s) for s in shares]


@st.composite
def formulas(draw: st.DrawFn, inputs: int) -> Graph:
    b = Builder()
    pool = [b.input(f"x{n}") for n in range(inputs)] + [b.constant(draw(NUMBERS)), b.constant(0.1)]
    for _ in range(draw(st.integers(1, 9))):
        x, y = draw(st.sampled_from(pool)), draw(st.sampled_from(pool))
        kind = draw(st.integers(0, 3))
        try:
            if kind == 0:
                pool.append(b.apply(draw(st.sampled_from(UNARY)), x))
            elif kind == 1:
                pool.append(b.power(x, draw(st.sampled_from(EXPONENTS))))
            elif kind == 2:
                pool.append(b.apply("leaky_relu", x, data=(draw(NUMBERS),)))
            pool.append(
                b.apply(draw(st.sampled_from(["add", "sub", "mul", "div", "min", "max", "variable_power"])), x, y)
            )
        except SourceError:  # of constants, without a value
            continue
    return b.graph(pool)


@pytest.mark.slow
@examples(150)
@given(st.data())
def test_formulas_stay_inside(data: st.DataObject) -> None:
    graph = data.draw(formulas(2))
    check(graph, *data.draw(boxes(2)))


@examples(60)
@given(st.data())
def test_arrays_stay_inside(data: st.DataObject) -> None:
    """All operations on arrays, with constants and between values, in one random order after the other."""
    b = Builder()
    pool = [b.input("x", (2, 3)), b.input("y", (3,)), b.constant(data.draw(st.lists(NUMBERS, min_size=3, max_size=3)))]
    for _ in range(data.draw(st.integers(2, 8))):
        x, y = data.draw(st.sampled_from(pool)), data.draw(st.sampled_from(pool))
        shape = b.nodes[x].shape
        step = data.draw(st.integers(0, 9))
        choice = data.draw(st.sampled_from(["sub", "mul", "add", "tanh", "exp", "sin"]))
        try:
            pool.append(
                b.apply(choice, x, y) if step == 0 and choice in ("sub", "mul", "add")
                else b.apply(choice, x) if step == 0
                else b.apply("sum", x, data=((len(shape) - 1,),)) if step == 1
                else b.mean(x, (0,)) if step == 2
                else b.apply("reshape", x, data=((*shape[::-1],),)) if step == 3
                else b.apply("transpose", x, data=tuple(range(len(shape)))[::-1]) if step == 4
                else b.apply("broadcast", x, data=((2, *shape),)) if step == 5
                else b.apply("take", x, data=(0, (shape[0] - 1, 0))) if step == 6
                else b.apply("slice", x, data=tuple((n - 1, -1, n) for n in shape)) if step == 7
                else data.draw(st.sampled_from((b.softmax, b.logsumexp, b.log_softmax)))(x) if step == 8
                else b.apply("matmul", x, b.apply("transpose", y, data=(1, 0)))
            )  # fmt: skip
        except (SourceError, IndexError):
            continue
        if step == 9:
            pool.append(b.apply("concat", pool[-1], pool[-1], data=(0,)))
    check(b.graph(pool), *data.draw(boxes(9)))


def layer_norm(b: Builder, x: int, root: str) -> int:
    shape = b.nodes[x].shape
    kept = ((*shape[:-1], 1),)
    d = b.apply("sub", x, b.apply("reshape", b.mean(x, (len(shape) - 1,)), data=kept))
    square = b.power(d, 2) if root == "sqrt" else b.apply("mul", d, d)
    q = b.apply("add", b.apply("reshape", b.mean(square, (len(shape) - 1,)), data=kept), b.constant(1e-5))
    return b.apply("div", d, b.apply("sqrt", q)) if root == "sqrt" else b.apply("mul", b.power(q, Fraction(-1, 2)), d)


@pytest.mark.parametrize("root", ["sqrt", "power"])
def test_a_layer_norm_is_bounded_by_the_root_of_its_width(root: str) -> None:
    b = Builder()
    graph = b.graph([layer_norm(b, b.input("x", (2, 5)), root)])
    found = check(graph, np.full(10, -100.0), np.full(10, 100.0), [np.eye(10)[0], np.linspace(0, 1, 10)])[-1]
    assert (found.high <= math.sqrt(5) * (1 + 1e-9)).all()
    assert (found.low >= -math.sqrt(5) * (1 + 1e-9)).all()


@pytest.mark.parametrize("along", [(5,), (5, 1), ()])
def test_a_matrix_times_a_layer_norm(along: tuple[int, ...]) -> None:
    """Rows of norm √5 at most, scaled and shifted by column, times a matrix: by the norms of its columns. One number
    for each row is no such scale."""
    rng = np.random.default_rng(0)
    scale, shift, matrix = rng.standard_normal(along), rng.standard_normal(5), 0.1 + rng.standard_normal((5, 3))
    b = Builder()
    z = b.apply("mul", layer_norm(b, b.input("x", (5, 5)), "power"), b.constant(scale))
    graph = b.graph([b.apply("matmul", b.apply("add", z, b.constant(shift)), b.constant(matrix))])
    low, high = np.full(25, -100.0), np.full(25, 100.0)
    own = check(graph, low, high, list(rng.uniform(size=(20, 25))))[-1]
    if along != (5, 1):
        size = math.sqrt(5) * np.sqrt(np.square(scale[..., None] * matrix).sum(0))
        assert (own.high - own.low <= 2.0001 * size).all()


@pytest.mark.parametrize(
    ("op", "numbers", "weight", "least"),
    [
        ("add", (1.0, 1e16, -1e16), 1.0, 2.41),
        ("mul", (2.0**-600, 2.0**600), 2.0**-600, 1.41 * 2.0**-600),
        ("mul", (2.0**600, 2.0**600), 1.0, 1e300),
    ],
)
def test_a_layer_norm_with_constants_at_the_ends_of_float64(
    op: str, numbers: tuple[float, ...], weight: float, least: float
) -> None:
    """1 + 10¹⁶ − 10¹⁶ is 0 in float64, and squares underflow or overflow."""
    b = Builder()
    z = layer_norm(b, b.input("x", (1, 3)), "power")
    for number in numbers:
        z = b.apply(op, z, b.constant(np.full(3, number)))
    graph = b.graph([b.apply("matmul", z, b.constant(np.array([[weight], [0.0], [0.0]])))])
    found = ranges(graph, np.full(3, -1.0), np.full(3, 1.0))[graph.outputs[0]]
    assert found.high[0, 0] >= least


@pytest.mark.filterwarnings("error")
def test_a_layer_norm_without_epsilon() -> None:
    """q = ½ Σ d² + 0: the constant 0 is added, and nothing is divided by it."""
    b = Builder()
    d = b.input("d", (2,))
    q = b.apply("add", b.mean(b.apply("mul", d, d), (0,)), b.constant(0.0))
    graph = b.graph([b.apply("mul", d, b.power(q, Fraction(-1, 2)))])
    found = ranges(graph, np.full(2, -1.0), np.full(2, 1.0))[graph.outputs[0]]
    assert math.sqrt(2) <= found.high.max() <= 1.0001 * math.sqrt(2)


def test_a_sum_of_other_squares_bounds_nothing() -> None:
    """Divided by the norm of the other row, by that of another array, or by a norm with less weight."""
    b = Builder()
    x, y = b.input("x", (2, 2)), b.input("y", (2, 2))
    total = b.apply("add", b.apply("sum", b.apply("mul", x, x), data=((1,),)), b.constant(1e-4))
    norms = b.apply("reshape", b.apply("sqrt", total), data=((2, 1),))
    swapped = b.apply("take", norms, data=(0, (1, 0)))
    graph = b.graph([b.apply("div", x, norms), b.apply("div", x, swapped), b.apply("div", y, norms)])
    found = ranges(graph, np.full(8, -1.0), np.full(8, 1.0))
    own, wrong_row, other = (found[n].high for n in graph.outputs)
    assert (own <= 1 + 1e-9).all()
    assert (wrong_row >= 99).all()
    assert (other >= 99).all()
    check(graph, np.array([0.0, 0, -1, -1, 0, 0, 0, 0]), np.ones(8), [np.array([0, 0, 1, 1, 1, 1, 1, 1.0])])


def test_only_rows_of_a_softmax_average() -> None:
    """Also if they were moved as a whole; its columns need not sum up to 1."""
    b = Builder()
    x, v = b.input("x", (3, 2)), b.input("v", (3, 2))
    weights = b.softmax(x)
    rows = b.apply("transpose", b.apply("reshape", weights, data=((1, 3, 2),)), data=(1, 0, 2))
    graph = b.graph(
        [
            b.apply("matmul", rows, b.constant([[5.0], [7.0]])),
            b.apply("matmul", b.apply("transpose", weights, data=(1, 0)), v),
        ]
    )
    average, other = (ranges(graph, -np.ones(12), np.full(12, 2.0))[n] for n in graph.outputs)
    assert (average.low == 5).all()
    assert (average.high == 7).all()
    assert (other.high > 4).all()
    check(graph, -np.ones(12), np.full(12, 2.0), [np.array([1.0, 0] * 3 + [1] * 6)])


def test_the_logarithm_of_a_softmax_is_not_positive() -> None:
    """As narrow as the extremes; x less the sum of another array, or of another row, may be anything."""
    b = Builder()
    x, y = b.input("x", (2, 3)), b.input("y", (2, 3))
    total = b.logsumexp(x)
    swapped = b.apply("take", b.apply("reshape", total, data=((2, 1),)), data=(0, (1, 0)))
    other = b.apply("sub", y, b.apply("reshape", total, data=((2, 1),)))
    graph = b.graph([b.log_softmax(x), b.apply("sub", x, swapped), other])
    low, high = np.full(12, -3.0), np.full(12, 2.0)
    found = check(graph, low, high, [np.eye(12)[0], np.array([1.0, 1, 1, 0, 0, 0] + [1.0] * 6)])
    own, wrong_row, wrong_array = (found[n] for n in graph.outputs)
    assert own.high == pytest.approx(-math.log1p(2 * math.exp(-5)), rel=1e-9)
    assert own.low == pytest.approx(-math.log1p(2 * math.exp(5)), rel=1e-9)
    assert (wrong_row.high > 3).all()
    assert (wrong_array.high > 3).all()
    square = b.input("z", (3, 3))
    columns = b.graph([b.apply("sub", square, b.apply("reshape", b.logsumexp(square), data=((1, 3),)))])
    found = ranges(columns, np.full(columns.inputs, -3.0), np.full(columns.inputs, 2.0))
    assert (found[columns.outputs[0]].high > 3).all()


def transformer(layers: int, tokens: int, width: int, heads: int, hidden: int) -> Graph:
    rng, b = np.random.default_rng(0), Builder()
    x = b.input("x", (tokens, width))

    def linear(x: int, n: int, m: int) -> int:
        return b.apply(
            "add", b.apply("matmul", x, b.constant(rng.normal(size=(n, m)) / n**0.5)), b.constant(np.ones(m))
        )

    for _ in range(layers):
        normed, split = layer_norm(b, x, "power"), (tokens, heads, width // heads)
        q, k, v = (
            b.apply("transpose", b.apply("reshape", linear(normed, width, width), data=(split,)), data=order)
            for order in ((1, 0, 2), (1, 2, 0), (1, 0, 2))
        )
        mask = b.constant(np.where(np.tri(tokens) > 0, 0.0, -math.inf))
        weights = b.softmax(b.apply("add", b.apply("matmul", q, k), mask))
        heads_out = b.apply("transpose", b.apply("matmul", weights, v), data=(1, 0, 2))
        x = b.apply("add", x, linear(b.apply("reshape", heads_out, data=((tokens, width),)), width, width))
        inner = b.apply("gelu", linear(layer_norm(b, x, "sqrt"), width, hidden))
        x = b.apply("add", x, linear(inner, hidden, width))
    return b.graph([x])


def test_a_transformer_has_ranges_that_do_not_explode() -> None:
    graph = transformer(layers=2, tokens=16, width=32, heads=4, hidden=128)
    found = ranges(graph, np.full(512, -1.0), np.ones(512))
    assert all(
        np.isfinite(own.size).all() for node, own in zip(graph.nodes, found, strict=True) if node.op != "constant"
    )
    assert found[graph.outputs[0]].size.max() < 1000
    x = np.random.default_rng(3).uniform(-1, 1, (20, 512))
    values = graph.values(x)
    own = found[graph.outputs[0]]
    assert (values >= own.low.ravel()).all()
    assert (values <= own.high.ravel()).all()


@examples(5)
@given(boxes(8))
def test_a_small_transformer_stays_inside(box: tuple[np.ndarray, np.ndarray, list[np.ndarray]]) -> None:
    check(transformer(layers=1, tokens=2, width=4, heads=2, hidden=3), box[0], box[1], box[2][:2])


def test_forms_of_few_inputs_only() -> None:
    b = Builder()
    graph = b.graph([b.apply("neg", b.input("x", (affine_forms.INPUTS + 1,)))])
    n = graph.inputs
    assert not affine_forms.forms(graph, Interval(np.zeros(n), np.ones(n)))
    assert ranges(graph, np.zeros(n), np.ones(n))[-1].low[0] == -1


def test_every_operation_is_known() -> None:
    assert set(FUNCTIONS) >= {a for a in ACTIVATIONS if a != "leaky_relu"}
    graph = Graph(1, (Node("input", (), (), (0,)), Node("twist", (0,), (), (), None, "twist(x)")), (1,))
    with pytest.raises(SourceError, match="twist"):
        ranges(graph, np.zeros(1), np.ones(1))
