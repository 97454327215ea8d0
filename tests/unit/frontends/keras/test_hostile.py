"""Keras files that are damaged or want to do harm: one clear error each, in little time and memory."""

from __future__ import annotations

import copy
import json
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from integraph.errors import FileError, IntegraphError, SourceError
from integraph.frontends import keras, network
from keras_files import KERNELS, Config, archive, configuration, fill, weights
from lazy import Lazy, needs
from slow import mostly_slow

pytestmark = needs("h5py")
h5py = Lazy("h5py")


def legacy(path: Path, change: Callable[[Any], Any] = lambda root: None, config: Any = None) -> Path:
    with h5py.File(path, "w") as root:
        root.attrs["model_config"] = json.dumps(config or configuration())
        for (group, shape), name in zip(KERNELS.items(), ("first", "second"), strict=True):
            root[f"model_weights/{name}/{name}/kernel"] = np.full(shape, 0.5)
            root[f"model_weights/{name}/{name}/bias"] = np.arange(float(shape[1]))
            assert group
        change(root)
    return path


@pytest.mark.parametrize("functional", [False, True])
def test_the_forgeries_start_from_good_files(tmp_path: Path, functional: bool) -> None:
    config = configuration(functional)
    found = [network(archive(tmp_path / "a.keras", config)), network(legacy(tmp_path / "a.h5", config=config))]
    for net in found:
        z = np.tanh(0.5 * 6 + np.arange(4.0)).sum() * 0.5 + np.arange(2.0)
        np.testing.assert_allclose(net([1.0, 2.0, 3.0]), 2 * z + 1, rtol=1e-15)


def replace(root: Any, name: str, make: Callable[[Any, str], Any]) -> None:
    del root[name]
    make(root, name)


def external(root: Any, name: str) -> None:
    root.create_dataset(name, (3, 4), "f8", external=[("/etc/passwd", 0, 96)])


def virtual(root: Any, name: str) -> None:
    layout = h5py.VirtualLayout((3, 4), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "data", shape=(3, 4))
    root.create_virtual_dataset(name, layout)


def compressed(root: Any, name: str) -> None:
    root.create_dataset(name, data=np.zeros((3, 4)), compression="gzip")


def unwritten(root: Any, name: str) -> None:
    root.create_dataset(name, (3_000_000, 4_000_000), "f8", chunks=(1000, 1000))


def unwritten_whole(root: Any, name: str) -> None:
    root.create_dataset(name, (30_000, 40_000), "f8")


def put(value: Any) -> Callable[[Any, str], None]:
    return lambda root, name: root.__setitem__(name, value)


def put_kind(kind: str, *arguments: str) -> Callable[[Any, str], None]:
    """Something that only h5py has."""
    return lambda root, name: root.__setitem__(name, getattr(h5py, kind)(*arguments))


KERNEL = "layers/dense/vars/0"
MEMBERS: dict[str, tuple[Callable[[Any, str], Any], type[IntegraphError], str]] = {
    "external storage": (external, FileError, "keeps its numbers in other files"),
    "virtual": (virtual, FileError, "keeps its numbers in other files"),
    "external link": (
        put_kind("ExternalLink", "/etc/passwd", "/x"),
        FileError,
        "is a ExternalLink, which is not followed",
    ),
    "soft link": (put_kind("SoftLink", "/layers/dense_1/vars/0"), FileError, "is a SoftLink, which is not followed"),
    "compressed": (compressed, FileError, "is compressed"),
    "huge, chunks not written": (unwritten, FileError, "needs 96000000000000 bytes"),
    "huge, not written": (unwritten_whole, FileError, "needs 9600000000 bytes, the file has 0"),
    "missing": (lambda root, name: None, FileError, "has no weights 'kernel' of layer 'first'"),
    "a group": (lambda root, name: root.create_group(name), FileError, "has no weights 'kernel'"),
    "transposed": (put(np.zeros((4, 3))), FileError, r"has \(4, 3\) weights.*needs \(3, 4\)"),
    "one axis": (put(np.zeros(3)), FileError, r"has \(3,\) weights"),
    "a scalar": (put(1.0), FileError, r"has \(\) weights"),
    "empty": (put_kind("Empty", "f8"), FileError, "is empty"),
    "no rows": (put(np.zeros((0, 4))), FileError, r"has \(0, 4\) weights"),
    "NaN": (put(np.full((3, 4), np.nan)), SourceError, r"layer 'first' \(Dense\): weight \[0, 0\] is nan"),
    "infinite": (put(np.full((3, 4), np.inf)), SourceError, r"weight \[0, 0\] is inf"),
    "integers": (put(np.zeros((3, 4), np.int8)), FileError, "holds int8: weights must be float16"),
    "text": (put("hello"), FileError, "holds object"),
    "complex": (put(np.zeros((3, 4), complex)), FileError, "holds complex128"),
    "long double": (put(np.zeros((3, 4), np.longdouble)), FileError, "weights must be float16"),
    "records": (put(np.zeros((3, 4), [("a", "u1"), ("b", "u1")])), FileError, "weights must be float16"),
}


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_members(tmp_path: Path, name: str, suffix: str) -> None:
    make, kind, message = MEMBERS[name]
    if suffix == ".keras":
        path = archive(tmp_path / "a.keras", h5=weights(lambda root: replace(root, KERNEL, make)))
    else:
        path = legacy(tmp_path / "a.h5", lambda root: replace(root, "model_weights/first/first/kernel", make))
        message = message.replace("is a ExternalLink, which is not followed", "has no weights 'kernel'")
        message = message.replace("is a SoftLink, which is not followed", "has no weights 'kernel'")
    tracemalloc.start()
    with pytest.raises(kind, match=message) as caught:
        network(path)
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()
    assert path.name in str(caught.value)


