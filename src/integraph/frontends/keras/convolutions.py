"""Layers of Keras that move a window over space: convolutions and pooling. Channels are last, or first."""

from __future__ import annotations

import math
from collections.abc import Callable

from integraph.errors import FileError, SourceError
from integraph.frontends.keras.activations import activation
from integraph.frontends.keras.layer_call import LayerCall
from integraph.frontends.tensor_builder import Operand
from integraph.frontends.tensor_operations import composite, transposed
from integraph.numbers.arrays import Floats
from integraph.targets import windows
from integraph.targets.graph_builder import Builder
from integraph.targets.windows import Axis

Draw = Callable[[Builder, int, str], int]


def convolution(n: LayerCall) -> Operand:
    """The kernel is (…sizes, channels of a group, filters)."""
    kernel, *bias = _weights(n, "kernel")
    turned = kernel.transpose(-1, -2, *range(kernel.ndim - 2)) if kernel.ndim > 2 else kernel
    return activation(n, _convolved(n, turned, n.whole("groups", 1), bias))


def transposed_convolution(n: LayerCall) -> Operand:
    """The kernel is (…sizes, filters, channels). Without output_padding, the result has strides·size places, or where
    the kernel reaches farther, all that it reaches."""
    kernel, *bias = _weights(n, "kernel")
    if any(extra is not None for extra in _list(n.get("output_padding"))):
        raise SourceError(f"{n.where} has an output_padding: leave it out, and crop or pad what comes out")
    turned, space = kernel.transpose(-1, -2, *range(kernel.ndim - 2)), _space(n)
    same = n.choice("padding", "valid", "same") == "same"
    strides, dilations = (n.wholes(key, len(space), 1) for key in ("strides", "dilation_rate"))
    if min((*strides, *dilations)) < 1:
        raise SourceError(f"{n.where}: strides {strides} and dilations {dilations} must be positive")
    axes, extra = [], []
    for size, stride, dilation in zip(turned.shape[2:], strides, dilations, strict=True):
        reach = (size - 1) * dilation + 1
        cut = max(reach - stride, 0) if same else 0
        before = cut // 2
        axes.append(Axis(size, stride, dilation, before, cut - before))
        extra.append(max(stride - reach, 0))
    long = (size * axis.stride + more for size, axis, more in zip(space, axes, extra, strict=True))
    n.room([math.prod(n.operand().shape) // math.prod(space), *long])

    def draw(b: Builder, x: int, text: str) -> int:
        return windows.transposed(b, x, turned, axes, extra, 1, text)

    return activation(n, _drawn(n, n.operand(), draw, bias))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def depthwise(n: LayerCall) -> Operand:
    """Each channel alone."""
    kernel, *bias = _weights(n, "kernel")
    return activation(n, _convolved(n, *_by_channel(n, kernel), bias))


def separable(n: LayerCall) -> Operand:
    """Each channel alone, then every place alone."""
    kernel, mixing, *bias = _weights(n, "depthwise_kernel", "pointwise_kernel")
    spread = _convolved(n, *_by_channel(n, kernel), [])
    if mixing.ndim != kernel.ndim or mixing.shape[:-2] != (1,) * (kernel.ndim - 2):
        raise FileError(f"{n.where} has pointwise weights of shape {mixing.shape} in the file")
    turned = mixing.transpose(-1, -2, *range(mixing.ndim - 2))
    axes = [Axis(1)] * (kernel.ndim - 2)
    return activation(n, _drawn(n, spread, lambda b, x, text: windows.convolve(b, x, turned, axes, 1, text), bias))


def average_pooling(n: LayerCall) -> Operand:
    """Of the places that are in x."""
    axes = _axes(n, n.wholes("pool_size", _dimensions(n), 2), pooling=True)
    if any(axis.before != axis.after for axis in axes):
        n.note(f"{n.where}: a mean at the edge is that of the values that are there, as JAX and TensorFlow take it")
    return _drawn(n, n.operand(), lambda b, x, text: windows.mean_pool(b, x, axes, False, text))


def max_pooling(n: LayerCall) -> Operand:
    """Smoothed as any maximum is."""
    axes = _axes(n, n.wholes("pool_size", _dimensions(n), 2), pooling=True)
    return _drawn(n, n.operand(), lambda b, x, text: windows.max_pool(b, x, axes, text))


def global_average(n: LayerCall) -> Operand:
    return _whole(n, lambda b, x, axes, text: windows.mean_pool(b, x, axes, False, text))


def global_max(n: LayerCall) -> Operand:
    return _whole(n, windows.max_pool)


def _whole(n: LayerCall, pool: Callable[[Builder, int, list[Axis], str], int]) -> Operand:
    """Over all of space, whose axes disappear unless they are kept."""
    space = _space(n)
    pooled = _drawn(n, n.operand(), lambda b, x, text: pool(b, x, [Axis(size) for size in space], text))
    if n.flag("keepdims", False):
        return pooled
    return n.builder.reshape(n.builder.lift(pooled, n.where), (1, math.prod(pooled.shape)), n.where)


def _weights(n: LayerCall, *names: str) -> list[Floats]:
    kernels = n.weights(*names, *(("bias",) if n.flag("use_bias", True) else ()))
    for kernel, name in zip(kernels, names, strict=False):
        if kernel.ndim != _dimensions(n) + 2:
            raise FileError(
                f"{n.where} has {name} of shape {kernel.shape} in the file: needs {_dimensions(n) + 2} axes"
            )
    return kernels


def _by_channel(n: LayerCall, kernel: Floats) -> tuple[Floats, int]:
    """(…sizes, channels, multiples) as a kernel with a group for each channel."""
    *sizes, channels, multiples = kernel.shape
    turned = kernel.transpose(-2, -1, *range(len(sizes)))
    return turned.reshape(channels * multiples, 1, *sizes), channels


def _convolved(n: LayerCall, kernel: Floats, groups: int, bias: list[Floats]) -> Operand:
    axes = _axes(n, list(kernel.shape[2:]))
    return _drawn(n, n.operand(), lambda b, x, text: windows.convolve(b, x, kernel, axes, groups, text), bias)


def _drawn(n: LayerCall, x: Operand, draw: Draw, bias: list[Floats] | None = None) -> Operand:
    """What `draw` makes of x with channels first, turned back, and biases of channels."""
    rank, last = len(x.shape), _channels_last(n)
    if last:
        x = transposed(n, x, (0, rank - 1, *range(1, rank - 1)))
    total = composite(n, x, draw)
    if last:
        total = transposed(n, total, (0, *range(2, rank), 1))
    if not bias:
        return total
    channels = total.shape[-1 if last else 1]
    fitted = n.fitting(bias[0], (channels,), "biases")
    return n.builder.apply("add", total, fitted if last else fitted.reshape(-1, *(1,) * (rank - 2)), where=n.where)


def _dimensions(n: LayerCall) -> int:
    """Of space: the class is called so."""
    return int(n.part.kind.removesuffix("Transpose")[-2])


def _channels_last(n: LayerCall) -> bool:
    return n.choice("data_format", "channels_last", "channels_first") == "channels_last"


def _space(n: LayerCall) -> tuple[int, ...]:
    shape = n.operand().shape
    if len(shape) != _dimensions(n) + 2:
        raise SourceError(f"{n.where} moves over {_dimensions(n)} axes of space and one of channels: got {shape[1:]}")
    return shape[1:-1] if _channels_last(n) else shape[2:]


def _axes(n: LayerCall, sizes: list[int], pooling: bool = False) -> list[Axis]:
    """The window along each axis of space."""
    space, padding = _space(n), n.choice("padding", "valid", "same", "causal")
    strides = sizes if pooling and n.get("strides") is None else n.wholes("strides", len(space), 1)
    dilations = [1] * len(space) if pooling else n.wholes("dilation_rate", len(space), 1)
    if len(sizes) != len(space) or min((*sizes, *strides, *dilations)) < 1:
        raise SourceError(f"{n.where}: sizes {sizes}, strides {strides} and dilations {dilations} must be positive")
    axes = []
    for size, window, stride, dilation in zip(space, sizes, strides, dilations, strict=True):
        reach = (window - 1) * dilation
        before, total = 0, 0
        if padding == "causal":
            before, total = reach, reach
        elif padding == "same":
            total = max(0, (-(-size // stride) - 1) * stride + reach + 1 - size)
            before = total // 2
        axes.append(Axis(window, stride, dilation, before, total - before))
    n.room([n.operand().shape[-1], *(size + axis.before + axis.after for size, axis in zip(space, axes, strict=True))])
    return axes
