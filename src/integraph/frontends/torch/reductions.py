"""Operations of torch that add up along axes, or take the largest: sums, moments, softmax, normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from integraph.errors import SourceError
from integraph.frontends import tensor_operations
from integraph.frontends.tensor_builder import Operand, TensorValue
from integraph.frontends.tensor_operations import along, cut, extreme, kept, product, reshaped, standardise, transposed
from integraph.frontends.torch.activations import channels
from integraph.frontends.torch.arithmetic import Rule
from integraph.frontends.torch.call import TorchCall

MOST = 4096  # entries of a maximum or a product


def total(call: TorchCall) -> Operand:
    x = call.traced()
    axes = call.axes(len(x.shape))
    return _shaped(call, x, axes, call.builder.draw("sum", x, where=call.where, data=(tuple(axes),)))


def mean(call: TorchCall) -> Operand:
    x = call.traced()
    axes = call.axes(len(x.shape))
    return _shaped(call, x, axes, tensor_operations.mean(call, x, axes))


def variance(call: TorchCall) -> Operand:
    """Σ (x − mean)²/(n − correction)."""
    x, build = call.traced(), call.builder
    axes = call.axes(len(x.shape))
    count = math.prod(x.shape[axis] for axis in axes)
    fewer = call.number("correction", 1.0) if call["unbiased"] is None else float(bool(call["unbiased"]))
    if count <= fewer:
        raise SourceError(f"{call.where} divides by {count} − {fewer:g}: the variance of so few entries has no value")
    centred = build.sub(x, tensor_operations.mean(call, x, axes), call.where)
    squares = build.draw("sum", build.mul(centred, centred, call.where), where=call.where, data=(tuple(axes),))
    return _shaped(call, x, axes, build.div(squares, np.array(count - fewer), call.where))


def deviation(call: TorchCall) -> Operand:
    return call.builder.unary("sqrt", call.builder.lift(variance(call), call.where), call.where)


def norm(call: TorchCall) -> Operand:
    """Of order 1, 2 or ∞, over all entries of some axes."""
    x, order, build = call.traced(), call.number("ord", 2.0), call.builder
    axes = call.axes(len(x.shape))
    if order == math.inf:
        return _folded(call, build.unary("abs", x, call.where), axes, "max")
    if order not in (1.0, 2.0):
        raise SourceError(f"{call.where} takes a norm of order {order:g}: 1, 2 and inf are read")
    parts = build.mul(x, x, call.where) if order == 2 else build.unary("abs", x, call.where)
    value = build.draw("sum", parts, where=call.where, data=(tuple(axes),))
    return _shaped(call, x, axes, value if order == 1 else build.unary("sqrt", value, call.where))


def largest(op: str) -> Rule:
    """The max or the min of two tensors, or along axes; their places, a second result, jump."""

    def rule(call: TorchCall) -> Operand | tuple[Operand, ...]:
        if call["other"] is not None:
            return extreme(call, op, call.operand("self"), call.operand("other"))
        x = call.traced()
        value = _folded(call, x, call.axes(len(x.shape)), op)
        return (value,) if isinstance(call["dim"], int) else value

    return rule


def largest_along(op: str) -> Rule:
    return lambda call: _folded(call, call.traced(), call.axes(len(call.traced().shape)), op)


def entries_product(call: TorchCall) -> Operand:
    x = call.traced()
    return _folded(call, x, call.axes(len(x.shape)), "mul")


def running_sum(call: TorchCall) -> Operand:
    """A product with a triangle of ones."""
    x = call.traced()
    axis, rank = call.axis(len(x.shape)), len(x.shape)
    order = [*(k for k in range(rank) if k != axis), axis]
    sums = product(call, transposed(call, x, order), np.triu(np.ones((x.shape[axis],) * 2)))
    return transposed(call, sums, [order.index(k) for k in range(rank)])


def softmax(op: str) -> Rule:
    """softmax, or its logarithm, along one axis."""

    def rule(call: TorchCall) -> Operand:
        x = call.traced()
        return along(call, op, x, call.axis(len(x.shape)))

    return rule


def log_sum_exp(call: TorchCall) -> Operand:
    x = call.traced()
    axes = call.axes(len(x.shape))
    return _shaped(call, x, axes, tensor_operations.log_sum_exp(call, x, axes))


def layer_norm(call: TorchCall) -> Operand:
    x = call.traced("input")
    return _affine(call, standardise(call, x, _last(call, x), call.number("eps", 1e-5)), None)


def rms_norm(call: TorchCall) -> Operand:
    """eps is the precision of the type unless given."""
    x = call.traced("input")
    value = tensor_operations.root_mean_square(call, x, _last(call, x), call.number("eps", call.precision))
    return _affine(call, value, None)


def group_norm(call: TorchCall) -> Operand:
    return _in_groups(call, int(call["num_groups"]))


def instance_norm(call: TorchCall) -> Operand:
    if call["use_input_stats"]:
        return _in_groups(call, call.traced("input").shape[1])
    return batch_norm(call)


def batch_norm(call: TorchCall) -> Operand:
    """(x − mean)/√(var + eps)·weight + bias, with the statistics that training left."""
    x = call.traced("input")
    if call["training"]:
        raise SourceError(
            f"{call.where} normalises by the statistics of its batch, so outputs depend on the other rows: train with "
            "track_running_stats=True"
        )
    average, spread = call.constant("running_mean"), call.constant("running_var")
    weight = np.ones_like(average) if call["weight"] is None else call.constant("weight")
    bias = np.zeros_like(average) if call["bias"] is None else call.constant("bias")
    call.notes.append(f"{call.where}: scale and shift computed from the running statistics, rounded to float64")
    average, spread, weight, bias = (channels(part, x) for part in (average, spread, weight, bias))
    return tensor_operations.batch_normalisation(call, x, average, spread, float(call["eps"]), weight, bias)


def _last(call: TorchCall, x: TensorValue) -> range:
    """The axes that are normalised."""
    return range(len(x.shape) - len(call["normalized_shape"]), len(x.shape))


def _in_groups(call: TorchCall, groups: int) -> Operand:
    """Standardised over the channels of each group and over space."""
    x = call.traced("input")
    parts = call.builder.reshape(x, (x.shape[0], groups, -1), call.where)
    value = call.builder.reshape(standardise(call, parts, [2], call.number("eps", 1e-5)), x.shape, call.where)
    return _affine(call, value, x)


def _affine(call: TorchCall, value: TensorValue, x: TensorValue | None) -> Operand:
    """·weight + bias, as they broadcast, or for each channel of x."""
    for name, rule in (("weight", call.builder.mul), ("bias", call.builder.add)):
        if call[name] is not None:
            part = call.operand(name) if x is None else channels(call.constant(name), x)
            value = rule(value, part, call.where)
    return value


def _folded(call: TorchCall, x: TensorValue, axes: Sequence[int], op: str) -> Operand:
    """max, min or mul of all entries along axes, halved again and again."""
    value: Operand = x
    count = math.prod(x.shape[axis] for axis in axes)
    if count > MOST:
        raise SourceError(f"{call.where} combines {count} entries by {op}: at most {MOST} are read")
    for axis in axes:
        while (size := value.shape[axis]) > 1:
            half = size // 2
            parts = [cut(call, value, {axis: (start, 1, half)}) for start in (0, half)]
            both = call.builder.apply(op, *parts, where=call.where)
            rest = [cut(call, value, {axis: (size - 1, 1, 1)})] if size % 2 else []
            value = call.builder.apply("concat", both, *rest, where=call.where, data=(axis,)) if rest else both
    return _shaped(call, x, axes, value)


def _shaped(call: TorchCall, x: TensorValue, axes: Sequence[int], value: Operand) -> Operand:
    """The result of a reduction, its axes kept where that was asked for."""
    gone = tuple(size for axis, size in enumerate(x.shape) if axis not in axes)
    return reshaped(call, value, kept(x.shape, axes) if call["keepdim"] else gone)
