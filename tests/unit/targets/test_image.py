"""Images contain every value, and their ends are those of the operations."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import integraph
from integraph.frontends.property.names import Names
from integraph.frontends.property.sentence import parse
from integraph.targets.graph_builder import Builder
from integraph.targets.image import output_image, quantity_images
from integraph.targets.network import Network


def last(kind: str) -> Network:
    rng = np.random.default_rng(0)
    layers = [
        (3 * rng.normal(size=(8, 2)), rng.normal(size=8), "tanh"),
        (9 * rng.normal(size=(2, 8)), np.zeros(2), kind),
    ]
    return integraph.network(layers)


@pytest.mark.parametrize("kind", ["relu", "sigmoid", "tanh", "gaussian", "softplus", "sin", "identity", "gelu"])
def test_networks(kind: str) -> None:
    network = last(kind)
    image = output_image(network)
    values = network(np.random.default_rng(1).uniform(-3, 3, (20_000, 2)))
    assert (image.low <= values).all()
    assert (values <= image.high).all()
    if np.isfinite(image.low).all():
        assert (values.min(0) - image.low < 0.1).all()


@pytest.mark.parametrize(
    ("formula", "low", "high"),
    [
        ("min(max(3*x, 0), 1)", 0, 1),
        ("-max(x, 2)", -np.inf, -2),
        ("x^2", 0, np.inf),
        ("x^3", -np.inf, np.inf),
        ("min(abs(x), exp(x))", 0, np.inf),
        ("max(sin(x), 0.1)", np.nextafter(0.1, 0), 1),
        ("sin(x) + 1", -np.inf, np.inf),
    ],
)
def test_formulas(formula: str, low: float, high: float) -> None:
    image = output_image(integraph.graph(formula))
    assert (image.low[0], image.high[0]) == (low, high)


def test_arrays_keep_their_entries() -> None:
    build = Builder()
    x = build.input("x", (2, 3))
    both = build.apply("concat", build.apply("neg", build.apply("relu", x)), build.softmax(x), data=(0,))
    image = output_image(build.graph([build.apply("transpose", both, data=(1, 0))]))
    assert image.high.reshape(3, 4).tolist() == [[0.0, 0.0, 1.0, 1.0]] * 3
    assert image.low.reshape(3, 4).tolist() == [[-np.inf, -np.inf, 0.0, 0.0]] * 3


def test_quantities() -> None:
    stated = parse("y0 - 2*y1 <= 1 and y0 + x0 <= 1 and y0*y1 < 3", Names(2, 2))
    images = quantity_images(last("sigmoid"), stated)
    assert images == [(Fraction(-2), Fraction(1)), (None, None), (None, None)]
    assert quantity_images(last("relu"), stated)[0] == (None, None)
