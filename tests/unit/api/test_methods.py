"""Which method fits a source: exact where there is a formula, Theorem 1 where its options or the source ask for it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import UsageError
from lazy import framework
from networks import random_network

FORMULA = "sin(2*x)*exp(-y)"
TABLE = {k: np.sin(np.arange(9) / 8 + k * np.pi / 2) for k in range(4)}


@pytest.mark.parametrize(
    "source",
    [FORMULA, [FORMULA, "x*y"], integraph.function(FORMULA), integraph.graph(FORMULA)],
    ids=["formula", "formulas", "function", "graph"],
)
def test_what_has_a_formula_is_exact(source: Any) -> None:
    program = integraph.compile(source)
    assert program.source.endswith(", exact")
    assert program.digest == integraph.compile(source, method="exact").digest
    x = np.random.default_rng(0).random((20, 2))
    np.testing.assert_allclose(program(x)[:, 0], np.sin(2 * x[:, 0]) * np.exp(-x[:, 1]), rtol=0, atol=1e-15)


def test_sympy_expressions_are_exact() -> None:
    sympy = framework("sympy")
    tree = integraph.compile(sympy.sympify(FORMULA))
    assert tree.source.endswith(", exact")
    assert (tree.width, tree.depth) == (integraph.compile(FORMULA).width, integraph.compile(FORMULA).depth)


@pytest.mark.parametrize("options", [{"method": "lean"}, {"order": 8}, {"width": 200}])
def test_options_of_theorem_1_ask_for_it(options: dict[str, Any]) -> None:
    program = integraph.compile(FORMULA, 1e-3, **options)
    assert "Theorem 1, lean" in program.source
    assert program.budget is not None
    assert program.budget.total <= 1e-3


@pytest.mark.parametrize("source", [np.sin, TABLE, integraph.function(np.sin)], ids=["python", "table", "function"])
def test_what_has_no_formula_is_lean(source: Any) -> None:
    assert "Theorem 1, lean" in integraph.compile(source, 1e-2).source


def test_networks_are_narrow() -> None:
    net = random_network((2, 3, 1), "tanh")
    assert integraph.compile(net).digest == integraph.compile(net, 1e-6, method="narrow").digest


@pytest.mark.parametrize(
    ("source", "options", "says"),
    [
        (
            FORMULA,
            {"bound": "tight"},
            r"bound = 'tight': this is for Theorems 1 and 2, and the source is compiled exactly",
        ),
        (FORMULA, {"method": "exact", "order": 3}, r"order = 3: this is for Theorems 1 and 2"),
        (FORMULA, {"free": ""}, r"free = '': needs 'keep', 'clean', 'decay' or 'auto'"),
        (FORMULA, {"method": ""}, r"method = '': a function is compiled by"),
        (FORMULA, {"method": ["lean"]}, r"method = \['lean'\]: a function is compiled by"),
        (FORMULA, {"free": "burn"}, r"free = 'burn': needs 'keep', 'clean', 'decay' or 'auto'"),
        (FORMULA, {"eps": 0.0}, r"eps = 0\.0: the tolerance must be finite and > 0"),
        (FORMULA, {"eps": float("nan")}, r"eps = nan"),
        (FORMULA, {"method": "lean", "inputs": [(2, 3)]}, r"shapes of arguments are for torch modules"),
        (FORMULA, {"method": "best"}, r"method = 'best'"),
        (np.sin, {"method": "exact"}, r"say how many inputs it has"),
        (TABLE, {"method": "exact"}, r"has no formula: a graph needs one; use method='lean'"),
    ],
)
def test_what_does_not_fit(source: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        integraph.compile(source, **options)


def test_a_function_known_by_values_is_no_graph() -> None:
    with pytest.raises(UsageError, match="has no formula"):
        integraph.graph(integraph.function(np.sin))


def test_exact_programs_are_proved() -> None:
    assert integraph.certify(integraph.compile(FORMULA), FORMULA, 1e-6).status == "proved"


def test_what_is_equal_is_not_blurred() -> None:
    """No value at a point decides that two things are equal; the proof does, and does not contradict itself."""
    proof = integraph.certify(integraph.compile("sin(3*x)*exp(-y)"), "sin(3*x)*exp(-y)", gap=0.0)
    assert (proof.status, proof.upper, proof.reason) == ("proved", 0.0, "")


def test_a_proof_names_the_inputs_of_a_formula() -> None:
    program = integraph.compile("T*U^2", 0.5, method="lean", order=1)
    said = repr(integraph.certify(program, "T*U^2", workers=1))
    assert "T, U in [0, 1]^2\n" in said
    assert re.search(r"difference found  \S+ at T = \S+, U = \S+\n", said)
    net = random_network((2, 3, 1), "tanh")
    assert re.search(r" at x = \(\S+, \S+\)\n", repr(integraph.certify(integraph.compile(net), net, workers=1)))
