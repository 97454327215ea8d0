"""Sums of products with constants in the checker: around values, as narrow as one affine map, and a small convolutional
net that is proved and checked."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import integraph
from faults import fault
from integraph import Graph
from integraph.certify.problem import Box
from integraph.certify.properties.replay.products import products
from integraph.certify.properties.replay.rows import of_box
from integraph.certify.properties.replay.walk import outputs
from integraph.numbers.arb.conversion import above, below, precision
from integraph.targets.graph import ROUNDED
from integraph.targets.graph_builder import Builder
from integraph.targets.windows import Axis, convolve, max_pool
from slow import mostly_slow


def convolutions(groups: int) -> Graph:
    """Two, of images of two channels: with zeros around, strides and groups, and with a rectifier between."""
    rng, b = np.random.default_rng(0), Builder("images")
    x = b.input("x", (1, 2, 5, 4))
    kernel = rng.normal(size=(4, 2 // groups, 3, 3))
    y = convolve(b, x, kernel, [Axis(3, 2, 1, 1, 1), Axis(3, 1, 1, 1, 1)], groups)
    y = b.apply("relu", y)
    return b.graph([convolve(b, y, rng.normal(size=(2, 4, 2, 2)), [Axis(2)] * 2), y])


def constants_on_the_left() -> Graph:
    """A x + B tanh(x), whose parts are used elsewhere, too, and stacks of them."""
    rng, b = np.random.default_rng(1), Builder("left")
    x = b.input("x", (2, 3, 2))
    A, B = (b.constant(rng.normal(size=(2, 4, 3))) for _ in range(2))
    bent = b.apply("tanh", x)
    first, second = b.apply("matmul", A, x), b.apply("matmul", B, bent)
    total = b.apply("add", first, second)
    flat = b.apply("reshape", x, data=((3, 4),))
    left, right = b.constant(rng.normal(size=(5, 3))), b.constant(rng.normal(size=(4, 6)))
    mixed = b.apply("matmul", b.apply("matmul", left, flat), right)
    other = b.apply("matmul", b.constant(rng.normal(size=(5, 3)), data=ROUNDED), b.apply("matmul", flat, right))
    one, other_side = (b.constant(rng.normal(size=shape)) for shape in ((3, 3), (4, 4)))
    sides = b.apply("add", b.apply("matmul", one, flat), b.apply("matmul", b.apply("tanh", flat), other_side))
    return b.graph([total, second, b.apply("add", mixed, other), sides])


def differences() -> Graph:
    """A tanh(x) − A tanh(x), as a sum of two products."""
    b, A = Builder("differences"), np.random.default_rng(2).normal(size=(3, 4))
    y = b.apply("tanh", b.input("x", (2, 3)))
    return b.graph([b.apply("add", b.apply("matmul", y, b.constant(A)), b.apply("matmul", y, b.constant(-A)))])


GRAPHS = {
    "a convolution": lambda: convolutions(1),
    "groups": lambda: convolutions(2),
    "constants on the left": constants_on_the_left,
    "differences": differences,
}


def ends(graph: Graph, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with precision(64):
        made = [row.value() for row in outputs(graph, of_box(Box(tuple(low.tolist()), tuple(high.tolist())), 1))]
        return np.array([below(ball) for ball in made]), np.array([above(ball) for ball in made])


def contained(graph: Graph, radius: float) -> bool:
    rng = np.random.default_rng(0)
    x = rng.normal(size=graph.inputs)
    low, high = ends(graph, x - radius, x + radius)
    points = x + radius * np.concatenate([rng.uniform(-1, 1, (100, len(x))), rng.choice([-1.0, 1.0], (100, len(x)))])
    values = graph.values(points)
    return bool(((low - 1e-12 <= values) & (values <= high + 1e-12)).all())


@pytest.mark.parametrize("name", GRAPHS)
def test_values_are_inside(name: str) -> None:
    graph = GRAPHS[name]()
    assert products(graph)[0]
    for radius in (0.0, 1e-3, 0.3):
        assert contained(graph, radius)


def test_linear_images_are_exact() -> None:
    """Of a convolution alone the ranges on a box are known: |kernel| times the radius."""
    b, kernel = Builder("image"), np.random.default_rng(0).normal(size=(3, 2, 2, 2))
    graph = b.graph([convolve(b, b.input("x", (1, 2, 3, 3)), kernel, [Axis(2)] * 2)])
    low, high = ends(graph, np.full(18, -0.5), np.full(18, 0.5))
    right = np.repeat(np.abs(kernel).sum((1, 2, 3)), 4)
    assert high - low == pytest.approx(right, rel=1e-7)  # radii of balls have 30 bits


def test_products_share_the_errors_of_what_they_read() -> None:
    low, high = ends(GRAPHS["differences"](), np.full(6, -0.5), np.full(6, 0.5))
    assert np.abs([low, high]).max() < 1e-12


FAULTS = {
    "one product": ("first.nodes + second.nodes", "first.nodes"),
    "products that others use": ("n in sums and uses[n] == 1", "n in sums"),
    "constants that are rounded": (" and one.data != ROUNDED", ""),
    "constants of one side": ("if first.left == second.left and", "if"),
    "matrices that are not turned": ("np.swapaxes(made, -1, -2) if one.left else made", "made"),
    "a part of the matrices": ("a[batch].T for a, _ in pairs", "a[batch].T * (1 - 1e-9) for a, _ in pairs"),
}


@mostly_slow("name", FAULTS, 0)
def test_a_fault_is_noticed(name: str) -> None:
    def holds() -> bool:
        try:
            return all(contained(make(), 1e-3) and contained(make(), 0.0) for make in GRAPHS.values()) and rounded()
        except (ValueError, IndexError, TypeError, AttributeError):
            return False

    assert holds()
    with fault(import_module("integraph.certify.properties.replay.products"), *FAULTS[name]):
        assert not holds()


def rounded() -> bool:
    """A number that was rounded is no number: the product has a width at a point."""
    b = Builder("rounded")
    x, w = b.input("x", (1, 1, 1)), b.constant(np.full((1, 1, 1), 1.5), data=ROUNDED)
    low, high = ends(b.graph([b.apply("matmul", x, w)]), np.ones(1), np.ones(1))
    return bool(low[0] < 1.5 < high[0])


@pytest.mark.slow
def test_a_small_convolutional_net_is_proved_and_checked() -> None:
    rng, b = np.random.default_rng(0), Builder("net")
    y = b.apply("relu", convolve(b, b.input("x", (1, 1, 10, 10)), rng.normal(size=(3, 1, 3, 3)) / 3, [Axis(3)] * 2))
    y = max_pool(b, y, [Axis(2, 2)] * 2)
    y = b.apply("tanh", convolve(b, y, rng.normal(size=(4, 3, 3, 3)) / 5, [Axis(3)] * 2))
    graph = b.graph([b.apply("matmul", b.apply("reshape", y, data=((1, 16),)), b.constant(rng.normal(size=(16, 2))))])
    x = rng.random(100)
    value = graph.values(x[None])[0]
    box = np.stack([x - 0.01, x + 0.01], 1)
    safe, unsafe = (f"y0 - y1 > {value[0] - value[1] - margin}" for margin in (0.5, 0.0))
    proof = integraph.prove(safe, graph, box, progress=False, workers=1)
    assert proof.status == "proved"
    assert integraph.check(proof, graph)
    assert integraph.prove(unsafe, graph, box, progress=False, workers=1).status == "refuted"
