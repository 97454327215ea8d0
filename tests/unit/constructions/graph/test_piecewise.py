"""Conditions: decided on a box they are one branch, with every promise; else smoothed and measured, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import integraph
from formula_texts import assert_shown
from integraph.bounds.conditions import conditions, decided
from integraph.bounds.sobolev.taylor_series import taylor
from integraph.certify.formula.partial_derivatives import partials
from integraph.errors import SourceError, UsageError
from integraph.frontends.formula.parser import parse
from integraph.targets import Expression


def expression(text: str) -> Expression:
    own = parse(text).expression
    assert own is not None
    return own


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("x < 0", [True, False, False]),
        ("x <= 0", [True, True, False]),
        ("x > 0", [False, False, True]),
        ("x >= 0", [False, True, True]),
        ("0 < x", [False, False, True]),
        ("2*x < x + 1/2", [True, True, False]),
        ("x^2 >= 1/4", [True, False, True]),
    ],
)
def test_values(condition: str, holds: list[bool]) -> None:
    f = parse(f"if({condition}, 1 + x, ln(2 + x)) + 0*y")
    assert f.values is not None
    x = np.array([[-0.5, 0.0], [0.0, 0.0], [0.5, 0.0]])
    assert f.values(x)[:, 0] == pytest.approx(np.where(holds, 1 + x[:, 0], np.log(2 + x[:, 0])))


@pytest.mark.parametrize(
    ("text", "box", "branch"),
    [
        ("if(x < 0, -1, x^2)", (0, 1), "x^2"),
        ("if(x < 0, -1, x^2)", (-2, -1), "-1"),
        ("if(x >= 0, sin(x), 1/0.5)", (0, 1), "sin(x)"),
        ("if(x > 0, ln(x), 5)", (0.5, 1), "ln(x)"),
        ("if(1 < 2, x, ln(-1))", (0, 1), "x"),
        ("1 + 2*if(x + 1 > exp(-x), x, y)", (0.5, 1), "1 + 2*x"),
        ("if(x < 2, if(y >= 0, x*y, ln(-x)), ln(-y))", (0, 1), "x*y"),
        ("u = if(x < 2, x, 1); u^2 + u", (0, 1), "x^2 + x"),
    ],
)
def test_a_decided_condition_is_its_branch(text: str, box: tuple[float, float], branch: str) -> None:
    own = expression(text)
    d = len(own.variables)
    left = decided(own, np.full(d, float(box[0])), np.full(d, float(box[1])))
    plain = parse(branch, own.variables).expression
    assert plain is not None
    assert [step.op for step in left.steps] == [step.op for step in plain.steps]
    program = integraph.compile(text, box=box)
    same = integraph.compile(branch, box=box, variables=own.variables)
    assert program.digest == same.digest
    assert program.budget is not None
    assert same.budget is not None
    assert program.budget.total == same.budget.total
    assert program.origin is not None
    assert program.origin.source == text
    assert integraph.certify(program, text, 1e-9, progress=False).status == "proved"


def test_what_may_not_exist_decides_nothing() -> None:
    own = expression("if(ln(x) < 5, x, 1)")
    assert conditions(decided(own, np.array([-1.0]), np.array([1.0])))
    assert not conditions(decided(own, np.array([0.5]), np.array([1.0])))


def test_theorem_1_and_norms_take_the_branch() -> None:
    program = integraph.compile("if(x < 2, sin(x), 1/x)", 1e-3, method="lean")
    assert program.budget is not None
    assert integraph.certify(program, "if(x < 2, sin(x), 1/x)", progress=False).status == "proved"
    assert integraph.sobolev_norm("if(x < 2, sin(x), 1/x)", 2).norm == pytest.approx((1.0, 1.0))
    for attempt in (integraph.plan, lambda text: integraph.sobolev_norm(text, 1)):
        with pytest.raises(SourceError, match="is not analytic where its condition changes"):
            attempt("if(x < 1/2, x, 1 - x)")


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("if(x < 0, 0, x^2)", (-1, 1)),
        ("if(x < 0, sin(x), x*exp(-x)) + y", (-1, 1)),
        ("if(x^2 + y^2 < 1/2, 1/2, x^2 + y^2)", (-1, 1)),
        ("if(x < 0, if(y < 0, x*y, 0), 0)", (-1, 1)),
        ("if(x < 1/2, x, 1 - x) + abs(x - 1/3)", (0, 1)),
    ],
)
@pytest.mark.parametrize("eps", [1e-2, 1e-4])
def test_a_continuous_formula_is_smoothed(text: str, box: tuple[float, float], eps: float) -> None:
    program = integraph.compile(text, eps, box=box)
    f = parse(text)
    assert f.values is not None
    x = np.random.default_rng(1).uniform(*box, (20_000, f.inputs))
    off = np.abs(program(x) - f.values(x)).max()
    assert off <= eps
    assert program.budget is None
    assert program.seen is not None
    assert off <= 1.05 * program.seen + 1e-12
    assert program.seen <= eps
    assert program.origin is not None
    assert program.origin.eps == eps
    assert "smoothed" in program.source
    assert not integraph.compare(program, text, x[:100]).broken
    proof = integraph.certify(program, text, eps, progress=False)
    assert proof.status == "unknown"
    assert "a condition of the formula changes on the box" in proof.reason


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("if(x < 0, 0, x)", {}, "is not analytic where its condition changes, so no flow gives it exactly: give"),
        ("if(x < 0, -1, x^2)", {"eps": 1e-3}, r"jumps from -1 to 0 near x = -?\d"),
        ("if(x < y, 0, 1) + x", {"eps": 0.5}, "jumps from 0 to 1 near x = "),
        (
            "if(x < 1/2, 0, ln(x) + ln(2))",
            {"eps": 1e-3},
            "both branches must have a value on the whole box",
        ),
        ("if(x < 0, 0, x)", {"eps": 1e-3, "method": "lean"}, "is not analytic where its condition changes"),
    ],
)
def test_refusals(text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        integraph.compile(text, box=(-1, 1), **options)


def test_steeper_than_float64_is_refused() -> None:
    with pytest.raises(UsageError, match="ask for a larger eps"):
        integraph.compile("if(x < 0, 0, 1000*x)", 1e-10, box=(-100, 100))


def test_a_small_jump_is_within_the_tolerance() -> None:
    program = integraph.compile("if(x < 1/2, 0, 0.004)", 1e-2)
    assert program([[0.1], [0.9]]) == pytest.approx(np.array([[0.0], [0.004]]), abs=1e-2)


def test_graphs_have_no_conditions() -> None:
    with pytest.raises(SourceError, match="depends on the box, and a graph has none"):
        integraph.graph("if(x < 0, 0, x)")


def test_an_undecided_condition_is_the_hull_of_its_branches() -> None:
    own = expression("if(x < 0, -1, x^2)")
    ball = taylor(own, np.array([[-1.0], [0.25], [-1.0]]), np.array([[1.0], [0.5], [-0.5]]), 2)
    low, high = (end[0, :, 0] for end in ball.ends)
    assert low == pytest.approx([-1.0, 0.0625, -1.0])
    assert high == pytest.approx([1.0, 0.25, -1.0])
    slopes = ball.mid[1, :, 0]
    assert np.isnan(slopes[0])
    assert slopes[1:] == pytest.approx([0.75, 0.0])
    bounds = partials(own, [-1.0], [1.0], 0, progress=False)
    assert bounds.lower[0, 0] == pytest.approx(1.0)
    assert bounds.upper[0, 0] == pytest.approx(1.0, rel=0.02)


MISTAKES = [
    ("x < y", "<", "a comparison is only the first argument of if"),
    ("sin(x < 1)", "<", "a comparison is only the first argument of if"),
    ("if(x < 1 < 2, 1, 2)", "<", "a comparison is only the first argument of if"),
    ("if((x < 1), 1, 2)", "<", "a comparison is only the first argument of if"),
    ("if(x, 1, 2)", ",", "the condition of if has no <, <=, > or >="),
    ("if(x < 1, 2)", "if(x < 1, 2)", "if takes 3 arguments, not 2"),
    ("if(x < 1)", "if(x < 1)", "if takes 3 arguments, not 1"),
    ("if(x < , 1, 2)", ",", "a value is missing before ','"),
    ("if(x == 1, 1, 2)", "=", "'=' is not part of a formula"),
]


@pytest.mark.parametrize(("text", "marked", "message"), MISTAKES)
def test_mistakes_are_shown(text: str, marked: str, message: str) -> None:
    assert_shown(text, marked, message)
