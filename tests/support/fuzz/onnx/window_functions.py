"""What operators that move a window give, in numpy: padding, then all that a window sees one beside the other."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def entries(
    x: Array, sizes: Any, strides: Any = None, pads: Any = None, dilations: Any = None, fill: float = 0.0
) -> Array:
    """(N, C, …positions, places)"""
    space = x.ndim - 2
    strides, dilations, pads = strides or [1] * space, dilations or [1] * space, pads or [0] * 2 * space
    around = [(0, 0), (0, 0), *zip(pads[:space], pads[space:], strict=True)]
    wide = np.pad(x, around, constant_values=fill)
    counts = [(wide.shape[2 + k] - (sizes[k] - 1) * dilations[k] - 1) // strides[k] + 1 for k in range(space)]
    if min(counts) < 1:
        raise ValueError(f"a window of {sizes} does not fit {x.shape}")
    places = []
    for place in itertools.product(*map(range, sizes)):
        starts = [p * apart for p, apart in zip(place, dilations, strict=True)]
        ranges = [slice(s, s + (n - 1) * step + 1, step) for s, n, step in zip(starts, counts, strides, strict=True)]
        places.append(wide[(slice(None), slice(None), *ranges)])
    return np.stack(places, -1)


def conv(
    x: Array, weights: Array, bias: Array | float = 0.0, group: int = 1, kernel_shape: Any = None, **window: Any
) -> Array:
    parts, own = [], weights.shape[1]
    if own * group != x.shape[1] or len(weights) % group:
        raise ValueError(f"Conv of shape {x.shape} with kernels of shape {weights.shape} in {group} groups")
    kernels = weights.reshape(group, len(weights) // group, own, -1)
    for k, kernel in enumerate(kernels):
        inside = entries(x[:, k * own : (k + 1) * own], weights.shape[2:], **window)
        parts.append(np.einsum("nc...p,ocp->no...", inside, kernel))
    return np.concatenate(parts, 1) + np.reshape(bias, (-1, *(1,) * (x.ndim - 2)))


def transposed(
    x: Array,
    weights: Array,
    bias: Array | float = 0.0,
    group: int = 1,
    strides: Any = None,
    output_padding: Any = None,
    kernel_shape: Any = None,
) -> Array:
    """Every entry of x adds a copy of its kernel to the result."""
    own, kernels, sizes = x.shape[1] // group, weights.shape[1], weights.shape[2:]
    steps, longer = strides or [1] * len(sizes), output_padding or [0] * len(sizes)
    counts = [(n - 1) * s + k + more for n, s, k, more in zip(x.shape[2:], steps, sizes, longer, strict=True)]
    result = np.zeros((len(x), group * kernels, *counts))
    for place in np.ndindex(*x.shape[2:]):
        window = tuple(slice(p * s, p * s + k) for p, s, k in zip(place, steps, sizes, strict=True))
        for g in range(group):
            entries_here = x[(slice(None), slice(g * own, (g + 1) * own), *place)]
            copies = np.einsum("nc,ck...->nk...", entries_here, weights[g * own : (g + 1) * own])
            result[(slice(None), slice(g * kernels, (g + 1) * kernels), *window)] += copies
    return result + np.reshape(bias, (-1, *(1,) * len(sizes)))


def norm(x: Array, kernel_shape: Any, p: int = 2, **window: Any) -> Array:
    return (np.abs(entries(x, kernel_shape, **window)) ** p).sum(-1) ** (1 / p)


def repeated(x: Array, scales: Any, mode: str = "nearest") -> Array:
    for axis, times in enumerate(np.asarray(scales).astype(int).tolist()):
        x = np.repeat(x, times, axis)
    return x


def resized(x: Array, roi: Any, scales: Any, sizes: Any, mode: str = "nearest", **places: Any) -> Array:
    """Nearest: rounded down from a common first entry. Linear: entries are in the middle of their share of the axis."""
    for axis, size in enumerate(np.asarray(sizes).tolist()):
        old = x.shape[axis]
        if mode == "nearest":
            x = np.take(x, np.arange(size) * old // size, axis)
        elif size != old:
            at = np.clip((np.arange(size) + 0.5) * old / size - 0.5, 0, old - 1)
            below = np.minimum(at.astype(int), max(old - 2, 0))
            share = (at - below).reshape(-1, *(1,) * (x.ndim - axis - 1))
            x = np.take(x, below, axis) * (1 - share) + np.take(x, np.minimum(below + 1, old - 1), axis) * share
    return x


def mean(x: Array, kernel_shape: Any, count_include_pad: int = 0, **window: Any) -> Array:
    total = entries(x, kernel_shape, **window).sum(-1)
    if count_include_pad:
        return total / math.prod(kernel_shape)
    return total / entries(np.ones_like(x), kernel_shape, **window).sum(-1)


def largest(x: Array, kernel_shape: Any, **window: Any) -> Array:
    return entries(x, kernel_shape, fill=-np.inf, **window).max(-1)


def padded(x: Array, pads: Any, value: Any = 0.0) -> Array:
    low, high = np.asarray(pads).reshape(2, -1)
    cut = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for a, b, n in zip(low, high, x.shape, strict=True))]
    if not cut.size:
        raise ValueError(f"Pad of shape {x.shape} by {pads}")
    return np.pad(cut, [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)], constant_values=float(value))
