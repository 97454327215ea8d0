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
