"""Deviations of rows: sampled values never lie outside, faults are caught, and layer norms are away from variance 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults import fault
from integraph.bounds.ranges import deviations
from integraph.bounds.ranges.deviations import LIPSCHITZ, Deviation, Deviations, row_ranges
from integraph.bounds.ranges.patterns import mean_of, row_norm
from integraph.bounds.ranges.propagation import ranges
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval
from integraph.targets.activations import ACTIVATIONS
from integraph.targets.float_arithmetic import OPERATIONS
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder
from law import examples
from slow import mostly_slow
from transformers import to_graph, transformer

SLACK = 1e-9  # of values that numpy computes


def points(graph: Graph, low: Floats, high: Floats, count: int, seed: int) -> Iterator[Floats]:
    """Corners, points inside, and those where the rows of the input are as equal as the box allows."""
    rng = np.random.default_rng(seed)
    rows = (0.5 * low + 0.5 * high).reshape(graph.nodes[0].shape)
    for kind in range(count):
        level = rows.mean(-1, keepdims=True) + (0.2 * rng.standard_normal((len(rows), 1)) if kind else 0.0)
        flat = np.clip(np.broadcast_to(level, rows.shape).reshape(-1), low, high)
        corner = np.where(rng.random(len(low)) < 0.5, low, high)
        yield (flat, corner, rng.uniform(low, high), 0.9 * flat + 0.1 * corner)[kind % 4]


def outside(graph: Graph, low: Floats, high: Floats, count: int = 40, seed: int = 0) -> str:
    """The first node whose value at a point is out of its range or its deviation, or nothing."""
    middle = 0.5 * low + 0.5 * high
    walk = Deviations(graph, ranges(graph, middle, middle))
    spans = quiet(ranges)(graph, low, high, walk.cut)
    centre = graph.nodes_at(middle)
    for x in points(graph, low, high, count, seed):
        for number, value in enumerate(graph.nodes_at(x)):
            span, node = spans[number], graph.nodes[number]
            slack = SLACK * (1.0 + np.abs(value))
            if not ((value >= span.low - slack) & (value <= span.high + slack)).all():
                return f"the range of node {number}, {node.op} {node.text}"
            delta = walk.known[number]
            away = np.abs(value - centre[number])
            beyond = away if delta.centred else np.maximum(away - delta.reach, 0.0)
            length = np.sqrt(np.square(beyond).sum(-1, keepdims=bool(node.shape)))
            if not (length <= (delta.length() if delta.centred else delta.radius) + SLACK).all():
                return f"the deviation of node {number}, {node.op} {node.text}"
    return ""


def case(gain: float, radius: float, seed: int, causal: bool = False) -> tuple[Graph, Floats, Floats]:
    graph = to_graph(transformer(3, 4, 2, 5, 2, causal, gain, seed))
    x = np.random.default_rng(seed).standard_normal(graph.inputs)
    return graph, x - radius, x + radius


@examples(4)
@given(st.sampled_from([0.1, 1.0, 4.0]), st.sampled_from([0.0, 1e-6, 0.01, 0.1, 0.5, 3.0]), st.integers(0, 99))
def test_values_are_inside(gain: float, radius: float, seed: int) -> None:
    assert not outside(*case(gain, radius, seed, bool(seed % 2)), count=12, seed=seed)


Make = Callable[[Builder, int], int]


def small(make: Make, shape: tuple[int, ...], centre: float = 0.0, radius: float = 1.0) -> tuple[Graph, Floats, Floats]:
    """A graph of a few nodes on a box around the same number, or random ones near it."""
    b = Builder()
    graph = b.graph([make(b, b.input("x", shape))])
    x = centre * np.random.default_rng(0).standard_normal(graph.inputs)
    return graph, x - radius, x + radius


def normal(b: Builder, x: int, constant: float = 1e-6) -> int:
    rows = (*b.nodes[x].shape[:-1], 1)
    d = b.apply("sub", x, b.apply("reshape", b.mean(x, (-1,), ""), data=(rows,)))
    total = b.apply("reshape", b.apply("sum", b.apply("mul", d, d), data=((len(rows) - 1,),)), data=(rows,))
    return b.apply("mul", d, b.power(b.apply("add", total, b.constant(constant)), -0.5, ""))


def scores(b: Builder, x: int) -> int:
    """Of queries and keys that are 0 at the middle."""
    return b.apply("matmul", x, b.apply("transpose", b.apply("mul", x, b.constant(2.0)), data=(1, 0)))


def averages(b: Builder, x: int) -> int:
    """Weights that go from a half each to one entry alone, of rows that are far apart."""
    values = b.apply("add", b.apply("mul", x, b.constant(1e-3)), b.constant(np.array([[1.0, 0.0], [-1.0, 0.0]])))
    return b.apply("matmul", b.softmax(b.apply("mul", x, b.constant(30.0))), values)


def joined(b: Builder, x: int) -> int:
    return b.apply("reshape", normal(b, x), data=((1, 6),))


CASES: dict[str, Callable[[], tuple[Graph, Floats, Floats]]] = {
    "a transformer": lambda: case(1.0, 0.1, 0),
    "small weights": lambda: case(0.1, 0.5, 1),
    "large weights": lambda: case(4.0, 0.01, 2),
    "a causal one": lambda: case(0.1, 1e-3, 3, True),
    "a function": lambda: small(lambda b, x: b.apply("neg", x), (1, 2)),
    "a function of a norm": lambda: small(lambda b, x: b.apply("neg", normal(b, x)), (4, 3), 1.0, 0.1),
    "a matrix": lambda: small(lambda b, x: b.apply("matmul", x, b.constant(np.array([[1.0], [-1.0]]))), (1, 2)),
    "scores": lambda: small(scores, (2, 2)),
    "averages": lambda: small(averages, (2, 2)),
    "joined rows": lambda: small(joined, (2, 3), 1.0, 0.1),
    "a large constant": lambda: small(lambda b, x: normal(b, x, 2.0), (4, 3), 1.0, 0.3),
}
NORMED = "np.where(length < whole, UP * turned, 2.0)"
SCORES = "_norms(q) * columns + self.known[node.args[0]].length() * (_norms(k, -2) + columns)"
FAULTS: dict[str, tuple[str, str, str]] = {  # a text, what it becomes, and the case that notices it
    "a length without its radius": ("UP * (_norms(self.reach) + self.radius)", "_norms(self.reach)", "a transformer"),
    "a length without its reach": (
        "UP * (_norms(self.reach) + self.radius)",
        "self.radius + 0.0 * _norms(self.reach)",
        "a transformer",
    ),
    "entries without a radius": ("else UP * (self.reach + self.radius)", "else self.reach", "a transformer"),
    "entries without a reach": (
        "else UP * (self.reach + self.radius)",
        "else self.radius + 0.0 * self.reach",
        "a transformer",
    ),
    "a reach to one side": (
        "np.maximum(own.high - centre.low, centre.high - own.low)",
        "own.high - centre.low",
        "a transformer",
    ),
    "a sum without a reach": ("UP * (x.reach + y.reach)", "y.reach + 0.0 * x.reach", "a transformer"),
    "a sum without a radius": ("UP * (x.radius + y.radius)", "x.radius + 0.0 * y.radius", "a transformer"),
    "a sum without the other radius": ("UP * (x.radius + y.radius)", "y.radius + 0.0 * x.radius", "a transformer"),
    "half a Lipschitz constant": ("UP * factor * args[0].reach", "0.5 * factor * args[0].reach", "a function"),
    "half a Lipschitz constant of radii": (
        "UP * factor * args[0].radius",
        "0.5 * factor * args[0].radius",
        "a function of a norm",
    ),
    "the smallest factor": ("factor.max(-1", "factor.min(-1", "a transformer"),
    "a factor that divides": ("np.abs(value) if node", "1 / np.abs(value) if node", "large weights"),
    "half a turn": ("2.0 * np.sin(0.5", "1.0 * np.sin(0.5", "a transformer"),
    "no turn": (NORMED, "0.0", "a transformer"),
    "half a norm": ("UP * size * np.fmin", "0.5 * size * np.fmin", "a transformer"),
    "short columns": ("columns = _norms(W, 0)", "columns = 0.3 * _norms(W, 0)", "a transformer"),
    "a product without a radius": (" + columns * x.radius", "", "a transformer"),
    "a product without a reach": ("x.reach @ np.abs(W) + ", "", "a matrix"),
    "weights with their signs": ("x.reach @ np.abs(W)", "x.reach @ W", "a matrix"),
    "half a spectral norm": ("UP * spectral_norm(W) * length", "0.3 * spectral_norm(W) * length", "a transformer"),
    "scores without keys": (SCORES, SCORES.replace("_norms(q) * columns", "0.0"), "a causal one"),
    "scores without queries": (SCORES, "_norms(q) * columns", "a transformer"),
    "scores without products": (SCORES, SCORES.replace("(_norms(k, -2) + columns)", "_norms(k, -2)"), "scores"),
    "averages without values": ("UP * (worst + UP * apart", "UP * (0.0 * worst + UP * apart", "small weights"),
    "averages without weights": ("worst + UP * apart * np.minimum(2.0, UP * change)", "worst", "large weights"),
    "averages of half the weights": ("np.minimum(2.0, UP * change)", "0.5 * change", "averages"),
    "rows as long as their longest part": (
        "_norms(parts)), None",
        "parts.max(-1, keepdims=True)), None",
        "joined rows",
    ),
    "squares that are twice": (
        "np.square(self._least(d)[..., 0]) / UP",
        "2.0 * np.square(self._least(d)[..., 0])",
        "a transformer",
    ),
    "a least length without a radius": (
        "keepdims=True) + x.radius)\n        least",
        "keepdims=True))\n        least",
        "a transformer",
    ),
    "a least length without a reach": ("((np.abs(e) + mean) * x.reach).sum(-1, keepdims=True)", "0.0", "a transformer"),
}


@mostly_slow("name", CASES, 3)
def test_without_a_fault(name: str) -> None:
    assert not outside(*CASES[name]())


@mostly_slow("name", FAULTS, 6)
def test_a_fault_is_noticed(name: str) -> None:
    before, after, noticing = FAULTS[name]
    with fault(deviations, before, after):
        assert outside(*CASES[noticing](), 16)


LEAST: dict[str, tuple[str, str]] = {  # faults of the least length, all of the size of roundings
    "a mean that is not quite 0": ("(np.abs(e) + mean) * x.reach", "np.abs(e) * x.reach"),
    "sums without rounding": ("along - lost - UP * moved", "along - UP * moved"),
}


Row = tuple[Floats, Floats, Floats, bool]  # low and high at the middle, reach, and whether it is centred


def rows_of_roundings() -> Iterator[Row]:
    """Rows that reach far where their direction is nearly 0, and rows whose terms cancel in that direction."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        x = rng.standard_normal(3)
        x[2] = x[:2].mean()
        d = x - x.mean()
        yield d, d, np.array([0.0, 0.0, 1e15]), True
        low, high = rng.uniform(0.0, 1.0, 3), np.array([1.0, 1.0, 5.0])
        squares = (low * (low + high))[:2].sum()
        low[2] = 0.5 * (np.sqrt(high[2] ** 2 - 4.0 * squares) - high[2]) + 1e-13
        yield low, high, np.zeros(3), False


