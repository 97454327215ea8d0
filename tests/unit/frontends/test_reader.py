"""One door for every source: what is told from what, and what is said of the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from integraph.errors import FileError, SourceError, UsageError
from integraph.frontends import chain, extras, network
from integraph.targets import Layer
from lazy import framework

A, b = np.array([[1.0, -2.0], [0.5, 0.25], [3.0, 0.0]]), np.array([0.1, 0.2, 0.3])
LAST = np.array([[1.0, 1.0, -1.0]])


def by_hand(x: np.ndarray) -> np.ndarray:
    return np.tanh(x @ A.T + b) @ LAST.T


def test_plain_lists() -> None:
    X = np.random.default_rng(0).normal(size=(9, 2))
    triples = [(A, b, "tanh"), (LAST, 0.0, "identity")]
    layers = [Layer(A, b, "tanh"), Layer(LAST, 0.0)]
    for source in (triples, tuple(triples), layers, [(A.tolist(), b.tolist(), "tanh"), (LAST.tolist(), None)]):
        np.testing.assert_allclose(network(source)(X), by_hand(X), rtol=1e-15)


def test_a_network_is_itself() -> None:
    net = network([(A, b, "tanh")])
    assert network(net) is net


@pytest.mark.parametrize("source", [None, 3, 1.5, b"bytes", {}, {1, 2}, object(), len, np.zeros((2, 2)), int])
def test_anything_else_is_refused_with_the_list(source: Any) -> None:
    with pytest.raises(UsageError, match=r"cannot read a network from \w+: accepted are a Network, a list of"):
        network(source)


def test_weights_without_their_module() -> None:
    with pytest.raises(UsageError, match="dict of weights is not a network"):
        network({"0.weight": A, "0.bias": b})


@pytest.mark.parametrize("source", [[], [3], ["abc"], [(A,)], [(A, b, "mystery")], [(A, b), (A, b)], [(A, [1.0, 2.0])]])
def test_bad_lists(source: Any) -> None:
    with pytest.raises(SourceError):
        network(source)


FILES = {
    "net.pt": (b"PK\x03\x04", "pickle.*torch.load"),
    "net.pth": (b"\x80\x02", "never opened here.*pass the module"),
    "net.PKL": (b"\x80\x02", "pickle.*pass the estimator"),
    "net.joblib": (b"\x80\x02", "pickle.*joblib.load"),
    "net.pb": (b"\x08\x01", "TensorFlow file.*save the model as .keras"),
    "net.tflite": (b"TFL3", "TensorFlow file"),
    "net.keras": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git-lfs pointer.*git lfs pull"),
    "net.onnx": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git-lfs pointer"),
    "net": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git-lfs pointer"),
    "net.pt2": (b"PK\x03\x04", "can run code"),
    "net.safetensors": (b"\x10", "integraph.load reads a program"),
    "net.txt": (b"hello", r"starts with b'hello'.*give .onnx, .keras, .h5, .hdf5, .nnet"),
    "empty": (b"", r"starts with b''"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_not_read(tmp_path: Path, name: str) -> None:
    content, message = FILES[name]
    (tmp_path / name).write_bytes(content)
    for source in (tmp_path / name, str(tmp_path / name)):
        with pytest.raises(FileError, match=message) as caught:
            network(source)
        assert name in str(caught.value)


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "net.pkl"
    path.write_bytes(f"cos\nsystem\n(S'touch {tmp_path / 'owned'}'\ntR.".encode())
    for name in ("net.pkl", "net.pt", "net.joblib", "net", "net.keras", "net.h5"):
        path = path.rename(tmp_path / name)
        with pytest.raises((FileError, UsageError)):  # without h5py it does not come to opening Keras files
            network(path)
    assert [found.name for found in tmp_path.iterdir()] == ["net.h5"]


@pytest.mark.parametrize("name", ["nothing.onnx", "nothing.keras", "nothing", "a\0b.keras", "", "x" * 5000])
def test_no_such_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError, match="cannot open"):
        network(f"{tmp_path}/none/{name}" if name else name)


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"")
    with pytest.raises(FileError, match="it is a folder; save the model as one"):
        network(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "net.keras")
    with pytest.raises(FileError, match="there is no such file"):
        network(tmp_path / "net.keras")


def test_torch_modules() -> None:
    torch = framework("torch")
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)).double()
    X = np.random.default_rng(0).normal(size=(9, 2))
    np.testing.assert_allclose(network(module)(X), module(torch.tensor(X)).detach().numpy(), rtol=1e-12)


def test_onnx_models_and_files(tmp_path: Path) -> None:
    onnx = framework("onnx")
    kind, helper, tensor = onnx.TensorProto.DOUBLE, onnx.helper, onnx.numpy_helper.from_array
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "A", "b"], ["z"], transB=1),
            helper.make_node("Tanh", ["z"], ["t"]),
            helper.make_node("Gemm", ["t", "L"], ["y"], transB=1),
        ],
        "net",
        [helper.make_tensor_value_info("x", kind, ["batch", 2])],
        [helper.make_tensor_value_info("y", kind, ["batch", 1])],
        [tensor(A, "A"), tensor(b, "b"), tensor(LAST, "L")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, tmp_path / "net.onnx")
    X = np.random.default_rng(0).normal(size=(9, 2))
    for source in (model, tmp_path / "net.onnx", str(tmp_path / "net.onnx")):
        np.testing.assert_allclose(network(source)(X), by_hand(X), rtol=1e-14)


def test_what_only_looks_like_a_perceptron_is_refused() -> None:
    """Its predict may do anything."""

    class Net:
        coefs_, intercepts_ = (A.T, LAST.T), (b, np.zeros(1))
        activation, out_activation_ = "tanh", "identity"

    with pytest.raises(UsageError, match="cannot read a network from Net"):
        network(Net())


def test_no_framework_is_imported_to_tell_types_apart() -> None:
    code = (
        "import sys, numpy\n"
        "from integraph.errors import IntegraphError\n"
        "from integraph.frontends import network\n"
        "for source in ([(numpy.eye(2), 0, 'tanh')], object(), 3, 'none.pt', 'none.onnx', 'none.keras'):\n"
        "    try: network(source)\n"
        "    except IntegraphError: pass\n"
        "print([m for m in ('onnx', 'torch', 'sklearn', 'h5py', 'keras') if m in sys.modules])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("package", "extra"), [("h5py", "keras"), ("onnx", "onnx"), ("torch", "torch"), ("sklearn", "sklearn")]
)
def test_a_missing_package_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch, package: str, extra: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        UsageError, match=rf"reading .* needs the {package} package: pip install 'integraph\[{extra}\]'"
    ):
        extras.need(package, extra)


def test_only_packages_of_the_table_are_imported() -> None:
    with pytest.raises(UsageError, match="'os' is not an optional package"):
        extras.need("os", "keras")


def test_a_keras_file_without_h5py(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "net.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(UsageError, match=r"pip install 'integraph\[keras\]'"):
        network(tmp_path / "net.h5")


def test_steps_must_fit_together() -> None:
    steps = [chain.dense(A, b, "first"), chain.scaling(np.ones(2), np.zeros(2), "scaler")]
    with pytest.raises(SourceError, match="takes 2 values, but 3 come in"):
        chain.network(steps, 2, "test", ())
    with pytest.raises(SourceError, match=r"scaler has \(2,\) factors and \(3,\) shifts"):
        chain.scaling(np.ones(2), np.zeros(3), "scaler")


def test_a_normalisation_of_many_inputs_joins_without_a_square_matrix() -> None:
    """By powers of two, which is exact: the square matrix of 10⁹ numbers never exists."""
    d = 50_000
    A = np.random.default_rng(0).normal(size=(3, d)).astype(np.float32).astype(np.float64)
    steps = [chain.scaling(np.full(d, 0.25), np.zeros(d), "scaler"), chain.dense(A, np.zeros(3), "first")]
    net = chain.network(steps, d, "test", ("one", "one"))
    np.testing.assert_array_equal(net.layers[0].A, A / 4)
    assert net.notes == ("one",)
