"""MATLAB files with cells W and b, of level 5 and of version 7.3, against the net in numpy; no object is opened."""

from __future__ import annotations

import struct
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from integraph.errors import FileError, IntegraphError, UsageError
from integraph.frontends import network
from lazy import Lazy, needs
from verification_files import (
    BIASES,
    POINTS,
    WEIGHTS,
    array,
    by_hand,
    cell,
    cells,
    element,
    identity,
    level5,
    matlab,
    numbers,
    relu,
    sigmoid,
    words,
    write_hdf5,
)

scipy_io = Lazy("scipy.io")
h5py = Lazy("h5py")
WANTED = by_hand(POINTS, (np.tanh, sigmoid, identity))


def saved(path: Path, variables: dict[str, Any], **options: Any) -> Path:
    scipy_io.savemat(path, variables, **options)
    return path


def refused(path: Path, message: str, error: type[IntegraphError] = IntegraphError) -> None:
    with pytest.raises(error, match=message) as caught:
        network(path)
    assert path.name in str(caught.value)


@pytest.mark.parametrize("packed", [False, True])
def test_level_5(tmp_path: Path, packed: bool) -> None:
    path = saved(tmp_path / "net.mat", matlab() | {"means_for_scaling": np.zeros(3)}, do_compression=packed)
    net = network(path)
    np.testing.assert_allclose(net(POINTS), WANTED, rtol=1e-13)
    np.testing.assert_array_equal(net.layers[2].A, WEIGHTS[2])
    assert net.notes == ("variables of the file that are not read: means_for_scaling",)


@pytest.mark.parametrize("names", [np.array(["tansig", "Logsig", "linear"]), cell(("tanh", "sigmoid", "Affine"))])
def test_activations_as_text_or_cell(tmp_path: Path, names: Any) -> None:
    for key in ("act_fcns", "activation_fcns", "activations"):
        variables = {key: names, "W": cell(WEIGHTS), "b": cell([b[None] for b in BIASES])}
        np.testing.assert_allclose(network(saved(tmp_path / "net.mat", variables))(POINTS), WANTED, rtol=1e-13)


def test_a_structure(tmp_path: Path) -> None:
    variables = {"net": matlab() | {"other": "text"}, "k": {"x": 1.0}}
    net = network(saved(tmp_path / "net.mat", variables, do_compression=True))
    np.testing.assert_allclose(net(POINTS), WANTED, rtol=1e-13)
    refused(saved(tmp_path / "two.mat", {"a": matlab(), "c": matlab()}), "or one structure with both, got a, c")


def test_numbers_that_are_stored_small(tmp_path: Path) -> None:
    """MATLAB stores a double as a small integer where it is one, and a float32 as such."""
    A, b = np.array([[1, -2], [300, 4]]), np.array([[0.5], [1.5]], np.float32)
    for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.float32):
        variables = {"W": cell([np.abs(A).astype(kind)]), "b": cell([b]), "act_fcns": cell(["relu"])}
        net = network(saved(tmp_path / "net.mat", variables))
        np.testing.assert_array_equal(net.layers[0].A, np.abs(A).astype(kind))
        np.testing.assert_array_equal(net.layers[0].b, [0.5, 1.5])


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_orders_of_bytes(tmp_path: Path, order: str) -> None:
    path = tmp_path / "net.mat"
    b = [numbers(b[:, None], order=order) for b in BIASES]
    names = [words(name, order=order) for name in ("poslin", "poslin", "purelin")]
    path.write_bytes(
        level5(
            cells([numbers(A, order=order) for A in WEIGHTS], "W", order), cells(b, "b", order),
            cells(names, "act_fcns", order), order=order,
        )
    )  # fmt: skip
    np.testing.assert_allclose(network(path)(POINTS), by_hand(POINTS, (relu, relu, identity)), rtol=1e-13)


def test_weights_with_axes_of_length_1(tmp_path: Path) -> None:
    path = tmp_path / "net.mat"
    A = array(6, (2, 2, 1, 1), element(9, np.array([1.0, 2, 3, 4]).tobytes()))
    path.write_bytes(level5(cells([A], "W"), cells([numbers([[1.0, 0]])], "b"), cells([words("relu")], "act_fcns")))
    np.testing.assert_array_equal(network(path)([1.0, 2.0]), [1 + 6 + 1, 2 + 8])