def overestimated() -> int:
    """How often a row is said to be farther in the direction of its middle than it is, by rational numbers."""
    return sum(_overestimated(*row) for row in rows_of_roundings())


def _overestimated(low: Floats, high: Floats, reach: Floats, centred: bool) -> bool:
    walk = Deviations(small(lambda b, x: x, (1, 3))[0], [Interval(low[None], high[None])])
    walk.known.append(Deviation(reach[None], np.zeros((1, 1)), centred))
    least = Fraction(float(walk._least(0)[0, 0]))
    middle = 0.5 * low + 0.5 * high
    middle = middle - middle.mean() if centred else middle
    e = [Fraction(x) for x in (middle / np.sqrt(np.square(middle).sum())).tolist()]
    mean = sum(e) / 3 if centred else Fraction(0)
    ends = [min(x * Fraction(a), x * Fraction(b)) for x, a, b in zip(e, low.tolist(), high.tolist(), strict=True)]
    along = sum(ends) - sum(abs(x - mean) * Fraction(r) for x, r in zip(e, reach.tolist(), strict=True))
    return least > 0 and (along <= 0 or least**2 * sum(x * x for x in e) > along**2)


def test_least_lengths_count_their_roundings() -> None:
    assert overestimated() == 0


@pytest.mark.parametrize("name", LEAST)
def test_a_rounding_that_is_not_counted_is_noticed(name: str) -> None:
    with fault(deviations, *LEAST[name]):
        assert overestimated() > 0


