"""Keras files, read without Keras, compute what Keras computes."""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from integraph.frontends import network
from integraph.targets import Network
from keras_models import outputs, precision, save, shaken, stack
from lazy import Lazy
from slow import mostly_slow

h5py = Lazy("h5py")


def check(model: Any, path: Path, tolerance: float = 1e-12) -> Network:
    """Both file formats, against the model itself."""
    shape = model.input_shape[1:]
    dtype = np.float64 if tolerance < 1e-8 else np.float32
    X = np.random.default_rng(1).normal(size=(50, *shape)).astype(dtype)
    expected = outputs(model, X)
    for suffix in (".keras", ".h5"):
        net = network(save(model, path / f"net{suffix}"))
        found = net(X.reshape(len(X), -1))
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        assert net.source == f"Keras file net{suffix}"
    return net


ACTIVATIONS = ["linear", "relu", "silu", "swish", "sigmoid", "softplus", "exponential", "tanh", "gelu", "leaky_relu"]
SHAPES = [(1, (1,)), (3, (5, 2)), (8, (2, 9, 1, 4)), (20, (3, 6, 12, 6, 3, 2))]


@mostly_slow("activation", ACTIVATIONS, quick=4)
@pytest.mark.parametrize(("d", "widths"), SHAPES)
def test_dense(keras: Any, tmp_path: Path, d: int, widths: tuple[int, ...], activation: str) -> None:
    def dense(n: int) -> Callable[[], Any]:
        return lambda: keras.layers.Dense(n, activation=activation)

    model = stack(keras, d, [dense(n) for n in widths])
    net = check(shaken(model, size=0.3 if activation == "exponential" else 1.0), tmp_path)
    if activation != "linear":
        assert net.sizes == (d, *widths)
    assert net.notes == ()


def test_layers_of_every_kind(keras: Any, tmp_path: Path) -> None:
    L = keras.layers
    model = stack(
        keras,
        4,
        [
            lambda: L.Normalization(),
            lambda: L.Rescaling(0.3, offset=-1.0),
            lambda: L.Dense(6, use_bias=False, name="my_name"),
            lambda: L.BatchNormalization(),
            lambda: L.LeakyReLU(negative_slope=0.15),
            lambda: L.GaussianNoise(0.1),
            lambda: L.Dense(5, activation=L.LeakyReLU(negative_slope=0.4)),
            lambda: L.Dropout(0.5),
            lambda: L.BatchNormalization(scale=False),
            lambda: L.ReLU(negative_slope=0.1),
            lambda: L.Dense(6, name="dense_77"),
            lambda: L.BatchNormalization(center=False),
            lambda: L.Activation("tanh"),
            lambda: L.Activation("sigmoid"),
            lambda: L.GaussianDropout(0.1),
            lambda: L.ActivityRegularization(0.1),
            lambda: L.Dense(6, activation=L.ReLU()),
            lambda: L.BatchNormalization(scale=False, center=False),
            lambda: L.Reshape((2, -1)),
            lambda: L.Activation("softplus"),
            lambda: L.Rescaling([1.0, 2.0, 3.0]),
            lambda: L.Normalization(invert=True),
            lambda: L.BatchNormalization(),
            lambda: L.Flatten(),
            lambda: L.Identity(),
            lambda: L.Dense(2),
        ],
    )
    net = check(model, tmp_path)
    assert sum("rounded" in note for note in net.notes) == 7


def test_normalization_with_given_numbers(keras: Any, tmp_path: Path) -> None:
    L = keras.layers
    for mean, variance in ((0.5, 4.0), ([0.5, 1.0], [4.0, 0.3])):
        check(
            stack(keras, 2, [lambda m=mean, v=variance: L.Normalization(mean=m, variance=v), lambda: L.Dense(1)]),
            tmp_path,
        )


