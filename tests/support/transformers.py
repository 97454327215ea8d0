"""A pre-norm transformer with random weights: its values in numpy, and the graph that an exporter would write of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.special

from integraph.numbers.arrays import Floats
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder

EPS = 1e-5  # of layer norms
MATRICES = ("query", "key", "value", "out", "up", "down")
VECTORS = ("scale", "shift", *(f"{name}_bias" for name in MATRICES[:4]), "scale2", "shift2", "up_bias", "down_bias")


@dataclass(frozen=True, slots=True)
class Transformer:
    """`layers` are weights by name, those of MATRICES and VECTORS; a matrix multiplies rows from the right."""

    tokens: int
    width: int
    heads: int
    causal: bool
    layers: tuple[dict[str, Floats], ...]

    @property
    def mask(self) -> Floats:
        """What is added to the scores: −∞ where a token would look ahead."""
        ahead = np.triu(np.full((self.tokens, self.tokens), self.causal), 1)
        return np.where(ahead, -np.inf, 0.0)

    def forward(self, x: Floats) -> Floats:
        """(B, tokens · width) → the same shape."""
        batch, n = len(x), self.tokens
        x = np.asarray(x, np.float64).reshape(batch * n, self.width)
        for w in self.layers:
            z = _normal(x) * w["scale"] + w["shift"]
            q, k, v = (
                (z @ w[name] + w[f"{name}_bias"]).reshape(batch, n, self.heads, -1).transpose(0, 2, 1, 3)
                for name in MATRICES[:3]
            )
            seen = _softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]) + self.mask) @ v
            x = x + seen.transpose(0, 2, 1, 3).reshape(x.shape) @ w["out"] + w["out_bias"]
            z = _normal(x) * w["scale2"] + w["shift2"]
            x = x + _gelu(z @ w["up"] + w["up_bias"]) @ w["down"] + w["down_bias"]
        return x.reshape(batch, -1)


def transformer(
    tokens: int = 16,
    width: int = 32,
    heads: int = 4,
    hidden: int = 128,
    layers: int = 2,
    causal: bool = False,
    gain: float = 1.0,
    seed: int = 0,
) -> Transformer:
    """Every matrix keeps the size of what it multiplies, times `gain`."""
    rng = np.random.default_rng(seed)
    shapes = dict.fromkeys(MATRICES[:4], (width, width)) | {"up": (width, hidden), "down": (hidden, width)}

    def weights() -> dict[str, Floats]:
        found = {name: gain / math.sqrt(shape[0]) * rng.standard_normal(shape) for name, shape in shapes.items()}
        for name in VECTORS:
            size = hidden if name == "up_bias" else width
            found[name] = float(name.startswith("scale")) + 0.1 * rng.standard_normal(size)
        return found

    return Transformer(tokens, width, heads, causal, tuple(weights() for _ in range(layers)))


def to_graph(net: Transformer) -> Graph:
    """Node by node as files have it: layer norms and biases in parts, heads by reshape and transpose."""
    build = Builder("transformer")
    apply = build.apply
    n, heads, size = net.tokens, net.heads, net.width // net.heads

    def normal(x: int, scale: Floats, shift: Floats, text: str) -> int:
        mean = apply("reshape", build.mean(x, (1,), text), data=((n, 1),), text=text)
        d = apply("sub", x, mean, text=text)
        variance = build.mean(apply("mul", d, d, text=text), (1,), text)
        shifted = apply("add", apply("reshape", variance, data=((n, 1),), text=text), build.constant(EPS), text=text)
        z = apply("mul", d, build.power(shifted, -0.5, text), text=text)
        return apply("add", apply("mul", z, build.constant(scale), text=text), build.constant(shift), text=text)

    def affine(x: int, w: dict[str, Floats], name: str, layer: int) -> int:
        text = f"layer{layer}.{name}"
        product = apply("matmul", x, build.constant(w[name], text), text=text)
        return apply("add", product, build.constant(w[f"{name}_bias"]), text=text)

    def split(x: int, order: tuple[int, ...]) -> int:
        return apply("transpose", apply("reshape", x, data=((n, heads, size),)), data=order)

    x = build.input("x", (n, net.width))
    for layer, w in enumerate(net.layers):
        z = normal(x, w["scale"], w["shift"], f"layer{layer}.norm")
        q, v = (split(affine(z, w, name, layer), (1, 0, 2)) for name in ("query", "value"))
        k = split(affine(z, w, "key", layer), (1, 2, 0))
        text = f"layer{layer}.scores"
        scores = apply("div", apply("matmul", q, k, text=text), build.constant(math.sqrt(size)), text=text)
        if net.causal:
            scores = apply("add", scores, build.constant(net.mask, "mask"), text=text)
        seen = apply("matmul", build.softmax(scores, f"layer{layer}.attention"), v, text=f"layer{layer}.seen")
        joined = apply("reshape", apply("transpose", seen, data=(1, 0, 2)), data=((n, net.width),))
        x = apply("add", x, affine(joined, w, "out", layer), text=f"layer{layer}.attended")
        z = normal(x, w["scale2"], w["shift2"], f"layer{layer}.norm2")
        up = apply("gelu", affine(z, w, "up", layer), text=f"layer{layer}.gelu")
        x = apply("add", x, affine(up, w, "down", layer), text=f"layer{layer}")
    return build.graph([x])


def _normal(x: Floats) -> Floats:
    d = x - x.mean(-1, keepdims=True)
    found: Floats = d / np.sqrt((d * d).mean(-1, keepdims=True) + EPS)
    return found


def _softmax(scores: Floats) -> Floats:
    grown = np.exp(scores - scores.max(-1, keepdims=True))
    found: Floats = grown / grown.sum(-1, keepdims=True)
    return found


def _gelu(x: Floats) -> Floats:
    found: Floats = 0.5 * x * scipy.special.erfc(-math.sqrt(0.5) * x)
    return found
