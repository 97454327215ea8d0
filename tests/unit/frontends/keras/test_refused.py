"""Keras models that are not read: one clear error each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from integraph.errors import FileError, SourceError
from integraph.frontends import network, read
from integraph.targets.graph import Graph
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


def gated(keras: Any) -> Any:
    x = keras.Input((3, 4))
    return keras.Model(x, keras.layers.MultiHeadAttention(1, 2, use_gate=True)(x, x))


def tokens(keras: Any) -> Any:
    return keras.Sequential([keras.Input((3,), dtype="int32"), keras.layers.Embedding(5, 2)])


def operation(keras: Any, apply: Callable[[Any], Any]) -> Any:
    x = keras.Input((3,))
    return keras.Model(x, apply(x))


def mystery(x: Any) -> Any:
    return x * x


def sequential(*layers: Callable[[Any], Any], shape: tuple[int, ...] = (2,)) -> Callable[[Any], Any]:
    return lambda keras: keras.Sequential([keras.Input(shape), *(make(keras.layers) for make in layers)])


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "lambda": (sequential(lambda L: L.Lambda(lambda x: x)), r"\(Lambda\) is not supported: it holds code"),
    "LSTM": (sequential(lambda L: L.LSTM(2), shape=(4, 3)), r"\(LSTM\) is not supported: it is recurrent: unroll it"),
    "Conv3D": (sequential(lambda L: L.Conv3D(1, 1), shape=(2, 2, 2, 1)), r"\(Conv3D\) is not supported: supported are"),
    "function": (sequential(lambda L: L.Dense(1, activation=mystery)), "activation 'mystery', which is not Keras' own"),
    "hard_shrink": (sequential(lambda L: L.Dense(1, activation="hard_shrink")), "'hard_shrink': it jumps"),
    "sparsemax": (sequential(lambda L: L.Dense(3, activation="sparsemax")), "'sparsemax': it sorts"),
    "threshold": (sequential(lambda L: L.ReLU(threshold=0.5)), "has a threshold, where it jumps"),
    "bicubic": (
        sequential(lambda L: L.UpSampling2D(interpolation="bicubic"), shape=(2, 2, 1)),
        "interpolation of .* is 'bicubic': known are nearest, bilinear",
    ),
    "output padding": (
        sequential(lambda L: L.Conv1DTranspose(2, 3, strides=2, output_padding=1), shape=(4, 2)),
        "has an output_padding: leave it out",
    ),
    "a layer of each step": (
        sequential(lambda L: L.TimeDistributed(L.Conv1D(2, 3)), shape=(2, 4, 3)),
        r"\(TimeDistributed\) repeats a 'Conv1D': read are Activation, Dense",
    ),
    "a product entry by entry": (
        sequential(lambda L: L.EinsumDense("abc,bc->abc", (4, 3)), shape=(4, 3)),
        "read is a sum over all letters that tensor and kernel share",
    ),
    "gate": (gated, "has a gate, which is not read"),
    "tokens": (tokens, "takes int32.*compile the part after the embedding"),
    "looked up": (sequential(lambda L: L.Embedding(5, 2), shape=(3,)), "looks up tokens that come in"),
    "argmax": (lambda keras: operation(keras, keras.ops.argmax), r"\(Argmax\) is not supported: of keras.ops"),
    "mean of all": (lambda keras: operation(keras, keras.ops.mean), "takes the rows of the batch together"),
    "a row": (lambda keras: operation(keras, lambda x: x[0]), "the first axis is the batch"),
    "product of batches": (lambda keras: operation(keras, lambda x: keras.ops.matmul(x, x)), "of which rows meet"),
    "unknown size": (
        sequential(lambda L: L.Dense(2), shape=(None, 3)),
        "every size but that of the batch must be known",
    ),
    "custom layer": (custom_layer, "of the class"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_refused(keras: Any, tmp_path: Path, name: str, suffix: str) -> None:
    """As a net and as a graph."""
    make, message = REFUSED[name]
    path = save(make(keras), tmp_path / f"net{suffix}")
    for reader in (network, read):
        with pytest.raises(SourceError, match=message) as caught:
            reader(path)
        assert path.name in str(caught.value)


GRAPHS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "softmax": (sequential(lambda L: L.Dense(3, activation="softmax")), "compile the raw outputs"),
    "Softmax": (sequential(lambda L: L.Dense(3), lambda L: L.Softmax()), "compile the raw outputs"),
    "selu": (sequential(lambda L: L.Dense(3, activation="selu")), "no part of a feedforward net"),
    "ReLU6": (sequential(lambda L: L.ReLU(max_value=6)), "no part of a feedforward net"),
    "convolution": (sequential(lambda L: L.Conv1D(2, 1), shape=(4, 3)), r"\(Conv1D\) multiplies shapes"),
    "dense on an axis": (sequential(lambda L: L.Dense(2), shape=(4, 3)), "takes all 12 features at once"),
    "two inputs": (two_inputs, "the graph has several inputs"),
    "two outputs": (two_outputs, "has 2 outputs: a network has one"),
    "residual": (residual, r"\(Add\) combines two computed tensors"),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_what_is_no_net_is_a_graph(keras: Any, tmp_path: Path, name: str) -> None:
    make, message = GRAPHS[name]
    path = save(make(keras), tmp_path / "net.keras")
    with pytest.raises(SourceError, match=message):
        network(path)
    assert isinstance(read(path), Graph)


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
