"""ONNX files and tensors that cannot be trusted: one clear error each, and nothing else whatever the bytes are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazy import framework

onnx = framework("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from integraph.errors import FileError, SourceError, UsageError  # noqa: E402
from integraph.frontends.onnx import read  # noqa: E402
from integraph.targets import Network  # noqa: E402
from law import examples  # noqa: E402
from onnx_models import LATEST, Builder, net, one  # noqa: E402
from refusals import damaged, outcome  # noqa: E402
from slow import mostly_slow  # noqa: E402


def external() -> Any:
    tensor = numpy_helper.from_array(np.ones(3), "c")
    onnx.external_data_helper.set_external_data(tensor, "weights.bin")
    return tensor


def declared(dims: list[int], **data: Any) -> Any:
    tensor = TensorProto(name="c", data_type=TensorProto.DOUBLE, **data)
    tensor.dims.extend(dims)
    return tensor


TENSORS: dict[str, tuple[Any, str]] = {
    "external data": (external(), "initializer c is stored in another file"),
    "huge": (declared([2**40, 2**20], raw_data=b"\0" * 8), "declares 1152921504606846976 entries"),
    "huge, fields": (declared([2**50], double_data=[1.0]), "and holds 1: the file is damaged"),
    "negative size": (declared([-1, -3], raw_data=b"\0" * 24), r"declares the shape \[-1, -3\]"),
    "cut": (declared([3], raw_data=b"\0" * 23), "and holds 2.875"),
    "many axes": (declared([1] * 80, raw_data=b"\0" * 8), "axes at most 16"),
    "text": (
        helper.make_tensor("c", TensorProto.STRING, [1], [b"x"]),
        "c holds STRING: accepted are FLOAT",
    ),
    "unknown type": (TensorProto(name="c", data_type=99), "initializer c holds type 99"),
}


@pytest.mark.parametrize("case", TENSORS)
def test_tensors_that_cannot_be_trusted(case: str) -> None:
    tensor, message = TENSORS[case]
    with pytest.raises((FileError, SourceError), match=message):
        read(one(lambda b: b.tensors.append(tensor) or b.node("Add", "x", "c")))


FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "net.onnx is empty"),
    "git-lfs": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        "net.onnx is a git-lfs pointer, .*git lfs pull",
    ),
    "text": (b"<!DOCTYPE html><html>not found</html>", "net.onnx is a text file, it starts with '<!DOCTYPE"),
    "garbage": (bytes(range(256)) * 4, "net.onnx is not an ONNX model, or cut off"),
    "zip": (b"PK\x03\x04" + b"\0" * 60, "net.onnx is not an ONNX model"),
    "no graph": (onnx.ModelProto(ir_version=8).SerializeToString(), "net.onnx holds no graph"),
}


@pytest.mark.parametrize("case", FILES)
def test_files_that_are_no_models(tmp_path: Path, case: str) -> None:
    data, message = FILES[case]
    path = tmp_path / "net.onnx"
    path.write_bytes(data)
    with pytest.raises(FileError, match=message):
        read(path)


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(FileError, match=r"cannot open .*missing\.onnx"):
        read(tmp_path / "missing.onnx")
    with pytest.raises(FileError, match="cannot open"):
        read("net\0.onnx")
    with pytest.raises(UsageError, match=r"is a path or an onnx\.ModelProto, got int"):
        read(3)


def test_size_is_checked_before_reading(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # takes no room on the disk
    with pytest.raises(FileError, match="has 1099511627776 bytes, more than max_bytes = 2147483648"):
        read(path)
    with pytest.raises(FileError, match="more than max_bytes = 10"):
        read(one(lambda b: b.node("Tanh", "x")), max_bytes=10)


@mostly_slow("way", ["Concat", "Cast", "Transpose", "Tanh"], quick=1)
def test_small_files_that_unfold_are_refused(way: str) -> None:
    def build(b: Builder) -> str:
        c, x = b.number(np.ones((30_000, 3))), "x"
        for _ in range(3000):
            if way == "Concat":
                c = b.node("Concat", c, c, axis=0)
            elif way == "Cast":
                c = b.node("Cast", c, to=11)
            elif way == "Transpose":
                x = b.node("Transpose", x, perm=[0, 2, 1])
            else:
                x = b.node("Tanh", x)
        return x if way == "Transpose" else b.node("MatMul", x, c)

    shape = {"Transpose": (1, 40, 50), "Tanh": (1, 100_000)}.get(way, ("N", 3))
    with pytest.raises(SourceError, match="unfolds too far"):
        read(one(build, shape))


def test_a_cut_file_is_one_error(tmp_path: Path) -> None:
    data = net(np.random.default_rng(0), 17, "Tanh", [3, 4, 2]).SerializeToString()
    path = tmp_path / "net.onnx"
    for size in range(1, len(data) - 1, 7):
        path.write_bytes(data[:size])
        with pytest.raises((FileError, SourceError)):
            read(path)


@examples(400)
@given(st.data())
def test_no_bytes_raise_anything_else(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    kinds = [(17, "gelu of Tanh"), (6, "LeakyRelu"), (LATEST, "Swish, alpha"), (9, "PRelu")]
    opset, name = data.draw(st.sampled_from(kinds))
    model = net(np.random.default_rng(0), opset, name, [3, 4, 2], normal=True)
    path = tmp_path_factory.getbasetemp() / "fuzz.onnx"
    path.write_bytes(damaged(data, model.SerializeToString()))
    result = outcome(read, path)
    assert isinstance(result, Network) or len(str(result)) < 1000


@pytest.mark.slow
def test_long_graphs_do_not_carry_all_their_notes() -> None:
    b, value = Builder(), "x"
    for _ in range(3000):
        value = b.node("Mul", value, b.number(0.9))
    network = read(b.model(value, ("N", 2)))
    assert len(network.notes) < 100
    np.testing.assert_allclose(network([1.0, 0.0]), [0.9**3000, 0.0], rtol=1e-10)
