"""Files that may hold a network: what a path names, found out without running or believing anything in the file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from integraph.errors import FileError, IntegraphError
from integraph.files import PROGRAM, names_program

ZIP, HDF5, LFS = b"PK\x03\x04", b"\x89HDF\r\n\x1a\n", b"version https://git-lfs"
ONNX, VNNLIB = ".onnx", ".vnnlib"
KERAS = (".keras", ".h5", ".hdf5")
FORMULAS, TEXT = ".formula", ".txt"
VERIFICATION = (".nnet", ".yml", ".yaml", ".mat")
POLAR = re.compile(rb"\d+\s*\n\d+\s*\n\d+\s*\n")  # how a text of POLAR begins, under whatever name
TORCH = "torch.load(path, weights_only=False), and pass the module; a state_dict goes into one with load_state_dict"
PICKLES = dict.fromkeys((".pt", ".pth", ".pt2", ".ckpt"), TORCH) | dict.fromkeys(
    (".pkl", ".pickle", ".joblib"), "joblib.load(path) or pickle.load, and pass the estimator"
)
TENSORFLOW = (".pb", ".tflite")
OTHERS = {  # files that somebody may give instead of a network
    ".safetensors": "holds tensors or a compiled program, no network: integraph.load reads a program",
    PROGRAM: "is a compiled program, no network: integraph.load reads it",
    VNNLIB: "states a property, and is no network: prove takes both, the network and the property",
}
KINDS = (  # what suffixes say of a file
    ((".onnx", *KERAS, *VERIFICATION), "a network"),
    ((FORMULAS, TEXT), "a text"),
    ((".csv", ".tsv", ".npy"), "a table"),
    ((".html", ".htm"), "a page"),
    ((VNNLIB,), "a property of VNN-LIB"),
    ((".smt2", ".smt"), "a text of SMT-LIB"),
)


def model_file(source: str | os.PathLike[str]) -> tuple[Path, bytes]:
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
            f"it, load it yourself with {PICKLES[suffix]}; the command takes it as module:name, from a module that does"
        )
    if suffix in TENSORFLOW:
        raise FileError(
            f"{path.name} is a TensorFlow file, which is not read: save the model as .keras, or convert it to .onnx"
        )
    if suffix in OTHERS:
        raise FileError(f"{path.name} {OTHERS[suffix]}")
    if start.startswith(LFS):
        raise FileError(f"{path.name} is a git-lfs pointer, not the file itself: fetch it with `git lfs pull`")
    return path, start


def file_kind(path: str | os.PathLike[str]) -> str:
    """What a file is by its name, or by its first bytes where it is a program; nothing if that says nothing."""
    if names_program(path):
        return "a program"
    suffix = Path(path).suffix.lower()
    return next((kind for suffixes, kind in KINDS if suffix in suffixes), "")


def is_formula_file(source: str | os.PathLike[str]) -> bool:
    """Whether a path names formulas: by its suffix, or as a text that is none of POLAR."""
    suffix = Path(source).suffix.lower()
    if suffix != TEXT:
        return suffix == FORMULAS
    try:
        return not POLAR.match(_start(Path(source)))
    except (OSError, ValueError):
        return False


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """What goes wrong while a file is read, as an error that names it."""
    try:
        yield
    except IntegraphError as error:
        raise type(error)(f"{path.name}: {error}") from None
    except OSError as reason:
        raise FileError(f"cannot read {path.name}: {reason.strerror or reason}") from None
    except MemoryError:
        raise FileError(f"{path.name} needs more memory than this machine has") from None


def is_keras(path: Path, start: bytes) -> bool:
    """Whether a file is one of Keras, by its name or its first bytes."""
    return path.suffix.lower() in KERAS or start.startswith((ZIP, HDF5))


def unknown_file(path: Path, start: bytes) -> FileError:
    """For a file that is of no known kind."""
    return FileError(
        f"{path.name} is not a known kind of file (it starts with {start[:8]!r}): give .onnx, .keras, .h5, .hdf5, "
        ".nnet, .yml, .mat, .formula, or a text of POLAR, which begins with three lines of one whole number each"
    )


def _start(path: Path) -> bytes:
    """The first bytes of a file."""
    if path.is_dir():
        raise ValueError("it is a folder; save the model as one .keras, .h5 or .onnx file")
    if not path.is_file():
        raise ValueError("there is no such file")
    with path.open("rb") as file:
        return file.read(len(LFS))
