"""ONNX operators that move numbers and compute none: shapes, casts, constants."""

from __future__ import annotations

import math

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.onnx.node import OnnxNode
from integraph.frontends.onnx.tensors import KINDS, type_name
from integraph.frontends.tensor_builder import Operand
from integraph.frontends.tensor_operations import reshaped, transposed

FLOATS = {"FLOAT": np.float32, "DOUBLE": np.float64, "FLOAT16": np.float16}


def cast(n: OnnxNode) -> Operand:
    x, kind = n.operand(0), type_name(n.attributes.get("to", 0))
    if not isinstance(x, np.ndarray):
        if kind not in FLOATS:
            raise SourceError(
                f"{n.where} casts a computed tensor to {kind}: only float types keep it a function of reals"
            )
        if kind != "DOUBLE":
            n.notes.append(f"{n.where}: rounding to {kind} is left out")
        return x
    n.room(*x.shape)
    if kind in FLOATS:
        with np.errstate(over="ignore", under="ignore"):
            return n.checked(x.astype(FLOATS[kind]).astype(np.float64))
    if kind not in KINDS or (x.size and np.abs(x.astype(np.float64)).max() >= 2.0**31):
        raise SourceError(f"{n.where} casts a constant to {kind}: only {', '.join(KINDS)}, and integers below 2³¹")
    return x.astype(KINDS[kind][2])


def reshape(n: OnnxNode) -> Operand:
    x, shape = n.operand(0), n.integers(1, "sizes")
    if not n.attributes.get("allowzero"):
        if any(size == 0 and k >= len(x.shape) for k, size in enumerate(shape)):
            raise SourceError(f"{n.where} copies an axis that shape {x.shape} does not have")
        shape = [size or x.shape[k] for k, size in enumerate(shape)]
    return reshaped(n, x, shape)


def flatten(n: OnnxNode) -> Operand:
    x = n.operand(0)
    axis = n.attributes.get("axis", 1)
    axis += len(x.shape) if axis < 0 else 0
    if not 0 <= axis <= len(x.shape):
        raise SourceError(f"{n.where}: there is no axis {axis} in shape {x.shape}")
    return reshaped(n, x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def axes_of(n: OnnxNode, rank: int) -> list[int] | None:
    axes = n.integers(1, "axes") if n.given(1) is not None else n.attributes.get("axes")
    if axes is None:
        return None
    positions = [a + rank if a < 0 else a for a in axes]
    if any(not 0 <= a < rank for a in positions) or len(set(positions)) < len(positions):
        raise SourceError(f"{n.where}: axes {axes} must be distinct axes of the {rank} there are")
    return positions


def squeeze(n: OnnxNode) -> Operand:
    x = n.operand(0)
    axes = axes_of(n, len(x.shape))
    gone = [k for k, size in enumerate(x.shape) if size == 1] if axes is None else axes
    if any(x.shape[k] != 1 for k in gone):
        raise SourceError(f"{n.where} squeezes axes {gone} of shape {x.shape}: they must be of size 1")
    return reshaped(n, x, [size for k, size in enumerate(x.shape) if k not in gone])


def unsqueeze(n: OnnxNode) -> Operand:
    x = n.operand(0)
    count = len(n.attributes["axes"]) if "axes" in n.attributes else n.constant(1, "axes").size
    axes = axes_of(n, len(x.shape) + count) or []
    rest = iter(x.shape)
    return reshaped(n, x, [1 if k in axes else next(rest) for k in range(len(x.shape) + len(axes))])


def transpose(n: OnnxNode) -> Operand:
    x = n.operand(0)
    return transposed(n, x, n.attributes.get("perm", range(len(x.shape))[::-1]))


def concat(n: OnnxNode) -> Operand:
    if len(n.inputs) == 1:
        return n.operand(0)
    parts = [n.constant(k, "parts") for k in range(len(n.inputs))]
    n.room(sum(part.size for part in parts))
    axis = n.attributes.get("axis", 1)
    try:
        return np.concatenate(parts, axis)
    except (ValueError, TypeError):
        raise SourceError(
            f"{n.where} joins shapes {[p.shape for p in parts][:8]} along axis {axis}: they do not fit"
        ) from None


def identity(n: OnnxNode) -> Operand:
    return n.operand(0)


def dropout(n: OnnxNode) -> Operand:
    mode = n.given(2)
    if mode is not None and (not isinstance(mode, np.ndarray) or mode.any()):
        raise SourceError(f"{n.where} is in training mode: save the model for inference")
    return inference(n)


def inference(n: OnnxNode) -> Operand:
    """The first operand, of a node that does something else in training."""
    if n.opset < 7 and not n.attributes.get("is_test"):
        n.notes.append(f"{n.where}: it says is_test = 0, and is read as in inference")
    return n.operand(0)


def constant(n: OnnxNode) -> Operand:
    if len(n.attributes) != 1:
        raise SourceError(f"{n.where} has {len(n.attributes)} values: it needs one")
    name, value = next(iter(n.attributes.items()))
    if name == "value":
        return n.decoded(value)
    if name in ("value_float", "value_floats"):
        return n.checked(np.array(value, np.float64))
    if name in ("value_int", "value_ints"):
        return np.array(value, np.int64)
    raise SourceError(f"{n.where} holds a {name}: only numbers are supported")


def constant_of_shape(n: OnnxNode) -> Operand:
    shape = n.room(*n.integers(0, "sizes"))
    value = n.decoded(n.attributes["value"]) if "value" in n.attributes else np.zeros(1)
    if value.size != 1:
        raise SourceError(f"{n.where} has {value.size} values: it needs one")
    return np.broadcast_to(value.reshape(()), shape)
