"""ONNX operators that move a window over space: convolutions, pooling; and padding."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from integraph.errors import SourceError
from integraph.frontends.onnx.node import OnnxNode
from integraph.frontends.onnx.reductions import biased
from integraph.frontends.tensor_builder import Operand
from integraph.frontends.tensor_operations import composite
from integraph.targets import windows
from integraph.targets.windows import Axis

AUTOMATIC = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


def convolution(n: OnnxNode) -> Operand:
    x, kernel = n.traced(), n.weights(1, "weights")
    given = n.attributes.get("kernel_shape")
    if kernel.ndim != len(x.shape) or kernel.ndim < 3 or (given is not None and tuple(given) != kernel.shape[2:]):
        raise SourceError(f"{n.where} moves a kernel of shape {kernel.shape}, declared {given}, over shape {x.shape}")
    axes, groups = _axes(n, kernel.shape[2:]), n.attributes.get("group", 1)
    total = composite(n, n.operand(0), lambda b, number, text: windows.convolve(b, number, kernel, axes, groups, text))
    return _with_biases(n, total)


def transposed_convolution(n: OnnxNode) -> Operand:
    x, kernel = n.traced(), n.weights(1, "weights")
    count, named = kernel.ndim - 2, n.attributes
    given = named.get("kernel_shape")
    if kernel.ndim != len(x.shape) or count < 1 or (given is not None and tuple(given) != kernel.shape[2:]):
        raise SourceError(f"{n.where} moves a kernel of shape {kernel.shape}, declared {given}, over shape {x.shape}")
    if named.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID") or "output_shape" in named:
        raise SourceError(
            f"{n.where} chooses its pads by auto_pad or output_shape: write them as pads, and export that"
        )
    axes, extra = _axes(n, kernel.shape[2:]), named.get("output_padding", [0] * count)
    if len(extra) != count or min(extra) < 0 or max(extra) > max(max(a.stride, a.dilation) for a in axes):
        raise SourceError(f"{n.where} has output_padding {extra} for {count} axes: each is below stride or dilation")
    n.room(*x.shape, *(axis.stride for axis in axes))
    groups = named.get("group", 1)
    total = composite(n, x, lambda b, number, text: windows.transposed(b, number, kernel, axes, extra, groups, text))
    return _with_biases(n, total)


def _with_biases(n: OnnxNode, total: Operand) -> Operand:
    """Of the channels."""
    if n.given(2) is None:
        return total
    bias = n.weights(2, "biases")
    if bias.shape != total.shape[1:2]:
        raise SourceError(f"{n.where} has biases of shape {bias.shape} for {total.shape[1]} channels")
    return biased(n, total, bias.reshape(-1, *(1,) * (len(total.shape) - 2)))


def norm_pool(n: OnnxNode) -> Operand:
    """(Σ |x|^p)^(1/p) of each window, where p is even."""
    axes, p = _axes(n, _kernel_shape(n)), n.attributes.get("p", 2)
    if p % 2 or p < 2:
        raise SourceError(f"{n.where} has p = {p}: even numbers are read; write Abs, Pow and AveragePool for others")
    powers = n.builder.apply("power", n.operand(0), where=n.where, data=(Fraction(p),))
    sums = composite(n, powers, lambda b, x, text: windows.sum_pool(b, x, axes, text))
    return n.builder.apply("power", sums, where=n.where, data=(Fraction(1, p),))


def average_pool(n: OnnxNode) -> Operand:
    axes, count_zeros = _axes(n, _kernel_shape(n)), bool(n.attributes.get("count_include_pad", 0))
    return composite(n, n.operand(0), lambda b, x, text: windows.mean_pool(b, x, axes, count_zeros, text))


def max_pool(n: OnnxNode) -> Operand:
    """Smoothed as any maximum is."""
    if n.outputs > 1:
        raise SourceError(f"{n.where} gives the places of maxima, too, which jump: leave this output out of the file")
    axes = _axes(n, _kernel_shape(n))
    return composite(n, n.operand(0), lambda b, x, text: windows.max_pool(b, x, axes, text))


def global_pool(n: OnnxNode) -> Operand:
    axes = [Axis(size) for size in n.operand(0).shape[2:]]
    if n.operator == "GlobalMaxPool":
        return composite(n, n.operand(0), lambda b, x, text: windows.max_pool(b, x, axes, text))
    return composite(n, n.operand(0), lambda b, x, text: windows.mean_pool(b, x, axes, False, text))


def pad(n: OnnxNode) -> Operand:
    x, mode = n.operand(0), n.attributes.get("mode", "constant")
    if mode != "constant":
        raise SourceError(f"{n.where} pads by mode {mode!r}: only 'constant' is read")
    sizes = n.attributes["pads"] if "pads" in n.attributes else n.integers(1, "sizes")
    value = n.number("value", 0.0) if n.given(2) is None else float(n.weights(2, "value").reshape(()))
    axes = n.integers(3, "axes") if n.given(3) is not None else list(range(len(x.shape)))
    if len(sizes) != 2 * len(axes) or len({a % len(x.shape) for a in axes}) < len(axes):
        raise SourceError(f"{n.where} pads axes {axes} of shape {x.shape} by {list(sizes)}")
    zeros = [(0, 0)] * len(x.shape)
    for number, axis in enumerate(axes):
        zeros[axis] = (int(sizes[number]), int(sizes[number + len(axes)]))
    n.room(*(max(size + sum(around), 0) for size, around in zip(x.shape, zeros, strict=True)))
    return composite(n, n.operand(0), lambda b, number, text: windows.padded(b, number, zeros, value, text))


def _kernel_shape(n: OnnxNode) -> Sequence[int]:
    sizes: Sequence[int] | None = n.attributes.get("kernel_shape")
    if sizes is None:
        raise SourceError(f"{n.where} has no kernel_shape")
    return sizes


def _axes(n: OnnxNode, sizes: Sequence[int]) -> list[Axis]:
    """The window of a node along each axis of space."""
    space = n.operand(0).shape[2:]
    count = len(space)
    strides, dilations = (n.attributes.get(name, [1] * count) for name in ("strides", "dilations"))
    pads, auto = n.attributes.get("pads", [0] * 2 * count), n.attributes.get("auto_pad", "NOTSET")
    if auto not in AUTOMATIC or {len(sizes), len(strides), len(dilations)} != {count} or len(pads) != 2 * count:
        raise SourceError(
            f"{n.where} has a window of {sizes}, strides {strides}, dilations {dilations}, pads {pads} and auto_pad "
            f"{auto!r} for {count} axes of space"
        )
    if min((*strides, *dilations, *sizes), default=1) < 1:
        raise SourceError(f"{n.where}: sizes {sizes}, strides {strides} and dilations {dilations} must be positive")
    ceil = bool(n.attributes.get("ceil_mode", 0))
    axes = []
    for k, size in enumerate(space):
        before, after = (pads[k], pads[k + count]) if auto == "NOTSET" else (0, 0)
        if auto.startswith("SAME"):
            reach = (sizes[k] - 1) * dilations[k] + 1
            total = max(0, (-(-size // strides[k]) - 1) * strides[k] + reach - size)
            small, large = total // 2, total - total // 2
            before, after = (small, large) if auto == "SAME_UPPER" else (large, small)
        axes.append(Axis(int(sizes[k]), int(strides[k]), int(dilations[k]), int(before), int(after), ceil))
    around = (max(size + axis.before + axis.after, 0) for size, axis in zip(space, axes, strict=True))
    n.room(*n.operand(0).shape[:2], *around)
    return axes
