"""Graphs entry by entry, against the graph itself."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from integraph.errors import SourceError
from integraph.targets import graph_expression
from integraph.targets.float_arithmetic import values
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder
from integraph.targets.graph_expression import to_expression

MATRIX = np.array([[1.0, 0.0, -2.5], [0.0, 0.125, 3.0]])
Make = Callable[[Builder, int], int]
CASES: dict[str, Make] = {
    "affine": lambda b, x: b.apply("add", b.apply("matmul", x, b.constant(MATRIX.T)), b.constant([0.0, -1.5])),
    "product": lambda b, x: b.apply("matmul", x, b.apply("transpose", x, data=(1, 0))),
    "sum": lambda b, x: b.apply("sum", b.apply("mul", x, x), data=((0,),)),
    "moves": lambda b, x: b.apply("concat", b.apply("slice", x, data=((1, -1, 2), (2, -1, 3))), x, data=(1,)),
    "take": lambda b, x: b.apply("sub", b.apply("take", x, data=(1, (2, 0))), b.constant([[3.0], [4.0]])),
    "power": lambda b, x: b.apply("div", b.power(x, 3), b.power(x, -2)),
    "fractional power": lambda b, x: b.power(b.apply("exp", x), Fraction(-3, 2)),
    "variable power": lambda b, x: b.apply("variable_power", b.apply("exp", x), b.apply("sin", x)),
    **{name: lambda b, x, name=name: b.apply(name, x) for name in ("tanh", "neg", "abs", "relu", "sigmoid", "erf")},
    **{name: lambda b, x, name=name: b.apply(name, x) for name in graph_expression.ACTIVATIONS},
    **{name: lambda b, x, name=name: b.apply(name, x) for name in ("softmax", "log_softmax", "logsumexp")},
}  # type: ignore[misc]


def graph(make: Make) -> Graph:
    build = Builder("case")
    x = build.apply("reshape", build.input("x", (6,)), data=((2, 3),))
    return build.graph([make(build, x)])


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    one = graph(CASES[name])
    expression = to_expression(one, one.variables)
    x = np.random.default_rng(3).normal(size=(5, 6))
    assert np.allclose(values(expression, x), one.values(x), rtol=1e-13, atol=1e-13)


def test_zeros_cost_nothing() -> None:
    steps = to_expression(graph(CASES["affine"]), [f"x{n}" for n in range(6)]).steps
    assert sum(step.op == "mul" for step in steps) == 6


def test_too_many_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_expression, "MOST", 10)
    with pytest.raises(SourceError, match="at most 10"):
        to_expression(graph(CASES["sum"]), [f"x{n}" for n in range(6)])
