"""Normalising layers of Keras: by constants, which is an affine map, or by what comes in."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.keras.layer_call import LayerCall
from integraph.frontends.tensor_builder import Operand, TensorValue
from integraph.frontends.tensor_operations import kept, mean, root_mean_square, standardise
from integraph.numbers.arrays import Floats, broadcasts

SMALLEST = 1e-7  # Keras' own epsilon: Normalization divides by no less
SHORTEST = 1e-12  # UnitNormalization's


def rescaling(n: LayerCall) -> Operand:
    return _affine(n, n.array("scale"), n.array("offset"))


def normalization(n: LayerCall) -> Operand:
    """(x − mean)/√variance, of each entry along some axes; the other way round with `invert`."""
    x = n.tensor()
    axes = n.axes(len(x.shape)) if n.part.config.get("axis", -1) not in (None, []) else []
    if all(n.part.config.get(key) is None for key in ("mean", "variance")):
        mean, variance = n.weights("mean", "variance")
    else:
        mean, variance = n.array("mean"), n.array("variance")
    deviation = np.maximum(_root(n, variance), SMALLEST)
    mean, deviation = (_aligned(n, given, x, axes) for given in (mean, deviation))
    if n.flag("invert", False):
        n.note(f"√variance of {n.where} is rounded to float64")
        return _affine(n, deviation, mean)
    n.note(f"1/√variance and mean/√variance of {n.where} are rounded to float64")
    return _affine(n, 1.0 / deviation, -(mean / deviation))


def batch_normalization(n: LayerCall) -> Operand:
    """With the statistics that training left: (x − mean)/√(variance + ε)·gamma + beta."""
    x = n.tensor()
    names = [*_gains(n), "moving_mean", "moving_variance"]
    axes = n.axes(len(x.shape))
    given: dict[str, Any] = dict(zip(names, n.weights(*names), strict=True))
    fitted = {name: _aligned(n, value, x, axes) for name, value in given.items()}
    parameters: dict[str, Any] = {"gamma": 1.0, "beta": 0.0, **fitted}
    root = np.maximum(_root(n, parameters["moving_variance"] + n.number("epsilon", 0.001)), np.finfo(float).tiny)
    factor = parameters["gamma"] / root
    n.note(f"gamma/√(variance + epsilon) of {n.where}, and its product with the mean, are rounded to float64")
    return _affine(n, factor, parameters["beta"] - parameters["moving_mean"] * factor)


def layer_normalization(n: LayerCall) -> Operand:
    """Over the axes of each row. `rms_scaling` divides x, not centred, by its deviation."""
    x, draw = n.tensor(), n.builder
    axes, epsilon = n.axes(len(x.shape)), n.number("epsilon", 0.001)
    names = ["gamma"] if (scaled := n.flag("rms_scaling", False)) else _gains(n)
    weights = dict(zip(names, n.weights(*names) if names else [], strict=True))
    value = _over_deviation(n, x, axes, epsilon) if scaled else standardise(n, x, axes, epsilon)
    if "gamma" in weights:
        value = draw.mul(value, _aligned(n, weights["gamma"], x, axes), n.where)
    return draw.add(value, _aligned(n, weights["beta"], x, axes), n.where) if "beta" in weights else value


def rms_normalization(n: LayerCall) -> Operand:
    """x/√(mean of x² + ε)·scale."""
    x = n.tensor()
    axes = n.axes(len(x.shape))
    value = root_mean_square(n, x, axes, n.number("epsilon", 1e-6))
    (scale,) = n.weights("scale")
    return n.builder.mul(value, _aligned(n, scale, x, axes), n.where)


def group_normalization(n: LayerCall) -> Operand:
    """Over groups of channels, and over space."""
    x, draw = n.tensor(), n.builder
    (axis,) = n.axes(len(x.shape))
    channels, groups = x.shape[axis], n.whole("groups", 32)
    groups = channels if groups == -1 else groups
    if groups < 1 or channels % groups:
        raise SourceError(f"{n.where} divides {channels} channels into {groups} groups: these do not fit")
    split = draw.reshape(x, (*x.shape[:axis], groups, channels // groups, *x.shape[axis + 1 :]), n.where)
    others = [k for k in range(1, len(split.shape)) if k != axis]
    value = draw.reshape(standardise(n, split, others, n.number("epsilon", 0.001)), x.shape, n.where)
    names = _gains(n)
    for name, given in zip(names, n.weights(*names) if names else [], strict=True):
        fitted = _aligned(n, given, x, [axis])
        value = draw.mul(value, fitted, n.where) if name == "gamma" else draw.add(value, fitted, n.where)
    return value


def unit_normalization(n: LayerCall) -> Operand:
    x, draw = n.tensor(), n.builder
    return draw.mul(x, inverse_length(n, x, n.axes(len(x.shape))), n.where)


def inverse_length(n: LayerCall, x: TensorValue, axes: list[int]) -> TensorValue:
    """1/√(sum of x²) over these axes, which are kept."""
    draw = n.builder
    total = draw.draw("sum", draw.mul(x, x, n.where), where=n.where, data=(tuple(axes),))
    n.note(f"{n.where}: Keras takes a length of {SHORTEST:g} where there is less; here a length of 0 has no value")
    inverse = draw.draw("power", total, where=n.where, data=(Fraction(-1, 2),))
    return draw.reshape(inverse, kept(x.shape, axes), n.where)


def _over_deviation(n: LayerCall, x: TensorValue, axes: list[int], epsilon: float) -> TensorValue:
    """x/√(variance + ε)."""
    draw = n.builder
    centred = draw.sub(x, mean(n, x, axes), n.where)
    width = draw.add(mean(n, draw.mul(centred, centred, n.where), axes), np.array(epsilon), n.where)
    return draw.mul(x, draw.draw("power", width, where=n.where, data=(Fraction(-1, 2),)), n.where)


def _gains(n: LayerCall) -> list[str]:
    return [name for name, key in (("gamma", "scale"), ("beta", "center")) if n.flag(key, True)]


def _affine(n: LayerCall, factor: Floats, shift: Floats) -> Operand:
    """factor·x + shift, which keeps the shape of x."""
    x, draw = n.tensor(), n.builder
    for given in (factor, shift):
        if not broadcasts(given.shape, x.shape):
            raise SourceError(f"{n.where} has {np.shape(given)} factors for values of shape {x.shape[1:]}")
        if not np.isfinite(given).all():
            raise SourceError(f"{n.where} has a factor or a shift that is not finite")
    result = draw.add(draw.mul(x, factor, n.where), shift, n.where)
    n.reading.scalings[result.number] = x.number, factor, shift
    return result


def _aligned(n: LayerCall, given: Floats, x: TensorValue, axes: list[int]) -> Floats:
    """Numbers for the entries along these axes, in their order, as an array that broadcasts to x."""
    order = sorted(axes)
    sizes = tuple(x.shape[axis] for axis in order)
    if given.size not in (1, math.prod(sizes)):
        raise SourceError(f"{n.where} has {given.shape} factors for values of shape {x.shape[1:]}")
    if given.size == 1 and math.prod(sizes) != 1:
        return given.reshape(())
    shape = [1] * len(x.shape)
    for axis, size in zip(order, sizes, strict=True):
        shape[axis] = size
    return given.reshape(shape)


def _root(n: LayerCall, variance: Floats) -> Floats:
    if not (variance >= 0).all() or not np.isfinite(variance).all():
        raise SourceError(f"{n.where} has a variance that is negative or not finite: {variance.min()}")
    return np.sqrt(variance)
