"""Text that is no formula: one clear error each, at once, with a caret in the right place."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph.errors import SourceError, UsageError
from integraph.frontends.formula.parser import parse
from integraph.frontends.formula.shunting_yard import DEPTH, STEPS
from integraph.frontends.formula.tokens import LENGTH, WINDOW

WRONG = [  # text, what is marked, part of the message
    ("", " ", "a value is missing before the end"),
    ("   ", " ", "a value is missing before the end"),
    ("x +", " ", "a value is missing before the end"),
    ("x + * y", "*", "a value is missing before '*'"),
    ("()", ")", "a value is missing before ')'"),
    ("sin()", ")", "a value is missing before ')'"),
    (",x", ",", "a value is missing before ','"),
    ("x,", " ", "a value is missing before the end"),
    ("3x", "x", "for a product write 3*x"),
    ("2 sin(x)", "sin(", "for a product write 2*sin("),
    ("x y", "y", "for a product write x*y"),
    ("(x)(y)", "(", "for a product write )*("),
    ("2(x)", "(", "for a product write 2*("),
    ("1 2", "2", "an operator is missing before '2'"),
    ("1.2.3", ".3", "an operator is missing before '.3'"),
    ("0x10", "x10", "an operator is missing"),
    ("1_000", "_000", "an operator is missing"),
    ("sinn(x)", "sinn", "did you mean sin?"),
    ("1 + Tanh(x)", "Tanh", "did you mean tanh?"),
    ("x(2)", "x", "for a product write x*(…)"),
    ("pi(2)", "pi", "for a product write pi*(…)"),
    ("foo_bar(x)", "foo_bar", "functions are exp, expm1, ln"),
    ("sin x", "sin", "sin is a function and needs parentheses"),
    ("sin^2(x)", "sin", "write sin(x)"),
    ("2*Pi", "Pi", "did you mean pi?"),
    ("E^x", "E", "did you mean e?"),
    ("(x", "(", "a parenthesis is not closed"),
    ("sin(x + (y)", "sin(", "a parenthesis is not closed"),
    ("x)", ")", "a parenthesis is closed that was not opened"),
    ("(x, y)", ",", "a comma between parentheses"),
    ("1 + max(x)", "max(x)", "max takes 2 arguments, not 1"),
    ("sin(x, y)", "sin(x, y)", "sin takes 1 argument, not 2"),
    ("min(x, y, 1)", "min(x, y, 1)", "min takes 2 arguments, not 3"),
    ("x + 1/0", "1/0", "a division by zero"),
    ("1/(2-2.0)", "1/(2-2.0)", "a division by zero"),
    ("0^-1", "0^-1", "a division by zero"),
    ("9**9**9", "9**9**9", "an exponent beyond 1000 is too large"),
    ("9^9^9^9", "9^9^9", "an exponent beyond 1000 is too large"),
    ("(9^999)^999", "(9^999)^999", "a constant that is too large"),
    ("1 + x^-1001", "x^-1001", "an exponent beyond 1000"),
    ("x + 1e401", "1e401", "an exponent beyond 400"),
    ("1e-99999999999999", "1e-99999999999999", "an exponent beyond 400"),
    ("x − 1", "−", "write - for minus"),
    ("x²", "²", "write ^2"),
    ("2×3", "×", "write * for a product"),
    ("√x", "√", "write sqrt(x)"),
    ("|x|", "|", "write abs(x)"),
    ("y = x", "=", "only the right side"),
    ("f(x) = x", "f", "unknown function 'f'"),
]

HOSTILE = [
    "__import__('os').system('true')",
    "x.__class__.__mro__",
    "().__class__.__bases__[0].__subclasses__()",
    "lambda x: x",
    "(lambda: 1)()",
    "[x for x in (1, 2)]",
    "{x: 1}",
    "x[0]",
    "x[0:1, ...]",
    "'a' * 10",
    '"x"',
    "f'{x}'",
    "b'1'",
    "(x := 3)",
    "x if y else 1",
    "x and y",
    "not x",
    "x < y",
    "x % 2",
    "x // 2",
    "x @ y",
    "~x",
    "x; y",
    "x\ny",
    "x\r\n+ 1",
    "x\x00",
    "\x00",
    "x # comment",
    "x\\\n+1",
    "import os",
    "exec(x)",
    "eval(x)",
    "open(x)",
    "getattr(x, y)",
    "*x",
    "**x",
    "x!",
    "$x",
    "`x`",
    "1j",
    "0b11",
    "∞",
    "х + 1",  # Cyrillic
    "ѕіn(x)",
    "𝑥 + 1",
    "ｓin(x)",
    "x + １",
    "x\u200b + 1",
    "\u202ex + 1",
    "\ud800",
    "Α + 1",  # Greek, but looks Latin
    "9**9**9",
    "9" * 401,
    "9" * 9_999,
    "1e999999999999",
    "2^2^2^2^2^2^2^2",
    "(" * 10**5,
    "(" * 10**5 + "x" + ")" * 10**5,
    "(" * 4_000 + "x" + ")" * 4_000,
    "sin(" * 2_000 + "x" + ")" * 2_000,
    "-" * 9_000 + "x",
    "x" * 10**6,
    "+".join(f"x{n}" for n in range(1_500)),
    "^".join(["x"] * 4_999),
    "(9^999)" + "*(9^999)" * 1_000 + "^2",
]


@pytest.mark.parametrize(("text", "marked", "message"), WRONG)
def test_mistakes_are_shown(text: str, marked: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse(text)
    reason, line, caret, fix = str(caught.value).split("\n")
    assert message in reason + fix
    start = caret.index("^")
    assert caret[start:] == "^" * len(marked)
    assert line.ljust(len(caret))[start : len(caret)] == marked
    assert reason.endswith(f", at column {start - 1}")  # the line is set in by two


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:20]))
def test_hostile_text(text: str) -> None:
    start = time.process_time()
    with pytest.raises(SourceError) as caught:
        parse(text)
    assert time.process_time() - start < 1.0
    message = str(caught.value)
    assert len(message) < 600
    assert message.replace("\n", "").isprintable()
    with pytest.raises(SourceError):
        parse(["x", text], variables=["x", "y"])


def refusal(text: str) -> str | None:
    try:
        parse(text)
    except SourceError as error:
        return str(error)
    return None


@given(st.text(max_size=30))
def test_any_text_is_a_formula_or_a_mistake(text: str) -> None:
    message = refusal(text)
    assert message is None or len(message.split("\n")) == 4


@given(st.text("xy12.e+-*/^(), sincox", max_size=25))
def test_anything_like_a_formula(text: str) -> None:
    message = refusal(text)
    assert message is None or set(message.split("\n")[2]) == {" ", "^"}


@pytest.mark.parametrize("before", [0, 10, 34, 35, 36, 200])
@pytest.mark.parametrize("after", [0, 10, 34, 35, 36, 200])
def test_a_long_line_is_cut_around_the_mistake(before: int, after: int) -> None:
    text = "x+" * before + "sinn(x)" + "+y" * after
    with pytest.raises(SourceError) as caught:
        parse(text)
    _, line, caret, _ = str(caught.value).split("\n")
    assert line[caret.index("^") : len(caret)] == "sinn"
    assert len(line) <= WINDOW + 6
    assert ("…" in line) == (len(text) > WINDOW)


def test_names_that_are_not_inputs() -> None:
    with pytest.raises(SourceError, match=r"unknown name 'betta', at column 9\n.*\n {10}\^{5}\ndid you mean beta\? "):
        parse("alpha + betta", ["alpha", "beta"])
    with pytest.raises(SourceError, match=r"unknown name 'q', at column 1\n.*\n.*\nThe inputs are x, y"):
        parse("q", ["x", "y"])


def test_limits_are_where_they_are_said_to_be() -> None:
    assert parse("(" * DEPTH + "x" + ")" * DEPTH).outputs == 1
    with pytest.raises(SourceError, match=f"parentheses more than {DEPTH} deep, at column {DEPTH + 1}\n"):
        parse("(" * (DEPTH + 1) + "x" + ")" * (DEPTH + 1))
    assert parse("x" + " " * (LENGTH - 1)).outputs == 1
    with pytest.raises(SourceError, match=r"a formula of 10,001 characters: at most 10,000"):
        parse("x" + " " * LENGTH)
    assert parse("-" * (STEPS - 1) + "x").outputs == 1
    with pytest.raises(SourceError, match="more than 2,000 steps"):
        parse("-" * STEPS + "x")
    assert parse("9" * 400).outputs == 1
    assert parse("x^1000 + x^-1000 + 1e400*1e-400").outputs == 1


@pytest.mark.parametrize("text", [[], ["x", 1], [None]])
def test_lists_without_formulas(text: list[object]) -> None:
    with pytest.raises(UsageError, match="one or more formulas"):
        parse(text)  # type: ignore[arg-type]
