"""Parameters: values written into a formula, exactly; mistakes name the parameter, or the place in what was typed."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import integraph
from integraph.errors import SourceError, UsageError
from integraph.frontends.formula.parser import parse

X = np.array([[0.3]])


@pytest.mark.parametrize(
    ("value", "written", "number"),
    [
        (1.5, "1.5", 1.5),
        (-1.5, "(-1.5)", -1.5),
        (1e-7, "1e-07", 1e-7),
        (1e22, "1e+22", 1e22),
        (3, "3", 3.0),
        (-3, "(-3)", -3.0),
        (Fraction(1, 3), "(1/3)", 1 / 3),
        (Decimal("0.10"), "0.10", 0.1),
        (np.float64(0.1), "0.1", 0.1),
        (np.float32(0.5), "0.5", 0.5),
        (np.int64(7), "7", 7.0),
        ("pi/4", "(pi/4)", math.pi / 4),
        (" 0.10 ", "0.10", 0.1),
        ("pi", "pi", math.pi),
        ("sum(j, 1, 3, j)", "(sum(j, 1, 3, j))", 6.0),
    ],
)
def test_a_value_is_written_as_it_is(value: Any, written: str, number: float) -> None:
    f = parse("a*x - a^2", parameters={"a": value})
    assert f.expression is not None
    assert f.expression.source == f"{written}*x - {written}^2"
    assert f.variables == ("x",)
    assert f.values is not None
    assert f.values(X)[0, 0] == pytest.approx(number * 0.3 - number**2, rel=1e-14)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**30), 10**30) | st.fractions())
def test_the_closed_text_holds_the_very_value(value: Any) -> None:
    f = parse("x - a", parameters={"a": value})
    assert f.expression is not None
    text = f.expression.source.removeprefix("x - ").strip("()")
    top, _, bottom = text.partition("/")
    exact = Fraction(top) / Fraction(bottom or 1)
    assert float(exact) == value if isinstance(value, float) else exact == value
    assert parse(f.expression.source).expression == f.expression


@pytest.mark.parametrize(
    "value", [True, math.nan, -math.inf, None, 1j, [1.0], Decimal("NaN"), 10**5000], ids=lambda v: type(v).__name__
)
def test_what_is_no_value(value: Any) -> None:
    with pytest.raises(UsageError, match=r"a = .* is no value: give a finite number") as caught:
        parse("a*x", parameters={"a": value})
    assert caught.value.argument == "parameters"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"b": 1}, "b does not occur in the formula: leave it out"),
        ({"a": 1, "alfa": 2}, "did you mean alpha"),
        ({"a": "b + 1"}, r"a = b \+ 1 is not constant: it names b"),
        ({"a": "1, 2"}, "it is more than one formula"),
        ({"a": "u = 1; u"}, "it is more than one formula"),
        ({"x1": 1}, "x1 is in `variables` too"),
        ({"sin": 1}, "'sin' cannot name a parameter: in a formula it is the function"),
        ({"pi": 3}, "in a formula it is the constant"),
        ({"sum": 3}, "in a formula it is the function"),
        ({"2a": 3}, "'2a' cannot name a parameter"),
        ({1: 3}, "1 cannot name a parameter"),
        ([("a", 1)], "give names and values"),
    ],
)
def test_parameters_that_are_refused(parameters: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        parse("a*x1 + alpha", "x1, alpha", parameters=parameters)
    assert caught.value.argument == "parameters"


def test_mistakes_point_at_what_was_written() -> None:
    with pytest.raises(SourceError) as caught:
        parse("a*x + b y", parameters={"a": "2*pi", "b": -1})
    assert str(caught.value).split("\n")[1:3] == ["  a*x + b y", "          ^"]
    with pytest.raises(SourceError) as caught:
        parse("x + 1/(a - 2)", parameters={"a": 2})
    assert str(caught.value).split("\n")[1:3] == ["  x + 1/(a - 2)", "      ^^^^^^^^^"]
    with pytest.raises(SourceError, match="in the value of the parameter a: a value is missing") as caught:
        parse("a*x", parameters={"a": "1 +"})
    assert str(caught.value).split("\n")[1] == "  1 +"
    with pytest.raises(SourceError, match="an operator is missing"):
        parse("2a", parameters={"a": 1.5})  # and not 21.5


def test_a_long_value_is_refused() -> None:
    with pytest.raises(SourceError, match="once the values of its parameters are written in it: at most 10,000"):
        parse("+".join(["a"] * 100), parameters={"a": "+".join(["1"] * 100)})


def test_every_function_takes_parameters(tmp_path: Path) -> None:
    given: dict[str, Any] = {"parameters": {"a": 2}}
    program = integraph.compile("a*x", **given)
    assert program.origin is not None
    assert program.origin.source == "2*x"
    assert integraph.function("a*x", **given).name == "2*x"
    assert integraph.graph("a*x", **given).formula == "2*x"
    assert integraph.layouts("a*x", **given).name == "2*x"
    assert "2*x" in repr(integraph.plan("a*x", eps=0.1, **given))
    assert integraph.sobolev_norm("a*x", 1, **given).norm == pytest.approx((2.0, 2.0))
    assert integraph.compare(program, "a*x", [[0.5]], **given).largest == 0
    proof = integraph.certify(program, "a*x", 1e-9, **given)
    assert proof.status == "proved"
    assert integraph.check(proof, program, "a*x", **given).holds
    path = tmp_path / "p.integraph"
    program.save(path)
    assert integraph.load(path).origin.source == "2*x"


def test_sources_without_parameters() -> None:
    with pytest.raises(UsageError, match=r"this is for a formula as text, and the source is a Python function"):
        integraph.compile(np.sin, parameters={"a": 1})
    with pytest.raises(UsageError, match="this is for a formula as text, and the source is a network"):
        integraph.compile([([[1.0]], [0.0])], parameters={"a": 1})
    with pytest.raises(UsageError, match="this is for a formula as text, and the source is a Function"):
        integraph.compile(parse("x"), parameters={"a": 1})
    with pytest.raises(UsageError, match=r"parameters = .* says how to read the source, but there is none"):
        integraph.report(integraph.compile("x"), "unused.html", parameters={"a": 1})