def test_adapted_normalization(keras: Any, tmp_path: Path) -> None:
    model = stack(keras, 3, [lambda: keras.layers.Normalization(), lambda: keras.layers.Dense(2, activation="tanh")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.layers[0].adapt(np.random.default_rng(0).normal(5, 2, (100, 3)))
    check(model, tmp_path)


def test_a_feature_that_never_varies(keras: Any, tmp_path: Path) -> None:
    model = stack(keras, 2, [lambda: keras.layers.Normalization(), lambda: keras.layers.Dense(1)])
    model.layers[0].adapt_variance.assign([0.0, 1.0])
    model.layers[0].finalize_state()
    check(model, tmp_path, 1e-9)


def test_functional_with_operations(keras: Any, tmp_path: Path) -> None:
    """Keras itself cannot load such an .h5 again, so only .keras is compared."""
    ops = keras.ops
    with precision(keras):
        start = x = keras.Input((3,))
        for act in (
            ops.tanh,
            ops.sin,
            ops.arctan,
            ops.erf,
            ops.exp,
            ops.relu,
            ops.sigmoid,
            ops.silu,
            ops.softplus,
            lambda z: ops.gelu(z, approximate=True),
            lambda z: ops.gelu(z, approximate=False),
            lambda z: ops.leaky_relu(z, negative_slope=0.3),
        ):
            x = act(keras.layers.Dense(4)(x))
        model = shaken(keras.Model(start, x))
    net = check(model, tmp_path)
    assert [layer.activation for layer in net.layers][-3:] == ["gelu_tanh", "gelu", "leaky_relu"]


def test_functional_shared_nested_and_flat(keras: Any, tmp_path: Path) -> None:
    L = keras.layers
    with precision(keras):
        inner = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="tanh"), L.Dense(4)], name="inner")
        side = keras.Input((4,))
        graph = keras.Model(side, inner(L.Dense(4, activation="silu", name="deep")(side)), name="graph")
        again = L.Dense(4, activation="sigmoid")
        start = keras.Input((2, 3))
        x = L.Dense(4)(L.Flatten()(start))
        x = again(L.BatchNormalization()(again(x)))
        x = graph(again(graph(x)))
        model = shaken(keras.Model(start, L.Dense(2)(x)))
    net = check(model, tmp_path)
    assert net.inputs == 6
    assert "inputs of shape (2, 3) are taken flat, the last axis fastest" in net.notes


def test_nested_sequential(keras: Any, tmp_path: Path) -> None:
    L = keras.layers

    def block(n: int) -> Callable[[], Any]:
        return lambda: keras.Sequential([L.Dense(n, activation="tanh"), L.BatchNormalization(), L.Dense(n)])

    check(stack(keras, 3, [block(4), lambda: L.Dense(2), block(5), block(2)]), tmp_path)


def test_axes_of_length_one(keras: Any, tmp_path: Path) -> None:
    L = keras.layers
    check(
        stack(keras, 3, [lambda: L.Reshape((1, 3)), lambda: L.Dense(4, activation="tanh"), lambda: L.Dense(2)]),
        tmp_path,
    )


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float16", 1e-2), ("bfloat16", 1e-1)])
def test_weights_exactly_as_stored(keras: Any, tmp_path: Path, dtype: str, tolerance: float) -> None:
    dense = keras.layers.Dense
    model = stack(keras, 3, [lambda: dense(5, activation="tanh"), lambda: dense(2)], dtype)
    net = check(model, tmp_path, tolerance)
    assert len([note for note in net.notes if f"Keras rounds values here ({dtype})" in note]) == 2 * dtype.endswith(
        "t16"
    )
    for layer, stored in zip(net.layers, model.layers, strict=True):
        kernel, bias = (w.value.detach().double().numpy() for w in stored.weights)
        np.testing.assert_array_equal(layer.A, kernel.T)
        np.testing.assert_array_equal(layer.b, bias)


