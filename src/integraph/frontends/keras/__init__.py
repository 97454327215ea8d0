"""Keras files, without Keras: `.keras` (a zip of JSON and HDF5) and the older `.h5`. Nothing in them is executed.

Read `archive` and `hdf5` (files that are not trusted), `configuration` (the layers in their order),
`weights` (where each layer keeps its numbers), `layers` (one rule for a class), `activation_names`. h5py is the only
foreign package.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

from integraph.errors import FileError
from integraph.frontends.chain import network
from integraph.frontends.files import named_errors
from integraph.frontends.keras import layers
from integraph.frontends.keras.archive import members
from integraph.frontends.keras.configuration import parts
from integraph.frontends.keras.hdf5 import TEXT, Hdf5Group, opened
from integraph.frontends.keras.weights import NamedWeights, NumberedWeights, Weights
from integraph.targets import Network

LARGEST = 2 << 30
CONFIG, WEIGHTS = "config.json", "model.weights.h5"
ZIP = b"PK\x03\x04"
OLD = "_layer_checkpoint_dependencies"  # where tf.keras 2.12 and 2.13 put layers


def read(source: str | os.PathLike[str], max_bytes: int = LARGEST) -> Network:
    """The network in a `.keras` or `.h5` file of at most `max_bytes`, packed or unpacked."""
    path = Path(source)
    with named_errors(path):
        size = path.stat().st_size
        if size > max_bytes:
            raise FileError(f"it has {size} bytes, at most {max_bytes} are read (max_bytes)")
        with path.open("rb") as file:
            zipped = file.read(len(ZIP)) == ZIP
        return _zipped(path, max_bytes) if zipped else _legacy(path, size)


def _zipped(path: Path, max_bytes: int) -> Network:
    config, weights = members(path, {CONFIG: TEXT, WEIGHTS: max_bytes})
    with opened(io.BytesIO(weights), len(weights), WEIGHTS) as root:
        if root.open("layers") is None and root.open(OLD):
            raise FileError("it is from an early tf.keras, which put weights elsewhere: save it again with Keras 3")
        return _network(config, NumberedWeights(root), path)


def _legacy(path: Path, size: int) -> Network:
    with opened(os.fspath(path), size, "the file") as root:
        return _network(_model_config(root), NamedWeights(root), path)


def _model_config(root: Hdf5Group) -> str:
    config = root.text("model_config")
    if config is None:
        raise FileError("it holds no model_config, perhaps weights only: save the whole model, model.save('net.keras')")
    return config


def _network(config: str | bytes, weights: Weights, path: Path) -> Network:
    chain = layers.read(parts(_parsed(config)), weights)
    return network(chain.steps, chain.features, f"Keras file {path.name}", chain.notes)


def _parsed(config: str | bytes) -> Any:
    try:
        return json.loads(config)
    except RecursionError:
        raise FileError("its configuration is nested too deep") from None
    except ValueError as reason:
        raise FileError(f"its configuration is not JSON: {reason}") from None
