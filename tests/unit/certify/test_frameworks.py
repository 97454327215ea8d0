"""Proofs of programs of attention, norms and convolutions as four frameworks write them, beside what these compute."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import integraph
from integraph import Graph
from keras_models import graph_model
from keras_models import outputs as keras_outputs
from lazy import Lazy, needs
from torch_graphs import encoder, lenet, nn, shapes_of, torch
from torch_graphs import outputs as torch_outputs

pytestmark = pytest.mark.slow
jax, jnp = Lazy("jax"), Lazy("jax.numpy")
Values = Callable[[np.ndarray], np.ndarray]


def proved(graph: Graph, values: Values, radius: float, most: float, free: str = "keep") -> None:
    """The proof around a random input, its check, and values of the framework within what is proved."""
    rng = np.random.default_rng(0)
    centre = rng.standard_normal(graph.inputs)
    box = np.stack([centre - radius, centre + radius], 1)
    program = integraph.compile(graph, free=free, box=box)
    proof = integraph.certify(program, graph, box=box, progress=False, workers=1, seconds=200)
    assert proof.status == "proved", proof
    assert proof.proven <= most
    assert integraph.check(proof, program, graph)
    x = centre + radius * rng.uniform(-1, 1, (4, graph.inputs))
    wanted = values(x)
    assert np.abs(program(x) - wanted).max() <= proof.proven + 1e-13 * (1 + np.abs(wanted).max())


def of_torch(module: Any, inputs: tuple[int, ...]) -> tuple[Graph, Values]:
    return integraph.graph(module, inputs=inputs), lambda x: torch_outputs(module, x, shapes_of(inputs))


@needs("torch")
@pytest.mark.parametrize(("free", "most"), [("keep", 3e-12), ("decay", 3e-12), ("clean", 1e-11)])
def test_an_encoder_layer_of_torch(free: str, most: float) -> None:
    torch.manual_seed(0)
    proved(*of_torch(encoder(activation="gelu").eval(), (3, 8)), 0.05, most, free)


@needs("torch")
def test_group_norms_of_torch() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.SiLU()).double().eval()
    proved(*of_torch(module, (2, 5, 5)), 0.05, 1e-12)


@needs("torch")
def test_lenet() -> None:
    torch.manual_seed(0)
    proved(*of_torch(lenet().eval(), (1, 28, 28)), 1.0, 1e-12)


@needs("keras")
@needs("torch")
def test_attention_of_keras() -> None:
    os.environ.setdefault("KERAS_BACKEND", "torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        keras = pytest.importorskip("keras")
    model = graph_model(keras, [(4, 6)], lambda x: keras.layers.MultiHeadAttention(2, 3)(x, x, use_causal_mask=True))
    proved(integraph.graph(model), lambda x: keras_outputs(model, x.reshape(-1, 4, 6)), 0.05, 1e-11)


@needs("jax")
def test_attention_of_jax() -> None:
    weights = np.random.default_rng(1).normal(size=(3, 3))

    def layer(x: Any) -> Any:
        n = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return x + jax.nn.softmax((n @ jnp.asarray(weights)) @ n.T, axis=-1) @ jax.nn.silu(n)

    def values(x: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.stack([np.asarray(layer(jnp.asarray(row.reshape(4, 3)))).ravel() for row in x])

    proved(integraph.graph(layer, inputs=[(4, 3)]), values, 0.05, 1e-11)