def test_trained(keras: Any, tmp_path: Path) -> None:
    """After training there is an optimiser in the file, too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.sin(X[:, :1]) * X[:, 1:]
    model = stack(keras, 2, [lambda: keras.layers.Dense(16, activation="tanh"), lambda: keras.layers.Dense(1)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.compile(optimizer="adam", loss="mse")
        losses = model.fit(X, y, epochs=6, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    check(model, tmp_path)


def tf_keras_file(path: Path, functional: bool) -> tuple[Path, Callable[[np.ndarray], np.ndarray]]:
    """A file as tf.keras 2 writes it, by hand: names end in :0, shapes and calls are spelt differently."""
    rng = np.random.default_rng(3)
    W1, b1, W2 = rng.normal(size=(3, 4)), rng.normal(size=4), rng.normal(size=(4, 2))
    gamma, beta, mean, variance = rng.normal(size=(4, 4)) ** 2
    weights = {
        "dense": {"dense/kernel:0": W1, "dense/bias:0": b1},
        "batch_normalization": {
            f"batch_normalization/{name}:0": value
            for name, value in zip(
                ("gamma", "beta", "moving_mean", "moving_variance"), (gamma, beta, mean, variance), strict=True
            )
        },
        "leaky_re_lu": {},
        "out/put": {"out/put/kernel:0": W2},
    }
    layers = [
        (
            "Dense",
            {"name": "dense", "units": 4, "activation": "linear", "use_bias": True, "batch_input_shape": [None, 3]},
        ),
        (
            "BatchNormalization",
            {"name": "batch_normalization", "axis": [1], "epsilon": 0.001, "center": True, "scale": True},
        ),
        ("LeakyReLU", {"name": "leaky_re_lu", "alpha": 0.25}),
        ("Dense", {"name": "out/put", "units": 2, "activation": "swish", "use_bias": False}),
    ]
    entries: list[dict[str, Any]] = [{"class_name": kind, "config": config} for kind, config in layers]
    config: dict[str, Any] = {"name": "net", "layers": entries}
    if functional:
        entries.insert(0, {"class_name": "InputLayer", "config": {"name": "x", "batch_input_shape": [None, 3]}})
        for before, entry in zip([None, *entries], entries, strict=False):
            entry["name"] = entry["config"]["name"]
            entry["inbound_nodes"] = [[[before["name"], 0, 0, {}]]] if before else []
        config |= {"input_layers": [["x", 0, 0]], "output_layers": [["out/put", 0, 0]]}
    with h5py.File(path, "w") as file:
        kind = "Functional" if functional else "Sequential"
        file.attrs["model_config"] = json.dumps({"class_name": kind, "config": config}).encode()
        group = file.create_group("model_weights")
        group.attrs["layer_names"] = [name.encode() for name in weights]
        for name, arrays in weights.items():
            part = group.create_group(name)
            part.attrs["weight_names"] = [key.encode() for key in arrays]
            for key, array in arrays.items():
                part.create_dataset(key, data=array)

    def expected(X: np.ndarray) -> np.ndarray:
        z = gamma * (X @ W1 + b1 - mean) / np.sqrt(variance + 0.001) + beta
        z = np.where(z > 0, z, 0.25 * z) @ W2
        return z / (1 + np.exp(-z))

    return path, expected


@pytest.mark.parametrize("functional", [False, True])
def test_a_file_of_tf_keras(tmp_path: Path, functional: bool) -> None:
    path, expected = tf_keras_file(tmp_path / "old.h5", functional)
    X = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_allclose(network(path)(X), expected(X), rtol=1e-12, atol=1e-12)
    path.rename(tmp_path / "old.keras")  # what tf.keras before 2.12 made of that suffix
    np.testing.assert_allclose(network(tmp_path / "old.keras")(X), expected(X), rtol=1e-12, atol=1e-12)


def test_a_file_is_told_by_its_first_bytes(keras: Any, tmp_path: Path) -> None:
    model = stack(keras, 2, [lambda: keras.layers.Dense(3, activation="tanh")])
    for suffix in (".keras", ".h5"):
        save(model, tmp_path / f"net{suffix}").rename(tmp_path / "net")
        assert network(str(tmp_path / "net")).sizes == (2, 3)


def test_a_deflated_archive(keras: Any, tmp_path: Path) -> None:
    """Somebody unpacked it and packed it again."""
    model = stack(keras, 2, [lambda: keras.layers.Dense(3, activation="tanh")])
    path = save(model, tmp_path / "net.keras")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "again.keras", "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    np.testing.assert_array_equal(network(tmp_path / "again.keras").layers[0].A, network(path).layers[0].A)