GOOD = [cells([words("relu")], "act_fcns"), cells([numbers([[1.0]])], "b")]
FIELDS = element(5, struct.pack("<i", 8)) + element(1, b"system\0\0") + numbers([[1.0]])
OBJECTS = {
    "an object": array(3, (1, 1), element(1, b"evil") + FIELDS, "W"),
    "an opaque object": element(
        14, element(6, struct.pack("<II", 17, 0)) + element(1, b"W") + element(1, b"MCOS") + element(1, b"evil")
    ),
    "a function handle": array(16, (1, 1), words("system('touch owned')"), "W"),
    "a sparse matrix": array(5, (1, 1), element(5, b""), "W"),
    "a complex array": array(6, (1, 1), element(9, bytes(8)) * 2, "W", flags=1 << 11),
    "64-bit integers": array(14, (1, 1), element(12, bytes(8)), "W"),
}


@pytest.mark.parametrize("case", OBJECTS)
def test_objects_are_refused_by_name(tmp_path: Path, case: str) -> None:
    path = tmp_path / "net.mat"
    path.write_bytes(level5(OBJECTS[case], *GOOD))
    refused(path, f"W is .*{case.split()[-1]}", FileError)
    path.write_bytes(level5(cells([OBJECTS[case]], "W"), *GOOD))
    refused(path, r"W\{1\} is ", FileError)


def test_an_object_beside_the_net_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "net.mat"
    stranger = OBJECTS["an opaque object"].replace(b"W\0", b"z\0")
    path.write_bytes(level5(stranger, cells([numbers([[3.0]])], "W"), *GOOD))
    net = network(path)
    assert net([2.0])[0] == 7.0
    assert net.notes == ("variables of the file that are not read: z",)


def test_a_pickle_in_matlabs_clothes(tmp_path: Path) -> None:
    path = tmp_path / "net.mat"
    path.write_bytes(f"cos\nsystem\n(S'touch {tmp_path / 'owned'}'\ntR.".encode().ljust(200))
    refused(path, "no MAT-file of level 5 or version 7.3")
    assert [p.name for p in tmp_path.iterdir()] == ["net.mat"]


WRONG = {
    "no cells": ({"x": 1.0}, "expected the cells W and b, or one structure with both, got x"),
    "a matrix": ({"W": WEIGHTS[0], "b": cell(BIASES), "act_fcns": "relu"}, "W is not a cell of arrays"),
    "no activations": (
        {"W": cell(WEIGHTS), "b": cell(BIASES)},
        r"act_fcns = \{'relu', 'relu', 'linear'\}; save\('net.mat', 'act_fcns', '-append'\)",
    ),
    "a name less": (matlab(("tanh", "tanh")), "3 matrices in W, 3 vectors in b and 2 activations"),
    "an unknown name": (matlab(("tanh", "satlin", "tanh")), "the activation of layer 2: unknown activation 'satlin'"),
    "names that are numbers": (matlab() | {"act_fcns": np.eye(3)}, "act_fcns is not a list of names"),
    "transposed": (
        matlab() | {"W": cell([A.T for A in WEIGHTS])},
        r"layer 1: weights of shape \(3, 5\).*transpose it if it is",
    ),
    "nan": (matlab() | {"W": cell([WEIGHTS[0] * np.nan, *WEIGHTS[1:]])}, r"W\{1\} .* not finite"),
    "a matrix of biases": (matlab() | {"b": cell(WEIGHTS)}, r"b\{1\} has shape \(5, 3\)"),
    "text for weights": (matlab() | {"W": cell(["a", "b", "c"])}, "W is not a cell of arrays"),
}


@pytest.mark.parametrize("case", WRONG)
def test_variables_that_are_wrong(tmp_path: Path, case: str) -> None:
    variables, message = WRONG[case]
    refused(saved(tmp_path / "net.mat", variables), message)


def test_level_4_is_refused_with_the_way_out(tmp_path: Path) -> None:
    refused(saved(tmp_path / "net.mat", {"W": WEIGHTS[0]}, format="4"), "save it with -v7")


