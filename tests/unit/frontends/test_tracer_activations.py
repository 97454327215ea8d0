"""Activations that are spelled out in elementary operations, recognised by the tracer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from integraph.errors import SourceError
from integraph.frontends.tracer import TracedValue, Tracer
from integraph.targets import ACTIVATIONS
from networks import agree
from tracer_values import function, start


def by_erf(t: Tracer, x: TracedValue, root: float) -> list[TracedValue]:
    inner = t.unary("erf", t.div(x, np.array(root), "div"), "erf")
    one = np.array(1.0)
    half = np.array(0.5)
    return [
        t.mul(t.mul(x, t.add(inner, one, "+"), "·"), half, "½"),
        t.mul(t.mul(x, half, "½"), t.add(one, inner, "+"), "·"),
        t.mul(t.mul(t.add(inner, one, "+"), half, "½"), x, "·"),
        t.mul(half, t.add(x, t.mul(x, inner, "·"), "+"), "½"),
        t.add(t.mul(half, x, "½"), t.mul(inner, t.mul(half, x, "½"), "·"), "+"),
    ]


def by_tanh(t: Tracer, x: TracedValue, root: float) -> list[TracedValue]:
    one, half, cubic, scale = (np.array(c) for c in (1.0, 0.5, 0.044715, root))
    cube = t.mul(cubic, t.power(x, 3, "x³"), "·")
    inner = t.unary("tanh", t.mul(scale, t.add(x, cube, "+"), "·"), "tanh")
    factor = t.add(t.mul(t.mul(x, x, "x²"), cubic, "·"), one, "+")
    horner = t.unary("tanh", t.mul(t.mul(x, scale, "·"), factor, "·"), "tanh")
    smooth = t.unary("sigmoid", t.mul(np.array(2.0), t.mul(scale, t.add(x, cube, "+"), "·"), "2"), "sigmoid")
    return [
        t.mul(t.mul(half, x, "½"), t.add(one, inner, "+"), "·"),
        t.mul(half, t.mul(x, t.add(horner, one, "+"), "·"), "½"),
        t.mul(x, smooth, "·"),
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("before", ["bare", "bias", "scaled"])
def test_gelu_in_any_association(dtype: type, before: str) -> None:
    rng = np.random.default_rng(3)
    W, c = rng.normal(size=(4, 3)), rng.normal(size=4)
    X = rng.normal(size=(50, 3)) * 2
    for kind, write, root in (("gelu", by_erf, math.sqrt(2)), ("gelu_tanh", by_tanh, math.sqrt(2 / math.pi))):
        tracer, x = start()
        h, z = tracer.dense(x, W, c, "W"), X @ W.T + c
        if before != "bare":
            h, z = tracer.add(h, c, "+"), z + c
        if before == "scaled":
            h, z = tracer.mul(h, np.array(3.0), "3"), 3 * z
        for written in write(tracer, h, float(dtype(root))):
            network = tracer.network(tracer.dense(written, np.eye(4), None, "last"))
            assert [layer.activation for layer in network.layers].count(kind) == 1
            agree(network, function(kind, z), X)
            assert any("matched within 2e-07" in note for note in network.notes)


@pytest.mark.parametrize("root", [1.41421, 1.5, 1.0, -3.0])
def test_another_root_is_another_scale(root: float) -> None:
    """½·x·(1 + erf(x/c)) is GELU of k·x over k, and not of x."""
    tracer, x = start()
    X = np.random.default_rng(0).normal(size=(20, 3))
    for written in by_erf(tracer, x, root):
        agree(tracer.network(written), 0.5 * X * (1 + special.erf(X / root)), X)


def test_almost_gelu_by_tanh_is_refused() -> None:
    tracer, x = start()
    cube = tracer.mul(np.array(0.0447), tracer.power(x, 3, "x³"), "·")
    inner = tracer.unary("tanh", tracer.mul(np.array(math.sqrt(2 / math.pi)), tracer.add(x, cube, "+"), "·"), "tanh")
    written = tracer.mul(tracer.mul(np.array(0.5), x, "½"), tracer.add(inner, np.array(1.0), "+"), "·")
    with pytest.raises(SourceError, match="is not a known activation"):
        tracer.network(written)


def test_gelu_that_is_not_halved_or_is_shifted_keeps_its_factor() -> None:
    tracer, x = start()
    X = np.random.default_rng(0).normal(size=(20, 3))
    inner = tracer.unary("erf", tracer.div(x, np.array(math.sqrt(2)), "d"), "e")
    doubled = tracer.mul(x, tracer.add(inner, np.array(1.0), "+"), "·")
    shifted = tracer.sub(np.array(5.0), doubled, "−")
    agree(tracer.network(doubled), 2 * function("gelu", X), X)
    agree(tracer.network(shifted), 5 - 2 * function("gelu", X), X)


@pytest.mark.parametrize("k", [1.0, -1.0, 1.702, 0.3, -2.5])
def test_x_times_sigmoid(k: float) -> None:
    tracer, x = start()
    X = np.random.default_rng(0).normal(size=(20, 3)) * 3
    x = tracer.add(x, np.array([1.0, 2.0, -3.0]), "+")
    written = tracer.mul(tracer.unary("sigmoid", tracer.mul(x, np.array(k), "k"), "s"), x, "·")
    network = tracer.network(written)
    Z = X + [1.0, 2.0, -3.0]
    agree(network, Z * special.expit(k * Z), X)
    assert "silu" in [layer.activation for layer in network.layers]
    assert (network.notes == ()) == (abs(k) == 1.0)


def test_silu_by_tanh() -> None:
    tracer, x = start()
    X = np.random.default_rng(0).normal(size=(20, 3)) * 3
    half = tracer.mul(x, np.array(0.5), "½")
    network = tracer.network(tracer.mul(half, tracer.add(tracer.unary("tanh", half, "t"), np.array(1.0), "+"), "·"))
    agree(network, function("silu", X), X)
    assert network.notes == ()


@pytest.mark.parametrize("k", [1.0, 4.0, 0.5, 3.0])
def test_gaussian(k: float) -> None:
    tracer, x = start()
    X = np.random.default_rng(0).normal(size=(20, 3))
    shift = np.array([0.1, 0.2, 0.3])
    square = tracer.power(tracer.sub(x, shift, "−"), 2, "²")
    network = tracer.network(tracer.unary("exp", tracer.mul(square, np.array(-k), "k"), "exp"))
    agree(network, np.exp(-k * (X - shift) ** 2), X)
    assert network.layers[-1].activation == "gaussian"
    assert bool(network.notes) == (k in (0.5, 3.0))  # √k is rounded


def test_exp_of_a_growing_square_is_refused() -> None:
    tracer, x = start()
    with pytest.raises(SourceError, match=r"exp\(1·x²\) is not a known activation"):
        tracer.network(tracer.unary("exp", tracer.power(x, 2, "²"), "exp"))


def test_every_activation_passes_as_itself() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    for name, activation in ACTIVATIONS.items():
        tracer, x = start()
        network = tracer.network(tracer.unary(name, x, name))
        agree(network, activation.value(X), X)
        assert len(network.layers) == 1


def test_two_activations_in_a_row() -> None:
    tracer, x = start()
    X = np.random.default_rng(0).normal(size=(20, 3))
    h = tracer.unary("tanh", x, "t")
    agree(tracer.network(tracer.unary("erf", h, "e")), special.erf(np.tanh(X)), X)
    gated = tracer.mul(h, tracer.unary("sigmoid", h, "s"), "·")
    agree(tracer.network(gated), function("silu", np.tanh(X)), X)


def test_one_slope_for_each_unit() -> None:
    tracer, x = start()
    X = np.random.default_rng(0).normal(size=(20, 3))
    slopes = np.array([[0.1, -0.2, 0.3]])
    agree(tracer.network(tracer.unary("leaky_relu", x, "p", slopes)), np.where(X > 0, X, slopes * X), X)
