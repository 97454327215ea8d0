"""The program file: safetensors, with the program's structure as JSON in its metadata. Never pickle.

A file holds blocks and tensors, not terms, and two hashes. The seal is over every byte that matters and finds damage.
The digest is that of eq. (1): loading runs the spec, lowers the blocks again and compares, so that a file cannot lie
about what it computes.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from typing import Any

import numpy as np

from integraph.errors import FileError, SpecError, UsageError
from integraph.files import FilePath, atomic, check_path
from integraph.program.bands import bound
from integraph.program.block import Tensor
from integraph.program.document import Limits, decode
from integraph.program.lowering import digest
from integraph.program.old_source import with_old_layers, with_old_origin
from integraph.program.program import Program
from integraph.program.schema import encode
from integraph.progress import progress_bar

FORMAT, VERSION = "integraph program", 2  # version 1 has no origin: it was written by Integraph 0.1
METADATA = {"format", "version", "digest", "seal", "program"}
MAX_HEADER = 1 << 24  # bytes of JSON: enough for some 100 000 blocks


def save(program: Program, path: FilePath) -> None:
    """Write the file; the same program gives the same bytes. An interrupted save leaves the old file as it was."""
    check_path(path)
    document, tensors = encode(program)
    text = json.dumps(document, separators=(",", ":"))
    if "digest" not in program.__dict__:
        _lower(program, "hashing")
    seal = _seal(program.digest, text, tensors)
    metadata = {"format": FORMAT, "version": str(VERSION), "digest": program.digest, "seal": seal, "program": text}
    header = _header(metadata, tensors)
    if len(header) > MAX_HEADER:
        raise FileError(f"{os.fspath(path)}: the program has too many blocks for a file: use fewer, larger ones")
    with atomic(path) as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for array in tensors.values():
            file.write(array.data)


def _header(metadata: dict[str, str], tensors: Mapping[str, Tensor]) -> bytes:
    """The safetensors header, padded so that the numbers after it are aligned."""
    entries: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, array in tensors.items():
        begin, end = end, end + array.nbytes
        kind = {"f": "F64", "i": "I64"}[array.dtype.kind]
        entries[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [begin, end]}
    text = json.dumps(entries, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % 8)


def load(
    path: FilePath,
    *,
    max_bytes: int = 1 << 33,
    max_registers: int = 100_000_000,
    max_terms: int = 4_000_000_000,
) -> Program:
    """Read a file from anyone: a sound program that does what the file says, or FileError and nothing else."""
    try:
        _check_size(path, max_bytes)
        metadata, tensors = _read(path)
        program = decode(_parse(metadata["program"]), tensors, Limits(max_registers, max_terms))
        if int(metadata["version"]) == 1:
            program = with_old_layers(with_old_origin(program))
        if _lower(program, "checking") != metadata["digest"]:
            raise FileError("the file was altered: its blocks do not give the terms that its digest names")
        return program
    except (FileError, SpecError, UsageError) as error:
        text = str(error)
        raise FileError(f"{path}: {text if len(text) < 1000 else text[:1000] + ' …'}") from None


def _check_size(path: FilePath, max_bytes: int) -> None:
    """What can be known before the file is parsed."""
    check_path(path)
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is a directory" if stat.S_ISDIR(status.st_mode) else "it is not a regular file")
        with open(path, "rb") as file:
            start = file.read(64)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read the file: {getattr(error, 'strerror', None) or error}") from None
    size, header = status.st_size, int.from_bytes(start[:8], "little")
    if size > max_bytes:
        raise FileError(f"{size} bytes are more than the limit {max_bytes}: if you trust the file, raise max_bytes")
    if start.startswith(b"version https://git-lfs"):
        raise FileError("this is a Git LFS pointer, not the program itself: run git lfs pull")
    if start[8:9] != b"{":
        raise FileError("this is not a program file, which is a safetensors file" if start else "the file is empty")
    if header > size - 8:
        raise FileError(f"the file is truncated: its header has {header} bytes, the whole file {size}")
    if header > MAX_HEADER:
        raise FileError(f"a header of {header} bytes is more than the limit {MAX_HEADER}")


def _read(path: FilePath) -> tuple[dict[str, str], dict[str, Tensor]]:
    """Metadata and tensors, with an intact seal."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            _check_version(metadata)
            tensors = {name: _tensor(file, name) for name in file.keys()}  # noqa: SIM118  (not a dict)
    except FileError:
        raise
    except (SafetensorError, OSError, ValueError, MemoryError) as error:
        raise FileError(f"the file is damaged or truncated: {error}") from None
    if metadata["seal"] != _seal(metadata["digest"], metadata["program"], tensors):
        raise FileError("the file is damaged: its checksum does not match its contents")
    return metadata, tensors


def _check_version(metadata: Mapping[str, str]) -> None:
    version = metadata.get("version", "")
    if metadata.get("format") != FORMAT or not (version.isascii() and version.isdecimal() and len(version) < 9):
        raise FileError("this is a safetensors file, but not a program of Integraph")
    if int(version) > VERSION:
        raise FileError(f"the file has format version {int(version)}, this Integraph reads up to {VERSION}: update it")
    if int(version) < 1 or set(metadata) != METADATA:
        raise FileError(f"the file has unknown or missing metadata: needs {', '.join(sorted(METADATA))}")


def _tensor(file: Any, name: str) -> Tensor:
    kind = file.get_slice(name).get_dtype()
    if kind not in ("F64", "I64"):
        raise FileError(f"tensor {name[:50]!r} is {kind}: needs F64 or I64")
    array: Tensor = np.array(file.get_tensor(name))  # our own, so that nobody else can write it
    array.flags.writeable = False
    return array


def _seal(digest: str, text: str, tensors: Mapping[str, Tensor]) -> str:
    seal = hashlib.sha256(json.dumps([digest, text, len(tensors)]).encode())
    for name, array in sorted(tensors.items()):
        seal.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        seal.update(array.data)
    return seal.hexdigest()


def _parse(text: str) -> object:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            raise FileError("the document names a key twice")
        return members

    try:
        return json.loads(text, object_pairs_hook=unique)
    except FileError:
        raise
    except (ValueError, RecursionError) as error:
        raise FileError(f"the document is not JSON that we can read: {error}") from None


def _lower(program: Program, what: str) -> str:
    """Lower all blocks once; the program then knows its digest and how many terms it has."""
    terms = 0
    total = sum(bound(block) for s in program.segments for block in s.blocks)
    with progress_bar(total, f"{what} {total:.2g} terms") as advance:

        def progress(count: int) -> None:
            nonlocal terms
            terms += count
            advance(count)

        program.__dict__.update(digest=digest(program, progress), terms=terms)  # both are cached properties
    return program.digest
