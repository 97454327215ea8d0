"""Files of verification tools, written by these tests: one net, and the text or bytes that each tool has of it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

RANDOM = np.random.default_rng(16)
SIZES = (3, 5, 4, 2)
WEIGHTS = [RANDOM.normal(size=(m, n)) for n, m in pairwise(SIZES)]
BIASES = [RANDOM.normal(size=m) for m in SIZES[1:]]
POINTS = RANDOM.uniform(-2, 2, size=(50, SIZES[0]))
LOW, HIGH = np.array([-1.0, 0.0, 10.0]), np.array([1.0, 2.5, 30.0])
MEANS, RANGES = np.array([0.25, 1.0, 21.7, 7.5]), np.array([3.0, 2.5, 20.0, 373.9])  # the last is that of all outputs


def commas(values: Iterable[Any]) -> str:
    return "".join(f"{value}," for value in values)


def nnet(**changes: Sequence[Any]) -> str:
    """A .nnet file; `changes` are other lines than the usual ones."""
    lines: dict[str, Sequence[Any]] = {
        "counts": [len(WEIGHTS), SIZES[0], SIZES[-1], max(SIZES)],
        "sizes": SIZES, "flag": [0], "low": LOW, "high": HIGH, "means": MEANS, "ranges": RANGES,
    }  # fmt: skip
    head = [commas(line) for line in (lines | changes).values()]
    rows = [commas(row) for A, b in zip(WEIGHTS, BIASES, strict=True) for row in [*A, *b[:, None]]]
    return "\n".join(["// a net of the tests", "// by hand", *head, *rows, ""])


def polar(names: Sequence[str] = ("tanh", "sigmoid", "Affine"), offset: float = 0.5, scale: float = 4.0) -> str:
    rows = [value for A, b in zip(WEIGHTS, BIASES, strict=True) for value in np.column_stack([A, b]).ravel()]
    head = [SIZES[0], SIZES[-1], len(SIZES) - 2, *SIZES[1:-1]]
    return "".join(f"{line}\n" for line in [*head, *names, *rows, offset, scale])


def verisig(names: Sequence[str] = ("Sigmoid", "Tanh", "Linear")) -> dict[str, Any]:
    """What yaml.dump writes of a net."""
    return {
        "activations": dict(enumerate(names, 1)),
        "offsets": {n: b.tolist() for n, b in enumerate(BIASES, 1)},
        "weights": {n: A.tolist() for n, A in enumerate(WEIGHTS, 1)},
    }


def verisig_blocks(document: dict[str, Any]) -> str:
    """A document as blocks."""
    lines = []
    for key in ("activations", "offsets", "weights"):
        lines.append(f"{key}:")
        for number, value in document[key].items():
            lines.append(f"  {number}:" + (f" {value}" if isinstance(value, str) else ""))
            for row in value if isinstance(value, list) else []:
                items = row if isinstance(row, list) else [row]
                marks = ["  - - ", *["    - "] * (len(items) - 1)] if isinstance(row, list) else ["  - "]
                lines += [f"{mark}{item}" for mark, item in zip(marks, items, strict=True)]
    return "\n".join([*lines, ""])


def cell(items: Sequence[Any]) -> Any:
    """A cell of MATLAB, as scipy.io.savemat takes it."""
    made = np.empty((1, len(items)), object)
    for place, item in enumerate(items):
        made[0, place] = item
    return made


def matlab(names: Any = ("tanh", "logsig", "purelin")) -> dict[str, Any]:
    """Variables of a .mat file."""
    return {"W": cell(WEIGHTS), "b": cell([b[:, None] for b in BIASES]), "act_fcns": cell(names)}


def write_hdf5(path: Path, names: Sequence[str] = ("tanh", "logsig", "purelin"), **options: Any) -> Path:
    """A .mat file of version 7.3: references to packed arrays with their axes reversed, after MATLAB's own header."""
    import h5py

    with h5py.File(path, "w", userblock_size=512) as file:
        refs = file.create_group("#refs#")

        def stored(value: Any, kind: str) -> Any:
            item = refs.create_dataset(f"r{len(refs)}", data=value, **options)
            item.attrs["MATLAB_class"] = np.bytes_(kind)
            return item.ref

        cells = {
            "W": [stored(A.T, "double") for A in WEIGHTS],
            "b": [stored(b[None], "double") for b in BIASES],
            "act_fcns": [stored(np.array([[ord(c)] for c in name], np.uint16), "char") for name in names],
        }
        for name, references in cells.items():
            item = file.create_dataset(name, data=np.array([[r] for r in references], h5py.ref_dtype))
            item.attrs["MATLAB_class"] = np.bytes_("cell")
        other = file.create_dataset("means_for_scaling", data=np.zeros((3, 1)))
        other.attrs["MATLAB_class"] = np.bytes_("double")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, written by a test".ljust(124) + struct.pack("<H2s", 0x0200, b"IM"))
    return path


def element(kind: int, data: bytes, order: str = "<") -> bytes:
    """A tagged element of a .mat file of level 5."""
    return struct.pack(f"{order}II", kind, len(data)) + data + bytes(-len(data) % 8)


def array(kind: int, shape: Sequence[int], body: bytes, name: str = "", order: str = "<", flags: int = 0) -> bytes:
    """An array of a class, with what follows its header."""
    head = element(6, struct.pack(f"{order}II", kind | flags, 0), order)
    head += element(5, struct.pack(f"{order}{len(shape)}i", *shape), order) + element(1, name.encode(), order)
    return element(14, head + body, order)


def level5(*variables: bytes, order: str = "<") -> bytes:
    """A .mat file of level 5."""
    mark = b"IM" if order == "<" else b"MI"
    return b"MATLAB 5.0 MAT-file, by a test".ljust(124) + struct.pack(f"{order}H", 0x0100) + mark + b"".join(variables)


def numbers(values: Any, name: str = "", order: str = "<") -> bytes:
    """A matrix of doubles."""
    data = np.asarray(values, f"{order}f8")
    return array(6, data.shape, element(9, data.tobytes("F"), order), name, order)


def words(text: str, name: str = "", order: str = "<") -> bytes:
    """A row of text."""
    return array(4, (1, len(text)), element(4, np.array([*map(ord, text)], f"{order}u2").tobytes(), order), name, order)


def cells(items: Sequence[bytes], name: str, order: str = "<") -> bytes:
    return array(1, (1, len(items)), b"".join(items), name, order)


def by_hand(x: Any, functions: Sequence[Any]) -> Any:
    """The net in numpy."""
    z = np.asarray(x)
    for A, b, f in zip(WEIGHTS, BIASES, functions, strict=True):
        z = f(z @ A.T + b)
    return z


def relu(z: Any) -> Any:
    return np.maximum(z, 0.0)


def sigmoid(z: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-z))


def identity(z: Any) -> Any:
    return z
