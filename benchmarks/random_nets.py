"""Nets with random weights, and sources as one writes them in jax: what compiled programs are measured against."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import integraph
from integraph import Network

if TYPE_CHECKING:
    from transformers import Transformer

Source = Callable[[Any], Any]
FORMULA = "sin(3*x)*exp(-y)/(1 + x*y)"


def net(sizes: tuple[int, ...], scale: float | None, activation: str = "tanh", seed: int = 7) -> Network:
    """Weights from scale·[−1, 1], or scaled so that a layer keeps its size (Glorot)."""
    rng = np.random.default_rng(seed)
    layers = []
    for number, (n, m) in enumerate(pairwise(sizes), 1):
        size = np.sqrt(6.0 / (m + n)) if scale is None else scale
        name = activation if number < len(sizes) - 1 else None
        layers.append((size * rng.uniform(-1, 1, (m, n)), rng.uniform(-1, 1, m), name))
    return integraph.network(layers)


def net_in_jax(network: Network, weights: list[tuple[Any, Any]] | None = None) -> Source:
    """Layers of tanh, with weights of their own or others."""
    import jax.numpy as jnp

    pairs = weights or [(layer.A, layer.b) for layer in network.layers]
    curved = [layer.activation == "tanh" for layer in network.layers]

    def run(x: Any) -> Any:
        for (A, b), bent in zip(pairs, curved, strict=True):
            x = jnp.matmul(x, A.T, precision="highest") + b
            x = jnp.tanh(x) if bent else x
        return x

    return run


def formula_in_jax() -> Source:
    import jax.numpy as jnp

    return lambda x: jnp.sin(3 * x[:, 0]) * jnp.exp(-x[:, 1]) / (1 + x[:, 0] * x[:, 1])


def transformer_in_jax(model: Transformer, eps: float) -> Source:
    """(B, tokens · width) → the same shape; query, key and value by one product."""
    import jax
    import jax.numpy as jnp

    names, heads = ("query", "key", "value"), model.heads
    joint = [
        (np.concatenate([w[n] for n in names], 1), np.concatenate([w[f"{n}_bias"] for n in names]))
        for w in model.layers
    ]

    def normal(x: Any, w: Any, which: str) -> Any:
        d = x - x.mean(-1, keepdims=True)
        return d / jnp.sqrt((d * d).mean(-1, keepdims=True) + eps) * w[f"scale{which}"] + w[f"shift{which}"]

    def run(flat: Any) -> Any:
        x = flat.reshape(-1, model.tokens, model.width)
        for w, (mixing, bias) in zip(model.layers, joint, strict=True):
            mixed = normal(x, w, "") @ mixing + bias
            q, k, v = jnp.moveaxis(mixed.reshape(*x.shape[:2], 3, heads, -1), (2, 3), (0, 2))
            share = jax.nn.softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]))
            x = x + jnp.moveaxis(share @ v, 1, 2).reshape(x.shape) @ w["out"] + w["out_bias"]
            up = jax.nn.gelu(normal(x, w, "2") @ w["up"] + w["up_bias"], approximate=False)
            x = x + up @ w["down"] + w["down_bias"]
        return x.reshape(flat.shape)

    return run
