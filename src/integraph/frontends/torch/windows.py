"""Operations of torch that move a window over space: convolutions, pooling, padding with a constant.

The first axis may be missing, as torch allows: space is what a window has axes for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.tensor_builder import Operand, TensorValue
from integraph.frontends.tensor_operations import composite, matrix_along, reshaped
from integraph.frontends.torch.arithmetic import Rule
from integraph.frontends.torch.call import TorchCall, array
from integraph.targets import windows
from integraph.targets.graph_builder import Builder
from integraph.targets.windows import Axis


def convolution(call: TorchCall) -> Operand:
    if call["transposed"]:
        return _transposed(call)
    kernel = call.constant("weight")
    count = kernel.ndim - 2
    x = _batched(call, call.traced("input"), count)
    strides, dilations = call.sizes("stride", count, 1), call.sizes("dilation", count, 1)
    padding = call["padding"]
    if isinstance(padding, str):
        reach = [dilation * (size - 1) for dilation, size in zip(dilations, kernel.shape[2:], strict=True)]
        sides = [(n // 2, n - n // 2) if padding == "same" else (0, 0) for n in reach]
    else:
        sides = [(n, n) for n in call.sizes("padding", count, 0)]
    axes = [
        Axis(size, stride, dilation, *side)
        for size, stride, dilation, side in zip(kernel.shape[2:], strides, dilations, sides, strict=True)
    ]
    groups = int(call["groups"] or 1)
    value = composite(call, x, lambda b, n, text: windows.convolve(b, n, kernel, axes, groups, text))
    return _biased(call, value, count)


def _transposed(call: TorchCall) -> Operand:
    kernel = call.constant("weight")
    count = kernel.ndim - 2
    x = _batched(call, call.traced("input"), count)
    strides, dilations = call.sizes("stride", count, 1), call.sizes("dilation", count, 1)
    parts = zip(kernel.shape[2:], strides, dilations, call.sizes("padding", count, 0), strict=True)
    axes = [Axis(size, stride, dilation, n, n) for size, stride, dilation, n in parts]
    call.builder.spend(math.prod((*x.shape, *(axis.stride for axis in axes))), call.where)
    extra, groups = call.sizes("output_padding", count, 0), int(call["groups"] or 1)
    value = composite(call, x, lambda b, n, text: windows.transposed(b, n, kernel, axes, extra, groups, text))
    return _biased(call, value, count)


def _biased(call: TorchCall, value: Operand, count: int) -> Operand:
    if call["bias"] is not None:
        bias = call.constant("bias").reshape(-1, *(1,) * count)
        value = call.builder.apply("add", value, bias, where=call.where)
    return _like(call, value, call.traced("input"), count)


def interpolation(name: str, count: int) -> Rule:
    """A matrix along each axis: what torch makes of unit vectors, whose weights add up to 1 along the other axes."""

    def rule(call: TorchCall) -> Operand:
        import torch

        operation = getattr(torch.ops.aten, name).vec
        value: Operand = call.traced("input")
        first = len(value.shape) - count
        space = value.shape[first:]
        options = [call[key] for key in ("output_size", "align_corners", "scale_factors")]
        for axis, n in enumerate(space):
            call.builder.spend(n * math.prod(space), call.where)
            shape = [n if k == axis else 1 for k in range(count)]
            units = np.broadcast_to(np.eye(n).reshape(n, 1, *shape), (n, 1, *space))
            lines = operation(torch.tensor(units), *options)
            matrix = array(lines[(slice(None), 0, *(slice(None) if k == axis else 0 for k in range(count)))])
            value = matrix_along(call, value, first + axis, matrix)
        return value

    return rule


def average_pool(count: int) -> Rule:
    def rule(call: TorchCall) -> Operand:
        if call["divisor_override"] is not None:
            raise SourceError(f"{call.where} has a divisor of its own: only means are read; multiply instead")
        axes, zeros = _axes(call, count), bool(call["count_include_pad"])
        return _pooled(call, count, lambda b, x, text: windows.mean_pool(b, x, axes, zeros, text))

    return rule


def max_pool(count: int) -> Rule:
    """Smoothed as any maximum is; the places of maxima, a second result of some, jump."""

    def rule(call: TorchCall) -> tuple[Operand, ...]:
        axes = _axes(call, count)
        return (_pooled(call, count, lambda b, x, text: windows.max_pool(b, x, axes, text)),)

    return rule


def adaptive_average_pool(count: int) -> Rule:
    """Means of windows that are equal, or else a matrix of means along each axis."""

    def rule(call: TorchCall) -> Operand:
        space = call.traced().shape[-count:]
        sizes = _adaptive_sizes(call, space)
        if all(n % size == 0 for n, size in zip(space, sizes, strict=True)):
            axes = [Axis(n // size, n // size) for n, size in zip(space, sizes, strict=True)]
            return _pooled(call, count, lambda b, x, text: windows.mean_pool(b, x, axes, False, text))
        value: Operand = call.traced()
        rank = len(value.shape)
        for axis, size in zip(range(rank - count, rank), sizes, strict=True):
            value = matrix_along(call, value, axis, _means(value.shape[axis], size))
        return value

    return rule


def adaptive_max_pool(count: int) -> Rule:
    def rule(call: TorchCall) -> tuple[Operand, ...]:
        space = call.traced().shape[-count:]
        sizes = _adaptive_sizes(call, space)
        if any(n % size for n, size in zip(space, sizes, strict=True)):
            raise SourceError(
                f"{call.where} takes maxima of windows of different sizes, {space} to {tuple(sizes)}: choose an output "
                "size that divides the input's"
            )
        axes = [Axis(n // size, n // size) for n, size in zip(space, sizes, strict=True)]
        return (_pooled(call, count, lambda b, x, text: windows.max_pool(b, x, axes, text)),)

    return rule


def constant_pad(call: TorchCall) -> Operand:
    """torch lists pairs from the last axis on."""
    x, sizes = call.traced(), [int(n) for n in call["pad"]]
    pairs = [(sizes[k], sizes[k + 1]) for k in range(0, len(sizes), 2)][::-1]
    around = [(0, 0)] * (len(x.shape) - len(pairs)) + pairs
    value = call.number("value", 0.0)
    new = [max(n + sum(pair), 0) for n, pair in zip(x.shape, around, strict=True)]
    call.builder.spend(math.prod(new), call.where)
    return composite(call, x, lambda b, n, text: windows.padded(b, n, around, value, text))


def _axes(call: TorchCall, count: int) -> list[Axis]:
    """The window of a pool; its stride is its size unless given."""
    sizes = call.sizes("kernel_size", count)
    strides = call.sizes("stride", count) or sizes
    zeros, dilations = call.sizes("padding", count, 0), call.sizes("dilation", count, 1)
    ceil = bool(call["ceil_mode"])
    parts = zip(sizes, strides, dilations, zeros, strict=True)
    return [Axis(size, stride, dilation, n, n, ceil) for size, stride, dilation, n in parts]


def _adaptive_sizes(call: TorchCall, space: Sequence[int]) -> list[int]:
    """How many windows there are along each axis; None keeps it."""
    given = call["output_size"]
    some = [given] * len(space) if given is None or isinstance(given, int) else list(given)
    return [n if size is None else int(size) for n, size in zip(space, some, strict=True)]


def _means(n: int, size: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """(n, size): entry i counts for the windows that see it."""
    starts, ends = np.arange(size) * n // size, -(-np.arange(1, size + 1) * n // size)
    inside = (np.arange(n)[:, None] >= starts) & (np.arange(n)[:, None] < ends)
    return inside / (ends - starts)


def _pooled(call: TorchCall, count: int, draw: Callable[[Builder, int, str], int]) -> Operand:
    x = call.traced()
    return _like(call, composite(call, _batched(call, x, count), draw), x, count)


def _batched(call: TorchCall, x: TensorValue, count: int) -> TensorValue:
    if len(x.shape) not in (count + 1, count + 2):
        raise SourceError(f"{call.where} moves over {count} axes of space, and its input has shape {x.shape}")
    return x if len(x.shape) == count + 2 else call.builder.reshape(x, (1, *x.shape), call.where)


def _like(call: TorchCall, value: Operand, x: TensorValue, count: int) -> Operand:
    """Without the first axis, if x has none."""
    return value if len(x.shape) == count + 2 else reshaped(call, value, value.shape[1:])