def test_one_array_is_not_read_a_thousand_times(tmp_path: Path) -> None:
    """Hard links: a file of 0.8 MB that wants 100 layers of 0.8 MB."""
    config = configuration()
    dense = [{"class_name": "Dense", "config": {"name": f"d{n}", "units": 300, "use_bias": False}} for n in range(100)]
    config["config"]["layers"] = [
        {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 300]}},
        *dense,
    ]

    def links(root: Any) -> None:
        del root["layers"]
        for n in range(100):
            group = root.create_group(f"layers/dense{f'_{n}' if n else ''}/vars")
            group["0"] = root["layers/dense/vars/0"] if n else np.ones((300, 300))

    with pytest.raises(FileError, match="needs 720000 bytes, the file has"):
        network(archive(tmp_path / "a.keras", config, weights(links)))


def test_a_group_inside_itself(tmp_path: Path) -> None:
    def loop(root: Any) -> None:
        root["model_weights/first/again"] = root["model_weights/first"]

    with pytest.raises(FileError, match="64 levels"):
        network(legacy(tmp_path / "a.h5", loop))


def test_weights_of_another_layer(tmp_path: Path) -> None:
    def rename(root: Any) -> None:
        root["layers/dense/vars"].attrs["name"] = "second"

    with pytest.raises(FileError, match="belongs to layer 'second', not to 'first'"):
        network(archive(tmp_path / "a.keras", h5=weights(rename)))


def test_layers_of_one_name_have_their_own_weights(tmp_path: Path) -> None:
    """Keras gives names once; a file may not. Weights are found by the place of a layer, not by its name."""
    config = configuration()
    config["config"]["layers"][2:] = [config["config"]["layers"][3]]
    config["config"]["layers"][-1]["config"]["name"] = "first"

    def rename(root: Any) -> None:
        root["layers/dense_1/vars"].attrs["name"] = "first"

    found = network(archive(tmp_path / "net.keras", config, weights(rename)))
    assert [layer.A.shape for layer in found.layers] == [(4, 3), (2, 4)]


def test_weights_are_not_borrowed_from_a_neighbour(tmp_path: Path) -> None:
    """Of two layers in a model inside, one has lost its bias; the other's would fit."""
    inner = configuration()
    inner["config"]["layers"][3]["config"]["units"] = 4
    config = {"class_name": "Sequential", "config": {"name": "outer", "layers": [inner]}}

    def move(root: Any) -> None:
        root.move("model_weights", "old")
        for name, shape in (("first", (3, 4)), ("second", (4, 4))):
            root[f"model_weights/net/{name}/kernel"] = np.ones(shape)
        root["model_weights/net/first/bias"] = np.ones(4)

    with pytest.raises(FileError, match="no weights 'bias' of layer 'net/second'"):
        network(legacy(tmp_path / "a.h5", move, config))


