"""Keras models that are graphs, as people write them: residuals, attention, convolutions, models inside models."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import SourceError
from integraph.frontends import network, read
from integraph.targets import Network
from integraph.targets.graph import Graph
from keras_files import archive
from keras_models import agree, graph_model, outputs, precision, save, shaken, stack
from lazy import framework


def encoder(keras: Any, x: Any) -> Any:
    """A block of a transformer, before which its values are normalised, and a gate."""
    L = keras.layers
    y = L.LayerNormalization()(x)
    x = x + L.MultiHeadAttention(2, 3)(y, y, use_causal_mask=True)
    y = L.Dense(8, activation="gelu")(L.LayerNormalization()(x))
    return x + L.Multiply()([L.Dense(4)(y), keras.ops.sigmoid(L.Dense(4)(y))])


@pytest.mark.slow
def test_a_transformer_block(keras: Any, tmp_path: Path) -> None:
    model = graph_model(keras, [(5, 4)], lambda x: encoder(keras, encoder(keras, x)))
    agree(model, tmp_path)


def test_a_residual_net_compiles_exactly(keras: Any, tmp_path: Path) -> None:
    def make(x: Any) -> Any:
        for _ in range(2):
            x = keras.layers.Add()([x, keras.layers.Dense(3, activation="tanh")(x)])
        return keras.layers.Dense(1)(x)

    model = graph_model(keras, [(3,)], make)
    path = save(model, tmp_path / "net.keras")
    program = integraph.compile(path, box=(-1, 1))
    X = np.random.default_rng(0).uniform(-1, 1, (20, 3))
    np.testing.assert_allclose(program(X), outputs(model, X), rtol=1e-12, atol=1e-12)


def test_inputs_and_outputs_are_flat_one_after_the_other(keras: Any, tmp_path: Path) -> None:
    L = keras.layers
    model = graph_model(keras, [(2, 3), (4,)], lambda a, b: [L.Dense(2)(b), L.Dense(1)(L.Flatten()(a)), a])
    graph = agree(model, tmp_path)
    assert (graph.inputs, graph.sizes) == (10, 9)
    assert "the 2 inputs of the model are one flat input, one after the other: 6, 4" in graph.notes
    assert any(note.startswith("inputs of shape (2, 3) are taken flat") for note in graph.notes)


def test_shared_layers_and_models_inside(keras: Any, tmp_path: Path) -> None:
    """A layer is called twice, a model with two inputs and two outputs too, and one is in another."""
    L = keras.layers
    with precision(keras):
        a, b = keras.Input((4,)), keras.Input((4,))
        shared = L.Dense(4, activation="tanh")
        pair = keras.Model([a, b], [shared(a) + b, shared(b) * a], name="pair")
        inner = keras.Sequential([keras.Input((4,)), L.Dense(4, activation="silu"), L.LayerNormalization()])
        x = keras.Input((4,))
        p, q = pair([x, inner(x)])
        p, q = pair([q, inner(p)])
        model = shaken(keras.Model(x, [p, q]))
    agree(model, tmp_path)


def test_a_net_in_memory_is_the_net_of_its_file(keras: Any, tmp_path: Path) -> None:
    model = stack(keras, 3, [lambda: keras.layers.Dense(5, activation="tanh"), lambda: keras.layers.Dense(2)])
    stored, direct = network(save(model, tmp_path / "net.keras")), network(model)
    for one, other in zip(stored.layers, direct.layers, strict=True):
        np.testing.assert_array_equal(one.A, other.A)
        np.testing.assert_array_equal(one.b, other.b)
    assert isinstance(read(model), Network)
    assert direct.source == f"Keras model {model.name}"


def test_a_layer_alone_is_no_model(keras: Any) -> None:
    with pytest.raises(SourceError, match="a Keras Dense is one layer: put it into a model"):
        read(keras.layers.Dense(3))


def test_a_model_that_cannot_be_saved(keras: Any) -> None:
    class Broken(keras.Model):  # type: ignore[misc, name-defined]
        def get_config(self) -> Any:
            raise ValueError("no settings")

    with pytest.raises(SourceError, match=r"the Keras Broken cannot be saved, and so not be read: .*no settings"):
        read(Broken())


def test_a_model_of_another_class(keras: Any) -> None:
    class Mine(keras.Model):  # type: ignore[misc, name-defined]
        def call(self, x: Any) -> Any:
            return x * x

    model = Mine()
    model(np.zeros((1, 2)))
    with pytest.raises(SourceError, match=r"the model is of class Mine: only Keras' own .* convert it to .onnx"):
        read(model)


def test_calls_of_models_inside_in_tf_keras(tmp_path: Path) -> None:
    """They are numbered from 1, since the model itself is its first node: f(x) − f(f(x)) of f(x) = 2x + 1."""
    framework("h5py")
    start = {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 3]}}
    scale = {"class_name": "Rescaling", "config": {"name": "scale", "scale": 2.0, "offset": 1.0}}
    inner = {"class_name": "Sequential", "config": {"name": "f", "layers": [start, scale]}}
    layers = [
        {**start, "inbound_nodes": []},
        {**inner, "name": "f", "inbound_nodes": [[["x", 0, 0, {}]], [["f", 1, 0, {}]]]},
        {
            "class_name": "Subtract",
            "config": {"name": "y", "trainable": True},
            "inbound_nodes": [[["f", 1, 0, {}], ["f", 2, 0, {}]]],
        },
    ]
    ends = {"input_layers": [["x", 0, 0]], "output_layers": [["y", 0, 0], ["f", 2, 0]]}
    path = archive(
        tmp_path / "a.keras", {"class_name": "Functional", "config": {"name": "g", "layers": layers, **ends}}
    )
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(integraph.graph(path).values(x)[0], [*(-2 * x - 2), *(4 * x + 3)])


@pytest.mark.slow
def test_digits(keras: Any, tmp_path: Path) -> None:
    """A convolutional net, trained on scikit-learn's digits, with averages and a maximum."""
    X, y = framework("sklearn.datasets").load_digits(return_X_y=True)
    X = X.reshape(-1, 8, 8, 1) / 16.0
    L = keras.layers
    with precision(keras), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        keras.utils.set_random_seed(0)
        model = keras.Sequential(
            [
                keras.Input((8, 8, 1)),
                L.Conv2D(6, 3, padding="same", activation="tanh"),
                L.AveragePooling2D(2),
                L.Conv2D(12, 3, activation="tanh"),
                L.BatchNormalization(),
                L.Flatten(),
                L.Dense(10, activation="softmax"),
            ]
        )
        model.compile(optimizer=keras.optimizers.Adam(0.02), loss="sparse_categorical_crossentropy")
        model.fit(X[:1500], y[:1500], epochs=3, batch_size=64, verbose=0)
    expected = outputs(model, X[1500:])
    assert (expected.argmax(1) == y[1500:]).mean() > 0.6
    program = integraph.compile(model, box=(0, 1))
    got = program(X[1500:].reshape(-1, 64))
    assert isinstance(read(save(model, tmp_path / "digits.keras")), Graph)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
