"""How operators that move a window are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.onnx.constants import array
from fuzz.onnx.drawing import Drawing, Unfit, Value


def convolution(d: Drawing, op: str) -> None:
    x = d.pick(lambda value: value.rank > 2)
    groups = d.one([k for k in (1, 1, 2, 3) if x.shape[1] % k == 0])
    kernels, window = groups * d.integer(1, 3), _window(d, x)
    more = [d.constant(array(d, (kernels,)))] if d.chance(0.5) else []
    sizes = window["kernel_shape"]
    weights = d.constant(array(d, (kernels, x.shape[1] // groups, *sizes)))
    d.emit(op, x, weights, *more, **window, **({"group": groups} if groups > 1 else {}))


def transposed_convolution(d: Drawing, op: str) -> None:
    x = d.pick(lambda value: value.rank > 2)
    groups = d.one([k for k in (1, 1, 2) if x.shape[1] % k == 0])
    axes = range(x.rank - 2)
    strides, sizes = [d.integer(1, 2) for _ in axes], [d.integer(1, 3) for _ in axes]
    more = [d.constant(array(d, (groups * d.integer(1, 2),)))] if d.chance(0.5) else []
    kernels = more[0].shape[0] // groups if more else d.integer(1, 2)
    weights = d.constant(array(d, (x.shape[1], kernels, *sizes)))
    longer = {"output_padding": [d.integer(0, stride - 1) for stride in strides]} if d.chance(0.3) else {}
    said = {"kernel_shape": sizes, "strides": strides, "group": groups, **longer}
    d.emit(op, x, weights, *more, **said)


def norm_pool(d: Drawing, op: str) -> None:
    """Of what stays away from 0, where a root has no derivative."""
    x = d.pick(lambda value: value.rank > 2)
    if x.low <= 0:
        x = d.emit("Add", x, d.constant(np.array(0.5 - x.low)))
    d.emit(op, x, p=d.one((2, 2, 4)), **{k: v for k, v in _window(d, x, dilated=False).items() if k != "pads"})


def upsample(d: Drawing, op: str) -> None:
    if d.opset > 9:
        raise Unfit
    x = d.pick(lambda value: value.rank > 0)
    scales = [float(d.integer(1, 2)) for _ in x.shape]
    if d.opset < 9:
        d.emit(op, x, scales=scales)
    else:
        d.emit(op, x, d.constant(np.array(scales, np.float32)))


def resize(d: Drawing, op: str) -> None:
    if d.opset < 13:  # before, what is left out has to be there
        raise Unfit
    x = d.pick(lambda value: value.rank > 0)
    sizes = [n * d.integer(1, 2) for n in x.shape]
    if d.chance(0.5) and x.rank == 4:
        sizes[:2] = x.shape[:2]
        d.emit(op, x, None, None, d.integers(*sizes), mode="linear")
    else:
        places = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        d.emit(op, x, None, None, d.integers(*sizes), mode="nearest", **places)


def average_pool(d: Drawing, op: str) -> None:
    x = d.pick(lambda value: value.rank > 2)
    counted = {"count_include_pad": d.integer(0, 1)} if d.chance(0.5) else {}
    d.emit(op, x, **_window(d, x, dilated=d.opset >= 19), **counted)


def max_pool(d: Drawing, op: str) -> None:
    x = d.pick(lambda value: value.rank > 2)
    d.emit(op, x, **_window(d, x, dilated=d.opset >= 10))


def global_pool(d: Drawing, op: str) -> None:
    d.emit(op, d.pick(lambda value: value.rank > 2))


def pad(d: Drawing, op: str) -> None:
    """Entries cut off, too; what is left may not be empty."""
    x = d.pick(lambda value: value.rank > 0)
    sizes = [d.one((0, 0, 1, 2, -1)) for _ in range(2 * x.rank)]
    value = d.one((0.0, 0.5, -2.0))
    if d.opset < 11:
        d.emit(op, x, pads=sizes, value=value)
    else:
        d.emit(op, x, d.integers(*sizes), *([d.constant(np.array(value))] if d.chance(0.6) else []))


def _window(d: Drawing, x: Value, dilated: bool = True) -> dict[str, Any]:
    """Attributes of a window that fits, with at least one entry of x in it."""
    axes = range(x.rank - 2)
    dilations = [d.integer(1, 2) if dilated and d.chance(0.3) else 1 for _ in axes]
    sizes = [d.integer(1, 3) for _ in axes]
    pads = [d.integer(0, (sizes[k] - 1) // 2 if dilations[k] == 1 else 0) for _ in range(2) for k in axes]
    for k in axes:
        if x.shape[2 + k] + pads[k] + pads[k + x.rank - 2] < (sizes[k] - 1) * dilations[k] + 1:
            raise Unfit
    strides = [d.integer(1, 2) for _ in axes]
    said = {"strides": strides, "pads": pads, "dilations": dilations}
    plain = {"strides": 1, "pads": 0, "dilations": 1}
    kept = {name: value for name, value in said.items() if set(value) != {plain[name]} or d.chance(0.3)}
    return {"kernel_shape": sizes, **{name: value for name, value in kept.items() if name != "dilations" or dilated}}
