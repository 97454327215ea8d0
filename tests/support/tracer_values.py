"""What the tests of the tracer share: a start, and activations from scipy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from integraph.frontends.tracer import TracedValue, Tracer


def function(name: str, x: np.ndarray) -> np.ndarray:
    """Activations written again, from scipy."""
    formulas: dict[str, Callable[[Any], Any]] = {
        "gelu": lambda x: 0.5 * x * (1 + special.erf(x / math.sqrt(2))),
        "silu": lambda x: x / (1 + np.exp(-x)),
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "erf": special.erf,
        "tanh": np.tanh,
        "gaussian": lambda x: np.exp(-(x**2)),
        "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    }
    return formulas[name](x)


def start(features: int = 3) -> tuple[Tracer, TracedValue]:
    tracer = Tracer("test")
    return tracer, tracer.input((1, features))
