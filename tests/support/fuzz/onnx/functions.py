"""Operators that onnxruntime has no kernel for in float64, or a poor one, in numpy and scipy: as ONNX defines them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from scipy import special

from fuzz.onnx import window_functions

Array = np.ndarray[Any, Any]


def gelu(x: Array, approximate: str = "none") -> Array:
    if approximate == "tanh":
        return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    return x * special.ndtr(x)


def fast_gelu(x: Array, bias: Array | float = 0.0) -> Array:
    return gelu(x + bias, "tanh")


def leaky_relu(x: Array, alpha: float = float(np.float32(0.01))) -> Array:
    return np.where(x < 0, alpha * x, x)


def swish(x: Array, alpha: float = 1.0) -> Array:
    return x * special.expit(alpha * x)


def clip(x: Array, min: Array | float | None = None, max: Array | float | None = None) -> Array:
    return np.minimum(np.maximum(x, -math.inf if min is None else min), math.inf if max is None else max)


def batch_normalisation(
    x: Array, scale: Array, shift: Array, mean: Array, var: Array, epsilon: float = float(np.float32(1e-5)), **_: Any
) -> Array:
    parts = [part.reshape(-1, *(1,) * (x.ndim - 2)) for part in (scale, shift, mean, var)]
    return (x - parts[2]) / np.sqrt(parts[3] + epsilon) * parts[0] + parts[1]


def layer_normalisation(
    x: Array, scale: Array, bias: Array | float = 0.0, axis: int = -1, epsilon: float = float(np.float32(1e-5))
) -> Array:
    axes = tuple(range(axis % x.ndim, x.ndim))
    if not x.size:
        raise ValueError(f"LayerNormalization of shape {x.shape}")
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axes, keepdims=True) + epsilon) * scale + bias


def elu(x: Array, alpha: float = 1.0) -> Array:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0.0)))


def celu(x: Array, alpha: float = 1.0) -> Array:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0.0) / alpha))


def selu(x: Array, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Array:
    return gamma * elu(x, alpha)


def hard_sigmoid(x: Array, alpha: float = float(np.float32(0.2)), beta: float = 0.5) -> Array:
    return np.clip(alpha * x + beta, 0.0, 1.0)


INSTEAD: dict[str, Callable[..., Any]] = {
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "BatchNormalization": batch_normalisation,
    "AveragePool": window_functions.mean,
    "Celu": celu,
    "Conv": window_functions.conv,
    "ConvTranspose": window_functions.transposed,
    "Elu": elu,
    "GlobalAveragePool": lambda x: window_functions.mean(x, x.shape[2:]),
    "GlobalMaxPool": lambda x: window_functions.largest(x, x.shape[2:]),
    "HardSigmoid": hard_sigmoid,
    "HardSwish": lambda x: x * hard_sigmoid(x, float(np.float32(1 / 6))),
    "LpPool": window_functions.norm,
    "MaxPool": window_functions.largest,
    "Mish": lambda x: x * np.tanh(np.logaddexp(x, 0.0)),
    "Pad": window_functions.padded,
    "Resize": window_functions.resized,
    "Upsample": window_functions.repeated,
    "Selu": selu,
    "Softsign": lambda x: x / (1.0 + np.abs(x)),
    "Cosh": np.cosh,
    "Erf": special.erf,
    "FastGelu": fast_gelu,
    "Gelu": gelu,
    "IsNaN": np.isnan,
    "LayerNormalization": layer_normalisation,
    "LeakyRelu": leaky_relu,
    "PRelu": lambda x, slope: np.where(x < 0, slope * x, x),
    "Sigmoid": special.expit,  # onnxruntime's is 1 − 1/(1 + eˣ) in float64, which loses all digits below −36
    "Sinh": np.sinh,
    "Softplus": lambda x: np.logaddexp(x, 0.0),
    "Swish": swish,
    "Tan": np.tan,
}
OTHERWISE: dict[str, Callable[..., Any]] = {  # where an old version has no kernel, or none for this type
    "Clip": clip,
    "Max": lambda *x: reduce(np.maximum, x),
    "Min": lambda *x: reduce(np.minimum, x),
}
