"""Models of Keras on its torch backend: saved, and evaluated in the precision of their arguments."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np


def save(model: Any, path: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # .h5 is called legacy
        model.save(path)
    return path


def outputs(model: Any, X: np.ndarray) -> np.ndarray:
    keras = importlib.import_module("keras")
    with warnings.catch_warnings(), precision(keras, X.dtype.name):  # which is what arrays are cast to
        warnings.simplefilter("ignore")
        return np.asarray(model(X, training=False).detach().double().numpy()).reshape(len(X), -1)


@contextmanager
def precision(keras: Any, dtype: str = "float64") -> Iterator[None]:
    """The dtype of what is made or called inside. Keras multiplies in float32 unless its table is changed."""
    table = importlib.import_module("keras.src.backend.common.dtypes").BIT64_TO_BIT32_DTYPE
    keras.config.set_floatx(dtype)
    keras.config.set_dtype_policy(dtype)
    try:
        with mock.patch.dict(table, {"float64": "float64"}):
            yield
    finally:
        keras.config.set_floatx("float32")
        keras.config.set_dtype_policy("float32")


def shaken(model: Any, seed: int = 0, size: float = 1.0) -> Any:
    """Every weight random, biases too; variances stay positive."""
    rng = np.random.default_rng(seed)
    for variable in model.weights:
        if variable.name == "count":
            continue
        value = size * rng.normal(size=variable.shape) / np.sqrt(max((1, *variable.shape[:1])))
        variable.assign(np.abs(value) + 0.1 if "variance" in variable.name else value)
    for layer in model.layers:
        if hasattr(layer, "finalize_state"):
            layer.finalize_state()
        if hasattr(layer, "layers"):
            shaken(layer, seed + 1, size)
    return model


def stack(keras: Any, d: int, layers: list[Callable[[], Any]], dtype: str = "float64") -> Any:
    """Layers are made by functions, so that all have the dtype."""
    with precision(keras, dtype):
        return shaken(keras.Sequential([keras.Input((d,)), *(make() for make in layers)]))


def graph_model(keras: Any, shapes: list[tuple[int, ...]], make: Callable[..., Any]) -> Any:
    """A Functional model with random weights, in float64, of inputs with these shapes."""
    with precision(keras), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs = [keras.Input(shape) for shape in shapes]
        return shaken(keras.Model(inputs if len(inputs) > 1 else inputs[0], make(*inputs)))


def agree(model: Any, folder: Path, tolerance: float = 1e-12) -> Any:
    """The graph of a model: of both kinds of file, and of the model itself, the same as Keras computes."""
    keras = importlib.import_module("keras")
    integraph = importlib.import_module("integraph")
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(5, *tensor.shape[1:])) for tensor in model.inputs]
    with warnings.catch_warnings(), precision(keras):
        warnings.simplefilter("ignore")
        values = model(X if len(X) > 1 else X[0], training=False)
    parts = values if isinstance(values, list | tuple) else [values]
    expected = np.concatenate([part.detach().double().numpy().reshape(5, -1) for part in parts], axis=1)
    flat = np.concatenate([x.reshape(5, -1) for x in X], axis=1)
    for source in (save(model, folder / "net.keras"), save(model, folder / "net.h5"), model):
        graph = integraph.graph(source)
        np.testing.assert_allclose(graph.values(flat), expected, rtol=tolerance, atol=tolerance)
    return graph