def test_an_external_link_is_not_even_looked_at(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as other:
        fill(other)
    link = h5py.ExternalLink(str(tmp_path / "other.h5"), "/layers")
    path = archive(tmp_path / "a.keras", h5=weights(lambda root: replace(root, "layers", put(link))))
    with pytest.raises(FileError, match=r"'layers.*' is a ExternalLink"):
        network(path)


def test_early_tf_keras(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="save it again with Keras 3"):
        network(
            archive(
                tmp_path / "a.keras", h5=weights(lambda root: root.move("layers", "_layer_checkpoint_dependencies"))
            )
        )


def nested(depth: int) -> Config:
    config = configuration()
    for n in range(depth):
        config = {"class_name": "Sequential", "config": {"name": f"n{n}", "layers": [config]}}
    return config


def doubling(depth: int) -> Config:
    """Each model calls the one inside twice: 2^depth layers."""
    inner: Config = {"class_name": "Dropout", "config": {"name": "in"}}
    for n in range(depth):
        call = [[["x", 0, 0, {}]]], [[["in", 0, 0, {}]]]
        start = {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 3]}, "inbound_nodes": []}
        part = {**inner, "name": "in", "inbound_nodes": [call[0][0], call[1][0]]}
        part["config"] = {**part["config"], "name": "in"}
        ends = {"input_layers": [["x", 0, 0]], "output_layers": [["in", 1, 0]]}
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
    "null": ("null", "has no class_name"),
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
    "slope NaN": (layer(4, "config", "negative_slope", float("nan")), "slope of leaky_relu must be finite"),
    "slope large": (layer(4, "config", "negative_slope", 10**400), "float64 can hold"),
    "scale": (layer(5, "config", "scale", "x"), "scale of layer 'scale'.* must be numbers"),
    "scale NaN": (layer(5, "config", "scale", float("nan")), "not finite"),
    "variance": (layer(7, "config", "variance", [-1.0]), "variance that is negative or not finite: -1.0"),
    "variance NaN": (layer(7, "config", "variance", [float("nan")]), "negative or not finite"),
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
    "nothing but scaling": (
        lambda config: config["config"]["layers"].__delitem__(slice(1, 7)),
        "so this is not a network",
    ),
    "models in models": (nested(40), "more than 32 deep"),
    "doubling": (doubling(30), "more than 10000 layers"),
}


@mostly_slow("name", CONFIGS, quick=34)
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
        "'.*' is missing or comes after itself",
    ),
    "from nowhere": (layer(1, "inbound_nodes", 0, "args", 0, "config", "keras_history", ["y", 0, 0]), "'y' is missing"),
    "no such call": (
        layer(2, "inbound_nodes", 0, "args", 0, "config", "keras_history", ["first", 7, 0]),
        "call 7 is used",
    ),
    "history": (
        layer(2, "inbound_nodes", 0, "args", 0, "config", "keras_history", 5),
        "has keras_history = 5: needs list",
    ),
    "history, odd": (layer(2, "inbound_nodes", 0, "args", 0, "config", "keras_history", [5]), r"is not \[layer, call"),
    "nodes": (layer(2, "inbound_nodes", 5), "has inbound_nodes = 5: needs list"),
    "call": (layer(2, "inbound_nodes", [5]), "has several inputs"),
    "constants": (layer(2, "inbound_nodes", 0, "args", [1.0]), "every layer takes one input"),
    "options": (layer(2, "inbound_nodes", 0, "kwargs", {"training": True}), "is called with .*training"),
    "options, odd": (layer(2, "inbound_nodes", 0, "kwargs", 3), "is called with 3"),
    "same names": (layer(2, "config", "name", "first"), "two layers have the same name"),
    "no output": (at("config", "output_layers", []), r"output_layers is not \[layer, call"),
    "output": (at("config", "output_layers", [["first", 0, 0], ["second", 0, 0]]), "has 2 outputs"),
    "input": (at("config", "input_layers", {"a": ["x", 0, 0], "b": ["y", 0, 0]}), "has 2 inputs"),
}


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_graphs(tmp_path: Path, name: str) -> None:
    change, message = FUNCTIONAL[name]
    config = configuration(functional=True)
    change(config)
    with pytest.raises((FileError, SourceError), match=message):
        network(archive(tmp_path / "a.keras", config))


def outcome(path: Path) -> str:
    """What our error says, or nothing; any other exception passes."""
    try:
        network(path)
    except IntegraphError as error:
        return str(error)
    return ""


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
            said = outcome(archive(tmp_path / "a.keras", json.dumps(config), h5))
            assert not said or said.startswith("a.keras: ")


def flips(data: bytes, seed: int, count: int) -> Iterator[bytes]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        changed = bytearray(data)
        for place in rng.integers(len(data), size=rng.integers(1, 4)):
            changed[place] = rng.integers(256)
        yield bytes(changed)
        yield data[: rng.integers(len(data))]


