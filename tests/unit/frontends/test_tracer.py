"""The tracer that the graph readers share, against plain numpy and against exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph.errors import SourceError
from integraph.frontends.chain import compose, plus, times
from integraph.frontends.tracer import TracedValue, Tracer
from law import examples
from networks import agree
from tracer_values import function, start

SINGLE = st.floats(-8, 8, width=32).filter(lambda x: abs(x) > 0.125)
STEPS = ("dense", "add", "sub", "from", "mul", "div", "neg", "transpose", "tanh", "sigmoid", "erf", "silu", "gelu")


@examples(150)
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=10), st.integers(0, 2**32 - 1), st.booleans())
def test_any_chain_is_what_numpy_computes(steps: list[str], seed: int, short: bool) -> None:
    rng = np.random.default_rng(seed)
    dtype = np.float32 if short else np.float64
    tracer, x = start(4)
    X = rng.normal(size=(9, 4))
    z = X
    for k, step in enumerate(steps):
        where = f"node {k} {step!r}"
        c = rng.uniform(0.5, 2, z.shape[1]).astype(dtype)
        if step == "dense":
            W = rng.normal(size=(int(rng.integers(1, 6)), z.shape[1])).astype(dtype) / 2
            x, z = tracer.dense(x, W, None, where), z @ W.T.astype(float)
        elif step == "transpose":
            rows = 2 if z.shape[1] % 2 == 0 else 1
            order = np.arange(x.features).reshape(1, rows, -1).transpose(0, 2, 1)
            square = tracer.arrange(x, order, where)
            x = tracer.reshape(square, (1, -1), where)
            z = z.reshape(len(z), rows, -1).transpose(0, 2, 1).reshape(z.shape)
        elif step in ("add", "sub", "mul", "div"):
            x = getattr(tracer, step)(x, c, where)
            z = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[step](z, c.astype(float))
        elif step == "from":
            x, z = tracer.sub(c, x, where), c - z
        elif step == "neg":
            x, z = tracer.neg(x, where), -z
        else:
            x, z = tracer.unary(step, x, where), function(step, z)
    agree(tracer.network(x), z, X)


def test_maps_join_only_if_that_is_exact() -> None:
    rng = np.random.default_rng(0)
    whole = rng.integers(-9, 9, (4, 3)).astype(float)
    tracer, x = start()
    h = tracer.add(
        tracer.mul(tracer.dense(tracer.mul(x, np.array(0.5), "½"), whole, None, "W"), np.array(2.0), "2"),
        np.ones(4),
        "+",
    )
    h = tracer.unary("tanh", h, "tanh")
    network = tracer.network(tracer.dense(tracer.mul(h, np.array([1.0, 2, 3, 4]), "s"), whole.T, np.ones(3), "V"))
    assert network.sizes == (3, 4, 3)
    assert np.array_equal(network.layers[0].A, whole)
    assert np.array_equal(network.layers[1].A, whole.T * [1, 2, 3, 4])
    assert network.notes == ()
    third = tracer.dense(tracer.mul(x, np.array(1 / 3), "⅓"), rng.normal(size=(2, 3)), None, "W")
    kept = tracer.network(tracer.unary("tanh", third, "tanh"))
    assert [layer.activation for layer in kept.layers] == ["identity", "tanh"]


def test_a_narrow_waist_is_kept() -> None:
    tracer, x = start(20)
    waist = tracer.dense(tracer.dense(x, np.ones((1, 20)), None, "in"), np.ones((20, 1)), None, "out")
    assert tracer.network(waist).sizes == (20, 1, 20)


@examples(200)
@given(st.lists(st.tuples(SINGLE | st.floats(-1e3, 1e3), SINGLE | st.floats(-1e3, 1e3)), min_size=1, max_size=5))
def test_products_and_sums_are_exact_or_none(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    product, total = times(a, b), plus(a, b)
    true = [(Fraction(x) * Fraction(y), Fraction(x) + Fraction(y)) for x, y in pairs]
    tiny = any(0 < abs(p) < 2**-900 for p, _ in true)  # there exact products may be refused
    assert product is None or [Fraction(p) for p in product] == [p for p, _ in true]
    assert tiny or (product is not None) == all(
        Fraction(x * y) == p for (x, y), (p, _) in zip(pairs, true, strict=True)
    )
    assert total is None or [Fraction(s) for s in total] == [s for _, s in true]


@examples(60)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["dd", "dm", "md", "mm"]))
def test_composed_maps_are_exact(seed: int, kinds: str) -> None:
    rng = np.random.default_rng(seed)
    maps = [(rng.integers(-99, 99, 3 if k == "d" else (3, 3)) / 8, rng.integers(-99, 99, 3) / 4) for k in kinds]
    found = compose(*maps)
    assert found is not None
    (A2, b2), (A1, b1) = ((np.diag(A) if A.ndim == 1 else A, b) for A, b in maps)
    A, b = found
    assert np.array_equal(np.diag(A) if A.ndim == 1 else A, A2 @ A1)
    assert np.array_equal(b, A2 @ b1 + b2)


def test_division_is_noted_unless_it_is_exact() -> None:
    tracer, x = start()
    assert tracer.network(tracer.div(x, np.array(4.0), "node 2")).notes == ()
    assert tracer.network(tracer.div(x, np.array(3.7), "node 2")).notes == (
        "division by 3.7000000000000002 at node 2: 1/3.7000000000000002 rounded to float64",
    )


def test_notes_are_of_the_path_taken() -> None:
    tracer, x = start()
    tracer.div(x, np.array(3.0), "elsewhere")
    assert tracer.network(tracer.unary("tanh", x, "tanh")).notes == ()


def test_normalisation_of_many_inputs_is_no_matrix_until_the_end() -> None:
    tracer, x = start(100_000)
    x = tracer.mul(x, np.full(100_000, 0.5), "½")
    network = tracer.network(tracer.dense(x, np.ones((1, 100_000)), None, "W"))
    assert network.sizes == (100_000, 1)
    x = tracer.add(x, np.full(100_000, 0.1), "+")
    x = tracer.dense(x, np.full((1, 100_000), 0.1), None, "W")
    with pytest.raises(SourceError, match="1 elementwise maps of up to 100000 units"):
        tracer.network(x)
    with pytest.raises(SourceError, match="1 elementwise maps of up to 100000 units"):
        tracer.network(start(100_000)[1])
    assert np.array_equal(tracer.network(start()[1]).layers[0].A, np.eye(3))


BAD: dict[str, tuple[Callable[[Tracer, TracedValue], Any], str]] = {
    "residual": (lambda t, x: t.add(x, t.dense(x, np.eye(3), None, "W"), "n"), "n combines two computed tensors"),
    "gate": (
        lambda t, x: t.mul(t.dense(x, np.eye(3), None, "A"), t.dense(x, np.eye(3), None, "B"), "n"),
        "from A and B: residual connections and gates",
    ),
    "shifted gate": (
        lambda t, x: t.mul(x, t.unary("sigmoid", t.add(x, np.ones(3), "+"), "s"), "n"),
        "n combines two computed",
    ),
    "two activations": (
        lambda t, x: t.add(t.unary("tanh", x, "t"), t.unary("erf", x, "e"), "n"),
        "n adds two activations, tanh and erf",
    ),
    "product of activations": (
        lambda t, x: t.mul(t.unary("tanh", x, "t"), t.unary("tanh", x, "e"), "n"),
        "n multiplies two activations",
    ),
    "square": (lambda t, x: t.network(t.power(x, 2, "n")), r"n: 1·x² is not a known activation"),
    "square of a layer": (
        lambda t, x: t.dense(t.mul(x, x, "n"), np.eye(3), None, "W"),
        r"n: 1·x² is not a known activation",
    ),
    "tanh of a square": (lambda t, x: t.network(t.unary("tanh", t.power(x, 2, "n"), "n")), "is not a known activation"),
    "fourth power": (lambda t, x: t.mul(t.power(x, 2, "a"), t.power(x, 2, "b"), "n"), "power of x above 3"),
    "power 4": (lambda t, x: t.power(x, 4, "n"), "n takes the power 4"),
    "x·tanh(x)": (lambda t, x: t.network(t.mul(x, t.unary("tanh", x, "t"), "n")), r"\(1·x\)·tanh\(1·x\) is no"),
    "divided by x": (lambda t, x: t.div(np.ones(3), x, "n"), "n divides by a computed tensor"),
    "divided by 0": (lambda t, x: t.div(x, np.array([1.0, 0.0, 1.0]), "n"), "n divides by 0"),
    "divided by almost 0": (lambda t, x: t.div(x, np.array(1e-320), "n"), "entry .* of its constants is inf"),
    "infinite bias": (
        lambda t, x: t.dense(x, np.eye(3), np.array([0, np.inf, 0]), "n"),
        r"entry \[1\] of its biases is inf",
    ),
    "nan": (lambda t, x: t.mul(x, np.array([0, 1, np.nan]), "n"), r"entry \[2\] of its constants is nan"),
    "overflow": (
        lambda t, x: t.network(t.mul(t.mul(x, np.array(1e300), "n"), np.array(1e300), "n")),
        "larger than float64 holds",
    ),
    "wrong weights": (lambda t, x: t.dense(x, np.eye(4), None, "n"), r"n has weights of shape \(4, 4\) for 3 features"),
    "wrong biases": (lambda t, x: t.dense(x, np.eye(3), np.ones(2), "n"), r"n has 2 biases"),
    "repeated features": (lambda t, x: t.add(x, np.ones((2, 3)), "n"), "that repeats features"),
    "no broadcast": (lambda t, x: t.add(x, np.ones(2), "n"), "which do not broadcast"),
    "wrong shape": (lambda t, x: t.reshape(x, (2, -1), "n"), r"n gives shape \(2, -1\) to 3 features"),
    "huge shape": (lambda t, x: t.reshape(x, (2**62, 2**62), "n"), "to 3 features"),
    "text": (lambda t, x: t.add(x, np.array("x"), "n"), "must be numbers"),
    "constants": (lambda t, x: t.add(np.ones(3), np.ones(3), "n"), "n has only constants"),
    "no input": (lambda t, x: t.input((1, 0)), "takes 1 to"),
    "huge input": (lambda t, x: t.input((1, 2**40)), "takes 1 to"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_layer_is_refused_at_its_node(case: str) -> None:
    build, message = BAD[case]
    with pytest.raises(SourceError, match=message):
        build(*start())


def test_a_graph_that_unfolds_is_refused() -> None:
    tracer = Tracer("test", budget=10_000)
    x = tracer.input((1, 100))
    for k in range(12):
        x = tracer.unary("tanh", x, f"node {k}")
    with pytest.raises(SourceError, match="unfolds too far"):
        tracer.unary("tanh", x, "node 12")


def test_one_feature_against_many_constants() -> None:
    tracer = Tracer("test")
    x = tracer.input((1, 1))
    X = np.linspace(-1, 1, 7)[:, None]
    agree(tracer.network(tracer.mul(x, np.array([[1.0, 2.0, 3.0]]), "·")), X * [1, 2, 3], X)
    with pytest.raises(SourceError, match="repeats features"):
        tracer.mul(x, np.ones((3, 1)), "·")
