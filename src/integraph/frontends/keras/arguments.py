"""What a layer of a Functional model is called with: tensors by name, constants, slices. Keras 3 and tf.keras 2 have
different ways to write it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from integraph.errors import FileError, SourceError
from integraph.text import shortened

CONSTANTS = ("__numpy__", "__tensor__")
DTYPES = ("bool", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8")
DEPTH = 16  # of lists inside lists


@dataclass(frozen=True, slots=True)
class TensorName:
    """An output of a call: the layer, the number of the call, the number of the output."""

    layer: str
    call: int
    output: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """The arguments of one call. In the place of a tensor is its name."""

    args: list[Any]
    kwargs: dict[str, Any]

    def tensors(self) -> list[TensorName]:
        return list(_names([self.args, self.kwargs]))


def calls_of(nodes: list[Any], layer: str, later: Collection[str] = ()) -> list[Call]:
    """All calls of a layer: mappings in Keras 3, [[layer, call, tensor, options], …] in tf.keras. Calls of the layers
    in `later` are numbered from 1."""
    return [_call(node, layer, later) for node in nodes]


def ends_of(config: dict[str, Any], key: str, later: Collection[str] = ()) -> list[TensorName]:
    """The inputs or outputs of a model, in order."""
    ends = config.get(key)
    if isinstance(ends, dict):
        ends = list(ends.values())
    several = isinstance(ends, list) and bool(ends) and all(isinstance(end, list) for end in ends)
    names = [_history(end, key) for end in (ends if several and isinstance(ends, list) else [ends])]
    return [_counted(name, later) for name in names]


def show(value: Any) -> str:
    return shortened(repr(value), 80)


def _counted(name: TensorName, later: Collection[str]) -> TensorName:
    return replace(name, call=name.call - 1) if name.layer in later else name


def _call(node: Any, layer: str, later: Collection[str]) -> Call:
    if isinstance(node, dict):
        args, kwargs = node.get("args", []), node.get("kwargs") or {}
        if not isinstance(args, list) or not isinstance(kwargs, dict):
            raise FileError(f"layer {layer!r} is called with {show(kwargs or args)}: these are no arguments")
        return Call([_value(arg, layer) for arg in args], {name: _value(arg, layer) for name, arg in kwargs.items()})
    if not isinstance(node, list) or not node or not all(isinstance(part, list) for part in node):
        raise FileError(f"layer {layer!r} is called with {show(node)}: these are no arguments")
    tensors = [_counted(_history(part, f"the input of layer {layer!r}"), later) for part in node]
    options = node[0][3] if len(node[0]) > 3 else {}
    if not isinstance(options, dict):
        raise FileError(f"layer {layer!r} is called with {show(options)}: these are no arguments")
    return Call([tensors if len(tensors) > 1 else tensors[0]], options)


def _value(given: Any, layer: str, depth: int = 0) -> Any:
    """An argument: a tensor, a constant, a list of them, a slice; numbers, texts and None are themselves."""
    if depth > DEPTH:
        raise FileError(f"layer {layer!r} is called with lists that are nested more than {DEPTH} deep")
    if isinstance(given, list):
        return [_value(part, layer, depth + 1) for part in given]
    if not isinstance(given, dict):
        return given
    kind, config = given.get("class_name"), given.get("config")
    settings = config if isinstance(config, dict) else {}
    if kind == "__keras_tensor__":
        return _history(settings.get("keras_history"), f"the input of layer {layer!r}")
    if kind in CONSTANTS:
        return _constant(settings, layer)
    if kind == "__slice__":
        return _slice(settings, layer)
    if kind == "__ellipsis__":
        return Ellipsis
    if kind == "__tuple__" and isinstance(given.get("items"), list):
        return [_value(part, layer, depth + 1) for part in given["items"]]
    raise SourceError(f"layer {layer!r} is called with {show(given)}, which is not read")


def _constant(settings: dict[str, Any], layer: str) -> np.ndarray[Any, Any]:
    dtype, value = settings.get("dtype"), settings.get("value")
    if dtype not in DTYPES:
        raise SourceError(f"layer {layer!r} is called with constants of type {show(dtype)}: known are {DTYPES}")
    try:
        array = np.array(value, dtype)
    except (ValueError, TypeError, OverflowError):
        raise FileError(f"layer {layer!r} is called with {show(value)}: these are no {dtype} numbers") from None
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _slice(settings: dict[str, Any], layer: str) -> slice:
    parts = [settings.get(name) for name in ("start", "stop", "step")]
    if not all(part is None or (type(part) is int and abs(part) < 1 << 62) for part in parts) or parts[2] == 0:
        raise FileError(f"layer {layer!r} is called with the slice {show(parts)}: needs whole numbers, a step not 0")
    return slice(*parts)


def _history(history: Any, where: str) -> TensorName:
    good = isinstance(history, list) and len(history) >= 2 and isinstance(history[0], str) and type(history[1]) is int
    output = history[2] if good and len(history) > 2 else 0
    if not good or type(output) is not int:
        raise FileError(f"{where} is not [layer, call, tensor] but {show(history)}")
    return TensorName(history[0], history[1], output)


def _names(value: Any) -> Iterator[TensorName]:
    if isinstance(value, TensorName):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _names(part)
