"""Keras files, without Keras: `.keras` (a zip of JSON and HDF5) and the older `.h5`. Nothing in them is executed.

A file is read as a graph, by one table of layers; whether that is a feedforward net, `frontends.feedforward` says.
Read `archive` and `hdf5` (files that are not trusted), `configuration` and `arguments` (the layers, and what they are
called with), `weights` (where each layer keeps its numbers), `traversal` (call by call, from the inputs to the
outputs), `layer_call` (what a rule is given), `layers` and `operations` (the tables), then the rules by subject:
`activations`, `normalisations`, `structure`, `convolutions`, `attention`. h5py is the only foreign package. A model in
memory is saved to a file by its own Keras, and read from there.
"""

from __future__ import annotations

import io
import json
import math
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from integraph.errors import FileError, SourceError
from integraph.frontends.composer import ExactComposer
from integraph.frontends.drawn_model import DrawnModel
from integraph.frontends.files import named_errors
from integraph.frontends.keras.archive import members
from integraph.frontends.keras.configuration import model_of
from integraph.frontends.keras.hdf5 import TEXT, Hdf5Group, opened
from integraph.frontends.keras.layer_call import Reading
from integraph.frontends.keras.traversal import KerasTraversal
from integraph.frontends.keras.weights import NamedWeights, NumberedWeights, Weights
from integraph.frontends.tensor_builder import TensorBuilder
from integraph.targets import Network
from integraph.targets.graph import Graph

LARGEST = 2 << 30
UNFOLD = 1 << 26  # numbers that may be made besides those of the file
CONFIG, WEIGHTS = "config.json", "model.weights.h5"
ZIP = b"PK\x03\x04"
OLD = "_layer_checkpoint_dependencies"  # where tf.keras 2.12 and 2.13 put layers

T = TypeVar("T")


def read(source: Any, max_bytes: int = LARGEST) -> Network:
    """The network in a `.keras` or `.h5` file of at most `max_bytes`, packed or unpacked, or in a Keras model; what is
    no feedforward net is refused."""
    return _read(source, max_bytes, DrawnModel.network)


def read_either(source: Any, max_bytes: int = LARGEST) -> Network | Graph:
    """The network in a file or a model, or, where it is no feedforward net, the graph of one row of the batch.

    x is flat, the inputs one after the other in the order of the model, and so are the outputs.
    """
    return _read(source, max_bytes, DrawnModel.either)


def _read(source: Any, max_bytes: int, result: Callable[[DrawnModel], T]) -> T:
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        with named_errors(path):
            return result(_drawn(path, max_bytes, f"Keras file {path.name}"))
    with tempfile.TemporaryDirectory() as folder:
        path = _saved(source, Path(folder))
        with named_errors(Path(f"the Keras model {source.name}")):
            return result(_drawn(path, max_bytes, f"Keras model {source.name}"))


def _saved(model: Any, folder: Path) -> Path:
    """A model in memory, as its own Keras writes it. A layer alone is no model."""
    kind = type(model).__name__
    if not hasattr(model, "save"):
        raise SourceError(
            f"a Keras {kind} is one layer: put it into a model, keras.Sequential([keras.Input(…), layer])"
        )
    path = folder / "model.keras"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.save(path)
    except Exception as reason:  # whatever the model's own code raises
        raise SourceError(f"the Keras {kind} cannot be saved, and so not be read: {reason}") from None
    return path


def _drawn(path: Path, max_bytes: int, name: str) -> DrawnModel:
    size = path.stat().st_size
    if size > max_bytes:
        raise FileError(f"it has {size} bytes, at most {max_bytes} are read (max_bytes)")
    with path.open("rb") as file:
        zipped = file.read(len(ZIP)) == ZIP
    return _zipped(path, max_bytes, name) if zipped else _legacy(path, size, name)


def _zipped(path: Path, max_bytes: int, name: str) -> DrawnModel:
    config, weights = members(path, {CONFIG: TEXT, WEIGHTS: max_bytes})
    with opened(io.BytesIO(weights), len(weights), WEIGHTS) as root:
        if root.open("layers") is None and root.open(OLD):
            raise FileError("it is from an early tf.keras, which put weights elsewhere: save it again with Keras 3")
        return _drawing(config, NumberedWeights(root), name, len(weights))


def _legacy(path: Path, size: int, name: str) -> DrawnModel:
    with opened(os.fspath(path), size, "the file") as root:
        return _drawing(_model_config(root), NamedWeights(root), name, size)


def _model_config(root: Hdf5Group) -> str:
    config = root.text("model_config")
    if config is None:
        raise FileError("it holds no model_config, perhaps weights only: save the whole model, model.save('net.keras')")
    return config


def _drawing(config: str | bytes, weights: Weights, name: str, size: int) -> DrawnModel:
    budget = UNFOLD + 2 * size
    builder = TensorBuilder(ExactComposer(name), budget)
    reading = Reading(builder, weights)
    shapes, values = KerasTraversal(reading).outputs(model_of(_parsed(config)))
    outputs = [builder.node(value, "the output of the model") for value in values]
    builder.mark("the output of the model")
    for shape in shapes:
        if len(shape) > 1:
            reading.notes.append(f"inputs of shape {shape} are taken flat, the last axis fastest")
    if len(shapes) > 1:
        counts = ", ".join(str(math.prod(shape)) for shape in shapes)
        reading.notes.append(f"the {len(shapes)} inputs of the model are one flat input, one after the other: {counts}")
    return DrawnModel(builder, outputs, tuple(dict.fromkeys(reading.notes)), budget, reading.scalings)


def _parsed(config: str | bytes) -> Any:
    try:
        return json.loads(config)
    except RecursionError:
        raise FileError("its configuration is nested too deep") from None
    except ValueError as reason:
        raise FileError(f"its configuration is not JSON: {reason}") from None
