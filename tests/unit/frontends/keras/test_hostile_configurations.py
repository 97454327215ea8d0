"""Configurations of Keras files that are damaged or want to do harm: one clear error each, and soon."""

from __future__ import annotations

import copy
import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from integraph.errors import FileError, SourceError
from integraph.frontends import network
from integraph.targets import Network
from keras_files import Config, archive, configuration, weights
from lazy import needs
from refusals import outcome
from slow import mostly_slow

pytestmark = needs("h5py")


def nested(depth: int) -> Config:
    config = configuration()
    for n in range(depth):
        config = {"class_name": "Sequential", "config": {"name": f"n{n}", "layers": [config]}}
    return config


def doubling(depth: int) -> Config:
    """Each model calls the one inside twice: 2^depth layers."""
    inner: Config = {"class_name": "Dropout", "config": {"name": "in"}}
    for n in range(depth):
        first = int(n > 0)  # calls of a model are numbered from 1
        call = [[["x", 0, 0, {}]]], [[["in", first, 0, {}]]]
        start = {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 3]}, "inbound_nodes": []}
        part = {**inner, "name": "in", "inbound_nodes": [call[0][0], call[1][0]]}
        part["config"] = {**part["config"], "name": "in"}
        ends = {"input_layers": [["x", 0, 0]], "output_layers": [["in", first + 1, 0]]}
        inner = {"class_name": "Functional", "config": {"name": f"n{n}", "layers": [start, part], **ends}}
    return inner


def at(*keys: Any) -> Callable[[Config], None]:
    """Put the last of the keys at the path before it."""

    def change(config: Config) -> None:
        *path, last, value = keys
        here: Any = config
        for key in path:
            here = here[key]
        here[last] = value

    return change


def layer(number: int, *keys: Any) -> Callable[[Config], None]:
    return at("config", "layers", number, *keys)


CONFIGS: dict[str, tuple[Any, str]] = {
    "not JSON": ("{", "is not JSON"),
    "not text": (b"\xff\xfe\x00", "is not JSON"),
    "deep": ("[" * 100_000, "nested too deep"),
    "deep object": ('{"a":' * 100_000, "nested too deep"),
    "long number": ("9" * 10_000, "is not JSON"),
    "a list": ("[]", "the configuration of the model has class_name = None: needs str"),
    "null": ("null", "has class_name = None: needs str"),
    "no layers": (at("config", "layers", []), "the model has no layers"),
    "layers": (at("config", "layers", 3), "has layers = 3: needs list"),
    "a layer": (at("config", "layers", 0, 3), "has class_name = None: needs str"),
    "own class": (at("class_name", "MyModel"), "the model is of class MyModel"),
    "other module": (layer(1, "module", "os"), "class Dense from 'os': only Keras' own"),
    "registered": (layer(1, "registered_name", "mine>Dense"), "only Keras' own"),
    "module is a number": (layer(1, "module", 3), "only Keras' own"),
    "Lambda": (layer(2, "class_name", "Lambda"), r"\(Lambda\) is not supported"),
    "own layer": (layer(2, "class_name", "Custom>Mine"), "only Keras' own"),
    "units": (layer(1, "config", "units", "four"), "has units = 'four': needs int"),
    "units true": (layer(1, "config", "units", True), "has units = True: needs int"),
    "units 10^18": (layer(1, "config", "units", 10**18), r"needs \(3, 1000000000000000000\)"),
    "no name": (layer(1, "config", "name", None), "class Dense has no name"),
    "path in a name": (layer(1, "config", "name", "../../etc"), "belongs to layer 'first'"),
    "activation": (layer(1, "config", "activation", 7), "has the activation 7: known are"),
    "activation of a class": (
        layer(1, "config", "activation", {"class_name": "function", "config": "os.system"}),
        "activation 'os.system', which is not Keras' own",
    ),
    "slope": (layer(4, "config", "negative_slope", "x"), "negative_slope of layer 'leak'.* is 'x': needs a number"),
    "slope missing": (layer(4, "config", {"name": "leak"}), "negative_slope of layer 'leak'.* is None"),
    "slope NaN": (layer(4, "config", "negative_slope", float("nan")), "negative_slope of .* is nan: it must be finite"),
    "slope large": (layer(4, "config", "negative_slope", 10**400), "float64 can hold"),
    "scale": (layer(5, "config", "scale", "x"), "scale of layer 'scale'.* must be numbers"),
    "scale NaN": (layer(5, "config", "scale", float("nan")), "not finite"),
    "variance": (layer(7, "config", "variance", [-1.0]), "variance that is negative or not finite: -1.0"),
    "variance NaN": (layer(7, "config", "variance", [float("nan")]), r"variance \[0\] is nan: it is not finite"),
    "no mean": (layer(7, "config", "mean", None), "layer 'norm'.*must be numbers"),
    "built for others": (
        at("config", "build_input_shape", [None, 9]),
        r"takes values of shape \(3,\), but \(9,\) come in",
    ),
    "scale of a wrong length": (layer(5, "config", "scale", [1, 2, 3]), r"\(3,\) factors for values of shape \(2,\)"),
    "target shape": (layer(6, "config", "target_shape", [3, -1]), "reshapes 2 values to .*: these do not fit"),
    "target shape 0": (layer(6, "config", "target_shape", [0]), "needs sizes"),
    "target shape text": (layer(6, "config", "target_shape", ["a"]), "needs sizes"),
    "batch shape": (layer(0, "config", "batch_shape", "x"), "must be known"),
    "batch shape 0": (layer(0, "config", "batch_shape", [None, 0]), "must be known"),
    "other inputs": (layer(0, "config", "batch_shape", [None, 5]), r"needs \(5, 4\)"),
    "wide": (layer(0, "config", "batch_shape", [None, 10**6]), r"needs \(1000000, 4\)"),
    "very wide": (layer(0, "config", "batch_shape", [None, 10**5, 10**5]), "at most 1048576 inputs are accepted"),
    "models in models": (nested(40), "more than 32 deep"),
    "doubling": (doubling(30), "more than 10000 layers"),
}


