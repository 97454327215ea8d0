"""Files that words read and write. What would be lost by writing is found out before anything is computed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from integraph.errors import FileError, UsageError

if TYPE_CHECKING:
    from integraph import Program


@dataclass(frozen=True, slots=True)
class Kind:
    """What is written: under which suffixes (the first unless one is given), and how files begin that may go."""

    name: str
    suffixes: tuple[str, ...]
    begins: bytes = b""  # after its first eight bytes, if it is a program


PROGRAM = Kind("a program", (".integraph", ".safetensors"), b'{"__metadata__":{"format":"integraph program"')
PROOF = Kind("a proof", (".json",), b'{"format":"integraph certificate"')
PAGE = Kind("a page", (".html", ".htm"))
TABLE = Kind("a table", (".csv", ".npy"))
NETWORKS = (".onnx", ".keras", ".h5", ".hdf5")
HEADER = 8  # bytes of a program file before its text


def loaded(file: Path) -> Program:
    """The program in a file; if it is a network, how to make one of it."""
    import integraph

    try:
        return integraph.load(file)
    except FileError as error:
        if file.suffix.lower() not in NETWORKS:
            raise
        make = f"integraph compile {file} -o {file.with_suffix(PROGRAM.suffixes[0])}"
        raise FileError(f"{error}; a network becomes one by: {make}") from None


def is_program(path: Path) -> bool:
    """Whether a file begins as programs do; it may still be damaged."""
    return _start(path)[HEADER:].startswith(PROGRAM.begins)


def proof_beside(program: Path) -> Path:
    """Where the proof of a program goes: net.integraph → net.proof.json."""
    return program.with_suffix(".proof.json")


def output(path: Path, kind: Kind, option: str, inputs: Iterable[Path | None] = ()) -> Path:
    """Where to write, with a suffix; or a UsageError: a name for other things, or in the place of something else."""
    if not path.name:
        raise UsageError(f"{option} {path}: this is a folder, name a file in it")
    found = path if path.suffix else path.with_suffix(kind.suffixes[0])
    usual = " or ".join(kind.suffixes)
    if found.suffix.lower() not in kind.suffixes:
        raise UsageError(f"{option} {path}: {kind.name} is written as {usual}, not {found.suffix}")
    if not found.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {found.parent}: make it first")
    if not os.access(found.parent, os.W_OK):
        raise UsageError(f"{option} {path}: nothing may be written into the folder {found.parent}")
    if found.is_dir():
        raise UsageError(f"{option} {path}: this is a folder, name a file in it")
    if any(other is not None and other.exists() and found.exists() and found.samefile(other) for other in inputs):
        raise UsageError(f"{option} {path}: this is what is read, it would be lost: choose another name")
    if kind.begins and not _replaceable(found, kind):
        raise UsageError(
            f"{option} {path}: there is a file that is not {kind.name}, and it would be lost: choose another name, or "
            "remove it"
        )
    return found


def _replaceable(path: Path, kind: Kind) -> bool:
    start = _start(path)
    return not start or (start[HEADER:] if kind is PROGRAM else start).startswith(kind.begins)


def _start(path: Path) -> bytes:
    if not path.exists():
        return b""
    with path.open("rb") as file:
        return file.read(128)