def packed(claimed: int, stored: int) -> bytes:
    """A packed variable W that claims so many bytes of numbers, and unpacks to so many."""
    head = element(6, struct.pack("<II", 6, 0)) + element(5, struct.pack("<2i", 1, claimed // 8)) + element(1, b"W")
    start = struct.pack("<II", 14, len(head) + 8 + claimed) + head + struct.pack("<II", 9, claimed)
    data = zlib.compress(start + bytes(stored))
    return struct.pack("<II", 15, len(data)) + data


@pytest.mark.parametrize(
    ("claimed", "stored", "message"),
    [
        (1 << 30, 1 << 25, "unpacks to more than 268435456 bytes"),
        (1 << 10, 1 << 25, "W is not a cell of arrays"),
        (1 << 20, 1 << 10, "cut off or damaged"),
    ],
)
def test_what_unpacks_to_too_much_or_too_little(tmp_path: Path, claimed: int, stored: int, message: str) -> None:
    path = tmp_path / "net.mat"
    path.write_bytes(level5(packed(claimed, stored), *GOOD))
    tracemalloc.start()
    refused(path, message)
    assert tracemalloc.get_traced_memory()[1] < 1 << 22
    tracemalloc.stop()


def test_sizes_that_are_only_claimed(tmp_path: Path) -> None:
    path = tmp_path / "net.mat"
    for shape in ((1 << 30, 1 << 30), (-1, -1), (3, 1)):
        path.write_bytes(level5(cells([array(6, shape, element(9, bytes(8)))], "W"), *GOOD))
        refused(path, "cut off or damaged")
    path.write_bytes(level5(array(1, (1, 1 << 30), b"", "W"), *GOOD))
    refused(path, "a cell of 1073741824 entries, at most 10000")


@needs("h5py")
@pytest.mark.parametrize("options", [{}, {"compression": "gzip", "shuffle": True}])
def test_version_7_3(tmp_path: Path, options: dict[str, Any]) -> None:
    net = network(write_hdf5(tmp_path / "net.mat", **options))
    np.testing.assert_allclose(net(POINTS), WANTED, rtol=1e-13)
    assert net.notes == ("variables of the file that are not read: means_for_scaling",)


def test_version_7_3_without_h5py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n")
    monkeypatch.setitem(sys.modules, "h5py", None)
    refused(tmp_path / "net.mat", r"needs the h5py package: pip install.*or save it with -v7", UsageError)


def change_version_7_3(path: Path, case: str) -> None:
    with h5py.File(path, "r+") as file:
        refs = file["#refs#"]
        if case == "an object":
            refs["r0"].attrs["MATLAB_class"] = np.bytes_("dlnetwork")
        elif case == "an external link":
            del file["W"]
            file["W"] = h5py.ExternalLink("/etc/passwd", "/x")
        elif case == "another file":
            del refs["r0"]
            item = refs.create_dataset("r0", (3, 5), "f8", external=[("/etc/passwd", 0, 120)])
            item.attrs["MATLAB_class"] = np.bytes_("double")
            file["W"][0, 0] = item.ref
        elif case == "too large":
            item = refs.create_dataset("huge", (1 << 20, 1 << 20), "f8", chunks=(64, 64))
            item.attrs["MATLAB_class"] = np.bytes_("double")
            file["W"][0, 0] = item.ref
        elif case == "a circle":
            file["W"][0, 0] = file["W"].ref
        elif case == "no reference":
            file["W"][0, 0] = h5py.Reference()


HDF5 = {
    "an object": r"W\{1\} is of class 'dlnetwork'",
    "an external link": "W is a ExternalLink, which is not followed",
    "another file": r"W\{1\} is kept in other files",
    "too large": "more than 268435456 bytes",
    "a circle": "nested deeper than 4 levels",
    "no reference": "damaged HDF5 file",
}


@needs("h5py")
@pytest.mark.parametrize("case", HDF5)
def test_version_7_3_that_is_hostile(tmp_path: Path, case: str) -> None:
    path = write_hdf5(tmp_path / "net.mat")
    change_version_7_3(path, case)
    refused(path, HDF5[case], FileError)
