"""Keras models that are not read: one clear error each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from integraph.errors import FileError, SourceError
from integraph.frontends import network
from keras_models import save, shaken, stack


def two_inputs(keras: Any) -> Any:
    a, b = keras.Input((2,)), keras.Input((2,))
    return keras.Model([a, b], keras.layers.Dense(1)(keras.layers.Add()([a, b])))


def two_outputs(keras: Any) -> Any:
    a = keras.Input((2,))
    return keras.Model(a, [keras.layers.Dense(1)(a), keras.layers.Dense(2)(a)])


def residual(keras: Any) -> Any:
    a = keras.Input((2,))
    return keras.Model(a, keras.layers.Add()([a, keras.layers.Dense(2)(a)]))


def custom_layer(keras: Any) -> Any:
    @keras.saving.register_keras_serializable("mine")
    class Dense(keras.layers.Dense):
        pass

    return keras.Sequential([keras.Input((2,)), Dense(3)])


def mystery(x: Any) -> Any:
    return x * x


def sequential(*layers: Callable[[Any], Any], shape: tuple[int, ...] = (2,)) -> Callable[[Any], Any]:
    return lambda keras: keras.Sequential([keras.Input(shape), *(make(keras.layers) for make in layers)])


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "softmax": (sequential(lambda L: L.Dense(3, activation="softmax")), "compile the raw outputs"),
    "Softmax": (sequential(lambda L: L.Dense(3), lambda L: L.Softmax()), "compile the raw outputs"),
    "selu": (sequential(lambda L: L.Dense(3, activation="selu")), "has the activation 'selu': known are"),
    "ELU": (sequential(lambda L: L.ELU()), r"\(ELU\) is not supported: supported are Activation"),
    "ReLU6": (sequential(lambda L: L.ReLU(max_value=6)), "max_value or a threshold"),
    "convolution": (sequential(lambda L: L.Conv1D(2, 1), shape=(4, 3)), r"\(Conv1D\) is not supported"),
    "lambda": (sequential(lambda L: L.Lambda(lambda x: x)), r"\(Lambda\) is not supported"),
    "function": (sequential(lambda L: L.Dense(1, activation=mystery)), "activation 'mystery', which is not Keras' own"),
    "dense on an axis": (sequential(lambda L: L.Dense(2), shape=(4, 3)), r"shape \(4, 3\): put Flatten before it"),
    "axis": (sequential(lambda L: L.Normalization(axis=None)), r"has axis \[\]: only the last one"),
    "other axis": (sequential(lambda L: L.BatchNormalization(axis=1), shape=(4, 3)), "has axis 1: only the last one"),
    "unknown size": (
        sequential(lambda L: L.Dense(2), shape=(None, 3)),
        "every size but that of the batch must be known",
    ),
    "channels first": (sequential(lambda L: L.Flatten(data_format="channels_first"), shape=(4, 3)), "channels_first"),
    "two inputs": (two_inputs, "the model has 2 inputs"),
    "two outputs": (two_outputs, "the model has 2 outputs"),
    "residual": (residual, "every layer takes one input"),
    "custom layer": (custom_layer, "of the class"),
    "PReLU": (sequential(lambda L: L.PReLU()), r"\(PReLU\) is not supported"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_refused(keras: Any, tmp_path: Path, name: str, suffix: str) -> None:
    make, message = REFUSED[name]
    path = save(make(keras), tmp_path / f"net{suffix}")
    with pytest.raises(SourceError, match=message) as caught:
        network(path)
    assert path.name in str(caught.value)


@pytest.mark.slow
def test_quantised_is_refused(keras: Any, tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.quantize("int8")
    with pytest.raises(SourceError, match="is quantised"):
        network(save(model, tmp_path / "net.keras"))


def test_dropout_in_training_mode_is_refused(keras: Any, tmp_path: Path) -> None:
    x = keras.Input((2,))
    model = keras.Model(x, keras.layers.Dropout(0.5)(keras.layers.Dense(2)(x), training=True))
    with pytest.raises(SourceError, match=r"is called with .*training.*: True"):
        network(save(model, tmp_path / "net.keras"))


def test_lora_is_joined_or_refused(keras: Any, tmp_path: Path) -> None:
    model = stack(keras, 3, [lambda: keras.layers.Dense(4, activation="tanh"), lambda: keras.layers.Dense(2)])
    model.layers[0].enable_lora(2)
    shaken(model, 3)
    with pytest.raises(FileError, match="LoRA"):
        network(save(model, tmp_path / "net.h5"))


def test_inputs_that_are_rounded_are_refused(keras: Any, tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,), dtype="int32"), keras.layers.Dense(2)])
    with pytest.raises(SourceError, match="takes int32"):
        network(save(model, tmp_path / "net.keras"))
