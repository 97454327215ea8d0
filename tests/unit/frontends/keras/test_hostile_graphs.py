"""Keras files of graphs that are damaged or want to do harm: one clear error each, in little time and memory."""

from __future__ import annotations

import copy
import json
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from integraph.errors import FileError, IntegraphError, SourceError
from integraph.frontends import read
from integraph.targets import Network
from integraph.targets.graph import Graph
from keras_files import Config, archive
from keras_models import graph_model, save
from lazy import needs
from refusals import outcome

pytestmark = needs("h5py")
FAR = 2_000_000_000
ODD = (None, True, -1, 0, FAR, 10**400, float("nan"), "a/b", [[]], [None], [1, 2], {"class_name": []})


def alone(kind: str, shape: list[int], module: str = "keras.layers", **settings: Any) -> Config:
    """A model of one layer without weights, called with the input and, if given, with `more`."""
    more = settings.pop("more", [])
    tensor = {"class_name": "__keras_tensor__", "config": {"keras_history": ["x", 0, 0]}}
    layers = [
        {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, *shape]}, "inbound_nodes": []},
        {
            "module": module,
            "class_name": kind,
            "config": {"name": "y", **settings},
            "inbound_nodes": [{"args": [tensor, *more], "kwargs": {}}],
        },
    ]
    ends = {"input_layers": ["x", 0, 0], "output_layers": ["y", 0, 0]}
    return {"class_name": "Functional", "config": {"name": "net", "layers": layers, **ends}}


NUMPY = "keras.src.ops.numpy"
LARGE: dict[str, tuple[Config, str]] = {
    "repeat": (alone("RepeatVector", [3], n=FAR), "at most|unfolds too far"),
    "zeros": (alone("ZeroPadding1D", [3, 2], padding=FAR), "unfolds too far"),
    "zeros of two axes": (alone("ZeroPadding2D", [3, 2, 1], padding=[[FAR, 0], [0, FAR]]), "unfolds too far"),
    "repeated entries": (alone("UpSampling2D", [3, 2, 1], size=[FAR, 2]), "unfolds too far"),
    "window": (alone("AveragePooling1D", [3, 2], pool_size=FAR, strides=FAR, padding="same"), "unfolds too far"),
    "maximum": (alone("MaxPooling1D", [3, 2], pool_size=FAR, padding="same"), "unfolds too far"),
    "window that does not fit": (alone("MaxPooling1D", [3, 2], pool_size=FAR), "does not fit"),
    "reshape": (alone("Reshape", [4], NUMPY, newshape=[1, FAR]), "gives shape"),
    "axis": (alone("Sum", [4], NUMPY, axis=10**12), "needs a whole number"),
    "numbers": (alone("Add", [4], NUMPY, more=[[1e999]]), "not finite|inf|−∞"),
    "text": (alone("Add", [4], NUMPY, more=["x"]), "is called with 'x' where a tensor belongs"),
    "code": (alone("Add", [4], NUMPY, more=[{"class_name": "__lambda__", "config": {"value": "x"}}]), "not read"),
    "operation that is a layer": (alone("Average", [4], NUMPY), r"\(Average\) is not supported: of keras.ops"),
    "slice": (
        alone("GetItem", [4], NUMPY, more=[[{"class_name": "__slice__", "config": {"step": 0}}]]),
        "a step not 0",
    ),
    "deep lists": (alone("Add", [4], NUMPY, more=[json.loads("[" * 40 + "]" * 40)]), "nested more than 16 deep"),
}


@pytest.mark.parametrize("name", LARGE)
def test_small_files_that_ask_for_much(tmp_path: Path, name: str) -> None:
    config, message = LARGE[name]
    tracemalloc.start()
    with pytest.raises((FileError, SourceError), match=message):
        read(archive(tmp_path / "a.keras", config))
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


def mixed(keras: Any) -> Any:
    """A model with a layer of every subject."""
    L = keras.layers

    def make(image: Any, tokens: Any) -> list[Any]:
        x = L.GroupNormalization(2)(L.MaxPooling2D(2)(L.Conv2D(4, 3, padding="same")(image)))
        x = L.Reshape((4, -1))(L.Permute((3, 1, 2))(L.ZeroPadding2D(1)(L.PReLU(shared_axes=[1, 2])(x))))
        y = L.LayerNormalization()(L.MultiHeadAttention(2, 3)(tokens, tokens, use_causal_mask=True) + tokens)
        z = L.Concatenate()([x, L.Attention(use_scale=True)([y, tokens])])
        w = keras.ops.softmax(keras.ops.mean(z[:, 1:3, ::2], axis=1) * 2.0, axis=-1)
        return [L.Dense(3, activation="selu")(w), L.Dot(axes=1)([w, w])]

    return graph_model(keras, [(6, 6, 2), (4, 6)], make)


def leaves(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, value in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
        yield (*path, key)
        yield from leaves(value, (*path, key))


@pytest.mark.slow
def test_any_part_of_a_graph_may_be_anything(keras: Any, tmp_path: Path) -> None:
    """Never another exception than ours."""
    with zipfile.ZipFile(save(mixed(keras), tmp_path / "net.keras")) as file:
        good, weights = json.loads(file.read("config.json")), file.read("model.weights.h5")
    places, rng = list(leaves(good)), np.random.default_rng(0)
    kinds = set()
    for _ in range(400):
        *path, last = places[rng.integers(len(places))]
        config = copy.deepcopy(good)
        here: Any = config
        for key in path:
            here = here[key]
        here[last] = ODD[rng.integers(len(ODD))]
        result = outcome(read, archive(tmp_path / "a.keras", json.dumps(config), weights))
        assert isinstance(result, Network | Graph) or str(result).startswith("a.keras: ")
        kinds.add(isinstance(result, IntegraphError))
    assert kinds == {True, False}
