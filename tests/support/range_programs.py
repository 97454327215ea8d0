"""Programs of all kinds whose ranges of registers are measured, on the box [−1, 1]^d."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

import integraph
from integraph import Program

BOX = (-1.0, 1.0)


def net(sizes: tuple[int, ...], activation: str, method: str, scale: float | None = None, seed: int = 1) -> Program:
    """Weights uniform in [−1, 1], or normal ones times `scale`/√n."""
    rng = np.random.default_rng(seed)
    layers = []
    for number, (n, m) in enumerate(pairwise(sizes), 2):
        A = rng.uniform(-1, 1, (m, n)) if scale is None else scale * rng.normal(size=(m, n)) / np.sqrt(n)
        layers.append((A, rng.uniform(-1, 1, m), activation if number < len(sizes) else None))
    return integraph.compile(integraph.network(layers), 1e-3 if activation == "relu" else None, method=method, box=BOX)


PROGRAMS: dict[str, Callable[[], Program]] = {
    "2-16-16-1, relu, narrow": lambda: net((2, 16, 16, 1), "relu", "narrow", 1.0),
    "2-16-16-1, relu, wide": lambda: net((2, 16, 16, 1), "relu", "wide", 1.0),
    "4-16-16-2, tanh, narrow": lambda: net((4, 16, 16, 2), "tanh", "narrow"),
    "4-16-16-2, tanh, wide": lambda: net((4, 16, 16, 2), "tanh", "wide"),
    "2-32-32-2, tanh, wide": lambda: net((2, 32, 32, 2), "tanh", "wide", 2.0, 4),
    "2-16-16-1, sigmoid, narrow": lambda: net((2, 16, 16, 1), "sigmoid", "narrow"),
    "2-8-8-1, erf, wide": lambda: net((2, 8, 8, 1), "erf", "wide"),
    "2-16-16-1, gelu, wide": lambda: net((2, 16, 16, 1), "gelu", "wide"),
    "atan(5*x)*y^3 + x^4": lambda: integraph.compile("atan(5*x)*y^3 + x^4", box=BOX),
    "x/(1 + abs(y))": lambda: integraph.compile("x/(1 + abs(y))", 1e-3, box=BOX),
    "1/(1 + 25*x^2), lean": lambda: integraph.compile("1/(1 + 25*x^2)", 1e-3, method="lean", box=BOX),
    "x*y*z, lean": lambda: integraph.compile("x*y*z", 0.1, method="lean", box=BOX),
}