@pytest.mark.parametrize("name", sorted(LIPSCHITZ))
def test_lipschitz_constants(name: str) -> None:
    x = np.linspace(-30.0, 30.0, 600_001)
    y = OPERATIONS[name](x) if name in OPERATIONS else ACTIVATIONS[name].value(x)
    steepest = np.abs(np.diff(y) / np.diff(x)).max()
    assert 0.97 * LIPSCHITZ[name] <= steepest <= LIPSCHITZ[name] + 1e-9


def test_variances_are_away_from_zero() -> None:
    """Where intervals reach 0 each layer norm is seen to divide by no less than a sixth of what it does at points."""
    graph = to_graph(transformer(2, 32, 4, 32, 2, gain=0.1))
    x = np.random.default_rng(1).standard_normal(graph.inputs)
    plain, cut = ranges(graph, x - 0.5, x + 0.5), row_ranges(graph, x - 0.5, x + 0.5)
    roots = [n for n, node in enumerate(graph.nodes) if node.op == "power"]
    sampled = [graph.nodes_at(p) for p in points(graph, x - 0.5, x + 0.5, 20, 0)]
    assert plain[roots[-1]].high.max() > 300.0
    for n in roots:
        assert cut[n].high.max() < 6.0 * max(values[n].max() for values in sampled)


def test_patterns_of_rows() -> None:
    b = Builder()
    x = b.input("x", (2, 3))
    mean = b.apply("reshape", b.mean(x, (1,), ""), data=((2, 1),))
    other = b.apply("reshape", b.mean(x, (0,), ""), data=((3, 1),))
    third = b.apply("reshape", b.apply("mul", b.apply("sum", x, data=((1,),)), b.constant(1 / 3)), data=((2, 1),))
    assert mean_of(b.nodes, mean) == x
    assert mean_of(b.nodes, other) is None  # of columns
    assert mean_of(b.nodes, third) is None  # 1/3 is rounded
    d = b.apply("sub", x, mean)
    total = b.apply("reshape", b.apply("sum", b.apply("mul", d, d), data=((1,),)), data=((2, 1),))
    root = b.power(b.apply("add", total, b.constant(0.25)), -0.5, "")
    norm = row_norm(b.nodes, b.nodes[b.apply("mul", d, root)])
    assert norm is not None
    assert norm[0] == d
    np.testing.assert_allclose(norm[1], 1.0, rtol=1e-9)
    assert row_norm(b.nodes, b.nodes[b.apply("mul", x, root)]) is None
