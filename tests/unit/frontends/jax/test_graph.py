"""Functions written in jax.numpy, traced to graphs, against jax itself in float64."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph.frontends import jax as reader
from jax_graphs import check, ops
from law import examples
from lazy import Lazy, needs
from slow import mostly_slow

pytestmark = needs("jax")
jax, jnp, nn = Lazy("jax"), Lazy("jax.numpy"), Lazy("jax.nn")

SHAPE = (4, 3)
RNG = np.random.default_rng(11)
TRI = np.tril(np.ones(SHAPE, bool))
ENDS = np.array([0, 9])  # the second is beyond
WEIGHTS = RNG.standard_normal((3, 5))
CUBE = RNG.standard_normal((2, 4, 3))


def of_jax(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(jnp, name)(x)


NAMES = (
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
)
NAMES += ("arctan", "sinh", "cosh", "tanh", "arcsinh", "arctanh", "square", "abs", "negative", "reciprocal")
ELEMENTWISE = {  # of numbers in (0.1, 0.9)
    **{name: of_jax(name) for name in NAMES},
    "arccosh": lambda x: jnp.arccosh(1 + x),
    "rsqrt": lambda x: jax.lax.rsqrt(x),
    "erf": lambda x: jax.scipy.special.erf(x),
    "erfc": lambda x: jax.scipy.special.erfc(x),
    "sigmoid": lambda x: nn.sigmoid(x),
    "log_sigmoid": lambda x: nn.log_sigmoid(x),
    "squareplus": lambda x: nn.squareplus(x),
    "mish": lambda x: nn.mish(x),
    "clip": lambda x: jnp.clip(x, 0.3, 0.5),
    "x^3": lambda x: x**3,
    "x^-2": lambda x: x**-2,
    "x^0.7": lambda x: x**0.7,
    "x^y": lambda x: x ** (2 * x),
    "3^x": lambda x: 3.0**x,
    "c^x": lambda x: jnp.arange(1.0, 4.0) ** x,
    "x^c": lambda x: x ** jnp.arange(1.0, 4.0),
    "quotient": lambda x: (1 - x) / (x + x[::-1]) - 2 / x,
    "extremes": lambda x: jnp.maximum(x, 0.5) * jnp.minimum(x, x[::-1]),
    "maximum by where": lambda x: jnp.where(x > x[::-1], x, x[::-1]) + jnp.where(x < 0.5, x, 0.5),
    "like logaddexp": lambda x: jnp.maximum(x, x[::-1]) + jnp.log1p(jnp.exp(-jnp.abs(x - 2 * x[::-1]))),
    "minimum by where": lambda x: jnp.where(x >= x[::-1], x[::-1], x),
}


@mostly_slow("name", ELEMENTWISE, quick=8)
def test_elementwise(name: str) -> None:
    check(ELEMENTWISE[name], RNG.uniform(0.1, 0.9, SHAPE))


STRUCTURE = {
    "row": lambda x: x[1],
    "corner": lambda x: x[-1:, 0],
    "every second": lambda x: x[::2, ::-1],
    "rows": lambda x: x[np.array([2, 0, 2])],
    "entries": lambda x: x[np.array([2, 0]), np.array([1, 1])],
    "columns": lambda x: jnp.take(x, np.array([1, 0]), axis=1),
    "along an axis": lambda x: jnp.take_along_axis(x, np.array([[0, 1, 2], [3, 2, 1], [1, 1, 0], [2, 0, 3]]), 0),
    "maximum with more": lambda x: jnp.maximum(x[:1], jnp.zeros(SHAPE)),
    "maximum with −∞ and more": lambda x: jnp.maximum(x[:1], jnp.full(SHAPE, -jnp.inf)),
    "minimum with ∞ and more": lambda x: jnp.minimum(jnp.full(SHAPE, jnp.inf), x[:1]),
    "power with more": lambda x: jax.lax.pow(x[:1], jnp.full(SHAPE, 3.0)) + jax.lax.pow(x[:1], jnp.ones(SHAPE)),
    "dynamic slice": lambda x: jax.lax.dynamic_slice(x, (1, 0), (2, 2)),
    "filled": lambda x: jnp.take(x.ravel(), np.array([0, 99]), mode="fill", fill_value=3.0),
    "filled with 0": lambda x: x.at[np.array([1, 9])].get(mode="fill", fill_value=0.0),
    "filled with much": lambda x: x.at[np.array([9, 1])].get(mode="fill", fill_value=1e9),
    "filled with less": lambda x: x.at[:, np.array([2, 9])].get(mode="fill", fill_value=-0.5),
    "softmax of fills": lambda x: nn.softmax(jnp.where(TRI, x, -1e9).at[:, ENDS].get(mode="fill", fill_value=1.0)),
    "clipped": lambda x: jnp.take(x, np.array([0, 9]), 0, mode="clip"),
    "roll": lambda x: jnp.roll(x, 1, 0),
    "tile": lambda x: jnp.tile(x, (2, 2)),
    "repeat": lambda x: jnp.repeat(x, 2, 0),
    "stack": lambda x: jnp.stack([x[0], x[1]], 1),
    "concatenate": lambda x: jnp.concatenate([x, np.ones((1, 3)), x[:2]]),
    "split": lambda x: jnp.split(x, [1, 3])[1],
    "reshape": lambda x: x.reshape(2, 6).T,
    "new axes": lambda x: x[:, None] * x[None, :, :] + jnp.expand_dims(x, 0),
    "broadcast": lambda x: jnp.broadcast_to(x[0], (2, 3)),
    "diagonal": lambda x: jnp.diag(x[:3]),
    "tril": lambda x: jnp.tril(x),
    "chosen": lambda x: jnp.where(TRI, x, x[::-1]) + jnp.where(TRI, 2.0, x),
    "sum": lambda x: x.sum(0) + x.sum(),
    "mean": lambda x: x.mean(-1, keepdims=True),
    "variance": lambda x: jnp.var(x, 0) + jnp.std(x),
    "norm": lambda x: jnp.linalg.norm(x),
    "trace": lambda x: jnp.trace(x),
    "cross": lambda x: jnp.cross(x[0], x[1]),
    "outer": lambda x: jnp.outer(x[0], x[1]),
    "rows by vmap": lambda x: jax.vmap(lambda row: jnp.dot(row, row))(x),
    "gradient": lambda x: jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2))(x),
    "rematerialised": lambda x: jax.checkpoint(lambda x: jnp.sin(x) * x)(x),
    "jit in jit": lambda x: jax.jit(lambda x: jax.jit(jnp.sin)(x) + nn.silu(x))(x),
    "loop": lambda x: sum(k * x**k for k in range(1, 5)),
    "known beforehand": lambda x: x * jnp.cumsum(jnp.sort(jnp.arange(3.0)[::-1])),
    "several outputs": lambda x: (x[0], {"a": x.sum(), "b": 3}),
    "of float32": lambda x: (np.float32(0.1) * x.astype(jnp.float64)) @ jnp.asarray(WEIGHTS, jnp.float32),
}


@mostly_slow("name", STRUCTURE, quick=5)
def test_structure(name: str) -> None:
    check(STRUCTURE[name], RNG.standard_normal(SHAPE))


EMPTY: dict[str, Callable[..., Any]] = {  # of arrays (1, 3), cut to nothing on the way
    "roll": lambda x: jnp.roll(jnp.tanh(x), 1, 0),
    "split": lambda x: jnp.array_split(x, 2, 0)[0],
    "sum of nothing": lambda x: x[0] + jnp.sum(x[:, 3:] ** 2, 1),
    "nothing beside": lambda x: jnp.concatenate([x[1:], 2 * x, x[:, :0].reshape(0, 3)]),
    "nothing reversed": lambda x: jnp.concatenate([x[1:][::-1], x]),
}


@pytest.mark.parametrize("name", EMPTY)
def test_arrays_without_entries(name: str) -> None:
    check(EMPTY[name], np.array([[0.25, 0.5, -1.0]]))


@mostly_slow(
    ("spec", "constant"),
    [("ij,jk->ik", WEIGHTS), ("ij,kj->ik", None), ("ij,ik->ijk", None), ("ij,ij->", None), ("ij,bij->bi", CUBE)]
    + [
        ("ij,bij->jb", CUBE),
        ("ij,bkj->kbi", CUBE),
        ("ij,bij->bji", CUBE),
        ("ij,j->i", WEIGHTS[:, 0]),
        ("ij,ij->i", None),
    ],
    quick=9,
)
@pytest.mark.parametrize("swapped", [False, True])
def test_products(spec: str, constant: np.ndarray | None, swapped: bool) -> None:
    def f(x: Any) -> Any:
        y = x if constant is None else constant
        (a, b), out = spec.split("->")[0].split(","), spec.split("->")[1]
        return jnp.einsum(f"{b},{a}->{out}", y, x) if swapped else jnp.einsum(spec, x, y)

    check(f, RNG.standard_normal(SHAPE))


@examples(40)
@given(st.permutations("abcd"), st.permutations("abcd"), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2**31))
def test_any_dot_general(left: list[str], right: list[str], batch: int, summed: int, seed: int) -> None:
    """Axes a to d, some shared, some summed, in any order."""
    sizes = dict(zip("abcdABCD", (2, 3, 1, 4, 3, 1, 2, 2), strict=True))
    shared = "abcd"[: min(batch + summed, 4)]
    right = [c if c in shared else c.upper() for c in right]
    kept = [c for c in (*left, *right) if c not in shared] + list(shared[:batch])
    spec = f"{''.join(left)},{''.join(right)}->{''.join(dict.fromkeys(kept))}"
    rng = np.random.default_rng(seed)
    x, y = (rng.standard_normal([sizes[c] for c in one]) for one in (left, right))
    check(lambda a, b: jnp.einsum(spec, a, b), x, y)


ONE_NODE = {  # written by jax.nn or by hand, and the one operation that it is
    "gelu": (lambda x: nn.gelu(x, approximate=False), "gelu"),
    "gelu, by hand": (lambda x: 0.5 * x * (1 + jax.scipy.special.erf(x / jnp.sqrt(2))), "gelu"),
    "gelu_tanh": (lambda x: nn.gelu(x), "gelu_tanh"),
    "silu": (lambda x: nn.silu(x), "silu"),
    "silu, by hand": (lambda x: x * nn.sigmoid(x), "silu"),
    "softplus": (lambda x: nn.softplus(x), "softplus"),
    "softplus, by hand": (lambda x: jnp.log1p(jnp.exp(x)), "softplus"),
    "logaddexp": (lambda x: jnp.logaddexp(0.0, x), "softplus"),
    "relu": (lambda x: nn.relu(x), "relu"),
    "relu, by where": (lambda x: jnp.where(x > 0, x, 0), "relu"),
    "leaky_relu": (lambda x: nn.leaky_relu(x), "leaky_relu"),
    "leaky_relu, by where": (lambda x: jnp.where(x < 0, 0.2 * x, x), "leaky_relu"),
    "softmax": (lambda x: nn.softmax(x), "softmax"),
    "softmax, by hand": (lambda x: (e := jnp.exp(x - x.max(1, keepdims=True))) / e.sum(1, keepdims=True), "softmax"),
    "softmax, largest twice": (
        lambda x: jnp.exp(x - x.max(1)[:, None]) / jnp.exp(x - x.max(1)[:, None]).sum(1)[:, None],
        "softmax",
    ),
    "softmax, one shift": (lambda x: (e := jnp.exp(x - x.max())) / e.sum(1, keepdims=True), "softmax"),
}


@mostly_slow("name", ONE_NODE, quick=4)
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_activations_are_one_node(name: str, scale: float) -> None:
    f, op = ONE_NODE[name]
    graph = check(f, scale * RNG.standard_normal(SHAPE))
    assert ops(graph) == [op]


def test_constants_of_gelu_are_not_rounded() -> None:
    """√2 with eight digits is another function, and is compiled as it is written."""
    graph = check(lambda x: 0.5 * x * (1 + jax.scipy.special.erf(x / 1.4142135)), RNG.standard_normal(SHAPE))
    assert "erf" in ops(graph)


VALUES = st.deferred(
    lambda: st.one_of(
        st.sampled_from(("x", "y", "c")),
        st.tuples(st.sampled_from(("sin", "tanh", "exp", "gelu", "softplus", "softmax", "flip", "sum")), VALUES),
        st.tuples(st.sampled_from(("add", "sub", "mul", "matmul", "concat")), VALUES, VALUES),
    )
)
KNOWN: dict[str, Callable[..., Any]] = {
    "sin": lambda x: jnp.sin(x),
    "tanh": lambda x: jnp.tanh(x),
    "exp": lambda x: jnp.exp(-x * x),
    "gelu": lambda x: nn.gelu(x),
    "softplus": lambda x: nn.softplus(x),
    "softmax": lambda x: nn.softmax(x, 0),
    "flip": lambda x: x[::-1].T,
    "sum": lambda x: x.sum(0) * jnp.ones((3, 3)),
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "matmul": lambda x, y: x @ y / 3,
    "concat": lambda x, y: jnp.concatenate([x, y])[1:4],
}


@pytest.mark.slow
@examples(60)
@given(VALUES)
def test_any_function(tree: Any) -> None:
    rng = np.random.default_rng(5)
    leaves = dict(zip("xyc", rng.standard_normal((3, 3, 3)), strict=True))

    def value(tree: Any, x: Any, y: Any) -> Any:
        if isinstance(tree, str):
            return {"x": x, "y": y, "c": leaves["c"]}[tree]
        return KNOWN[tree[0]](*(value(part, x, y) for part in tree[1:]))

    check(lambda x, y: value(tree, x, y) + 0 * x, leaves["x"], leaves["y"], accuracy=1e-12)


def test_nodes_name_the_line() -> None:
    graph = reader.read(lambda x: jnp.sin(x) + nn.softmax(x) @ WEIGHTS[:, :3], 3)
    line = test_nodes_name_the_line.__code__.co_firstlineno + 1
    texts = {node.op: node.text for node in graph.nodes}
    assert texts["sin"] == f"sin ({Path(__file__).name}:{line})"
    assert texts["softmax"].endswith(f"({Path(__file__).name}:{line})")
    assert not any("/" in text or "\\" in text for text in texts.values())


def test_inputs_and_names() -> None:
    graph = reader.read(lambda u, v: u.sum() * v, ((2, 2), ()))
    assert (graph.inputs, graph.sizes) == (5, 1)
    assert graph.variables == ("u[0]", "u[1]", "u[2]", "u[3]", "v")
    assert reader.read(lambda *args: args[0] + args[1], ((), ())).variables == ("x1", "x2")
    np.testing.assert_array_equal(graph.values(np.arange(10.0).reshape(2, 5)).ravel(), [24.0, 26.0 * 9.0])


def test_jax_is_left_as_it_was() -> None:
    reader.read(lambda x: x * 0.1, 2)
    assert not jax.config.jax_enable_x64
    assert jnp.ones(1).dtype == np.float32
    assert reader.read(lambda x: x * 0.1, 2).values(np.ones((1, 2)))[0, 0] == 0.1
