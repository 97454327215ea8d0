"""Windows that move over an array: convolutions, pooling; and padding."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.jax.placement import chosen
from integraph.frontends.jax.values import PrimitiveCall, Value
from integraph.targets import windows
from integraph.targets.windows import PLACES, Axis


def pad(at: PrimitiveCall, x: Value, value: Value) -> Value:
    config = [tuple(map(int, sides)) for sides in at.params["padding_config"]]
    number = at.node(x)
    if any(inner for *_, inner in config) or not isinstance(value, np.ndarray):
        return chosen(at, number, value)
    sides = [sides[:2] for sides in config]
    left = [n + low + high for n, (low, high) in zip(at.shape(number), sides, strict=True)]
    if not all(count > 0 for count in left):
        return np.full([max(count, 0) for count in left], value)
    if any(n + min(low, 0) + min(high, 0) < 1 for n, (low, high) in zip(at.shape(number), sides, strict=True)):
        return chosen(at, number, value)
    return windows.padded(at.build, number, [(low, high) for low, high in sides], float(value), at.where)


def convolve(at: PrimitiveCall, x: Value, kernel: Value) -> int:
    """conv_general_dilated: x as (N, C, …space), the kernel as (O, C/groups, …sizes), as `dimension_numbers` says."""
    p = at.params
    if p["batch_group_count"] != 1:
        raise SourceError(f"{at.where} has batch_group_count = {p['batch_group_count']}: only 1 is read")
    numbers, groups = p["dimension_numbers"], int(p["feature_group_count"])
    turned = at.transpose(at.node(x), tuple(map(int, numbers.lhs_spec)))
    turned = _surrounded(at, turned, p["padding"], p["lhs_dilation"])
    order = tuple(map(int, numbers.rhs_spec))
    strides, dilations = p["window_strides"], p["rhs_dilation"]
    if isinstance(kernel, np.ndarray):
        weights = np.asarray(kernel, np.float64).transpose(order)
        axes = _axes(weights.shape[2:], strides, dilations)
        result = windows.convolve(at.build, turned, weights, axes, groups, at.where)
    else:
        result = _of_two(at, turned, at.transpose(at.node(kernel), order), strides, dilations, groups)
    return at.transpose(result, tuple(map(int, np.argsort(numbers.out_spec))))


def _of_two(
    at: PrimitiveCall, x: int, kernel: int, strides: Sequence[int], dilations: Sequence[int], groups: int
) -> int:
    """The kernel depends on the inputs, too: one product of matrices, of what each window sees with the kernel."""
    samples, channels, *space = at.shape(x)
    outputs, own, *sizes = at.shape(kernel)
    axes = _axes(sizes, strides, dilations)
    places = [axis.places(n) for axis, n in zip(axes, space, strict=True)]
    counts = [len(one) for one in places]
    if math.prod((samples, channels, *counts, *sizes)) > 1 << 22:
        raise SourceError(f"{at.where}: a kernel that depends on the inputs is read for small arrays only")
    cells = np.arange(math.prod(space)).reshape(space)
    for axis, one in enumerate(places):  # each axis of space becomes two, positions and places of the window
        cells = np.take(cells, one, 2 * axis)
    rank = len(space)
    cells = cells.transpose(*range(0, 2 * rank, 2), *range(1, 2 * rank, 2))
    flat = at.reshape(x, (samples, groups, own, math.prod(space)))
    seen = at.apply("take", flat, data=(3, tuple(cells.ravel().tolist())))
    seen = at.reshape(seen, (samples, groups, own, math.prod(counts), math.prod(sizes)))
    seen = at.reshape(at.transpose(seen, (0, 1, 3, 2, 4)), (samples, groups, math.prod(counts), own * math.prod(sizes)))
    matrix = at.transpose(at.reshape(kernel, (groups, outputs // groups, own * math.prod(sizes))), (0, 2, 1))
    total = at.transpose(at.apply("matmul", seen, matrix), (0, 1, 3, 2))
    return at.reshape(total, (samples, outputs, *counts))


def pool(at: PrimitiveCall, x: Value) -> int:
    """reduce_window_sum, _max and _min: of every axis, most often with windows of one place."""
    p = at.params
    if any(n != 1 for n in p["base_dilation"]):
        raise SourceError(f"{at.where} has base_dilation = {p['base_dilation']}: only 1 is read; use jax.lax.pad first")
    number = at.node(x)
    whole = at.reshape(number, (1, 1, *at.shape(number)))
    axes = _axes(p["window_dimensions"], p["window_strides"], p["window_dilation"], p["padding"])
    if at.name == "reduce_window_sum":
        total = windows.sum_pool(at.build, whole, axes, at.where)
    elif at.name == "reduce_window_max":
        total = windows.max_pool(at.build, whole, axes, at.where)
    else:
        total = at.apply("neg", windows.max_pool(at.build, at.apply("neg", whole), axes, at.where))
    return at.reshape(total, at.shape(total)[2:])


def cumulative_sum(at: PrimitiveCall, x: Value) -> int:
    """A product with a triangle of ones."""
    number, axis = at.node(x), int(at.params["axis"])
    shape = at.shape(number)
    order = (*(k for k in range(len(shape)) if k != axis), axis)
    n = shape[axis]
    if n > PLACES:
        raise SourceError(f"{at.where} adds up {n} numbers: at most {PLACES} are read")
    ones = np.tril(np.ones((n, n))) if at.params["reverse"] else np.triu(np.ones((n, n)))
    rows = at.reshape(at.transpose(number, order), (math.prod(shape) // n, n))
    sums = at.reshape(at.apply("matmul", rows, ones), tuple(shape[k] for k in order))
    return at.transpose(sums, tuple(map(int, np.argsort(order))))


def _axes(
    sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int], zeros: Sequence[tuple[int, int]] = ()
) -> list[Axis]:
    around = zeros or [(0, 0)] * len(sizes)
    return [
        Axis(int(size), int(stride), int(dilation), int(low), int(high))
        for size, stride, dilation, (low, high) in zip(sizes, strides, dilations, around, strict=True)
    ]


def _surrounded(at: PrimitiveCall, x: int, zeros: Sequence[tuple[int, int]], spread: Sequence[int]) -> int:
    """With zeros around, or cut off, and between its entries."""
    for axis, step in enumerate(spread, 2):
        x = windows.spaced(at.build, x, axis, int(step), at.where)
    return windows.padded(at.build, x, [(0, 0)] * 2 + [(int(a), int(b)) for a, b in zeros], 0.0, at.where)
