"""Functions of jax as graphs, compared with jax itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from integraph.frontends import jax as reader
from integraph.targets.graph import Graph
from lazy import Lazy

jax, jnp = Lazy("jax"), Lazy("jax.numpy")


def truth(f: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """What jax computes, all outputs in one vector."""
    with jax.enable_x64(True):
        found = jax.tree.leaves(f(*map(jnp.asarray, arrays)))
        return np.concatenate([np.ravel(np.asarray(part, np.float64)) for part in found])


def check(f: Callable[..., Any], *arrays: np.ndarray, accuracy: float = 1e-14) -> Graph:
    """Reads f and compares, relative to the largest value."""
    graph = reader.read(f, tuple(x.shape for x in arrays))
    found = graph.values(np.concatenate([x.ravel() for x in arrays])[None])[0]
    wanted = truth(f, *arrays)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=0, atol=accuracy * (1 + np.abs(wanted).max()))
    return graph


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes if node.op not in ("input", "constant")]
