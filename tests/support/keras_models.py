"""Models of Keras on its torch backend: saved, and evaluated in the precision of their arguments."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
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
