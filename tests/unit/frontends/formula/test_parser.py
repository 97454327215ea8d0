"""Formulas: what they mean, against a table, against Python's own grammar and against mpmath."""

from __future__ import annotations

import ast
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph.errors import SourceError, UsageError
from integraph.frontends.formula.parser import parse
from integraph.frontends.formula.vocabulary import ALIASES
from integraph.targets import Expression, Function
from integraph.targets.expression import CHOICES, FUNCTIONS

NAMES = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "power",
}
MP: dict[str, Any] = {
    **{name: getattr(mpmath, name) for name in FUNCTIONS if hasattr(mpmath, name)},
    "abs": lambda u: abs(u),
    "ln": mpmath.log,
    "log2": lambda u: mpmath.log(u, 2),
    "log1p": lambda u: mpmath.log(1 + u),
    "cbrt": lambda u: mpmath.sign(u) * mpmath.cbrt(abs(u)),
    "sigmoid": lambda u: 1 / (1 + mpmath.exp(-u)),
    "softplus": lambda u: mpmath.log(1 + mpmath.exp(u)),
}


def at(function: Function, *x: float) -> float:
    assert function.values is not None
    return float(function.values(np.array([x]))[0, 0])


def tree(expression: Expression, step: int) -> Any:
    """A step with its arguments written out."""
    found = expression.steps[step]
    if found.op in ("number", "variable"):
        return found.text
    return (found.op, *(tree(expression, n) for n in found.args))


def python_tree(node: ast.AST, text: str) -> Any:
    """The same of Python's own grammar, where a plus sign stands for nothing."""
    if isinstance(node, ast.BinOp):
        return (NAMES[type(node.op)], python_tree(node.left, text), python_tree(node.right, text))
    if isinstance(node, ast.UnaryOp):
        inside = python_tree(node.operand, text)
        return ("neg", inside) if isinstance(node.op, ast.USub) else inside
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        return (node.func.id, *(python_tree(arg, text) for arg in node.args))
    return ast.get_source_segment(text, node)


