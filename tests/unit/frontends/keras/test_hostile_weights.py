"""Weights of Keras files that are damaged, foreign or elsewhere: one clear error each, in little time and memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from integraph.errors import FileError, IntegraphError, SourceError
from integraph.frontends import network
from keras_files import archive, configuration, fill, legacy, weights
from lazy import Lazy, needs

pytestmark = needs("h5py")
h5py = Lazy("h5py")


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
    "NaN": (put(np.full((3, 4), np.nan)), SourceError, r"layer 'first' \(Dense\): kernel \[0, 0\] is nan"),
    "infinite": (put(np.full((3, 4), np.inf)), SourceError, r"kernel \[0, 0\] is inf"),
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
