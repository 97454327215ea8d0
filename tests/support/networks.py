"""Networks for tests: every activation, any shape, seeded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from integraph.targets import ACTIVATIONS, Network, from_layers

SMOOTH = tuple(name for name in ACTIVATIONS if name not in ("identity", "relu"))
EVERY = (*ACTIVATIONS, "leaky_relu")

Floats = NDArray[np.float64]


def random_network(
    sizes: Sequence[int], activation: str | Sequence[str], seed: int = 0, weight: float = 1.0, output: str = "identity"
) -> Network:
    """Weights of size weight/√n, biases of the same size; exp is kept tame."""
    rng = np.random.default_rng(seed)
    hidden = len(sizes) - 2
    names = [activation] * hidden if isinstance(activation, str) else list(activation)
    layers = []
    for n, m, name in zip(sizes[:-1], sizes[1:], [*names, output], strict=True):
        size = weight * (0.4 if name == "exp" else 1.0)
        spec = (name, 0.1) if name == "leaky_relu" else name
        layers.append((size * rng.normal(size=(m, n)) / np.sqrt(n), 0.5 * size * rng.normal(size=m), spec))
    return from_layers(layers)


def points(box: Floats, count: int, seed: int = 0) -> Floats:
    """Random points of a box (d, 2), and its corners (some of them, if there are many)."""
    rng = np.random.default_rng(seed)
    low, high = box.T
    corners = np.where(rng.integers(0, 2, (min(2 ** len(box), 32), len(box))), high, low)
    return np.concatenate([low + (high - low) * rng.uniform(size=(count, len(box))), corners])


def agree(network: Network, want: Floats, X: Floats, tolerance: float = 1e-12) -> None:
    """The network computes these values at X, relative to the largest of them or 1."""
    assert np.abs(network(X) - want).max() <= tolerance * max(1.0, np.abs(want).max())
