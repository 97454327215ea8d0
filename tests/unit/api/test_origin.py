"""Sources with values, and formulas that a program remembers: the same function, step by step, or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import integraph
from exact_formulas import FORMULAS, error
from integraph.api.origin import is_exact, outputs, recalled, target_of, values
from integraph.certify.statement import digest
from integraph.errors import SourceError, UsageError
from integraph.frontends import read
from integraph.program import Origin, Program
from integraph.targets import Function, Network
from integraph.targets.graph import Graph
from integraph.text import FORMULA
from law import examples
from lazy import framework
from networks import random_network
from slow import mostly_slow

SHORT = [name for name, formula in FORMULAS.items() if len(formula.text) <= FORMULA]
LONG = [name for name, formula in FORMULAS.items() if len(formula.text) > FORMULA]
SMOOTH = ("Runge", "oscillatory 2", "Ishigami", "SiLU")
RNG = np.random.default_rng(5)


def same(program: Program, source: Any, **options: Any) -> Function:
    """What the program remembers, after it was seen that it is what was compiled, step by step."""
    found, wanted = recalled(program), integraph.function(source, **options)
    assert found is not None
    assert found.variables == wanted.variables
    assert found.expression is not None
    assert wanted.expression is not None
    assert digest(found.expression) == digest(wanted.expression)
    return found


@mostly_slow("name", FORMULAS, quick=20)
def test_a_formula_is_remembered(name: str) -> None:
    formula = FORMULAS[name]
    program = integraph.compile(formula.text, box=list(formula.box), variables=formula.variables)
    found = same(program, formula.text, variables=formula.variables)
    assert found.values is not None
    x = formula.points(20)
    assert error(name, x, found.values(x)) < 1e-12  # by hand in mpmath, in the order of the box


def test_there_are_orders_to_be_remembered() -> None:
    orders = [FORMULAS[name].variables for name in SHORT]
    assert sum(list(order) != sorted(order) for order in orders) > 3
    assert len(LONG) > 5


@pytest.mark.parametrize("name", LONG[:2])
def test_what_is_cut_for_people_is_whole_in_the_file(name: str, path: Path) -> None:
    formula = FORMULAS[name]
    program = integraph.compile(formula.text, box=list(formula.box), variables=formula.variables)
    assert "…" in program.source
    program.save(path)
    same(integraph.load(path), formula.text, variables=formula.variables)


@pytest.mark.parametrize("free", ["clean", "decay", "auto"])
@pytest.mark.parametrize("eps", [None, 1e-3])
def test_however_it_was_compiled(free: str, eps: float | None) -> None:
    texts = ["max(y, x)" if eps else "max(y, x - 2)", "x*y", "exp(-x)/(2 + y)"]
    program = integraph.compile(texts, eps, free=free, variables="y x")
    assert is_exact(program)
    assert ("smoothed" in program.source) == (eps is not None)
    same(program, texts, variables="y x")


@mostly_slow("name", SMOOTH, quick=2)
@pytest.mark.parametrize("method", ["lean", "remark"])
def test_by_theorem_1(name: str, method: str) -> None:
    formula = FORMULAS[name]
    box = [(0.4, 0.5)] * len(formula.box)
    program = integraph.compile(formula.text, 0.3, method=method, box=box, variables=formula.variables)
    assert not is_exact(program)
    same(program, formula.text, variables=formula.variables)


@examples(40)
@given(
    st.permutations(["x", "y", "x2", "x10", "σ"]), st.integers(2, 5),
    st.lists(st.sampled_from(["x - 2*y", "y", " x*(y + 1)  ", "min(x, y - 2), 3", "-x^2"]), min_size=1, max_size=3),
)  # fmt: skip
@pytest.mark.slow
def test_any_order_and_any_number_of_inputs(order: list[str], count: int, texts: list[str]) -> None:
    variables = list(dict.fromkeys(["x", "y", *order]))[:count]
    variables.sort(key=order.index)
    same(integraph.compile(texts, variables=variables), texts, variables=variables)


def test_many_inputs_are_remembered() -> None:
    variables = [f"x{n}" for n in range(40, 0, -1)]
    program = integraph.compile("x1 - x40", variables=variables)
    assert "…" in program.source
    same(program, "x1 - x40", variables=variables)


def test_a_graph_and_a_rescaled_program_remember() -> None:
    same(integraph.compile(integraph.graph("x*y - x")), "x*y - x")
    same(integraph.compile("x*y - x").rescale_states(2.0).rescale_time(3.0), "x*y - x")


def test_a_file_remembers(path: Path) -> None:
    integraph.compile("x - 2*y", variables="y x").save(path)
    same(integraph.load(path), "x - 2*y", variables="y x")


def x(x: float) -> float:
    """Its name is a formula."""
    return 2.0 * x


def named(name: str) -> Callable[[float], float]:
    def f(x: float) -> float:
        return 2.0 * x

    f.__name__ = name
    return f


@pytest.mark.parametrize("f", [x, lambda x: x, *map(named, ("f", "x", "sin", "x*x", "exp(x)"))])
def test_a_python_function_is_no_formula(f: Callable[[float], float]) -> None:
    assert recalled(integraph.compile(f, 1e-2)) is None


def test_what_else_is_no_formula() -> None:
    net = random_network((1, 3, 1), "tanh")
    program = integraph.compile("2*x")
    for other in (
        integraph.compile(net),
        integraph.compile(net, method="wide"),
        integraph.compile(net, method="exact"),
        integraph.compile({0: np.zeros(3), 1: np.ones(3)}, 0.5),
        program.then(program),
        program.reverse(),
        replace(program, origin=None),
        replace(program, origin=Origin("y - x", "formula", "exact")),  # of two inputs
        replace(program, origin=Origin("x", "formula", "exact", variables=("sin",))),
        replace(program, origin=Origin("x(", "formula", "exact")),
        replace(program, origin=Origin("", "formula", "exact")),
        replace(program, origin=Origin("2*x", "graph", "exact")),
    ):
        assert recalled(other) is None, other.origin


def test_sympy_is_no_formula() -> None:
    """Its symbol e is no constant, and its numbers are binary."""
    sympy = framework("sympy")
    e, t = sympy.Symbol("e"), sympy.Symbol("t")
    for expression in (e, 0.1 * t, t**2):
        assert recalled(integraph.compile(expression)) is None


def test_jax_is_no_formula() -> None:
    framework("jax")
    program = integraph.compile(named("x"), method="exact", inputs=1)
    assert is_exact(program)
    assert recalled(program) is None
    assert isinstance(target_of(program, named("x")), Graph)  # traced, as when it was compiled


def test_targets() -> None:
    net = random_network((2, 3, 1), "tanh")
    graph = integraph.graph("x + y, x")
    for source, kind, count in ((net, Network, 1), (graph, Graph, 2), ("x, y, 2", Function, 3), (x, Function, 1)):
        found = read(source)
        assert isinstance(found, kind)
        assert outputs(found) == count
        of = values(found)
        assert of is not None
        points = RNG.uniform(size=(4, found.inputs))
        assert of(points).shape == (4, count)
    assert values(read({0: np.zeros(3)})) is None
    layers = [(layer.A, layer.b, layer.activation) for layer in net.layers]
    of = values(read(layers))
    assert of is not None
    assert np.array_equal(of(points := RNG.uniform(size=(4, 2))), net(points))


def test_the_source_of_a_program() -> None:
    program = integraph.compile("x - y", variables="y x")
    assert target_of(program).variables == ("y", "x")  # type: ignore[union-attr]
    assert target_of(program, "x - y").variables == ("x", "y")  # type: ignore[union-attr]
    with pytest.raises(UsageError, match=r"'gadgets'.*: give the source"):
        target_of(replace(program, source="gadgets", origin=None))


def test_a_function_is_tried_where_the_program_lives() -> None:
    def root(x: float) -> float:
        return float(np.sqrt(x - 4.0)) if x >= 4.0 else 1 / 0

    program = integraph.compile(root, 1e-1, box=(5, 6), norm=1.0, order=1)
    found = target_of(program, root)
    assert isinstance(found, Function)
    assert found.values is not None
    assert found.values(np.array([[5.0]])) == 1.0
    with pytest.raises((SourceError, UsageError)):
        read(root)
