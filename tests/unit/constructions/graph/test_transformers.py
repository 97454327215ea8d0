"""A whole transformer as a quadratic ODE: equal to its values in numpy, by closed forms and by an integrator."""

from __future__ import annotations

import numpy as np
import pytest

import integraph
from integraph import Program
from slow import mostly_slow
from transformers import to_graph, transformer

BOX = (-3.0, 3.0)


def inputs(tokens: int = 16, width: int = 32, count: int = 2) -> np.ndarray:
    return np.clip(np.random.default_rng(5).standard_normal((count, tokens * width)), *BOX)


def far(program: Program, x: np.ndarray, wanted: np.ndarray, **options: object) -> float:
    """The largest error relative to the largest value."""
    return float(np.abs(program(x, **options) - wanted).max() / np.abs(wanted).max())


@pytest.mark.parametrize("gain", [1.0, 8.0])
@pytest.mark.parametrize("causal", [False, True])
@mostly_slow("free", ["keep", "clean", "decay"], quick=1)
def test_two_layers(free: str, causal: bool, gain: float) -> None:
    """16 tokens × 32, 4 heads, GELU, pre-norm. With weights × 8 scores reach hundreds."""
    net = transformer(causal=causal, gain=gain)
    program = integraph.compile(to_graph(net), free=free, box=BOX)
    x = inputs()
    wanted = net.forward(x)
    assert far(program, x, wanted) <= 1e-13
    assert far(program, x[:1], wanted[:1], engine="taylor", rtol=1e-14) <= 1e-13
    assert program.depth == 32
    assert program.width <= {"keep": 31_600, "clean": 21_200, "decay": 10_000}[free]


def test_scores_are_large() -> None:
    """The case above is what it says."""
    net = transformer(gain=8.0)
    w, x = net.layers[0], inputs(count=1).reshape(16, 32)
    z = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w["scale"] + w["shift"]
    q, k = (z @ w[name] + w[f"{name}_bias"] for name in ("query", "key"))
    assert np.abs(np.einsum("ihr,jhr->hij", q.reshape(16, 4, 8), k.reshape(16, 4, 8)) / np.sqrt(8)).max() > 240


def test_sizes_of_a_layer_are_its_registers() -> None:
    """x, and for each layer two norms (z and p), q k v, scores with a, u, m, c, heads, two sums, MLP with h, z, w."""
    norm, attention, mlp = 512 + 16, 3 * 512 + 3 * 1024 + 2 * 64 + 512, 4 * 2048
    program = integraph.compile(to_graph(transformer()), box=BOX)
    assert program.width == 512 + 2 * (2 * norm + attention + 2 * 512 + mlp)