LEAVES = st.sampled_from(["x", "y", "3", "2.", ".5", "1e-3", "2.5E+1", "0.10", "x12"])
SIGNS = st.sampled_from(["+", "-", "*", "/", " + ", " - ", "* ", " /"])
POWERS = st.sampled_from(["**2", " ** -3", "**x", "**-y**2", "**(x)", "**+.5"])


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Pieces are only put side by side, so that precedence decides what belongs together."""
    return st.one_of(
        st.tuples(inner, SIGNS, inner).map("".join),
        st.tuples(inner, POWERS).map("".join),
        st.tuples(st.sampled_from(["-", "+", "- "]), inner).map("".join),
        inner.map("({})".format),
        st.tuples(st.sampled_from(["sin", "exp", "ln"]), inner).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(st.sampled_from(CHOICES), inner, inner).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
    )


FORMULAS = st.recursive(LEAVES, larger, max_leaves=12)


def parsed(text: str) -> Expression | None:
    """The expression, or None if a constant in it is refused."""
    try:
        found = parse(text).expression
    except SourceError as error:
        if str(error).startswith(("a division by zero", "a constant that is", "an exponent beyond")):
            return None
        raise
    assert found is not None
    return found


@given(FORMULAS)
def test_words_group_as_in_python(text: str) -> None:
    found = parsed(text)
    if found is not None:
        assert tree(found, found.outputs[0]) == python_tree(ast.parse(text, mode="eval").body, text)


@given(FORMULAS)
def test_a_step_knows_where_it_came_from(text: str) -> None:
    found = parsed(text)
    for number, step in enumerate(found.steps if found else ()):
        assert found is not None
        again = parse(text[slice(*step.where)]).expression
        assert again is not None
        assert tree(again, again.outputs[0]) == tree(found, number)


@given(FORMULAS, st.floats(0.1, 2.0), st.floats(0.1, 2.0))
def test_values_are_those_of_python(text: str, x: float, y: float) -> None:
    if parsed(text) is None:
        return
    known = {"x": np.array([x]), "y": np.array([y]), "x12": np.array([0.7]), "min": np.minimum, "max": np.maximum}
    with np.errstate(all="ignore"):
        try:
            expected = float(np.sum(eval(text, {"sin": np.sin, "exp": np.exp, "ln": np.log}, known)))
        except (ZeroDivisionError, OverflowError, TypeError):  # constants, infinite or complex
            return
    if 1e-6 < abs(expected) < 1e6:  # elsewhere a last bit may decide
        f = parse(text, ["x", "y", "x12"])
        assert at(f, x, y, 0.7) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1-2-3", -4),
        ("8/4/2", 1),
        ("8/4*2", 4),
        ("2^3^2", 512),
        ("2**3**2", 512),
        ("(2^3)^2", 64),
        ("-2^2", -4),
        ("(-2)^2", 4),
        ("(-2)^3", -8),
        ("2^-1", 0.5),
        ("2^-2^2", 1 / 16),
        ("-2*-3", 6),
        ("2--3", 5),
        ("2+-+-3", 5),
        ("1+2*3^2/9-4", -1),
        ("6/2*(1+2)", 9),
        ("min(3, max(1, 2))", 2),
        ("abs(-3)*sqrt(4)", 6),
        ("(-8)^3 + cbrt(-8)", -514),
        ("0^0", 1),
        ("\t 1 \t+1  \n", 2),
        ("1e2 + 1E+2 + 100e-0", 300),
        ("π - pi", 0),
        ("ln(e)", 1),
        ("log10(1000) + log2(8)", 6),
    ],
)
def test_precedence(text: str, value: float) -> None:
    assert at(parse(text), 0.3) == pytest.approx(value, rel=1e-15, abs=1e-15)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", [0.3, 0.9, -0.4, 1.7, -30.0, 40.0])
def test_functions(name: str, x: float) -> None:
    f = parse(f"{name}(x)")
    try:
        expected = MP[name](mpmath.mpf(x))
    except (ValueError, ZeroDivisionError):
        expected = mpmath.mpc(1j)
    if isinstance(expected, mpmath.mpc):
        with pytest.raises(SourceError, match=rf"{name}\(x\) is nan at x = {x:g}: it must be finite"):
            at(f, x)
    else:
        assert at(f, x) == pytest.approx(float(expected), rel=4e-15)


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_aliases(alias: str, name: str) -> None:
    ours, plain = parse(f"{alias}(x)").expression, parse(f"{name}(x)").expression
    assert ours is not None
    assert plain is not None
    assert ours.steps == plain.steps


def test_literals_keep_their_text() -> None:
    long = "0." + "1234567890" * 30
    expression = parse(f"0.10*x + {long} + 2. + .5e-3 + 0.10").expression
    assert expression is not None
    assert [s.text for s in expression.steps if s.op == "number"] == ["0.10", long, "2.", ".5e-3"]


@pytest.mark.parametrize(
    ("text", "exponent"),
    [
        ("x^3", "3"),
        ("x**-2", "-2"),
        ("x^0.5", "1/2"),
        ("x^(1/3)", "1/3"),
        ("x^-(2^2-1)", "-3"),
        ("x^1e-3", "1/1000"),
        ("x^y", ""),
        ("x^pi", ""),
        ("x^sqrt(4)", ""),
    ],
)
def test_a_rational_exponent_is_known(text: str, exponent: str) -> None:
    expression = parse(text).expression
    assert expression is not None
    last = expression.steps[expression.outputs[0]]
    assert (last.op, last.text) == ("power", exponent)
    if exponent:
        assert at(parse(text), 1.3) == pytest.approx(1.3 ** float(Fraction(exponent)), rel=1e-15)


def test_a_negative_base_has_integer_powers_only() -> None:
    assert at(parse("x^3"), -2.0) == -8.0
    for text in ("x^0.5", "x^(1/3)", "x^sqrt(4)", "x^(y - y + 2)"):
        f = parse(text)
        with pytest.raises(SourceError, match="is nan at x = -2"):
            at(f, *[-2.0, 1.0][: f.inputs])


def test_variables() -> None:
    assert parse("x10*x2 + x1 + b + a").variables == ("a", "b", "x1", "x2", "x10")
    assert parse("X + x + λ").variables == ("X", "x", "λ")
    assert parse("1.5").variables == ("x",)
    f = parse("y - 2*x", variables="z y, x")
    assert f.variables == ("z", "y", "x")
    assert at(f, 100.0, 5.0, 1.0) == 3.0
    assert repr(f) == "formula y - 2*x in (z, y, x): 3 inputs (z, y, x), 1 output"


@pytest.mark.parametrize("text", ["x*y, x + 1, 3", ["x*y", "x + 1, 3"], ("x*y", "x + 1", "3")])
def test_outputs(text: Any) -> None:
    f = parse(text)
    assert f.values is not None
    assert f.expression is not None
    np.testing.assert_array_equal(f.values(np.array([[2.0, 5.0], [1.0, 1.0]])), [[10, 3, 3], [1, 2, 3]])
    assert [f.expression.source[slice(*f.expression.steps[n].where)] for n in f.expression.outputs] == [
        "x*y",
        "x + 1",
        "3",
    ]
    with pytest.raises(SourceError, match=r"^output 2 of 1, 1/x is inf at x = 0: it must be finite"):
        parse("1, 1/x").values(np.array([[1.0], [0.0]]))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ("x x", "names x twice"),
        ([], "names no input"),
        (["x", "sin"], "'sin' cannot name an input: in a formula it is the function"),
        (["e"], "it is the constant"),
        (["x", "2y"], "'2y' cannot name an input"),
        (["x", "f("], "cannot name an input"),
    ],
)
def test_names_that_cannot_be(variables: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        parse("x", variables)
