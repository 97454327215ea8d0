"""Any source of a network → `Network`, of a graph → `Graph`. No framework is imported to find out: types have names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from integraph.errors import FileError, UsageError
from integraph.frontends.formula.sympy_tree import is_sympy
from integraph.targets import Network, from_layers
from integraph.targets.graph import Graph

ACCEPTED = (
    "a Network, a list of (A, b, activation), a path to an .onnx, .keras or .h5 file, an onnx.ModelProto, "
    "a torch.nn.Module or a fitted scikit-learn MLPRegressor or MLPClassifier"
)
GRAPHS = "a Graph, a path to an .onnx file and an onnx.ModelProto"
ONNX = ("onnx", ("ModelProto",))
ZIP, HDF5, LFS = b"PK\x03\x04", b"\x89HDF\r\n\x1a\n", b"version https://git-lfs"
KERAS = (".keras", ".h5", ".hdf5")
TORCH = "torch.load(path, weights_only=False), and pass the module; a state_dict goes into one with load_state_dict"
PICKLES = dict.fromkeys((".pt", ".pth", ".pt2", ".ckpt"), TORCH) | dict.fromkeys(
    (".pkl", ".pickle", ".joblib"), "joblib.load(path) or pickle.load, and pass the estimator"
)
TENSORFLOW = (".pb", ".tflite")
FILE = r"\.[A-Za-z]\w*$"  # how a path ends and a formula does not


def network(source: Any, inputs: int | None = None) -> Network:
    """The network in a file, a module, an estimator or a list of (A, b, activation).

    `inputs` is how many numbers a torch module takes, where its layers do not tell.
    """
    if inputs is not None and not _is(source, "torch", ("Module",)):
        raise UsageError(
            f"this is for torch modules: a {type(source).__name__} says it by itself", argument="inputs", value=inputs
        )
    if isinstance(source, Network):
        return source
    if isinstance(source, list | tuple):
        return from_layers(source)
    if isinstance(source, str | os.PathLike):
        return _file(source)
    for package, names, reader in OBJECTS:
        if _is(source, package, names):
            return reader(source) if inputs is None else reader(source, inputs)
    if isinstance(source, Mapping) and source:
        raise UsageError(f"a {type(source).__name__} of weights is no network: put them into the module that has them")
    raise UsageError(f"cannot read a network from {type(source).__name__}: accepted are {ACCEPTED}")


def graph(source: Any) -> Graph:
    """The computation graph in an .onnx file or an onnx.ModelProto."""
    if isinstance(source, Graph):
        return source
    if isinstance(source, str | os.PathLike):
        path, _ = _found(source)
        if path.suffix.lower() != ".onnx":
            raise FileError(f"{path.name} holds no graph that is read: save the model as .onnx")
    elif not _is(source, *ONNX):
        raise UsageError(f"cannot read a graph from {type(source).__name__}: accepted are {GRAPHS}")
    from integraph.frontends import onnx

    return onnx.read_graph(source)


def is_network(source: Any) -> bool:
    """Whether a source is meant as a network: anything but formulas, functions, tables and sympy expressions."""
    if isinstance(source, str):
        return bool(re.search(FILE, source)) or Path(source).suffix.lower() in (*KERAS, *PICKLES, *TENSORFLOW)
    if isinstance(source, list | tuple):
        return not any(isinstance(part, str) or is_sympy(part) for part in source)
    return isinstance(source, Network | os.PathLike) or any(_is(source, *kind[:2]) for kind in OBJECTS)


def is_onnx(source: Any) -> bool:
    """Whether a source is an ONNX model: a path that ends so, or the model itself."""
    if isinstance(source, str | os.PathLike):
        return Path(source).suffix.lower() == ".onnx"
    return _is(source, *ONNX)


def _is(source: Any, package: str, names: tuple[str, ...]) -> bool:
    """Whether an object is of one of these classes, without importing the package."""
    return any(str(cls.__module__).split(".")[0] == package and cls.__name__ in names for cls in type(source).__mro__)


def _file(source: str | os.PathLike[str]) -> Network:
    path, start = _found(source)
    if path.suffix.lower() == ".onnx":
        return _onnx(path)
    if path.suffix.lower() in KERAS or start.startswith((ZIP, HDF5)):
        from integraph.frontends import keras

        return keras.read(path)
    raise FileError(
        f"{path.name} is not a file we know (it starts with {start[:8]!r}): read are .onnx, .keras, .h5 and .hdf5"
    )


def _found(source: str | os.PathLike[str]) -> tuple[Path, bytes]:
    """A file that may hold a network, and its first bytes."""
    try:
        path = Path(source)
        start = _start(path)
    except (OSError, ValueError, TypeError) as reason:
        raise FileError(f"cannot open {os.fspath(source)!r}: {getattr(reason, 'strerror', None) or reason}") from None
    suffix = path.suffix.lower()
    if suffix in PICKLES:
        raise FileError(
            f"{path.name} can run code when it is opened (pickle), so it is never opened here: if you trust "
            f"it, load it yourself with {PICKLES[suffix]}"
        )
    if suffix in TENSORFLOW:
        raise FileError(
            f"{path.name} is a TensorFlow file, which is not read: save the model as .keras, or convert it to .onnx"
        )
    if suffix == ".safetensors":
        raise FileError(f"{path.name} holds tensors or a compiled program, no network: integraph.load reads a program")
    if start.startswith(LFS):
        raise FileError(f"{path.name} is a git-lfs pointer, not the file itself: fetch it with `git lfs pull`")
    return path, start


def _start(path: Path) -> bytes:
    """The first bytes of a file."""
    if path.is_dir():
        raise ValueError("it is a folder; save the model as one .keras, .h5 or .onnx file")
    if not path.is_file():
        raise ValueError("there is no such file")
    with path.open("rb") as file:
        return file.read(len(LFS))


def _onnx(source: Any) -> Network:
    from integraph.frontends import onnx

    return onnx.read(source)


def _torch(module: Any, inputs: int | None = None) -> Network:
    from integraph.frontends import torch

    return torch.read(module, inputs)


def _sklearn(estimator: Any) -> Network:
    from integraph.frontends import sklearn

    return sklearn.read(estimator)


def _keras(model: Any) -> Network:
    raise UsageError(f"a Keras {type(model).__name__} in memory is not read: model.save('net.keras') and pass the path")


OBJECTS: tuple[tuple[str, tuple[str, ...], Callable[..., Network]], ...] = (
    # a Keras model on the torch backend is a torch.nn.Module too, so it comes first
    ("keras", ("Layer", "Model"), _keras),
    ("tf_keras", ("Layer", "Model"), _keras),
    (*ONNX, _onnx),
    ("torch", ("Module",), _torch),
    ("sklearn", ("BaseEstimator",), _sklearn),
)
