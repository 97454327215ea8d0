"""Operations of torch that take entries to other places.

Which entry goes where, torch tells itself: it does the same to the numbers of the entries, and `arranged` reads from
the result what that is to a graph.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.tensor_builder import Operand
from integraph.frontends.tensor_operations import cut, moved, reshaped
from integraph.frontends.torch.call import TorchCall, array
from integraph.numbers.arrays import Indices

RESHAPES = ("flatten", "reshape", "squeeze", "unflatten", "unsqueeze", "view", "view_as")  # entries stay in order
PERMUTATIONS = ("movedim", "permute", "swapaxes", "t", "transpose")  # of axes
BROADCASTS = ("broadcast_to", "expand", "expand_as")
ARRANGEMENTS = (  # of the entries of one tensor
    "channel_shuffle",
    "chunk",
    "diagonal",
    "flip",
    "gather",
    "index",
    "index_select",
    "narrow",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "reflection_pad1d",
    "reflection_pad2d",
    "repeat",
    "repeat_interleave",
    "replication_pad1d",
    "replication_pad2d",
    "roll",
    "rot90",
    "select",
    "slice",
    "split",
    "split_with_sizes",
    "take_along_dim",
    "tensor_split",
    "tile",
    "unbind",
    "unfold",
    "upsample_nearest1d",
    "upsample_nearest2d",
)
INSERTIONS = ("copy", "index_put", "select_scatter", "slice_scatter")  # of one tensor into another
PLACES = (*RESHAPES, *PERMUTATIONS, *BROADCASTS, *ARRANGEMENTS, *INSERTIONS)


def concatenate(call: TorchCall) -> Operand:
    parts = [part if hasattr(part, "number") else array(part) for part in call["tensors"]]
    full = [part for part in parts if part.shape != (0,)]  # torch skips such
    axis = call.axis(len(full[0].shape))
    return call.builder.draw("concat", *full, where=call.where, data=(axis,))


def stack(call: TorchCall) -> Operand:
    parts = [part if hasattr(part, "number") else array(part) for part in call["tensors"]]
    axis, shape = call.axis(len(parts[0].shape) + 1), parts[0].shape
    wide = [reshaped(call, part, (*shape[:axis], 1, *shape[axis:])) for part in parts]
    return call.builder.draw("concat", *wide, where=call.where, data=(axis,))


def orders(torch: Any, target: Any, rank: int, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[int, ...]:
    """The order of axes that an operation makes, seen on a tensor without numbers whose axes differ in size."""
    sizes = target(torch.empty(tuple(range(2, 2 + rank)), device="meta"), *args, **kwargs).shape
    return tuple(size - 2 for size in sizes)


def arranged(call: TorchCall, x: Operand, index: Indices) -> Operand:
    """The entries of x with these numbers: a slice along each axis or entries of it, or else entries of the flat x."""
    call.builder.spend(index.size, call.where)
    if not index.size:
        raise SourceError(f"{call.where} keeps none of the entries of shape {x.shape}")
    if np.array_equal(index.ravel(), np.arange(math.prod(x.shape))):
        return reshaped(call, x, index.shape)
    wide = _aligned(index, x.shape)
    axes = None if wide is None else _separate(wide, x.shape)
    if axes is None:
        flat = reshaped(call, x, (-1,))
        return reshaped(call, moved(call, "take", flat, (0, tuple(index.ravel().tolist()))), index.shape)
    value = x
    for axis, entries in enumerate(axes):
        steps = np.diff(entries)
        if not len(steps) or (steps[0] and (steps == steps[0]).all()):
            value = cut(call, value, {axis: (int(entries[0]), int(steps[0]) if len(steps) else 1, len(entries))})
        else:
            value = moved(call, "take", value, (axis, tuple(entries.tolist())))
    return reshaped(call, value, index.shape)


def _aligned(index: Indices, shape: tuple[int, ...]) -> Indices | None:
    """The result with an axis of size 1 for one that was selected."""
    if index.ndim == len(shape):
        return index
    if index.ndim == len(shape) - 1:
        places = np.unravel_index(index.ravel(), shape)
        single = [axis for axis, along in enumerate(places) if (along == along[0]).all()]
        for axis in single:
            if _separate(np.expand_dims(index, axis), shape) is not None:
                return np.expand_dims(index, axis)
    return None


def _separate(index: Indices, shape: tuple[int, ...]) -> list[Indices] | None:
    """The entries along each axis, if those of one axis do not depend on the others."""
    entries = []
    for axis, along in enumerate(np.unravel_index(index, shape)):
        first = along[tuple(slice(None) if k == axis else slice(1) for k in range(index.ndim))]
        if (along != first).any():
            return None
        entries.append(first.ravel())
    return entries
