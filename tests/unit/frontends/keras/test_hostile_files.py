"""Keras files that are cut, packed oddly or no Keras files at all: one clear error each, in little time and memory."""

from __future__ import annotations

import json
import struct
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from integraph.errors import FileError
from integraph.frontends import keras, network
from integraph.targets import Network
from keras_files import archive, configuration, legacy, weights
from lazy import needs
from refusals import outcome
from slow import mostly_slow

pytestmark = needs("h5py")


@pytest.mark.parametrize("functional", [False, True])
def test_the_forgeries_start_from_good_files(tmp_path: Path, functional: bool) -> None:
    config = configuration(functional)
    found = [network(archive(tmp_path / "a.keras", config)), network(legacy(tmp_path / "a.h5", config=config))]
    for net in found:
        z = np.tanh(0.5 * 6 + np.arange(4.0)).sum() * 0.5 + np.arange(2.0)
        np.testing.assert_allclose(net([1.0, 2.0, 3.0]), 2 * z + 1, rtol=1e-15)


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
        result = outcome(network, path)
        assert isinstance(result, Network) or path.name in str(result)


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