@mostly_slow("name", CONFIGS, quick=10)
def test_configurations(tmp_path: Path, name: str) -> None:
    given, message = CONFIGS[name]
    if callable(given):
        config = configuration()
        given(config)
    else:
        config = given
    tracemalloc.start()
    with pytest.raises((FileError, SourceError), match=message):
        network(archive(tmp_path / "a.keras", config))
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


FUNCTIONAL: dict[str, tuple[Callable[[Config], None], str]] = {
    "a loop": (
        layer(1, "inbound_nodes", 0, "args", 0, "config", "keras_history", ["shape", 0, 0]),
        "'first' comes after itself",
    ),
    "from nowhere": (layer(1, "inbound_nodes", 0, "args", 0, "config", "keras_history", ["y", 0, 0]), "'y' is missing"),
    "no such call": (
        layer(2, "inbound_nodes", 0, "args", 0, "config", "keras_history", ["first", 7, 0]),
        "call 7 is used",
    ),
    "history": (
        layer(2, "inbound_nodes", 0, "args", 0, "config", "keras_history", 5),
        r"is not \[layer, call, tensor\] but 5",
    ),
    "history, odd": (layer(2, "inbound_nodes", 0, "args", 0, "config", "keras_history", [5]), r"is not \[layer, call"),
    "nodes": (layer(2, "inbound_nodes", 5), "has inbound_nodes = 5: needs list"),
    "call": (layer(2, "inbound_nodes", [5]), "is called with 5: these are no arguments"),
    "constants": (layer(2, "inbound_nodes", 0, "args", [1.0]), "moves rows of the batch"),
    "options": (layer(2, "inbound_nodes", 0, "kwargs", {"training": True}), "is called with .*training"),
    "options, odd": (layer(2, "inbound_nodes", 0, "kwargs", 3), "is called with 3"),
    "same names": (layer(2, "config", "name", "first"), "two layers have the same name"),
    "no output": (at("config", "output_layers", []), r"output_layers is not \[layer, call"),
    "output": (at("config", "output_layers", [["first", 0, 0], ["second", 0, 0]]), "has 2 outputs"),
    "input": (at("config", "input_layers", {"a": ["x", 0, 0], "b": ["y", 0, 0]}), "the input 'y' is missing"),
}


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_graphs(tmp_path: Path, name: str) -> None:
    change, message = FUNCTIONAL[name]
    config = configuration(functional=True)
    change(config)
    with pytest.raises((FileError, SourceError), match=message):
        network(archive(tmp_path / "a.keras", config))


def leaves(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, value in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
        yield from leaves(value, (*path, key))


@pytest.mark.slow
@pytest.mark.parametrize("functional", [False, True])
def test_any_part_of_the_configuration_may_be_anything(tmp_path: Path, functional: bool) -> None:
    """Never another exception than ours."""
    good = configuration(functional)
    good["config"]["build_input_shape"] = [None, 3]
    h5 = weights()
    for path in leaves(good):
        for odd in (None, True, -1, 10**400, "a/b", [[]], [None], {"class_name": []}):
            config: Any = copy.deepcopy(good)
            if path:
                at(*path, odd)(config)
            else:
                config = odd
            result = outcome(network, archive(tmp_path / "a.keras", json.dumps(config), h5))
            assert isinstance(result, Network) or str(result).startswith("a.keras: ")


def test_many_square_matrices(tmp_path: Path) -> None:
    """A short file that asks for 1000 layers of 8000 × 8000."""
    config = configuration()
    layers = [{"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 8000]}}]
    layers += [{"class_name": "Activation", "config": {"name": f"a{n}", "activation": "tanh"}} for n in range(1000)]
    config["config"]["layers"] = layers
    with pytest.raises(SourceError, match="1000 elementwise maps of up to 8000 units"):
        network(archive(tmp_path / "a.keras", config))
