"""Files that commands read and write. Whether a file may be overwritten is checked before anything is computed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from integraph.errors import FileError, UsageError
from integraph.files import BEFORE, MARK, FilePath
from integraph.files import PROGRAM as SUFFIX
from integraph.text import clean

if TYPE_CHECKING:
    from integraph import Program


class Saved(Protocol):
    """A certificate of any kind."""

    def save(self, path: FilePath) -> None: ...


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file that commands write: its suffixes, the first by default, and the mark by which our own files are
    recognised. Only a file with the mark may be overwritten; a kind without a mark overwrites any file."""

    name: str
    suffixes: tuple[str, ...]
    mark: bytes = b""
    before: int = 0  # bytes that may stand before the mark

    def ours(self, start: bytes) -> bool:
        """Whether a file that begins like this is one of these."""
        return 0 <= start.find(self.mark) <= self.before


PROGRAM = FileKind("a program", (SUFFIX, ".safetensors"), MARK, BEFORE)
PROOF = FileKind("a proof", (".json",), b'{"format":"integraph certificate"')
PROPERTY = FileKind("the proof of a property", (".json",), b'{"format":"integraph property certificate"')
LOOP = FileKind("the proof of a closed loop", (".json",), b'{"format":"integraph loop certificate"')
PAGE = FileKind("a page of integraph", (".html", ".htm"), b'<meta name="generator" content="integraph">', 512)
PICTURE = FileKind("a picture", (".png", ".svg", ".pdf"))
TABLE = FileKind("a table", (".csv", ".npy"))
NETWORKS = (".onnx", ".keras", ".h5", ".hdf5", ".nnet", ".yml", ".yaml", ".mat")
FORMULAS = (".formula", ".txt")
DATA = (".csv", ".tsv")
START = 1024  # bytes of a file by which it is known


def loaded(file: Path) -> Program:
    """The program in a file; for a network, an error that says how to compile it."""
    import integraph

    refuse_pipe(file)
    try:
        return integraph.load(file)
    except FileError as error:
        if file.suffix.lower() not in NETWORKS:
            raise
        make = f"integraph compile {file} -o {file.with_suffix(PROGRAM.suffixes[0])}"
        raise FileError(f"{error}; a network becomes one by: {make}") from None


def is_program(path: Path) -> bool:
    """Whether this is a file that begins as programs do; it may still be damaged."""
    return PROGRAM.ours(_start(path))


def is_there(path: Path) -> bool:
    """Whether there is something under this name; a formula may be too long for one."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_regular(path: Path) -> bool:
    """Whether this is a regular file; reading a pipe might never end."""
    return is_there(path) and path.is_file()


def refuse_pipe(path: Path) -> None:
    """A FileError for a pipe or a device; folders and missing files are reported by whoever reads them."""
    if is_there(path) and not (path.is_file() or path.is_dir()):
        raise FileError(f"{path}: this is a pipe or a device: write it into a file first, and name that")


def proof_beside(program: Path) -> Path:
    """Where the proof of a program goes: net.integraph → net.proof.json."""
    return program.with_suffix(".proof.json")


def output(path: Path, kind: FileKind, option: str, inputs: Iterable[Path | None] = ()) -> Path:
    """Where to write, with a suffix; or a UsageError: a name for other things, or in the place of something else."""
    if not path.name or (is_there(path) and path.is_dir()):
        raise UsageError(f"{option} {path}: this is a folder, name a file in it")
    target = path if path.suffix else path.with_suffix(kind.suffixes[0])
    usual = " or ".join(kind.suffixes)
    if target.suffix.lower() not in kind.suffixes:
        raise UsageError(f"{option} {path}: {kind.name} is written as {usual}, not {target.suffix}")
    if not target.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {target.parent}: make it first")
    if not os.access(target.parent, os.W_OK):
        raise UsageError(f"{option} {path}: nothing may be written into the folder {target.parent}")
    if not is_there(target):
        return target
    if target.is_dir():
        raise UsageError(f"{option} {path}: this is a folder, name a file in it")
    if not target.is_file():
        raise UsageError(f"{option} {path}: this is a pipe or a device, name a file")
    if any(other is not None and is_there(other) and target.samefile(other) for other in inputs):
        raise UsageError(f"{option} {path}: this is the file to read, which would be overwritten: choose another name")
    start = _start(target)
    if kind.mark and start and not kind.ours(start):
        raise UsageError(
            f"{option} {path}: this file is not {kind.name}, and would be overwritten: choose another name, or "
            "remove it"
        )
    return target


def save_proof(
    proof: Saved | None, path: Path | None, nothing: str, data: dict[str, Any], text: list[str]
) -> list[str]:
    """Write a certificate, if a path is given, and say so in the answer; a warning where there is none."""
    if path is None:
        return []
    if proof is None:
        return [f"{nothing}, so {clean(str(path))} was not written"]
    proof.save(path)
    data["written"] = path
    text.append(f"wrote {clean(str(path))}")
    return []


def _start(path: Path) -> bytes:
    """Its first bytes; none if it is not a file."""
    if not is_regular(path):
        return b""
    try:
        with path.open("rb") as file:
            return file.read(START)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
