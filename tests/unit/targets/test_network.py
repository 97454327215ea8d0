"""The target: layers, shapes, names of activations, and exact merging of affine maps."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph.errors import SourceError, UsageError
from integraph.targets import ACTIVATIONS, Layer, Network, activation, from_layers, merge
from integraph.targets.activations import ALIASES, activation_name
from law import examples

A = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def sigma(x: mpmath.mpf) -> mpmath.mpf:
    return 1 / (1 + mpmath.exp(-x))


TRUE = {
    "identity": lambda x: x,
    "tanh": mpmath.tanh,
    "sigmoid": sigma,
    "arctan": mpmath.atan,
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "silu": lambda x: x * sigma(x),
    "gelu": lambda x: x * mpmath.ncdf(x),
    "gelu_tanh": lambda x: x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3))),
    "sin": mpmath.sin,
    "exp": mpmath.exp,
    "gaussian": lambda x: mpmath.exp(-(x**2)),
    "erf": mpmath.erf,
    "log_cosh": lambda x: mpmath.log(mpmath.cosh(x)),
    "relu": lambda x: max(x, 0),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    """Against mpmath: values, slopes, and zeros of the derivatives at turns and bends."""
    x = np.concatenate([np.linspace(-30, 30, 61), [-0.1, 1e-3, 0.7]])
    with mpmath.workdps(400):  # 1 + tanh(−20³)
        wanted = [float(TRUE[name](mpmath.mpf(v))) for v in x.tolist()]
        np.testing.assert_allclose(ACTIVATIONS[name].value(x), wanted, rtol=2e-13, atol=1e-300)
        for order, where in ((1, ACTIVATIONS[name].turns), (2, ACTIVATIONS[name].bends)):
            for point in where:
                assert abs(mpmath.diff(TRUE[name], mpmath.mpf(point), order)) < 1e-15


def test_a_network_evaluates() -> None:
    network = from_layers([(A, [0.1, 0.2, 0.3], "tanh"), (np.ones((2, 3)), None)])
    x = np.array([[0.3, -0.2], [1.0, 2.0]])
    hidden = np.tanh(x @ A.T + [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(network.values(x)[0], hidden)
    np.testing.assert_allclose(network(x), hidden @ np.ones((3, 2)))
    assert network(x[0]).shape == (2,)
    assert (network.inputs, network.outputs, network.sizes, network.parameters) == (2, 2, (2, 3, 2), 17)
    assert repr(network) == "Network 2-3-2 (tanh, identity output), 17 parameters, from layers"


def test_one_input() -> None:
    network = from_layers([([[2.0]], [1.0])])
    assert network(3.0).tolist() == network([3.0]).tolist() == [7.0]
    assert network(np.arange(3.0)).tolist() == [[1.0], [3.0], [5.0]]


def test_weights_are_kept_exactly_and_cannot_be_changed() -> None:
    weights = np.array([[0.1]], np.float32)
    layer = from_layers([(weights, None)]).layers[0]
    assert layer.A.dtype == np.float64
    assert layer.A[0, 0] == float(np.float32(0.1))
    with pytest.raises(ValueError, match="read-only"):
        layer.A[0, 0] = 1.0


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ([], "one or more layers"),
        ([(A, [1.0, 2.0], "tanh")], "layer 1: weights of shape .* need 3 biases"),
        ([(A, None, "tanh"), (A, None)], "layer 1 has 3 units, layer 2 takes 2 inputs"),
        ([(A * np.nan, None)], r"layer 1: weight \[0, 0\] is nan"),
        ([(A, [0.0, np.inf, 0.0], "tanh")], r"layer 1: bias \[1\] is inf"),
        ([(A, None, "mish")], "layer 1: unknown activation 'mish': choose one of identity, tanh"),
        ([(A, None, 3)], "unknown activation 3"),
        ([(A[0], None)], "weights have shape"),
        ([(np.zeros((0, 2)), None)], "weights have shape"),
        ([("weights", None)], "weights must be numbers"),
        ([(A,)], "needs .A, b, activation."),
        ([3], "layer 1 is int"),
        ([(A, None, ("tanh", 0.1))], "only leaky_relu has a slope"),
        ([(A, None, ("leaky_relu", np.nan))], "slope"),
        ([(A, None, ("leaky_relu", [0.1, 0.2]))], "slope"),
    ],
)
def test_bad_layers(layers: list[object], words: str) -> None:
    with pytest.raises(SourceError, match=words):
        from_layers(layers)


def test_bad_inputs() -> None:
    network = from_layers([(A, None)])
    with pytest.raises(UsageError, match="the network takes"):
        network(np.zeros((4, 3)))
    with pytest.raises(SourceError, match="one or more layers"):
        Network(("tanh",))


def test_names() -> None:
    assert {activation_name(name) for name in ACTIVATIONS} == set(ACTIVATIONS)
    assert activation_name(None) == activation_name("linear") == "identity"
    assert activation_name(" Swish ") == "silu"
    assert set(ALIASES.values()) <= {*ACTIVATIONS, "leaky_relu"}
    assert from_layers([(A, None, "leaky_relu")]).layers[0].slope == 0.01
    layer = Layer(A, 0.0, "leaky_relu", [0.1, 0.2, 0.3])
    assert activation("leaky_relu", layer.slope).value(np.full(3, -1.0)).tolist() == [-0.1, -0.2, -0.3]


small = st.integers(-1000, 1000).map(float)
anything = st.floats(-1e6, 1e6)


@examples(200)
@given(data=st.data(), kind=st.sampled_from([small, anything]))
def test_merging_is_exact_or_refused(data: st.DataObject, kind: st.SearchStrategy[float]) -> None:
    """Every entry of a merged map equals the rational one."""
    m, k, n = (data.draw(st.integers(1, 3)) for _ in range(3))

    def draw(*shape: int) -> np.ndarray:
        count = math.prod(shape)
        return np.array(data.draw(st.lists(kind, min_size=count, max_size=count))).reshape(shape)

    A2, b2, A1, b1 = draw(m, k), draw(m), draw(k, n), draw(k)
    found = merge((A2, b2), (A1, b1))
    if found is None:
        assert kind is anything, "small whole numbers always merge"
        return
    for i in range(m):
        for j in range(n):
            exact = sum((Fraction(A2[i, t]) * Fraction(A1[t, j]) for t in range(k)), Fraction(0))
            assert Fraction(found[0][i, j]) == exact
        assert Fraction(found[1][i]) == sum((Fraction(A2[i, t]) * Fraction(b1[t]) for t in range(k)), Fraction(b2[i]))


def test_what_merges() -> None:
    """A float32 matrix behind a float32 scale is exact in float64; a third is not."""
    rng = np.random.default_rng(0)
    B = rng.normal(size=(4, 3)).astype(np.float32).astype(np.float64)
    scale = np.diag(rng.normal(size=3).astype(np.float32).astype(np.float64))
    zero = np.zeros
    assert np.array_equal(merge((B, zero(4)), (scale, zero(3)))[0], B * np.diag(scale))
    assert merge((B, zero(4)), (np.eye(3) / 3, zero(3))) is None
    assert merge((B, zero(4)), (B.T @ B, zero(3))) is None
    assert merge((np.full((1, 1), 1e300), zero(1)), (np.full((1, 1), 1e300), zero(1))) is None
    assert merge((np.full((1, 1), 1e-300), zero(1)), (np.full((1, 1), 1e-300), zero(1))) is None
    assert np.array_equal(merge((np.eye(4), rng.normal(size=4) * 0), (B, np.ones(4)))[1], np.ones(4))
