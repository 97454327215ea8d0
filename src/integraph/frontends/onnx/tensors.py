"""Tensors of an ONNX file → arrays: sizes are checked before anything is allocated, floats become float64, exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from integraph.errors import FileError, SourceError
from integraph.frontends.extras import need
from integraph.frontends.tensor_builder import Array

# type → an entry of raw_data, the field that holds it otherwise, what it becomes
KINDS: dict[str, tuple[np.dtype[Any], str, type[np.generic]]] = {
    "FLOAT": (np.dtype("<f4"), "float_data", np.float64),
    "DOUBLE": (np.dtype("<f8"), "double_data", np.float64),
    "FLOAT16": (np.dtype("<f2"), "int32_data", np.float64),
    "INT32": (np.dtype("<i4"), "int32_data", np.int64),
    "INT64": (np.dtype("<i8"), "int64_data", np.int64),
    "BOOL": (np.dtype("u1"), "int32_data", np.bool_),
}
MOST_AXES = 16


def decode(tensor: Any, what: str) -> Array:
    """The numbers of a TensorProto, read-only; `what` names it in errors. −∞ passes, as part of a mask."""
    onnx = need("onnx", "onnx")
    kind = type_name(tensor.data_type)
    if kind not in KINDS:
        raise SourceError(f"{what} holds {kind}: accepted are {', '.join(KINDS)}")
    whole(tensor, what)
    entry, name, dtype = KINDS[kind]
    dims = tuple(tensor.dims)
    if len(dims) > MOST_AXES or any(n < 0 for n in dims):
        raise FileError(
            f"{what} declares the shape {list(dims[: MOST_AXES + 1])}: sizes must be ≥ 0, axes at most {MOST_AXES}"
        )
    count = math.prod(dims)
    raw = tensor.raw_data if tensor.HasField("raw_data") else None  # a copy each time that one asks
    held = len(getattr(tensor, name)) if raw is None else len(raw) / entry.itemsize
    if held != count:
        raise FileError(f"{what} declares {count} entries, shape {dims}, and holds {held:g}: the file is damaged")
    try:
        stored = onnx.numpy_helper.to_array(tensor) if raw is None else np.frombuffer(raw, entry)
        stored = stored.reshape(dims)
    except Exception as reason:  # whatever the decoder raises, it is the file
        raise FileError(f"{what} cannot be decoded: {reason}") from None
    array = finite(stored, what, masks=True).astype(dtype, copy=False)
    array.flags.writeable = False
    return array


def whole(tensor: Any, what: str) -> None:
    """A tensor holds all its numbers itself."""
    if tensor.data_location == need("onnx", "onnx").TensorProto.EXTERNAL or tensor.external_data:
        raise FileError(
            f"{what} is stored in another file, which is not opened: export with external_data=False, or pass what "
            "onnx.load(path) returns"
        )
    if tensor.HasField("segment"):
        raise SourceError(f"{what} is stored in segments: only whole tensors are read")


def finite(array: Array, what: str, masks: bool = False) -> Array:
    good = np.isfinite(array) if array.dtype.kind == "f" else np.True_
    if not good.all() and not (good := good | (masks and array == -np.inf)).all():
        at = [int(n) for n in np.argwhere(~good)[0]]
        raise SourceError(f"{what}: entry {at} is {array[tuple(at)]}, weights and biases must be finite")
    return array


def type_name(number: int) -> str:
    """FLOAT for 1, and so on."""
    kinds = need("onnx", "onnx").TensorProto.DataType
    return str(kinds.Name(number)) if number in kinds.values() else f"type {number}"
