"""Resize and Upsample: every place of the result takes entries of x, or means of two, along each axis."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.interpolation import centres, linear
from integraph.frontends.onnx.node import OnnxNode
from integraph.frontends.tensor_builder import Operand
from integraph.frontends.tensor_operations import matrix_along, moved
from integraph.numbers.arrays import Floats

DEFAULTS = {  # what is read of the attributes whose other values are refused
    "antialias": 0,
    "exclude_outside": 0,
    "keep_aspect_ratio_policy": "stretch",
}
ROUNDINGS: dict[str, Callable[[Floats], Floats]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def resize(n: OnnxNode) -> Operand:
    for name, known in DEFAULTS.items():
        if n.attributes.get(name, known) != known:
            raise SourceError(f"{n.where} has {name} = {n.attributes[name]!r}: only {known!r} is read")
    x = n.operand(0)
    axes = [axis % len(x.shape) for axis in n.attributes.get("axes", range(len(x.shape)))]
    places = n.attributes.get("coordinate_transformation_mode", "half_pixel")
    rounding = n.attributes.get("nearest_mode", "round_prefer_floor")
    new = [x.shape[axis] for axis in axes]
    if n.given(3) is not None:
        sizes = n.integers(3, "sizes")
        scales = [size / old for size, old in zip(sizes, new, strict=True)]
    else:
        scales = _factors(n, 2)
        sizes = [math.floor(old * scale) for old, scale in zip(new, scales, strict=True)]
    return _resized(n, axes, sizes, scales, places, rounding)


def upsample(n: OnnxNode) -> Operand:
    """Of opset 9 and before."""
    scales = _factors(n, 1) if n.given(1) is not None else [float(s) for s in n.attributes.get("scales", ())]
    shape = n.operand(0).shape
    sizes = [math.floor(old * scale) for old, scale in zip(shape, scales, strict=True)]
    return _resized(n, list(range(len(shape))), sizes, scales, "asymmetric", "floor")


def _factors(n: OnnxNode, operand: int) -> list[float]:
    scales = n.weights(operand, "scales").ravel().tolist()
    if not all(0 < scale < math.inf for scale in scales):
        raise SourceError(f"{n.where} has scales {scales}: each must be finite and > 0")
    return scales


def _resized(
    n: OnnxNode, axes: list[int], sizes: list[int], scales: list[float], places: str, rounding: str
) -> Operand:
    x, mode = n.operand(0), n.attributes.get("mode", "nearest")
    if mode not in ("nearest", "linear"):
        raise SourceError(f"{n.where} has mode {mode!r}: read are 'nearest' and 'linear'")
    if mode == "nearest" and rounding not in ROUNDINGS:
        raise SourceError(f"{n.where} has nearest_mode {rounding!r}: read are {', '.join(ROUNDINGS)}")
    for axis, size, scale in zip(axes, sizes, scales, strict=True):
        old = x.shape[axis]
        if size < 1:
            raise SourceError(f"{n.where} leaves none of the {old} entries of axis {axis}")
        if size == old and scale == 1:
            continue
        n.room(*x.shape, size)
        at = _coordinates(n, places, old, size, scale)
        if mode == "linear":
            x = matrix_along(n, x, axis, linear(old, at))
        else:
            entries = np.clip(ROUNDINGS[rounding](at), 0, old - 1).astype(int)
            x = moved(n, "take", x, (axis, tuple(entries.tolist())))
    return x


def _coordinates(n: OnnxNode, places: str, old: int, new: int, scale: float) -> Floats:
    """Where in x the places of the result lie."""
    i = np.arange(new, dtype=np.float64)
    middle = centres(new, scale)
    known = {
        "half_pixel": middle,
        "pytorch_half_pixel": middle if new > 1 else 0 * i,
        "asymmetric": i / scale,
        "align_corners": i * (old - 1) / max(new - 1, 1),
    }
    if places not in known:
        raise SourceError(f"{n.where} has coordinate_transformation_mode {places!r}: read are {', '.join(known)}")
    return known[places]
