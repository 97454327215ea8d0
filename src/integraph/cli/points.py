"""Points as the command takes them: as arguments, from a table (CSV), or from an array (NPY)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from integraph.cli.paths import refuse_pipe
from integraph.errors import FileError, IntegraphError, UsageError
from integraph.text import counted

if TYPE_CHECKING:
    from integraph import Program
    from integraph.numbers.arrays import Floats

STDIN = Path("-")
TABLES = (".csv", ".npy", ".txt")
NUMPY, ZIP = b"\x93NUMPY", b"PK\x03\x04"
WRITTEN = "write it with numpy.save(path, array) again"


def points_of(words: list[str] | None, table: Path | None, program: Program) -> tuple[Floats, tuple[str, ...]]:
    """(B, d), every number finite, and warnings; or an error that says where there is none."""
    names = input_names(program)
    if words and table is not None:
        raise UsageError("points were given both as arguments and by --points: give one of them")
    if words:
        _refuse_file(words[0])
        return from_arguments(words, names), ()
    if table is None:
        example = ",".join(["0.5"] * len(names)) if len(names) <= 4 else "0.5,0.5,…"
        raise UsageError(f"no points: write them after the file, {example}, or use --points FILE (.csv, .npy, or -)")
    return from_file(table, names)


def _refuse_file(word: str) -> None:
    if Path(word).suffix.lower() in TABLES:
        raise UsageError(f"{word} is the name of a file: to read points from it, write --points {word}")


def input_names(program: Program) -> tuple[str, ...]:
    """What the inputs are called: as in the formula that the program names, else as its registers are."""
    from integraph.api.origin import recalled

    formula = recalled(program)
    return formula.variables if formula else tuple(program.registers.name(n) for n in range(program.inputs))


def from_arguments(words: list[str], names: tuple[str, ...]) -> Floats:
    """`0.3 0.8` is one point of two inputs, `0.3,0.8 0.1,0.2` are two; with one input every number is a point."""
    import numpy as np

    d = len(names)
    if d > 1 and not any("," in word for word in words):
        words = [",".join(words)]
    rows = []
    for word in words:
        row = [_number(part, word) for part in word.split(",")]
        if len(row) != d:
            raise UsageError(f"{_cut(word)} has {counted(len(row), 'number')}: a point has {d}, {_named(names)}")
        rows.append(row)
    return np.array(rows)


def from_file(path: Path, names: tuple[str, ...]) -> tuple[Floats, tuple[str, ...]]:
    """A table of numbers as text, or one array of numpy; which of them is seen from its first bytes."""
    from integraph.cli.csv_table import read_csv

    if path == STDIN:
        return read_csv(sys.stdin.buffer, "stdin", names, None)
    try:
        if path.is_dir():
            raise FileError(f"{path}: this is a folder, not a file of points")
        with path.open("rb") as file:
            start = file.peek(8)
            if not start.startswith((NUMPY, ZIP)) and path.suffix.lower() != ".npy":
                return read_csv(file, str(path), names, path.stat().st_size if path.is_file() else None)
    except OSError as error:
        raise FileError(f"cannot read the points in {path}: {error.strerror or error}") from None
    if start.startswith(ZIP):
        raise FileError(f"{path}: this is a zip file of several arrays: {WRITTEN}, one array")
    refuse_pipe(path)  # an array is read where it lies
    return _npy(path, start, names), ()


def _npy(path: Path, start: bytes, names: tuple[str, ...]) -> Floats:
    import numpy as np

    from integraph.program.engine import batch_of

    if not start.startswith(NUMPY):
        raise FileError(
            f"{path}: this is not a .npy file ({'it is empty' if not start else 'its first bytes are others'})"
        )
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)  # a header that lies about its size is found out
    except (ValueError, OSError, EOFError, OverflowError, MemoryError) as error:
        raise FileError(f"{path}: truncated, or not an array of numbers ({error}): {WRITTEN}") from None
    if array.dtype.kind not in "biuf":
        raise FileError(f"{path}: its elements are {array.dtype}, not real numbers: {WRITTEN}")
    try:
        table = batch_of(np.array(array, np.float64), len(names))
    except IntegraphError as error:
        raise FileError(f"{path}: {error}") from None
    if not len(table):
        raise FileError(f"{path}: an array of shape {array.shape} has no points")
    return table


def _number(part: str, word: str) -> float:
    import math

    try:
        value = float(part)
    except ValueError:
        raise UsageError(f"{_cut(part)} in {_cut(word)} is not a number: a point is written 0.3,0.8") from None
    if not math.isfinite(value):
        raise UsageError(f"{_cut(part)} in {_cut(word)} is not finite")
    return value


def _named(names: tuple[str, ...]) -> str:
    return ", ".join(names[:4]) + ", …" * (len(names) > 4)


def _cut(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 40 else text[:40] + "…")
