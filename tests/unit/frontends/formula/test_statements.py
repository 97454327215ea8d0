"""Definitions, differential equations, and functions that no formula has: what is read, and what is said instead."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import integraph
from formula_texts import assert_read_or_shown, assert_shown
from integraph.errors import SourceError
from integraph.frontends.formula.parser import parse
from integraph.frontends.formula.vocabulary import ABSENT, CALLED, SERIES


def test_a_definition_is_computed_once() -> None:
    f = parse("r = sqrt(x^2 + y^2); exp(-r), cos(r), r")
    assert f.expression is not None
    assert [step.op for step in f.expression.steps].count("sqrt") == 1
    assert f.values is not None
    r = np.hypot(0.3, 0.4)
    assert f.values(np.array([[0.3, 0.4]]))[0] == pytest.approx([np.exp(-r), np.cos(r), r])
    doubled = "; ".join(["a0 = x + x", *(f"a{n} = a{n - 1} + a{n - 1}" for n in range(1, 200)), "a199"])
    g = parse(doubled)  # as a text it would have 2^200 words
    assert g.values is not None
    assert g.values(np.array([[1.0]]))[0, 0] == 2.0**200


@pytest.mark.parametrize(
    ("texts", "source"),
    [
        ("u = x*y; sin(u) + u", "u = x*y; sin(u) + u"),
        ("u=x*y  ;v =u^2;v,  u", "u = x*y; v = u^2; v,  u"),
        (["u = x; u", "v = u*y; v + 1"], "u = x; v = u*y; u, v + 1"),
        (["x", " y "], "x,  y "),
    ],
)
def test_the_recorded_text_is_read_again(texts: str | list[str], source: str) -> None:
    f = parse(texts)
    assert f.expression is not None
    assert f.expression.source == source
    assert parse(source).expression == f.expression


def test_steps_know_where_they_came_from() -> None:
    f = parse("u = x*y; sin(u) + u")
    assert f.expression is not None
    texts = [f.expression.source[slice(*step.where)] for step in f.expression.steps]
    assert texts == ["x", "y", "x*y", "sin(u)", "sin(u) + u"]


WRONG = [
    ("u = u + 1; u", "u", "'u' is used before it is defined"),
    ("v = u; u = x; u + v", "u", "'u' is used before it is defined"),
    ("u = x; u = y; u", "u", "'u' is defined already"),
    ("u = x; y", "u", "'u' is defined and not used"),
    ("sin = x; sin", "sin", "'sin' is the function"),
    ("e = x; e", "e", "'e' is the constant"),
    ("u = x, y; u", "x, y", "u is defined as 2 formulas"),
    ("u = ; u", " ", "a value is missing before the end"),
    ("u = x;", "u", "'u' is defined and not used"),
    ("x; y", ";", "outputs are separated by commas"),
    ("y = x", "=", "only the right side of an equation"),
    ("u = x; v = u", "=", "only the right side of an equation"),
    ("u == x; u", ";", "outputs are separated by commas"),
    ("x' = v", "x'", "x' = … is a differential equation, not a formula"),
    ("x'' = -x", "x''", "is a differential equation"),
    ("x'(t) = -x", "x'(t)", "is a differential equation"),
    ("  dx/dt = v, dv/dt = -x", "dx/dt", "`integraph.lift` takes differential equations"),
    ("d^2x/dt^2 = -x", "d^2x/dt^2", "is a differential equation"),
    ("d theta / dt = 1", "d theta / dt", "is a differential equation"),
    ("u = 2; x' = u", "x'", "is a differential equation"),
    ("x' + 1", "'", "there are no derivatives"),
    ("1 + sign(x)", "sign", "write tanh(k*x) with a large k, or x/abs(x) on a box without 0"),
    ("Floor(x)", "Floor", "it jumps"),
    ("heaviside(x)", "heaviside", "write sigmoid(k*x)"),
    ("mod(x, 2)", "mod", "it jumps"),
    ("gamma(x)", "gamma", "it is not elementary"),
    ("factorial(3)", "factorial", "prod(k, 1, n, k)"),
    ("x if y", "if", "'if' is a word of Python"),
]


@pytest.mark.parametrize(("text", "marked", "message"), WRONG)
def test_mistakes(text: str, marked: str, message: str) -> None:
    assert "did you mean" not in assert_shown(text, marked, message)


def test_names_of_inputs_are_no_definitions() -> None:
    with pytest.raises(SourceError, match="'x' is an input"):
        parse("x = y; x", ["x", "y"])
    with pytest.raises(SourceError, match="'a' is a parameter"):
        parse("a = y; a", parameters={"a": 1})


def test_a_quotient_is_no_differential_equation() -> None:
    assert parse("dx/dt").variables == ("dt", "dx")
    assert parse("d = x; d + 1").variables == ("x",)


def test_what_is_absent_is_not_there() -> None:
    assert not {*ABSENT} & {*CALLED, *SERIES}


@pytest.mark.parametrize("text", ["tanh(9*x)", "x/abs(x)", "1 - erf(x)", "sqrt(x^2 + y^2)", "atan(y/x)", "max(x, 0)"])
def test_what_is_named_instead_compiles(text: str) -> None:
    assert integraph.compile(text, box=(0.5, 2.0)).budget is not None


LINES = st.text("xyuv=;,'+-*/() 1dt", max_size=30)


@given(LINES)
def test_anything_like_a_definition(text: str) -> None:
    assert_read_or_shown(text)
