"""Sums and products over an index, against sympy and against Python's loops; never long, never a traceback."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import integraph
from formula_texts import assert_read_or_shown, assert_shown
from integraph.errors import SourceError
from integraph.frontends.formula.parser import parse
from integraph.frontends.formula.sums import WORDS
from lazy import Lazy

sympy = Lazy("sympy")


def value(text: str, x: float = 0.7) -> float:
    f = parse(text, ["x"])
    assert f.values is not None
    return float(f.values(np.array([[x]]))[0, 0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sum(k, 1, 5, x^k/k)", sum(0.7**k / k for k in range(1, 6))),
        ("sum(k, -2, 2, x^k)", sum(0.7**k for k in range(-2, 3))),
        ("prod(k, 1, 4, x + k)", math.prod(0.7 + k for k in range(1, 5))),
        ("2*sum(k, 1, 2, x + k)^2", 2 * (2 * 0.7 + 3) ** 2),
        ("-sum(k, 1, 2, k)", -3),
        ("sum(k, 3, 3, k*x)", 3 * 0.7),
        ("sum(k, 1, 0, 1/0)", 0),
        ("prod(k, 1, 0, x)", 1),
        ("sum(i, 1, 3, sum(j, 1, i, x^(i - j)))", sum(0.7 ** (i - j) for i in range(1, 4) for j in range(1, i + 1))),
        ("sum(i, 1, 3, prod(j, 1, i - 1, j))", 1 + 1 + 2),
        ("sum(k, 1, sum(j, 1, 3, j), x)", 6 * 0.7),
        ("n = 2^2; sum(k, 1, n, x*k)", 10 * 0.7),
        ("sum(k, 1, 3, max(k*x, 1))", 1 + 1.4 + 2.1),
        ("sum(k, -1, 1, k^2 - k)", 2),
        ("prod(k, 1, 20, k)", math.factorial(20)),
    ],
)
def test_values(text: str, expected: float) -> None:
    assert value(text) == pytest.approx(expected, rel=1e-14)


BODIES = ["x^k/k", "sin(k*x)", "1/(k + x)", "(-1)^k*x", "k^2 - x*k"]


@given(st.sampled_from(BODIES), st.integers(1, 5), st.integers(0, 6), st.sampled_from(["sum", "prod"]))
def test_against_sympy(body: str, low: int, count: int, kind: str) -> None:
    k, x = sympy.symbols("k x")
    whole = (sympy.Sum if kind == "sum" else sympy.Product)(
        sympy.sympify(body.replace("^", "**"), {"k": k, "x": x}), (k, low, low + count - 1)
    )
    expected = float(whole.doit().subs(x, sympy.Rational(7, 10)))
    assert value(f"{kind}(k, {low}, {low} + {count} - 1, {body})") == pytest.approx(expected, rel=1e-12, abs=1e-12)


WRONG = [  # text, what is marked, part of the message
    ("sum(k, 3, 1, x)", "3, 1", "from 3 to 1, which is backwards"),
    ("sum(k, 1, y, x)", "y", "must be known, and 'y' is an input"),
    ("sum(k, 1, k, x)", "k", "must be known, and 'k' is an input"),
    ("sum(k, 1, 5/2, x)", "5/2", "must be an integer, and this is 5/2"),
    ("sum(k, 1, pi, x)", "pi", "must be an integer"),
    ("sum(k, 1, 2)", "sum(k, 1, 2)", "sum takes 4 arguments, not 3"),
    ("1 + prod(x)", "prod(x)", "prod takes 4 arguments, not 1"),
    ("sum(k, , 2, x)", ",", "an argument of sum is missing"),
    ("sum()", ")", "an argument of sum is missing"),
    ("sum(2, 1, 2, x)", "2", "the index of a sum is a name"),
    ("sum(k + 1, 1, 2, x)", "k + 1", "the index of a sum is a name"),
    ("sum(pi, 1, 2, x)", "pi", "'pi' is the constant, and no index"),
    ("sum(k, 1, 2, sum(k, 1, 2, x))", "k", "the index of a sum around this one"),
    ("k + sum(k, 1, 2, x)", "k", "stands outside of it"),
    ("k = x; sum(k, 1, 2, k) + k", "k", "'k' is defined"),
    ("sum(k, 1, 2, x + )", " ", "a value is missing before ')'"),
    ("sum(k, 1, 2, x ? 1)", "?", "'?' is not part of a formula"),
    ("sum(k, 1, 2, sinn(k))", "sinn", "did you mean sin?"),
    ("sum(k, 0, 2, 1/k)", "1/k", "a division by zero"),
    ("sum(k, 1, 2, x", "sum(", "a parenthesis is not closed"),
    ("sum(k, 1, 10^9, x)", "x", f"more than {WORDS:,} words once its sums are written out"),
    ("sum(k, 1, 900, sin(k*x))", "sin(k*x)", "more than 2,000 steps"),
    ("summ(k, 1, 2, x)", "summ", "did you mean sum?"),
]


@pytest.mark.parametrize(("text", "marked", "message"), WRONG)
def test_mistakes(text: str, marked: str, message: str) -> None:
    assert_shown(text, marked, message)


def test_an_index_is_no_input_by_another_name() -> None:
    with pytest.raises(SourceError, match="'k' is an input"):
        parse("sum(k, 1, 2, k*x)", ["x", "k"])
    assert parse("sum + prod").variables == ("prod", "sum")


def nested(depth: int, high: str, body: str) -> str:
    for n in range(depth):
        body = f"sum(i{n}, 1, {high}, {body})"
    return body


@pytest.mark.parametrize(
    "text",
    [
        nested(6, "99", "x"),
        nested(60, "2", "x"),
        nested(198, "1", "x"),
        f"sum(i, 1, 9^300, sum(j, 1, 0, {'x+' * 4000}x))",
        nested(5, "sum(j, 1, 9, j)", "x"),
        "sum(i, 1, " * 300,
        "+".join(["sum(k, 1, 99, sin(k*x)^k)"] * 300),
    ],
)
def test_no_sum_takes_long(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(SourceError) as caught:
        parse(text)
    assert time.perf_counter() - start < 60.0  # not hours
    assert len(str(caught.value)) < 600


PIECES = ["sum(", "prod(", "k", "j", "x", "a", ",", "1", "3", "-", "+", "*", "^", "/", "(", ")", " ", "u = ", ";", "?"]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_anything_like_a_sum(text: str) -> None:
    assert_read_or_shown(text)
    assert_read_or_shown(f"b = a; b + {text}", parameters={"a": "1/3"})


def test_a_compiled_sum_is_proved() -> None:
    text = "sum(k, 0, 6, (-1)^k*x^(2*k + 1)/prod(j, 1, 2*k + 1, j))"
    program = integraph.compile(text)
    x = np.linspace(0, 1, 11)
    assert np.allclose(program(x)[:, 0], np.sin(x), atol=1e-12)
    assert program.origin is not None
    assert program.origin.source == text
    assert integraph.certify(program, text, 1e-9).status == "proved"