@mostly_slow("suffix", [".keras", ".h5"], quick=1)
def test_damage(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    good = (archive(path) if suffix == ".keras" else legacy(path)).read_bytes()
    for changed in flips(good, 5, 300):
        path.write_bytes(changed)
        said = outcome(path)
        assert not said or path.name in said


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_every_short_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    for content in (b"", b"P", b"PK\x03\x04", b"\x89HDF\r\n\x1a\n", b"hello"):
        path.write_bytes(content)
        with pytest.raises(FileError, match=path.name):
            network(path)


def test_weights_only(tmp_path: Path) -> None:
    path = tmp_path / "a.weights.h5"
    path.write_bytes(weights())
    with pytest.raises(FileError, match=r"no model_config.*save the whole model"):
        network(path)


@pytest.mark.parametrize("value", [np.array([b"a", b"b"]), 3, np.zeros(4)])
def test_a_configuration_that_is_no_string(tmp_path: Path, value: Any) -> None:
    with pytest.raises(FileError, match="'model_config' must be one string"):
        network(legacy(tmp_path / "a.h5", lambda root: root.attrs.__setitem__("model_config", value)))


def test_zip_bomb(tmp_path: Path) -> None:
    """Refused by what the entry says, before a byte is unpacked."""
    path = archive(tmp_path / "a.keras", h5=bytes(1 << 26), compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    with pytest.raises(FileError, match=r"'model.weights.h5' has 67108864 bytes unpacked, at most 1048576 are read"):
        keras.read(path, max_bytes=1 << 20)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


def test_a_bomb_that_lies_about_its_size(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.keras", h5=bytes(1 << 24), compression=zipfile.ZIP_DEFLATED)
    data = path.read_bytes()
    path.write_bytes(data.replace(struct.pack("<I", 1 << 24), struct.pack("<I", 1000)))
    with pytest.raises(FileError, match="a damaged zip: Bad CRC"):
        network(path)


def test_a_large_configuration(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"'config.json' has 20000002 bytes unpacked"):
        network(archive(tmp_path / "a.keras", '"' + "a" * 20_000_000 + '"', compression=zipfile.ZIP_DEFLATED))


def test_max_bytes(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.keras")
    assert keras.read(path, max_bytes=100_000).inputs == 3
    with pytest.raises(FileError, match="at most 1000 are read"):
        keras.read(path, max_bytes=1000)


def test_members_that_are_missing_or_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.keras"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("../config.json", "{}")
        file.writestr("model.weights.h5", weights())
    with pytest.raises(FileError, match=r"0 members 'config.json'"):
        network(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("config.json", "{}")
        with pytest.warns(UserWarning, match="Duplicate name"):
            file.writestr("config.json", json.dumps(configuration()))
    with pytest.raises(FileError, match=r"2 members 'config.json'"):
        network(path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_torch_file_without_its_suffix(tmp_path: Path) -> None:
    path = tmp_path / "net"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("archive/data.pkl", b"")
    with pytest.raises(FileError, match="PyTorch file, a pickle, which is never opened"):
        network(path)


def test_a_directory_of_a_million_entries(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.keras")
    data = bytearray(path.read_bytes())
    data[-10:-6] = struct.pack("<I", 1 << 26)  # what the last record says of the directory's length
    path.write_bytes(data)
    with pytest.raises(FileError, match="zip directory has more than"):
        network(path)


def test_a_second_directory_of_the_64_bit_kind(tmp_path: Path) -> None:
    """Python would believe it rather than the short record that follows it."""
    path = archive(tmp_path / "a.keras")
    data = path.read_bytes()
    path.write_bytes(data[:-22] + b"PK\x06\x07" + bytes(16) + data[-22:])
    with pytest.raises(FileError, match="is a 64-bit one"):
        network(path)


def test_an_unusual_method(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="packed by method 14"):
        network(archive(tmp_path / "a.keras", compression=zipfile.ZIP_LZMA))


def test_an_encrypted_member(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.keras")
    data = bytearray(path.read_bytes())
    start = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    data[start + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(FileError, match="is encrypted"):
        network(path)


def test_many_square_matrices(tmp_path: Path) -> None:
    """A short file that asks for 1000 layers of 8000 × 8000."""
    config = configuration()
    layers = [{"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 8000]}}]
    layers += [{"class_name": "Activation", "config": {"name": f"a{n}", "activation": "tanh"}} for n in range(1000)]
    config["config"]["layers"] = layers
    with pytest.raises(SourceError, match="1000 elementwise maps of up to 8000 units"):
        network(archive(tmp_path / "a.keras", config))


def test_a_layer_called_again_is_held_once(tmp_path: Path) -> None:
    start = {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 400]}, "inbound_nodes": []}
    calls = [[["x", 0, 0, {}]], *([["first", n, 0, {}]] for n in range(199))]
    dense = {"name": "first", "units": 400, "activation": "tanh", "use_bias": False}
    again = {"class_name": "Dense", "config": dense, "inbound_nodes": calls}
    ends = {"input_layers": ["x", 0, 0], "output_layers": ["first", 199, 0]}
    config = {"class_name": "Functional", "config": {"name": "net", "layers": [start, again], **ends}}
    path = archive(tmp_path / "a.keras", config, weights(lambda root: replace(root, KERNEL, put(np.ones((400, 400))))))
    tracemalloc.start()
    net = network(path)
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()
    assert len(net.layers) == 200
    assert net.layers[0].A is net.layers[-1].A
