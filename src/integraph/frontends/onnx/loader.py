"""An ONNX model from a path or from memory: its size is checked before it is read, and nothing else is opened."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from integraph.errors import FileError, UsageError
from integraph.frontends.extras import need

LFS = b"version https://git-lfs"


def opened(source: Any, max_bytes: int) -> tuple[Any, str, int]:
    """The model in a file or an onnx.ModelProto, what it is called, and how many bytes it has."""
    onnx = need("onnx", "onnx")
    if isinstance(source, onnx.ModelProto):
        model, name, size = source, "an ONNX model", source.ByteSize()
    elif isinstance(source, str | os.PathLike):
        model, name, size = _load(source, max_bytes)
    else:
        raise UsageError(f"an ONNX model is a path or an onnx.ModelProto, got {type(source).__name__}")
    if size > max_bytes:
        raise FileError(f"{name} has {size} bytes, more than max_bytes = {max_bytes}")
    if not model.HasField("graph") or not model.graph.node:
        raise FileError(f"{name} holds no graph: it is empty, cut off, or not an ONNX model")
    return model, name, size


def _load(source: str | os.PathLike[str], max_bytes: int) -> tuple[Any, str, int]:
    onnx = need("onnx", "onnx")
    path = Path(source)
    if path.exists() and not path.is_file():  # a pipe would wait for ever
        raise FileError(f"{path.name} is {'a folder' if path.is_dir() else 'no regular file'}, not an ONNX file")
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(max_bytes + 1) if size <= max_bytes else b""
    except (OSError, ValueError) as reason:
        raise FileError(f"cannot open {os.fspath(source)!r}: {getattr(reason, 'strerror', None) or reason}") from None
    if size > max_bytes or len(data) > max_bytes:
        raise FileError(f"{path.name} has {max(size, len(data))} bytes, more than max_bytes = {max_bytes}")
    _recognised(data, path.name)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as reason:  # whatever the parser raises, it is the file
        raise FileError(f"{path.name} is not an ONNX model, or cut off: {reason}") from None
    return model, path.name, len(data)


def _recognised(data: bytes, name: str) -> None:
    if not data:
        raise FileError(f"{name} is empty")
    if data.startswith(LFS):
        raise FileError(f"{name} is a git-lfs pointer, not the model itself: fetch it with `git lfs pull`")
    start = data[:64]
    if all(32 <= byte < 127 or byte in b"\t\r\n" for byte in start):
        raise FileError(f"{name} is a text file, it starts with {start[:24].decode()!r}: an ONNX model is binary")
