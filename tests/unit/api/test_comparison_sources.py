"""compare() with formulas, functions and graphs: values by numpy, promises kept and broken."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import integraph
from integraph.api.comparison import compare
from integraph.errors import SourceError, UsageError
from lazy import framework
from networks import random_network

RNG = np.random.default_rng(5)


WAVE = "sin(3*x)*exp(-y)"


def wave(x: np.ndarray) -> np.ndarray:
    """The same in numpy."""
    return np.sin(3 * x[:, :1]) * np.exp(-x[:, 1:])


@pytest.mark.parametrize("options", [{}, {"method": "lean", "eps": 1e-3}, {"variables": "y x"}], ids=str)
def test_a_formula(options: dict[str, object]) -> None:
    program = integraph.compile(WAVE, **options)
    X = RNG.uniform(size=(200, 2))
    source = integraph.function(WAVE, variables=options.get("variables"))
    found = compare(program, source, X)
    wanted = wave(X[:, ::-1] if "variables" in options else X)
    gap = np.abs(wanted - program(X))
    (row,) = found.rows
    assert (row.label, row.neuron, found.kind, found.broken) == ("output", 0, "source", False)
    assert row.difference == pytest.approx(gap.max(), abs=1e-15)
    assert row.network == pytest.approx(wanted[row.input, 0], abs=1e-15)
    assert row.program == program(X)[row.input, 0]
    assert row.segment == program.depth - 1
    text = str(found).splitlines()
    assert text[1].split() == ["where", "after", "segment", "difference", "input", "output", "source", "program"]
    assert text[-1].startswith("promised error of the outputs ≤")


@pytest.mark.parametrize("off", [1e-9, 0.1])
def test_another_formula_breaks_the_promise(off: float) -> None:
    X = RNG.uniform(size=(50, 2))
    program = integraph.compile(WAVE)
    found = compare(program, f"{WAVE} + {off}", X)
    assert found.broken
    assert found.largest == pytest.approx(off, rel=1e-5)
    assert "they differ by MORE, this is not the source that was compiled" in str(found)
    outside = compare(program, f"{WAVE} + {off}", X + 1.5)
    assert not outside.broken
    assert "50 of the inputs are outside its box" in str(outside)


def test_inputs_outside_do_not_hide_a_broken_promise() -> None:
    """Inside by 0.01, outside by more: the promise is judged by what is inside, also layer by layer."""
    program = integraph.compile("x^2", box=(0, 1))
    found = compare(program, lambda x: x**2 + np.where(x > 1, 5.0, 0.01), [[0.5], [1.5]])
    assert (found.broken, found.largest) == (True, pytest.approx(5.0))
    assert "1 of the inputs is outside its box: they differ by MORE inside, by 0.01" in str(found)
    assert not compare(program, lambda x: x**2 + np.where(x > 1, 5.0, 0.0), [[0.5], [1.5]]).broken
    net = random_network((2, 4, 1), "tanh", seed=1)
    compiled = integraph.compile(net)
    off = [(layer.A, layer.b + 0.01, layer.activation) for layer in net.layers]
    x = [[0.5, 0.5], [1e9, 0.0]]  # whose rounding excuses nothing inside
    assert compare(compiled, off, x).broken
    assert not compare(compiled, off, x[1:]).broken
    assert not compare(compiled, net, x).broken


def test_several_outputs() -> None:
    """The third is wrong, at the input where x is largest."""
    program = integraph.compile("x, y, x*y")
    X = RNG.uniform(size=(30, 2))
    found = compare(program, "x, y, x*y + x^9/1000", X)
    (row,) = found.rows
    assert row.neuron == 2
    assert row.input == X[:, 0].argmax()
    assert row.difference == pytest.approx(X[:, 0].max() ** 9 / 1000, rel=1e-9)


@pytest.mark.parametrize("text", ["(x - 1)^10*1e12", "exp(30*x)", "1e8*x - 1e8*y + x*y"])
def test_rounding_of_a_formula_is_no_fault(text: str) -> None:
    """Large numbers on the way to the outputs round; no promise speaks of that."""
    program = integraph.compile(text, box=(0.5, 1.0))
    found = compare(program, text, RNG.uniform(0.5, 1.0, (200, program.inputs)))
    assert not found.broken, found


def test_a_python_function_and_a_graph() -> None:
    X = RNG.uniform(size=(50, 2))

    def product(x: float, y: float) -> float:
        return x * y

    program = integraph.compile(product, 1e-3)
    assert compare(program, product, X).largest < 1e-3
    graph = integraph.graph(WAVE)
    assert compare(integraph.compile(graph), graph, X).largest < 1e-15
    assert compare(integraph.compile(graph), WAVE, X).largest < 1e-15


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.sin(3 * x) * np.exp(-y),
        lambda x: np.sin(3 * x[0]) * np.exp(-x[1]),
        lambda x, y: math.sin(3 * x) * math.exp(-y),
    ],
    ids=["arguments", "vector", "numbers"],
)
def test_an_exact_program_and_a_function_in_numpy(f: Callable[..., float]) -> None:
    """What jax cannot trace has values."""
    program, X = integraph.compile(WAVE), RNG.uniform(size=(50, 2))
    found = compare(program, f, X)
    assert found.largest < 1e-15
    assert not found.broken
    assert compare(program, lambda x, y: np.sin(3 * x) * np.exp(-y) + 1e-9, X).broken
    assert program.plot("error", source=f) is not None


def test_rounding_is_known_from_the_formula_of_the_program() -> None:
    program, X = integraph.compile("1e8*x - 1e8*y + x*y"), RNG.uniform(size=(50, 2))
    found = compare(program, lambda x, y: 1e8 * np.subtract(x, y) + x * y, X)
    assert found.largest > 1e-10
    assert not found.broken


def test_a_function_in_jax() -> None:
    """Traced, as it was compiled: in float64, whatever JAX computes in by itself."""
    jnp = framework("jax.numpy")

    def f(x):  # type: ignore[no-untyped-def]
        return jnp.sin(3 * x[0]) * jnp.exp(-x[1])

    program = integraph.compile(f, method="exact", inputs=2)
    X = RNG.uniform(size=(50, 2))
    assert np.abs(program(X) - wave(X)).max() < 1e-15
    assert compare(program, f, X).largest < 1e-15


def test_a_source_without_a_value() -> None:
    program = integraph.compile("2*x")
    with pytest.raises(SourceError, match="1/x is inf at x = 0: it must be finite"):
        compare(program, "1/x", [0.5, 0.0])
    table = {0: np.zeros(3), 1: np.ones(3)}
    with pytest.raises(UsageError, match="a table of derivatives has no values between its nodes"):
        compare(integraph.compile(table, 0.5), table, [0.5])
    lost = compare(program, integraph.graph("ln(x)"), [0.5, -1.0])
    assert math.isnan(lost.largest)
    assert lost.worst.input == 1


def test_sources_that_do_not_fit() -> None:
    program = integraph.compile("x*y")
    with pytest.raises(UsageError, match="the program is 2 → 1, the source 1 → 2: compare a program with the source"):
        compare(program, "x, 2*x", [[0.5, 0.5]])
    with pytest.raises(SourceError, match="unknown function 'sine'"):
        compare(program, "sine(x)", [[0.5, 0.5]])
