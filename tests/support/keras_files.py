"""Files of Keras, written without Keras: a net of eight layers, of which a test changes what it likes."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lazy import Lazy

h5py = Lazy("h5py")

Config = dict[str, Any]
KERNELS = {"dense": (3, 4), "dense_1": (4, 2)}


def configuration(functional: bool = False) -> Config:
    layers: list[Config] = [
        {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 3]}},
        {"class_name": "Dense", "config": {"name": "first", "units": 4, "activation": "tanh", "use_bias": True}},
        {"class_name": "Dropout", "config": {"name": "drop", "rate": 0.5}},
        {"class_name": "Dense", "config": {"name": "second", "units": 2, "activation": "linear", "use_bias": True}},
        {"class_name": "LeakyReLU", "config": {"name": "leak", "negative_slope": 0.1}},
        {"class_name": "Rescaling", "config": {"name": "scale", "scale": 2.0, "offset": 1.0}},
        {"class_name": "Reshape", "config": {"name": "shape", "trainable": True, "target_shape": [2, -1]}},
        {"class_name": "Normalization", "config": {"name": "norm", "axis": [-1], "mean": [0.0], "variance": [1.0]}},
    ]
    config: Config = {"name": "net", "layers": layers}
    if functional:
        for before, layer in zip([None, *layers], layers, strict=False):
            history = {"keras_history": [before["config"]["name"], 0, 0]} if before else None
            tensor = {"class_name": "__keras_tensor__", "config": history}
            layer["name"] = layer["config"]["name"]
            layer["inbound_nodes"] = [{"args": [tensor], "kwargs": {"mask": None}}] if before else []
        config |= {"input_layers": ["x", 0, 0], "output_layers": ["norm", 0, 0]}
    return {"module": "keras", "class_name": "Functional" if functional else "Sequential", "config": config}


def fill(root: Any) -> None:
    """Weights as .keras has them."""
    for (group, shape), name in zip(KERNELS.items(), ("first", "second"), strict=True):
        part = root.create_group(f"layers/{group}/vars")
        part.attrs["name"] = name
        part["0"], part["1"] = np.full(shape, 0.5), np.arange(float(shape[1]))


def weights(change: Callable[[Any], Any] = lambda root: None) -> bytes:
    data = io.BytesIO()
    with h5py.File(data, "w") as root:
        fill(root)
        change(root)
    return data.getvalue()


def archive(path: Path, config: Any = None, h5: bytes | None = None, **more: Any) -> Path:
    text = config if isinstance(config, str | bytes) else json.dumps(config or configuration())
    with zipfile.ZipFile(path, "w", **more) as file:
        file.writestr("metadata.json", "{}")
        file.writestr("config.json", text)
        file.writestr("model.weights.h5", weights() if h5 is None else h5)
    return path


def legacy(path: Path, change: Callable[[Any], Any] = lambda root: None, config: Any = None) -> Path:
    """The same net as .h5 has it."""
    with h5py.File(path, "w") as root:
        root.attrs["model_config"] = json.dumps(config or configuration())
        for name, shape in zip(("first", "second"), KERNELS.values(), strict=True):
            root[f"model_weights/{name}/{name}/kernel"] = np.full(shape, 0.5)
            root[f"model_weights/{name}/{name}/bias"] = np.arange(float(shape[1]))
        change(root)
    return path
