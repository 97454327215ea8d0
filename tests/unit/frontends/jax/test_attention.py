"""Softmax, masks and attention written in jax, traced to graphs, against jax itself in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from integraph.frontends import jax as reader
from jax_graphs import check, ops
from lazy import Lazy, needs
from slow import mostly_slow
from transformers import EPS, Transformer, to_graph, transformer

pytestmark = needs("jax")
jax, jnp, nn = Lazy("jax"), Lazy("jax.numpy"), Lazy("jax.nn")

SHAPE = (4, 3)
RNG = np.random.default_rng(11)
TRI = np.tril(np.ones(SHAPE, bool))
MASKS = {
    "where": lambda x: nn.softmax(x, where=TRI),
    "where, other axis": lambda x: nn.softmax(x, 0, where=TRI),
    "−inf": lambda x: nn.softmax(jnp.where(TRI, x, -jnp.inf)),
    "added": lambda x: nn.softmax(x + jnp.where(TRI, 0.0, -jnp.inf)),
    "added, other axis": lambda x: nn.softmax(x + jnp.where(TRI, 1.5, -jnp.inf), 0),
}
OFFSETS = {
    "−1e9": lambda x: jnp.where(TRI, x, -1e9),
    "added": lambda x: jnp.where(TRI, 0.0, -1e9) + x,
    "taken back": lambda x: (x + jnp.where(TRI, 0.0, -1e9)) + jnp.where(TRI, 0.0, 1e9),
    "chosen and taken back": lambda x: jnp.where(TRI, x, -1e9) + jnp.where(TRI, 0.0, 1e9),
    "taken back in other places": lambda x: jnp.where(TRI, x, -1e9) - jnp.where(TRI, 1e9, 0.0),
}


@mostly_slow("name", MASKS, quick=2)
def test_masks_go_into_the_softmax(name: str) -> None:
    graph = check(MASKS[name], 5 * RNG.standard_normal(SHAPE))
    softmax = next(node for node in graph.nodes if node.op == "softmax")
    np.testing.assert_array_equal(softmax.value, TRI.T if "other" in name else TRI)


@mostly_slow("name", OFFSETS, quick=1)
@pytest.mark.parametrize("rows", ["softmax", "log_softmax", "logsumexp"])
def test_masks_that_are_numbers_are_added(rows: str, name: str) -> None:
    check(lambda x: getattr(nn, rows)(OFFSETS[name](x)), RNG.standard_normal(SHAPE), accuracy=1e-7)  # 1e-16 of 1e9


@pytest.mark.slow
def test_masks_that_are_numbers_beside_infinity() -> None:
    x = RNG.standard_normal(SHAPE)
    for rows in (nn.softmax, nn.logsumexp):
        check(lambda x, rows=rows: rows(jnp.where(TRI, jnp.where(TRI[::-1], x, -1e9), -jnp.inf)), x)
        check(lambda x, rows=rows: rows(jnp.where(TRI, x, jnp.array([0.5, -1e9, -jnp.inf]))), x)


@mostly_slow("axis", [0, 1, (0, 1), None], quick=1)
@mostly_slow("shift", [400.0, 0.0, -4000.0], quick=1)
def test_sums_of_exponentials(axis: int | tuple[int, ...] | None, shift: float) -> None:
    x = shift + 20 * RNG.standard_normal(SHAPE)
    check(lambda x: nn.softmax(x, axis), x)
    check(lambda x: nn.logsumexp(x, axis, keepdims=True), x)
    check(lambda x: nn.log_softmax(x, axis), x)
    check(lambda x: nn.logsumexp(x, axis, where=TRI), x)
    check(lambda x: jnp.logaddexp(x, x[::-1]), x)
    for f in (nn.log_softmax, lambda x, axis: jnp.log(nn.softmax(x, axis)), jax.scipy.special.logsumexp):
        used = ops(check(lambda x, f=f: f(x, axis), 0.1 * x))
        assert used.count("log_softmax") + used.count("logsumexp") == 1
        assert not {"ln", "softmax", "exp"} & set(used)


@mostly_slow("axis", [0, 1, 2, (0, 2), (2, 0)], quick=2)
def test_softmax_over_any_axes(axis: int | tuple[int, ...]) -> None:
    x = RNG.standard_normal((2, 3, 4))
    check(lambda x: nn.softmax(x, axis), x)
    check(lambda y: nn.softmax(y, axis, where=x > -1), x)


@pytest.mark.slow
def test_attention_of_jax() -> None:
    """jax.nn.dot_product_attention takes its softmax in float32."""
    x = RNG.standard_normal((1, 5, 2, 3))
    for causal in (False, True):
        graph = check(lambda x: nn.dot_product_attention(x, x, x, is_causal=causal), x, accuracy=1e-6)  # noqa: B023
        assert ops(graph).count("softmax") == 1


def in_jax(net: Transformer) -> Callable[[Any], Any]:
    """The same transformer, as one writes it in jax.numpy."""

    def normal(x: Any, scale: Any, shift: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(jnp.var(x, -1, keepdims=True) + EPS) * scale + shift

    def forward(x: Any) -> Any:
        seen = jnp.tril(jnp.ones((net.tokens, net.tokens), bool))
        for w in net.layers:
            z = normal(x, w["scale"], w["shift"])
            q, k, v = (
                (z @ w[name] + w[f"{name}_bias"]).reshape(net.tokens, net.heads, -1)
                for name in ("query", "key", "value")
            )
            scores = jnp.einsum("ihd,jhd->hij", q, k) / jnp.sqrt(q.shape[-1])
            scores = jnp.where(seen, scores, -jnp.inf) if net.causal else scores
            heads = jnp.einsum("hij,jhd->ihd", nn.softmax(scores), v)
            x = x + heads.reshape(x.shape) @ w["out"] + w["out_bias"]
            z = normal(x, w["scale2"], w["shift2"])
            x = x + nn.gelu(z @ w["up"] + w["up_bias"], approximate=False) @ w["down"] + w["down_bias"]
        return x

    return forward


@pytest.mark.parametrize("causal", [False, True])
@mostly_slow("gain", [8.0, 1.0], quick=1)
def test_a_transformer(causal: bool, gain: float) -> None:
    net = transformer(tokens=6, width=8, heads=2, hidden=16, causal=causal, gain=gain)
    graph = reader.read(in_jax(net), ((6, 8),))
    x = RNG.standard_normal((3, 48))
    wanted = net.forward(x)
    for found in (graph.values(x), to_graph(net).values(x)):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
    assert ops(graph).count("softmax") == ops(graph).count("gelu") == 2
    assert not {"max", "abs", "erf", "exp"} & set(ops(graph))
